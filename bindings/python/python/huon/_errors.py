"""Exceptions: one class for each kind of error, below :class:`Error`.

Where Python has a class for such errors, the exception is one of that, too: a missing table is a
``KeyError``, a lock that was not free in time a ``TimeoutError``.
"""

import errno as _errno


class Error(Exception):
    """What went wrong in a store. The text says what, where, and what to do."""

    code: int = 0
    """The stable number of this kind of error, the same in all languages; 0: a wrong call."""
    page: int | None = None
    """The damaged page, of :class:`CorruptError`."""

    def __str__(self) -> str:
        return str(self.args[-1]) if self.args else ""


class MisuseError(Error, ValueError):
    """A call that makes no sense now: after the end, or in the middle of another call."""


class KeyTooLongError(Error, ValueError):
    """A key is longer than the page size allows."""

    code = 1


class ValueTooLongError(Error, ValueError):
    """A value is longer than any may be."""

    code = 2


class KeyLengthError(Error, ValueError):
    """A key has a length that the order of its table does not allow."""

    code = 3


class KeyOrderError(Error, ValueError):
    """An append, or the input of a bulk load, was not in the order of the table."""

    code = 4


class TableNotFoundError(Error, KeyError):
    """The table does not exist."""

    code = 5


class TableKindError(Error, TypeError):
    """A table of that name has another kind or order, or other lengths."""

    code = 6


class TableExistsError(Error):
    """A table of that name exists already."""

    code = 7


class DecodeError(Error, ValueError):
    """Stored bytes are not what they should be."""

    code = 8


class ReadOnlyError(Error):
    """The environment, the transaction or the file system cannot be written."""

    code = 9


class InvalidError(Error, ValueError):
    """An option or argument makes no sense; the text says which and why."""

    code = 10


class MapFullError(Error):
    """The file has reached its maximum size."""

    code = 11


class TxnBrokenError(Error):
    """An earlier failure left the transaction unusable: abort it, nothing was committed."""

    code = 12


class BusyError(Error, TimeoutError):
    """A lock was not free in time; the text names its holder."""

    code = 13


class NotADatabaseError(Error):
    """The file is not a Huon environment."""

    code = 14


class VersionError(Error):
    """The file was written by a newer format, or needs a feature that this version lacks."""

    code = 15


class PageSizeError(Error, ValueError):
    """The environment has another page size than the one that was asked for."""

    code = 16


class PoisonedError(Error):
    """A flush failed earlier: close the file everywhere and open it again."""

    code = 17


class ForkedError(Error):
    """The transaction is of the process that this one was forked from."""

    code = 18


class IoError(Error, OSError):
    """The operating system returned an error; ``errno`` says which."""

    code = 19


class MissingFileError(IoError, FileNotFoundError):
    """There is no such file."""


class ExistingFileError(IoError, FileExistsError):
    """There is such a file already."""


class NoPermissionError(IoError, PermissionError):
    """The operating system does not allow it."""


class CorruptError(Error):
    """The file is damaged; ``page`` says where."""

    code = 20


class EnvironmentsFullError(Error):
    """This process has as many environments open as it can have."""

    code = 21


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""

    code = 22


class SortedValueTooLongError(Error, ValueError):
    """A value is longer than those of a multimap may be."""

    code = 23


class ValueLengthError(Error, ValueError):
    """All values of this multimap have one length, and the given one has another."""

    code = 24


class ManyValuesError(Error):
    """A key of a multimap has several values, and which one is meant was not said."""

    code = 25


class MapTooSmallError(Error):
    """The file is longer than the address space that was reserved for it: open it again."""

    code = 26


class EvictedError(Error):
    """A writer needed the pages of a parked read transaction, and evicted it."""

    code = 27


class WrongOrderError(Error):
    """The table is ordered by a comparator of another name."""

    code = 28


class ThreadWritesError(BusyError):
    """This thread has the write transaction already, and would wait for itself."""

    code = 29


class NameTakenError(Error):
    """The name is not free: a record of the main table has it."""

    code = 30


class OrderUnknownError(Error):
    """A comparator orders the table that is not known here: it is read from end to end only."""

    code = 31


class PrefixOrderError(Error, ValueError):
    """Keys that begin alike do not lie together in this table."""

    code = 32


class TablesInsideError(Error):
    """The main table holds named tables."""

    code = 33


class EncodeError(Error, ValueError):
    """A key or value could not be written as bytes."""

    code = 34


class TableTypeError(Error, TypeError):
    """Keys or values of the table are of another type."""

    code = 35


class JournalError(Error):
    """The newest commits are in the file's journal, and that is not the one that goes with it."""

    code = 36


class DivergedError(Error):
    """Changes do not follow the snapshot that is there."""

    code = 37


def _below(kind: type[Error]) -> list[type[Error]]:
    return [kind, *(under for below in kind.__subclasses__() for under in _below(below))]


_BY_CODE = {kind.code: kind for kind in reversed(_below(Error)) if kind.code}
_BY_ERRNO: dict[int, type[IoError]] = {
    _errno.ENOENT: MissingFileError,
    _errno.EEXIST: ExistingFileError,
    _errno.EACCES: NoPermissionError,
    _errno.EPERM: NoPermissionError,
}


def engine(code: int, text: str, page: int | None, errno: int | None) -> Error:
    """An error of the engine."""
    error: Error
    if errno is not None:
        return _BY_ERRNO.get(errno, IoError)(errno, text)
    error = _BY_CODE.get(code, Error)(text)
    error.page = page
    if type(error) is Error:
        error.code = code
    return error


def misuse(text: str) -> MisuseError:
    """A wrong call."""
    return MisuseError(text)

"""A store with the interface of the standard library's ``dbm``, for ``shelve`` and its like.

>>> import huon.dbm, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     with huon.dbm.open(f"{folder}/cache.huon", "c") as db:
...         db["ada"] = "36"
...         print(db[b"ada"], len(db))
...     with huon.dbm.shelf(f"{folder}/shelf.huon") as shelf:
...         shelf["people"] = ["ada", "alan"]
...         print(shelf["people"])
b'36' 1
['ada', 'alan']

Each assignment is a transaction of its own, which other processes see at once. It is durable when
``sync`` or ``close`` returns, and with the flag ``s`` when the assignment does; the death of the
process loses nothing in either case.
"""

import os
import shelve
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeAlias

from . import _errors, _huon
from ._errors import Error as error
from ._reports import Durability

__all__ = ["Database", "error", "open", "shelf", "whichdb"]

_Text: TypeAlias = str | bytes


def _bytes(given: object) -> bytes:
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    raise TypeError(f"keys and values are bytes or str, not {type(given).__name__}")


class Database(MutableMapping[Any, bytes]):
    """An open store: a mapping of bytes to bytes, in order; text is written as UTF-8."""

    TABLE = "dbm"

    def __init__(
        self, env: _huon.Env, durability: Durability = "lazy", read_only: bool = False
    ) -> None:
        self._env = env
        self._durability: Durability = durability
        self._read_only = read_only

    @contextmanager
    def _reading(self) -> Iterator[_huon.Table | None]:
        with self._env.read() as txn:
            yield txn.table(self.TABLE) if self.TABLE in txn else None

    @contextmanager
    def _writing(self) -> Iterator[_huon.Table]:
        with self._env.write(durability=self._durability) as txn:
            yield txn[self.TABLE]

    def __getitem__(self, key: _Text) -> bytes:
        with self._reading() as table:
            found = None if table is None else table.get(_bytes(key))
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: _Text, value: _Text) -> None:
        key, value = _bytes(key), _bytes(value)
        with self._writing() as table:
            table.put(key, value)

    def __delitem__(self, key: _Text) -> None:
        with self._writing() as table:
            there = table.delete(_bytes(key))
        if not there:
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        with self._reading() as table:
            return table is not None and _bytes(key) in table

    def __len__(self) -> int:
        with self._reading() as table:
            return 0 if table is None else len(table)

    def __iter__(self) -> Iterator[bytes]:
        """The keys of one snapshot: what is put or deleted meanwhile is not shown."""
        with self._reading() as table:
            if table is not None:
                yield from table

    def keys(self) -> list[bytes]:  # type: ignore[override]
        """All keys: a list, as ``dbm``'s other stores give."""
        return list(self)

    def firstkey(self) -> bytes | None:
        """The first key, or ``None``."""
        with self._reading() as table:
            first = None if table is None else table.first()
        return None if first is None else first[0]

    def nextkey(self, key: _Text) -> bytes | None:
        """The next key above, or ``None``."""
        with self._reading() as table:
            above = None if table is None else table.at_or_above(_bytes(key) + b"\0")
        return None if above is None else above[0]

    def update(self, other: Any = (), /, **more: _Text) -> None:
        """As that of ``dict``, in one transaction."""
        given = {**dict(other), **more}
        pairs = [(_bytes(key), _bytes(value)) for key, value in given.items()]
        with self._writing() as table:
            table.put_many(pairs)

    def clear(self) -> None:
        with self._writing() as table:
            table.clear()

    def reorganize(self) -> None:
        """Makes the file shorter."""
        self._env.compact()

    def sync(self) -> None:
        """Makes everything durable."""
        if not self._read_only:
            self._env.sync()

    def close(self) -> None:
        self._env.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def open(file: str | os.PathLike[str], flag: str = "r", mode: int = 0o666) -> Database:
    """Opens a store: ``r`` to read, ``w`` to write, ``c`` to make it if it is missing, ``n`` to
    begin a new one. ``s`` behind it: each change is durable when it returns."""
    if flag[:1] not in ("r", "w", "c", "n") or not set(flag[1:]) <= {"s", "f"}:
        raise _errors.InvalidError("flag is one of r, w, c, n, and s may stand behind it")
    if flag[0] == "n":
        _huon.delete(file)
    env = _huon.open(
        file,
        read_only=flag[0] == "r",
        create=flag[0] in "cn",
        durability="lazy",
        mode=mode,
    )
    return Database(env, "durable" if "s" in flag else "lazy", flag[0] == "r")


def shelf(
    file: str | os.PathLike[str],
    flag: str = "c",
    protocol: int | None = None,
    writeback: bool = False,
) -> shelve.Shelf[Any]:
    """A ``shelve.Shelf`` over a store. Read only files that you trust: a pickle is a program."""
    return shelve.Shelf(open(file, flag), protocol, writeback)


def whichdb(file: str | os.PathLike[str]) -> str | None:
    """``huon.dbm`` if there is such a store, an empty string if there is another file."""
    try:
        _huon.open(file, read_only=True, create=False).close()
    except FileNotFoundError:
        return None
    except error:
        return ""
    return "huon.dbm"

"""Huon: an embedded, transactional, ordered key-value store in one memory-mapped file.

>>> import huon, tempfile
>>> with tempfile.TemporaryDirectory() as folder, huon.open(f"{folder}/people.huon") as env:
...     with env.write() as txn:  # committed at the end, undone by an exception
...         ages = txn["ages"]
...         ages[b"ada"] = b"36"
...         ages.put_many({b"alan": b"41", b"grace": b"85"})
...     with env.read() as txn:  # a snapshot
...         ages = txn["ages"]
...         print(ages.get(b"ada"), list(ages.items(prefix=b"a", reverse=True)))
b'36' [(b'alan', b'41'), (b'ada', b'36')]
"""

import collections.abc as _abc
from typing import Any as _Any

from . import codecs
from ._errors import (
    BusyError,
    CorruptError,
    DecodeError,
    DivergedError,
    EncodeError,
    EnvironmentsFullError,
    Error,
    EvictedError,
    ExistingFileError,
    ForkedError,
    InvalidError,
    IoError,
    JournalError,
    KeyLengthError,
    KeyOrderError,
    KeyTooLongError,
    ManyValuesError,
    MapFullError,
    MapTooSmallError,
    MissingFileError,
    MisuseError,
    NameTakenError,
    NoPermissionError,
    NotADatabaseError,
    OrderUnknownError,
    OutOfMemoryError,
    PageSizeError,
    PoisonedError,
    PrefixOrderError,
    ReadOnlyError,
    SortedValueTooLongError,
    TableExistsError,
    TableKindError,
    TableNotFoundError,
    TablesInsideError,
    TableTypeError,
    ThreadWritesError,
    TxnBrokenError,
    ValueLengthError,
    ValueTooLongError,
    VersionError,
    WrongOrderError,
)
from ._huon import (
    Compactor,
    Env,
    Items,
    Keys,
    Lsm,
    LsmBatch,
    LsmMapping,
    LsmTable,
    MultiTable,
    ReadTxn,
    Table,
    Ticket,
    Values,
    WriteTxn,
    delete,
    open,
    restore,
)
from ._reports import Durability, Order
from .typed import MultiDef, TableDef, TypedMultiTable, TypedTable

_kinds: list[tuple[_Any, type]] = [
    (_abc.Mapping, ReadTxn),
    (_abc.Mapping, WriteTxn),
    (_abc.MutableMapping, Table),
    (_abc.MutableMapping, LsmMapping),
    (_abc.KeysView, Keys),
    (_abc.ItemsView, Items),
    (_abc.ValuesView, Values),
]
for _abstract, _kind in _kinds:
    _abstract.register(_kind)

__version__ = "0.1.0"

__all__ = [
    "BusyError",
    "Compactor",
    "CorruptError",
    "DecodeError",
    "DivergedError",
    "Durability",
    "EncodeError",
    "Env",
    "EnvironmentsFullError",
    "Error",
    "EvictedError",
    "ExistingFileError",
    "ForkedError",
    "InvalidError",
    "IoError",
    "Items",
    "JournalError",
    "KeyLengthError",
    "KeyOrderError",
    "KeyTooLongError",
    "Keys",
    "Lsm",
    "LsmBatch",
    "LsmMapping",
    "LsmTable",
    "ManyValuesError",
    "MapFullError",
    "MapTooSmallError",
    "MissingFileError",
    "MisuseError",
    "MultiDef",
    "MultiTable",
    "NameTakenError",
    "NoPermissionError",
    "NotADatabaseError",
    "Order",
    "OrderUnknownError",
    "OutOfMemoryError",
    "PageSizeError",
    "PoisonedError",
    "PrefixOrderError",
    "ReadOnlyError",
    "ReadTxn",
    "SortedValueTooLongError",
    "Table",
    "TableDef",
    "TableExistsError",
    "TableKindError",
    "TableNotFoundError",
    "TableTypeError",
    "TablesInsideError",
    "ThreadWritesError",
    "Ticket",
    "TxnBrokenError",
    "TypedMultiTable",
    "TypedTable",
    "ValueLengthError",
    "ValueTooLongError",
    "Values",
    "VersionError",
    "WriteTxn",
    "WrongOrderError",
    "codecs",
    "delete",
    "open",
    "restore",
]

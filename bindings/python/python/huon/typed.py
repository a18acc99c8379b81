"""Tables whose keys and values have types: see :class:`TableDef` and :class:`MultiDef`.

>>> import huon
>>> AGES = huon.TableDef("ages", huon.codecs.STR, huon.codecs.U64)
>>> with huon.open(None) as env, env.write() as txn:
...     ages = AGES.open(txn)
...     ages["ada"] = 36
...     print(dict(ages.items(start="a")), len(ages))
{'ada': 36} 1
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, overload

from ._errors import EncodeError, InvalidError
from ._huon import MultiTable, ReadTxn, Table, WriteTxn
from .codecs import Codec, _decoded, _encoded

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

__all__ = ["MultiDef", "TableDef", "TypedMultiTable", "TypedTable"]


def _end(codec: Codec[K], end: K | None) -> bytes | None:
    return None if end is None else _encoded(codec, end)


def _prefix(codec: Codec[Any], prefix: Any) -> bytes | None:
    if prefix is None:
        return None
    if codec.prefix is None:
        raise InvalidError(f"keys of the type {codec.name} have no prefixes")
    try:
        return codec.prefix(prefix)
    except Exception as error:
        raise EncodeError(f"that is no prefix of {codec.name or 'bytes'}: {error}") from error


def _pairs(given: Mapping[K, V] | Iterable[tuple[K, V]]) -> Iterable[tuple[K, V]]:
    return cast(Mapping[K, V], given).items() if isinstance(given, Mapping) else given


@dataclass(frozen=True)
class TableDef(Generic[K, V]):
    """A table's name, and the types of its keys and values: a constant of the program."""

    name: str | bytes
    key: Codec[K]
    value: Codec[V]

    def __post_init__(self) -> None:
        if not self.key.is_key:
            raise InvalidError(f"keys of the type {self.key.name} would lie in no order")

    def open(self, txn: ReadTxn | WriteTxn) -> "TypedTable[K, V]":
        """Opens the table; a write transaction makes it if it is missing."""
        key, value = self.key.name, self.value.name
        if isinstance(txn, WriteTxn):
            raw = txn.table(self.name, create=True, multi=False, key_type=key, value_type=value)
        else:
            raw = txn.table(self.name, multi=False, key_type=key, value_type=value)
        return TypedTable(raw, self.key, self.value)


@dataclass(frozen=True)
class MultiDef(Generic[K, V]):
    """The same of a multimap: its values have an order, too."""

    name: str | bytes
    key: Codec[K]
    value: Codec[V]

    def __post_init__(self) -> None:
        for codec in (self.key, self.value):
            if not codec.is_key:
                raise InvalidError(f"items of the type {codec.name} would lie in no order")

    def open(self, txn: ReadTxn | WriteTxn) -> "TypedMultiTable[K, V]":
        """Opens the multimap; a write transaction makes it if it is missing."""
        key, value = self.key.name, self.value.name
        if isinstance(txn, WriteTxn):
            raw = txn.table(
                self.name,
                create=True,
                multi=True,
                key_type=key,
                value_type=value,
                value_bytes=self.value.size,
            )
        else:
            raw = txn.table(self.name, multi=True, key_type=key, value_type=value)
        return TypedMultiTable(raw, self.key, self.value)


class TypedTable(Generic[K, V]):
    """A table whose keys and values are made by codecs. ``raw`` is the table of bytes below."""

    __slots__ = ("raw", "_key", "_value")

    def __init__(self, raw: Table, key: Codec[K], value: Codec[V]) -> None:
        self.raw = raw
        self._key = key
        self._value = value

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, default: D, /) -> V | D: ...
    def get(self, key: K, default: Any = None, /) -> Any:
        found = self.raw.get(_encoded(self._key, key))
        return default if found is None else _decoded(self._value, found)

    def __getitem__(self, key: K) -> V:
        found = self.raw.get(_encoded(self._key, key))
        if found is None:
            raise KeyError(key)
        return _decoded(self._value, found)

    def __setitem__(self, key: K, value: V) -> None:
        self.raw.put(_encoded(self._key, key), _encoded(self._value, value))

    def __delitem__(self, key: K) -> None:
        if not self.raw.delete(_encoded(self._key, key)):
            raise KeyError(key)

    def __contains__(self, key: K) -> bool:
        return _encoded(self._key, key) in self.raw

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    def get_many(self, keys: Iterable[K]) -> list[V | None]:
        found = self.raw.get_many([_encoded(self._key, key) for key in keys])
        return [None if one is None else _decoded(self._value, one) for one in found]

    def insert(self, key: K, value: V) -> bool:
        """Puts a record if the key has none; ``False`` if it has one, which stays."""
        return self.raw.insert(_encoded(self._key, key), _encoded(self._value, value))

    def update_value(self, key: K, change: Callable[[V | None], V]) -> V:
        """Puts what ``change`` makes of the value of a key, or of ``None``, and returns it."""
        value = change(self.get(key))
        self[key] = value
        return value

    def put_many(self, pairs: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        self.raw.put_many(self._raw_pairs(pairs))

    def bulk_load(self, pairs: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Fills an empty table from records in the order of keys."""
        self.raw.bulk_load(self._raw_pairs(pairs))

    def _raw_pairs(
        self, pairs: Mapping[K, V] | Iterable[tuple[K, V]]
    ) -> Iterator[tuple[bytes, bytes]]:
        for key, value in _pairs(pairs):
            yield _encoded(self._key, key), _encoded(self._value, value)

    def delete(self, key: K) -> bool:
        return self.raw.delete(_encoded(self._key, key))

    def delete_range(
        self, start: K | None = None, stop: K | None = None, *, prefix: Any = None
    ) -> int:
        ends = _end(self._key, start), _end(self._key, stop)
        return self.raw.delete_range(*ends, prefix=_prefix(self._key, prefix))

    def count(self, start: K | None = None, stop: K | None = None, *, prefix: Any = None) -> int:
        ends = _end(self._key, start), _end(self._key, stop)
        return self.raw.count(*ends, prefix=_prefix(self._key, prefix))

    def clear(self) -> None:
        self.raw.clear()

    def first(self) -> tuple[K, V] | None:
        return self._pair(self.raw.first())

    def last(self) -> tuple[K, V] | None:
        return self._pair(self.raw.last())

    def at_or_above(self, key: K) -> tuple[K, V] | None:
        return self._pair(self.raw.at_or_above(_encoded(self._key, key)))

    def at_or_below(self, key: K) -> tuple[K, V] | None:
        return self._pair(self.raw.at_or_below(_encoded(self._key, key)))

    def _pair(self, found: tuple[bytes, bytes] | None) -> tuple[K, V] | None:
        if found is None:
            return None
        return _decoded(self._key, found[0]), _decoded(self._value, found[1])

    def keys(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[K]:
        """As ``items``, the keys alone."""
        for key in self.raw.keys(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        ):
            yield _decoded(self._key, key)

    def values(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[V]:
        """As ``items``, the values alone."""
        for value in self.raw.values(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        ):
            yield _decoded(self._value, value)

    def items(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[tuple[K, V]]:
        """The records from ``start`` (with it) to ``stop`` (without it). ``prefix``: of text a part
        of it, of tuples a tuple of leading parts."""
        for key, value in self.raw.items(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        ):
            yield _decoded(self._key, key), _decoded(self._value, value)

    def take_sequence(self, count: int = 1) -> int:
        """Raises the sequence of the table by ``count``, and returns what it was before."""
        return self.raw.take_sequence(count)


class TypedMultiTable(Generic[K, V]):
    """A multimap whose keys and values are made by codecs. ``raw`` is the one of bytes below."""

    __slots__ = ("raw", "_key", "_value")

    def __init__(self, raw: MultiTable, key: Codec[K], value: Codec[V]) -> None:
        self.raw = raw
        self._key = key
        self._value = value

    def get(self, key: K) -> list[V]:
        """The values of a key, in order."""
        return [_decoded(self._value, one) for one in self.raw.get(_encoded(self._key, key))]

    def __getitem__(self, key: K) -> list[V]:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return _encoded(self._key, key) in self.raw

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    def has(self, key: K, value: V) -> bool:
        return self.raw.has(_encoded(self._key, key), _encoded(self._value, value))

    def add(self, key: K, value: V) -> bool:
        """Adds a value to a key; ``False`` if the key has it already."""
        return self.raw.add(_encoded(self._key, key), _encoded(self._value, value))

    def remove(self, key: K, value: V) -> bool:
        return self.raw.remove(_encoded(self._key, key), _encoded(self._value, value))

    def remove_all(self, key: K) -> int:
        return self.raw.remove_all(_encoded(self._key, key))

    def count_values(self, key: K) -> int:
        return self.raw.count_values(_encoded(self._key, key))

    def values_of(self, key: K, *, reverse: bool = False, limit: int | None = None) -> Iterator[V]:
        """The values of a key, one after another."""
        for value in self.raw.values(_encoded(self._key, key), reverse=reverse, limit=limit):
            yield _decoded(self._value, value)

    def keys(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[K]:
        """Each key once."""
        for key in self.raw.keys(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        ):
            yield _decoded(self._key, key)

    def items(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[tuple[K, V]]:
        """The pairs of a range of keys."""
        for key, value in self.raw.items(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        ):
            yield _decoded(self._key, key), _decoded(self._value, value)

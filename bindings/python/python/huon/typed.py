"""Tables whose keys and values have types: see :class:`TableDef` and :class:`MultiDef`.

>>> import huon
>>> AGES = huon.TableDef("ages", huon.codecs.STR, huon.codecs.U64)
>>> with huon.open(None) as env, env.write() as txn:
...     ages = AGES.open(txn)
...     ages["ada"] = 36
...     print(dict(ages.items(start="a")), len(ages))
{'ada': 36} 1
"""

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    ValuesView,
)
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, overload

from ._errors import EncodeError, InvalidError
from ._huon import Items, Keys, MultiTable, ReadTxn, Table, Values, WriteTxn
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


class TypedKeys(KeysView[K]):
    """The keys of a part of a typed table, in order: a set."""

    __slots__ = ("raw", "_key")

    def __init__(self, raw: Keys, key: Codec[K]) -> None:
        self.raw = raw
        self._key = key

    def __iter__(self) -> Iterator[K]:
        for key in self.raw:
            yield _decoded(self._key, key)

    def __reversed__(self) -> Iterator[K]:
        for key in reversed(self.raw):
            yield _decoded(self._key, key)

    def __len__(self) -> int:
        return len(self.raw)

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __contains__(self, key: object) -> bool:
        try:
            return _encoded(self._key, cast(K, key)) in self.raw
        except EncodeError:
            return False

    def __repr__(self) -> str:
        return "<huon.TypedKeys>"


class TypedValues(ValuesView[V]):
    """The values of a part of a typed table, in the order of their keys."""

    __slots__ = ("raw", "_value")

    def __init__(self, raw: Values, value: Codec[V]) -> None:
        self.raw = raw
        self._value = value

    def __iter__(self) -> Iterator[V]:
        for value in self.raw:
            yield _decoded(self._value, value)

    def __reversed__(self) -> Iterator[V]:
        for value in reversed(self.raw):
            yield _decoded(self._value, value)

    def __len__(self) -> int:
        return len(self.raw)

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __contains__(self, value: object) -> bool:
        return any(one is value or one == value for one in self)

    def __repr__(self) -> str:
        return "<huon.TypedValues>"


class TypedItems(ItemsView[K, V]):
    """The records of a part of a typed table, as pairs, in the order of keys: a set."""

    __slots__ = ("raw", "_key", "_value")

    def __init__(self, raw: Items, key: Codec[K], value: Codec[V]) -> None:
        self.raw = raw
        self._key = key
        self._value = value

    def __iter__(self) -> Iterator[tuple[K, V]]:
        for key, value in self.raw:
            yield _decoded(self._key, key), _decoded(self._value, value)

    def __reversed__(self) -> Iterator[tuple[K, V]]:
        for key, value in reversed(self.raw):
            yield _decoded(self._key, key), _decoded(self._value, value)

    def __len__(self) -> int:
        return len(self.raw)

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2:
            return False
        key, value = item
        try:
            return (_encoded(self._key, key), _encoded(self._value, value)) in self.raw
        except EncodeError:
            return False

    def __repr__(self) -> str:
        return "<huon.TypedItems>"


class TypedTable(MutableMapping[K, V]):
    """A table whose keys and values are made by codecs: a mapping, in the order of keys. ``raw`` is
    the table of bytes below."""

    __slots__ = ("raw", "_key", "_value")

    def __init__(self, raw: Table, key: Codec[K], value: Codec[V]) -> None:
        self.raw = raw
        self._key = key
        self._value = value

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V, /) -> V: ...
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

    def __contains__(self, key: object) -> bool:
        return _encoded(self._key, cast(K, key)) in self.raw

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def __reversed__(self) -> Iterator[K]:
        return reversed(self.keys())

    def __repr__(self) -> str:
        return f"<huon.TypedTable {self.raw.name!r}>"

    def view(self, key: K) -> memoryview | None:
        """The bytes of a value where they lie: see ``Table.view``."""
        return self.raw.view(_encoded(self._key, key))

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

    def update(  # type: ignore[override]
        self, other: Mapping[K, V] | Iterable[tuple[K, V]] = (), /, **more: V
    ) -> None:
        """As that of ``dict``."""
        self.put_many(other)
        self.put_many(cast(Mapping[K, V], more))

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

    def delete_many(self, keys: Iterable[K]) -> int:
        return self.raw.delete_many([_encoded(self._key, key) for key in keys])

    def pop(self, key: K, *default: Any) -> Any:
        """Removes a key and returns its value; ``default``, or else ``KeyError``, without one."""
        if len(default) > 1:
            raise TypeError(f"pop expected at most 2 arguments, got {len(default) + 1}")
        found = self.raw.pop(_encoded(self._key, key), None)
        if found is not None:
            return _decoded(self._value, found)
        if not default:
            raise KeyError(key)
        return default[0]

    def popitem(self, last: bool = True) -> tuple[K, V]:
        """Removes the last record, or with ``last=False`` the first, and returns it."""
        key, value = self.raw.popitem(last)
        return _decoded(self._key, key), _decoded(self._value, value)

    def delete_range(
        self, start: K | None = None, stop: K | None = None, *, prefix: Any = None
    ) -> int:
        ends = _end(self._key, start), _end(self._key, stop)
        return self.raw.delete_range(*ends, prefix=_prefix(self._key, prefix))

    def count(self, start: K | None = None, stop: K | None = None, *, prefix: Any = None) -> int:
        ends = _end(self._key, start), _end(self._key, stop)
        return self.raw.count(*ends, prefix=_prefix(self._key, prefix))

    def estimate(self, start: K | None = None, stop: K | None = None, *, prefix: Any = None) -> int:
        """About how many records lie in a range, by a look at its ends."""
        ends = _end(self._key, start), _end(self._key, stop)
        return self.raw.estimate(*ends, prefix=_prefix(self._key, prefix))

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
    ) -> TypedKeys[K]:
        """As ``items``, the keys alone."""
        raw = self.raw.keys(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        )
        return TypedKeys(raw, self._key)

    def values(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> TypedValues[V]:
        """As ``items``, the values alone."""
        raw = self.raw.values(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        )
        return TypedValues(raw, self._value)

    def items(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> TypedItems[K, V]:
        """The records from ``start`` (with it) to ``stop`` (without it). ``prefix``: of text a part
        of it, of tuples a tuple of leading parts."""
        raw = self.raw.items(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        )
        return TypedItems(raw, self._key, self._value)

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
        return iter(self.keys())

    def __reversed__(self) -> Iterator[K]:
        return reversed(self.keys())

    def __delitem__(self, key: K) -> None:
        if not self.remove_all(key):
            raise KeyError(key)

    def __repr__(self) -> str:
        return f"<huon.TypedMultiTable {self.raw.name!r}>"

    def get_many(self, keys: Iterable[K]) -> list[list[V]]:
        found = self.raw.get_many([_encoded(self._key, key) for key in keys])
        return [[_decoded(self._value, one) for one in values] for values in found]

    def has(self, key: K, value: V) -> bool:
        return self.raw.has(_encoded(self._key, key), _encoded(self._value, value))

    def add(self, key: K, value: V) -> bool:
        """Adds a value to a key; ``False`` if the key has it already."""
        return self.raw.add(_encoded(self._key, key), _encoded(self._value, value))

    def add_values(self, key: K, values: Iterable[V]) -> int:
        """Adds many values to a key; returns how many it had not."""
        data = [_encoded(self._value, value) for value in values]
        return self.raw.add_values(_encoded(self._key, key), data)

    def put_many(self, pairs: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        self.raw.put_many(self._raw_pairs(pairs))

    def bulk_append(self, pairs: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Adds pairs above those that are there, in order."""
        self.raw.bulk_append(self._raw_pairs(pairs))

    def _raw_pairs(
        self, pairs: Mapping[K, V] | Iterable[tuple[K, V]]
    ) -> Iterator[tuple[bytes, bytes]]:
        for key, value in _pairs(pairs):
            yield _encoded(self._key, key), _encoded(self._value, value)

    def set(self, key: K, value: V) -> int:
        """Gives a key this value and no other; returns how many others it had."""
        return self.raw.set(_encoded(self._key, key), _encoded(self._value, value))

    def pop(self, key: K) -> list[V]:
        """Removes a key with all its values, and returns them."""
        return [_decoded(self._value, one) for one in self.raw.pop(_encoded(self._key, key))]

    def clear(self) -> None:
        self.raw.clear()

    def delete_range(
        self, start: K | None = None, stop: K | None = None, *, prefix: Any = None
    ) -> int:
        ends = _end(self._key, start), _end(self._key, stop)
        return self.raw.delete_range(*ends, prefix=_prefix(self._key, prefix))

    def count(self, start: K | None = None, stop: K | None = None, *, prefix: Any = None) -> int:
        """How many pairs lie in a range of keys."""
        ends = _end(self._key, start), _end(self._key, stop)
        return self.raw.count(*ends, prefix=_prefix(self._key, prefix))

    def first(self) -> tuple[K, V] | None:
        return self._pair(self.raw.first())

    def last(self) -> tuple[K, V] | None:
        return self._pair(self.raw.last())

    def _pair(self, found: tuple[bytes, bytes] | None) -> tuple[K, V] | None:
        if found is None:
            return None
        return _decoded(self._key, found[0]), _decoded(self._value, found[1])

    def remove(self, key: K, value: V) -> bool:
        return self.raw.remove(_encoded(self._key, key), _encoded(self._value, value))

    def remove_all(self, key: K) -> int:
        return self.raw.remove_all(_encoded(self._key, key))

    def count_values(self, key: K) -> int:
        return self.raw.count_values(_encoded(self._key, key))

    def values_of(
        self,
        key: K,
        *,
        start: V | None = None,
        stop: V | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> TypedValues[V]:
        """The values of a key, from ``start`` (with it) to ``stop`` (without it)."""
        raw = self.raw.values(
            _encoded(self._key, key),
            start=_end(self._value, start),
            stop=_end(self._value, stop),
            reverse=reverse,
            limit=limit,
        )
        return TypedValues(raw, self._value)

    def keys(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> TypedKeys[K]:
        """Each key once."""
        raw = self.raw.keys(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        )
        return TypedKeys(raw, self._key)

    def values(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> TypedValues[V]:
        """The values of a range of keys."""
        raw = self.raw.values(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        )
        return TypedValues(raw, self._value)

    def items(
        self,
        *,
        prefix: Any = None,
        start: K | None = None,
        stop: K | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> TypedItems[K, V]:
        """The pairs of a range of keys."""
        raw = self.raw.items(
            prefix=_prefix(self._key, prefix),
            start=_end(self._key, start),
            stop=_end(self._key, stop),
            reverse=reverse,
            limit=limit,
        )
        return TypedItems(raw, self._key, self._value)

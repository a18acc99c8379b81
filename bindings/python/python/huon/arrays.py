"""NumPy arrays in and out: lookups, scans and puts of many records with keys and values of one
length each, without an object for each record.

>>> import huon, huon.arrays, numpy as np
>>> with huon.open(None) as env, env.write() as txn:
...     table = txn["squares"]
...     numbers = np.arange(1000, dtype=np.uint64)
...     huon.arrays.put_many(table, numbers, numbers**2)
...     values, there = huon.arrays.get_many(table, np.array([7, 5000], np.uint64), np.uint64)
...     keys, _ = huon.arrays.scan(table, np.uint64, np.uint64, start=998)
...     print(values[0], there, keys)
49 [ True False] [998 999]

Keys that are integers are written with their first byte in front, signed ones with the sign turned,
so that their order is that of numbers: as the codecs ``U64``, ``I64`` and their like, which other
languages have, too. Keys of all other types (``S16``, ``V20``, structures, rows of ``uint8``) are
written as they lie in memory, and so are values, but that numbers are little-endian there.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ._huon import Table

__all__ = ["get_many", "put_many", "scan"]


def _stored(dtype: "np.dtype[Any]") -> "np.dtype[Any]":
    """The form in which values of a type are stored."""
    return dtype.newbyteorder("<")


def _packed_values(values: NDArray[Any]) -> tuple[bytes, int]:
    array = np.asarray(values, dtype=_stored(values.dtype))
    return array.tobytes(), _row_bytes(array)


def _packed_keys(keys: NDArray[Any]) -> tuple[bytes, int]:
    array = np.asarray(keys)
    if array.dtype.kind in "iu":
        size = array.dtype.itemsize
        unsigned = array.astype(f"=i{size}").view(f"=u{size}") if array.dtype.kind == "i" else array
        if array.dtype.kind == "i":
            unsigned = unsigned ^ np.array(1 << (8 * size - 1), f"=u{size}")
        array = unsigned.astype(f">u{size}")
    return array.tobytes(), _row_bytes(array)


def _row_bytes(array: NDArray[Any]) -> int:
    if array.ndim == 0:
        raise ValueError("an array of one or more dimensions is required")
    row = 1
    for count in array.shape[1:]:
        row *= count
    return row * array.dtype.itemsize


def _shown_keys(packed: bytearray, dtype: "np.dtype[Any]") -> NDArray[Any]:
    size = dtype.itemsize
    if dtype.kind == "u":
        return np.frombuffer(packed, f">u{size}").astype(dtype)
    if dtype.kind == "i":
        unsigned = np.frombuffer(packed, f">u{size}").astype(f"=u{size}")
        turned: NDArray[Any] = unsigned ^ np.array(1 << (8 * size - 1), f"=u{size}")
        return turned.view(f"=i{size}").astype(dtype)
    return np.frombuffer(packed, dtype)


def _end(end: Any, dtype: "np.dtype[Any]") -> bytes | None:
    if end is None or isinstance(end, (bytes, bytearray, memoryview)):
        return None if end is None else bytes(end)
    return _packed_keys(np.array([end], dtype))[0]


def get_many(
    table: Table, keys: NDArray[Any], dtype: DTypeLike
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values of many keys as an array of ``dtype``, and an array that says which keys are
    there; the others have zeros. ``ValueError`` if a value has another length."""
    form = np.dtype(dtype)
    packed, key_bytes = _packed_keys(keys)
    if len(packed) == 0:
        return np.empty(0, form.base), np.empty(0, np.bool_)
    values, there = table._get_packed(packed, key_bytes, form.itemsize)
    return _shown_values(values, form), np.frombuffer(there, np.bool_)


def _shown_values(packed: bytearray, form: "np.dtype[Any]") -> NDArray[Any]:
    if form.itemsize == 0 or not packed:
        return np.empty((0, *form.shape), form.base)
    return np.frombuffer(packed, _stored(form))


def scan(
    table: Table,
    key_dtype: DTypeLike,
    dtype: DTypeLike,
    *,
    prefix: bytes | None = None,
    start: Any = None,
    stop: Any = None,
    reverse: bool = False,
    limit: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The records of a range as two arrays, of keys and of values; ``start`` and ``stop`` are keys,
    or bytes. ``ValueError`` if a key or a value has another length."""
    key_form, form = np.dtype(key_dtype), np.dtype(dtype)
    keys, values = table._scan_packed(
        key_form.itemsize,
        form.itemsize,
        prefix=prefix,
        start=_end(start, key_form),
        stop=_end(stop, key_form),
        reverse=reverse,
        limit=limit,
    )
    return _shown_keys(keys, key_form), _shown_values(values, form)


def put_many(table: Table, keys: NDArray[Any], values: NDArray[Any]) -> None:
    """Puts a record for each key, with the value at the same place."""
    values = np.asarray(values)
    if len(keys) != len(values):
        raise ValueError(f"there are {len(keys)} keys and {len(values)} values")
    packed_keys, key_bytes = _packed_keys(keys)
    packed_values, value_bytes = _packed_values(values)
    if len(packed_keys):
        table._put_packed(packed_keys, key_bytes, packed_values, value_bytes)

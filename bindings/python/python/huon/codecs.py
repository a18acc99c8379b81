"""Codecs: keys and values of other types than ``bytes``, in the same form as Huon's in Rust.

A codec for keys keeps their order: ``U64`` is written with its first byte in front, ``I64`` and
``F64`` with their sign turned, and a tuple sorts by its first part, then by the second. What one
language has written so, every other one reads: the names of the types are kept with the table.
"""

import json as _json
import pickle as _pickle
import struct as _struct
import uuid as _uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._errors import DecodeError, EncodeError

T = TypeVar("T")

__all__ = [
    "BOOL",
    "BYTES",
    "F32",
    "F64",
    "I8",
    "I16",
    "I32",
    "I64",
    "JSON",
    "PICKLE",
    "STR",
    "U8",
    "U16",
    "U32",
    "U64",
    "UNIT",
    "UUID",
    "Codec",
    "tuple_of",
]


@dataclass(frozen=True)
class Codec(Generic[T]):
    """How items of a type are written as bytes, and read back."""

    name: str
    """The name of the type, which the table keeps; empty: any."""
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]
    size: int | None = None
    """How many bytes each item has, if all have as many."""
    is_key: bool = True
    """Whether the order of the bytes is that of the items."""
    prefix: Callable[[Any], bytes] | None = None
    """The bytes with which exactly those begin that begin so: with a part of a text, with leading
    parts of a tuple."""


def _decoded(codec: "Codec[T]", data: bytes) -> T:
    try:
        return codec.decode(data)
    except Exception as error:
        name = codec.name or "bytes"
        raise DecodeError(f"stored bytes do not decode as {name}: {error}") from error


def _encoded(codec: "Codec[T]", item: T) -> bytes:
    try:
        return codec.encode(item)
    except Exception as error:
        name = codec.name or "bytes"
        raise EncodeError(f"it cannot be stored as {name}: {error}") from error


def _integer(name: str, size: int, signed: bool) -> Codec[int]:
    turn = 1 << (8 * size - 1) if signed else 0

    def encode(item: int) -> bytes:
        return (item.__index__() + turn).to_bytes(size, "big")

    def decode(data: bytes) -> int:
        if len(data) != size:
            raise ValueError(f"{len(data)} bytes where {size} were expected")
        return int.from_bytes(data, "big") - turn

    return Codec(name, encode, decode, size)


def _float(name: str, size: int, form: str) -> Codec[float]:
    sign, every = 1 << (8 * size - 1), (1 << (8 * size)) - 1
    bits_of = _struct.Struct(form)

    def encode(item: float) -> bytes:
        bits = int.from_bytes(bits_of.pack(item), "big")
        return (bits ^ every if bits & sign else bits | sign).to_bytes(size, "big")

    def decode(data: bytes) -> float:
        if len(data) != size:
            raise ValueError(f"{len(data)} bytes where {size} were expected")
        bits = int.from_bytes(data, "big")
        bits ^= sign if bits & sign else every
        found: float = bits_of.unpack(bits.to_bytes(size, "big"))[0]
        return found

    return Codec(name, encode, decode, size)


def _bytes(item: bytes) -> bytes:
    return item if type(item) is bytes else bytes(memoryview(item))


def _bool(data: bytes) -> bool:
    if data not in (b"\0", b"\1"):
        raise ValueError("one byte, 0 or 1, was expected")
    return data == b"\1"


def _unit(data: bytes) -> None:
    if data:
        raise ValueError("no bytes were expected")


BYTES: Codec[bytes] = Codec("", _bytes, bytes, prefix=_bytes)
"""Bytes as they are."""
STR: Codec[str] = Codec("str", str.encode, bytes.decode, prefix=str.encode)
"""Text, as UTF-8: its order is that of code points."""
U8 = _integer("u8", 1, False)
U16 = _integer("u16", 2, False)
U32 = _integer("u32", 4, False)
U64 = _integer("u64", 8, False)
I8 = _integer("i8", 1, True)
I16 = _integer("i16", 2, True)
I32 = _integer("i32", 4, True)
I64 = _integer("i64", 8, True)
F32 = _float("f32", 4, ">f")
F64 = _float("f64", 8, ">d")
BOOL: Codec[bool] = Codec("bool", lambda item: b"\1" if item else b"\0", _bool, 1)
UNIT: Codec[None] = Codec("unit", lambda item: b"", _unit, 0)
"""Nothing: for tables that are sets."""
UUID: Codec[_uuid.UUID] = Codec(
    "uuid", lambda item: item.bytes, lambda data: _uuid.UUID(bytes=data), 16
)
# Other languages read no numbers that are none.
_dumps = _json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
JSON: Codec[Any] = Codec(
    "json",
    lambda item: _dumps(item).encode(),
    _json.loads,
    is_key=False,
)
"""Whatever JSON can say, as values."""
PICKLE: Codec[Any] = Codec("python pickle", _pickle.dumps, _pickle.loads, is_key=False)
"""Any object of Python, as values. Read only files that you trust: a pickle is a program."""


def tuple_of(*parts: Codec[Any]) -> Codec[tuple[Any, ...]]:
    """Keys of several parts, which sort by their first part, then by the second, and so on."""
    if len(parts) < 2 or not all(part.is_key for part in parts):
        raise ValueError("a tuple has two parts or more, and each keeps its order")
    names = ", ".join(part.name or "bytes" for part in parts)
    sizes = [part.size for part in parts]
    whole = None if None in sizes else sum(size or 0 for size in sizes)

    def joined(item: tuple[Any, ...]) -> bytes:
        out = bytearray()
        for at, (part, one) in enumerate(zip(parts, item, strict=False)):
            data = part.encode(one)
            if part.size is None and at + 1 < len(parts):
                data = data.replace(b"\1", b"\1\2").replace(b"\0", b"\1\1") + b"\0"
            out += data
        return bytes(out)

    def encode(item: tuple[Any, ...]) -> bytes:
        if len(item) != len(parts):
            raise ValueError(f"{len(item)} parts where {len(parts)} were expected")
        return joined(item)

    def prefix(item: tuple[Any, ...]) -> bytes:
        if len(item) >= len(parts):
            raise ValueError("a prefix has some of the leading parts, and not all")
        return joined(item)

    def decode(data: bytes) -> tuple[Any, ...]:
        found: list[Any] = []
        for at, part in enumerate(parts):
            if at + 1 == len(parts):
                found.append(part.decode(data))
            elif part.size is not None:
                if len(data) < part.size:
                    raise ValueError("a key of several parts ends within one")
                found.append(part.decode(data[: part.size]))
                data = data[part.size :]
            else:
                one, end, data = data.partition(b"\0")
                if not end:
                    raise ValueError("a key of several parts ends within one")
                found.append(part.decode(one.replace(b"\1\1", b"\0").replace(b"\1\2", b"\1")))
        return tuple(found)

    return Codec(f"({names})", encode, decode, whole, prefix=prefix)

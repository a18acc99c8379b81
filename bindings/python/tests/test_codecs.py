"""Codecs and typed tables."""

import collections.abc
import math
import struct
import uuid
from pathlib import Path
from typing import Any

import huon
import pytest
from hypothesis import given
from hypothesis import strategies as st
from huon.codecs import (
    BOOL, BYTES, F32, F64, I8, I16, I32, I64, JSON, PICKLE, STR, U8, U16, U32, U64, UNIT, UUID,
    Codec, tuple_of,
)

INTEGERS = [(U8, 0, 8), (U16, 0, 16), (U32, 0, 32), (U64, 0, 64), (I8, 1, 8), (I16, 1, 16),
            (I32, 1, 32), (I64, 1, 64)]


def ordered(codec: Codec[Any], one: Any, other: Any) -> None:
    first, second = codec.encode(one), codec.encode(other)
    assert codec.decode(first) == one and codec.decode(second) == other
    assert (first < second, first == second) == (one < other, one == other)


@given(st.data())
def test_integers_keep_their_order(data: st.DataObject) -> None:
    for codec, signed, bits in INTEGERS:
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        numbers = st.integers(low, high)
        ordered(codec, data.draw(numbers), data.draw(numbers))
        for wrong in low - 1, high + 1:
            with pytest.raises(OverflowError):
                codec.encode(wrong)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_floats_keep_their_order(one: float, other: float) -> None:
    if one != other:
        ordered(F64, one, other)
    assert F64.encode(-0.0) < F64.encode(0.0) < F64.encode(math.nan)


@given(*[st.tuples(st.text(max_size=5), st.binary(max_size=5), st.integers(0, 99))] * 2)
def test_tuples_keep_their_order(one: Any, other: Any) -> None:
    codec = tuple_of(STR, BYTES, U32)
    ordered(codec, one, other)
    assert codec.prefix is not None
    begins = codec.encode(one).startswith(codec.prefix(other[:2]))
    assert begins == (one[:2] == other[:2])


def test_forms_are_those_of_rust() -> None:
    """The examples are of the engine's own codecs."""
    assert U32.encode(1) == b"\0\0\0\1" and I32.encode(-1) == b"\x7f\xff\xff\xff"
    assert F32.encode(1.0) == struct.pack(">I", 0x3F800000 | 1 << 31)
    assert tuple_of(STR, U8).encode(("a\0\1", 7)) == b"a\1\1\1\2\0\7"
    assert tuple_of(U8, STR).encode((7, "a\0")) == b"\7a\0"
    assert (tuple_of(STR, BYTES).name, tuple_of(U8, U16).size) == ("(str, bytes)", 3)


def test_other_codecs() -> None:
    one = uuid.uuid4()
    assert UUID.decode(UUID.encode(one)) == one and BOOL.decode(BOOL.encode(True)) is True
    assert JSON.decode(JSON.encode({"a": [1, None]})) == {"a": [1, None]}
    assert PICKLE.decode(PICKLE.encode({1, 2})) == {1, 2} and UNIT.encode(None) == b""
    for number in math.nan, math.inf:
        with pytest.raises(ValueError):
            JSON.encode([number])  # no other language would read it
    with pytest.raises(ValueError):
        tuple_of(STR, JSON)
    with pytest.raises(ValueError):
        huon.TableDef("t", JSON, JSON)


def test_typed_tables(path: Path) -> None:
    ages = huon.TableDef("ages", STR, U64)
    visits = huon.TableDef("visits", tuple_of(STR, U64), JSON)
    tags = huon.MultiDef("tags", STR, I64)
    with huon.open(path) as env:
        with env.write() as txn:
            t = ages.open(txn)
            t["ada"] = 36
            t.put_many({"alan": 41, "grace": 85})
            assert t["ada"] == 36 and t.get("eve") is None and t.get("eve", 0) == 0
            assert t.update_value("ada", lambda age: (age or 0) + 1) == 37
            assert t.insert("bob", 1) and t.delete("bob") and "bob" not in t and len(t) == 3
            assert list(t) == ["ada", "alan", "grace"] and t.get_many(["alan", "x"]) == [41, None]
            assert list(t.items(prefix="al")) == [("alan", 41)]
            assert list(t.values(start="b")) == [85] and t.first() == ("ada", 37)
            assert t.at_or_below("b") == ("alan", 41) and t.count("b") == 1
            with pytest.raises(KeyError):
                del t["eve"]
            with pytest.raises(huon.InvalidError):
                huon.TableDef("n", U64, U64).open(txn).keys(prefix=1)
            with pytest.raises(huon.EncodeError):
                t["eve"] = -1
            v = visits.open(txn)
            v.bulk_load([(("ada", n), {"n": n}) for n in range(3)] + [(("b", 0), None)])
            assert [key for key, _ in v.items(prefix=("ada",))] == [("ada", n) for n in range(3)]
            assert v.delete_range(prefix=("ada",)) == 3
            m = tags.open(txn)
            assert m.add("a", -1) and m.add("a", 5) and not m.add("a", 5) and m.has("a", -1)
            assert m["a"] == [-1, 5] and list(m.items()) == [("a", -1), ("a", 5)]
            assert list(m.values_of("a", reverse=True)) == [5, -1] and m.count_values("a") == 2
            assert m.remove("a", 5) and m.remove_all("a") == 1 and "a" not in m and not list(m)
        with env.read() as read:
            assert dict(ages.open(read).items()) == {"ada": 37, "alan": 41, "grace": 85}
            with pytest.raises(huon.TableTypeError):
                huon.TableDef("ages", STR, STR).open(read)
            with pytest.raises(huon.TableNotFoundError):
                huon.TableDef("none", STR, STR).open(read)
            assert read["ages"][b"ada"] == U64.encode(37)
        with env.write() as txn:
            txn["ages"][b"odd"] = b"three"
            with pytest.raises(huon.DecodeError):
                ages.open(txn)["odd"]


def test_typed_tables_are_mappings() -> None:
    with huon.open(None) as env, env.write() as txn:
        t = huon.TableDef("ages", STR, U64).open(txn)
        assert isinstance(t, collections.abc.MutableMapping)
        t.update({"ada": 36}, alan=41)
        t.update([("grace", 85)])
        assert t == {"ada": 36, "alan": 41, "grace": 85} and dict(t) == t
        assert list(reversed(t)) == ["grace", "alan", "ada"]
        assert t.setdefault("bob", 1) == 1 == t.setdefault("bob", 2)
        assert t.pop("bob") == 1 and t.pop("bob", None) is None
        with pytest.raises(KeyError):
            t.pop("bob")
        keys: Any = t.keys(prefix="a")
        values: Any = t.values(limit=2)
        items: Any = t.items(start="b")
        for _ in range(2):  # as often as one likes
            assert list(keys) == ["ada", "alan"] and list(reversed(keys)) == ["alan", "ada"]
            assert list(values) == [36, 41] and list(reversed(values)) == [41, 36]
            assert list(items) == [("grace", 85)] == list(reversed(items))
        assert (len(keys), len(values), len(items)) == (2, 2, 1) and keys and values and items
        assert "ada" in keys and "grace" not in keys and 7 not in keys
        assert 41 in values and 85 not in values
        assert ("grace", 85) in items and ("ada", 36) not in items and "grace" not in items
        assert keys & {"ada", "x"} == {"ada"} and {"x"} | keys == {"ada", "alan", "x"}
        assert items == {("grace", 85)} and not t.keys(start="x")
        assert repr(t) == "<huon.TypedTable 'ages'>" and "Typed" in repr([keys, values, items])
        view = t.view("ada")
        assert view is not None and U64.decode(bytes(view)) == 36 and 0 < t.estimate() < 10
        assert t.popitem() == ("grace", 85) and t.popitem(last=False) == ("ada", 36)
        assert t.delete_many(["alan", "x"]) == 1 and not t
        m = huon.MultiDef("tags", STR, U64).open(txn)
        m.put_many([("a", 1), ("a", 2), ("b", 3)])
        assert m.add_values("b", [3, 4, 5]) == 2 and m.get_many(["a", "x"]) == [[1, 2], []]
        assert list(m.values()) == [1, 2, 3, 4, 5] and m.count("b") == 3
        assert list(m.values_of("b", start=4)) == [4, 5] and len(m.values_of("b", stop=4)) == 1
        assert m.first() == ("a", 1) and m.last() == ("b", 5) and list(reversed(m)) == ["b", "a"]
        assert m.set("a", 7) == 2 and m.pop("a") == [7] and m.delete_range(prefix="b") == 3
        m.bulk_append([("x", 1), ("x", 2)])
        assert list(m.items()) == [("x", 1), ("x", 2)] and list(m.keys()) == ["x"]
        del m["x"]
        with pytest.raises(KeyError):
            del m["x"]
        m.add("y", 1)
        m.clear()
        assert len(m) == 0

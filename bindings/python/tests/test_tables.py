"""Tables and transactions, as programs use them."""

import base64
import collections.abc
import io
import os
import re
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import huon
import pytest


def test_a_table_is_a_mapping(env: huon.Env) -> None:
    with env.write() as txn:
        ages = txn["ages"]
        assert isinstance(ages, collections.abc.MutableMapping)
        ages[b"ada"] = b"36"
        ages.update({b"alan": b"41"})
        ages.update([(b"grace", b"85")])
        assert ages == {b"ada": b"36", b"alan": b"41", b"grace": b"85"}
        assert dict(ages) == dict(ages.items())
        assert list(ages) == [b"ada", b"alan", b"grace"] == list(reversed(list(reversed(ages))))
        assert b"ada" in ages and b"bob" not in ages and len(ages) == 3
        assert ages.pop(b"ada") == b"36" and ages.pop(b"ada", None) is None
        with pytest.raises(KeyError) as missing:
            ages.pop(b"ada")
        assert missing.value.args == (b"ada",)
        assert ages.setdefault(b"bob", b"1") == b"1" == ages.setdefault(b"bob", b"2")
        assert ages.setdefault(b"bob") == b"1"
        with pytest.raises(TypeError):
            ages.setdefault(b"eve")
        assert ages.popitem() == (b"grace", b"85") and ages.popitem(last=False) == (b"alan", b"41")
        del ages[b"bob"]
        for absent in (lambda: ages[b"bob"], lambda: ages.__delitem__(b"bob"), ages.popitem):
            with pytest.raises(KeyError):
                absent()
        assert not ages and ages.get(b"bob") is None and ages.get(b"bob", 7) == 7


def test_a_transaction_is_a_mapping(env: huon.Env) -> None:
    with env.write() as txn:
        assert txn.get("t") is None and txn.get("t", 7) == 7 and "t" not in txn
        txn["t"][b"a"] = b"1"
        txn["u"][b"b"] = b"2"
    both: list[Any] = [env.read(), env.write()]
    assert all(isinstance(one, collections.abc.Mapping) for one in both)
    for each in both:
        assert list(each.keys()) == ["t", "u"] == list(each)
        tables = {"t": {b"a": b"1"}, "u": {b"b": b"2"}}
        assert {name: dict(table) for name, table in each.items()} == tables
        assert [dict(table) for table in each.values()] == list(tables.values())
        assert {name: dict(table) for name, table in dict(each).items()} == tables
        assert each.keys() & {"t", "x"} == {"t"} and each.get("u")[b"b"] == b"2"
        match each:
            case {"t": table}:
                assert dict(table) == tables["t"]
            case _:
                raise AssertionError
        each.close()


def test_ranges(filled: huon.Env) -> None:
    def keys(*numbers: int) -> list[bytes]:
        return [b"%04d" % n for n in numbers]

    both: list[huon.ReadTxn | huon.WriteTxn] = [filled.read(), filled.write()]
    for txn in both:
        t = txn["t"]
        assert list(t.keys(prefix=b"010")) == keys(*range(100, 110))
        assert list(t.keys(start=b"0998")) == keys(998, 999)
        assert list(t.keys(stop=b"0002")) == keys(0, 1)
        assert list(t.keys(start=b"0010", stop=b"0012", reverse=True)) == keys(11, 10)
        assert list(t.keys(prefix=b"00", start=b"0098")) == keys(98, 99)
        assert list(t.keys(prefix=b"00", stop=b"0002")) == keys(0, 1)
        assert list(t.keys(reverse=True, limit=2)) == keys(999, 998)
        assert list(t.keys(start=b"5", stop=b"1")) == []
        assert list(t.keys(limit=0)) == []
        assert list(t.keys()) == keys(*range(1000))
        assert list(t.keys(reverse=True)) == keys(*reversed(range(1000)))
        assert list(reversed(t.keys(start=b"0997"))) == keys(999, 998, 997)
        assert list(t.values(prefix=b"0007")) == [b"value 7"]
        assert list(t.items(start=b"0999")) == [(b"0999", b"value 999")]
        assert len(t.keys(prefix=b"09")) == 100 and len(t.items(limit=5)) == 5
        assert t.count(b"0100", b"0200") == 100 == t.count(prefix=b"01")
        assert 500 < t.estimate() < 2000
        assert t.at_or_above(b"0500x") == (b"0501", b"value 501")
        assert t.at_or_below(b"0500x") == (b"0500", b"value 500")
        assert t.first() == (b"0000", b"value 0") and t.last() == (b"0999", b"value 999")
        txn.close()


def test_prefixes_that_end_in_ff(env: huon.Env) -> None:
    with env.write() as txn:
        t = txn["t"]
        t.put_many((key, b"") for key in (b"a", b"\xfe", b"\xff", b"\xff\xff", b"\xff\xff\x01"))
        assert list(t.keys(prefix=b"\xff\xff")) == [b"\xff\xff", b"\xff\xff\x01"]
        assert len(t.keys(prefix=b"")) == 5
        assert t.delete_range(prefix=b"\xff") == 3 and list(t) == [b"a", b"\xfe"]


def test_views_are_sets(filled: huon.Env) -> None:
    with filled.read() as txn:
        t = txn["t"]
        keys: Any = t.keys(prefix=b"000", limit=3)
        assert isinstance(keys, collections.abc.KeysView) and isinstance(keys, collections.abc.Set)
        assert keys & {b"0001", b"x"} == {b"0001"}
        assert keys - {b"0001"} == {b"0000", b"0002"}
        assert keys | {b"x"} == {b"0000", b"0001", b"0002", b"x"}
        assert keys ^ {b"0001"} == {b"0000", b"0002"}
        assert keys == {b"0000", b"0001", b"0002"} and keys.isdisjoint({b"x"})
        assert b"0001" in t.keys() and b"0001" not in t.keys(start=b"0002")
        assert (b"0001", b"value 1") in t.items() and (b"0001", b"") not in t.items()
        others: list[Any] = ["0001", 7, (b"0001",)]
        assert not any(other in t.keys() or other in t.items() for other in others)


def test_views_with_limits(filled: huon.Env) -> None:
    def keys(*numbers: int) -> list[bytes]:
        return [b"%04d" % n for n in numbers]

    both: list[huon.ReadTxn | huon.WriteTxn] = [filled.read(), filled.write()]
    for txn in both:
        t = txn["t"]
        assert list(reversed(t.keys(limit=2))) == keys(1, 0)
        assert list(reversed(t.keys(limit=2, reverse=True))) == keys(998, 999)
        assert list(reversed(t.values(start=b"0007", limit=1))) == [b"value 7"]
        view: Any = t.items(start=b"0100", stop=b"0200", limit=3)
        pairs = [(b"%04d" % n, b"value %d" % n) for n in range(99, 105)]
        assert [pair in view for pair in pairs] == [False, True, True, True, False, False]
        assert view == set(pairs[1:4]) and len(view) == 3 and view
        assert b"0197" in t.keys(stop=b"0200", reverse=True, limit=3)
        assert b"0196" not in t.keys(stop=b"0200", reverse=True, limit=3)
        assert not t.keys(limit=0) and not t.keys(prefix=b"x") and t.values(prefix=b"0999")
        txn.close()


def test_sets_on_the_left(filled: huon.Env) -> None:
    with filled.read() as txn:
        keys: Any = txn["t"].keys(limit=2)
        assert {b"0001", b"x"} & keys == {b"0001"} and {b"0001", b"x"} - keys == {b"x"}
        assert {b"x"} | keys == {b"0000", b"0001", b"x"} and {b"0000"} ^ keys == {b"0001"}


def test_a_short_range_does_not_count_the_rest(path: Path) -> None:
    """`list` asks for the length first: all leaves behind the range are damaged here."""
    with huon.open(path) as env, env.write() as txn:
        pairs = [(b"%06d" % n, b"value %06d" % n) for n in range(20_000)]
        txn["t"].bulk_load(pairs)
        txn.table("m", multi=True, create=True).bulk_append(pairs)
    path.write_bytes(re.sub(rb"value (00[2-9]|01)", rb"VALUE \1", path.read_bytes()))
    with huon.open(path) as env, env.read() as txn:
        for table in txn["t"], txn.table("m", multi=True):
            assert len(list(table.items(start=b"000000", limit=10))) == 10
            assert table.keys(start=b"0") and len(table.values(start=b"000000", limit=9)) == 9
            with pytest.raises(huon.CorruptError):
                len(table.keys(start=b"000001"))


def test_keys_do_not_read_values(env: huon.Env) -> None:
    """Batches end with their bytes, and the values that are not shown are none of them."""
    with env.write() as txn:
        txn["t"].put_many((b"%04d" % n, bytes(300_000)) for n in range(40))
        assert list(txn["t"].items())[39] == (b"0039", bytes(300_000))
        tracemalloc.start()
        assert list(txn["t"]) == [b"%04d" % n for n in range(40)]
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 300_000
    with env.read() as txn:
        assert list(txn["t"]) == [b"%04d" % n for n in range(40)]


def test_iteration_in_a_write_transaction_sees_its_changes(env: huon.Env) -> None:
    with env.write() as txn:
        t = txn["t"]
        t.put_many((b"%04d" % n, b"") for n in range(2000))
        for n, key in enumerate(t):
            assert int(key) == n
            del t[key]
        assert len(t) == 0
        t.put_many((b"%04d" % n, b"") for n in range(100))
        seen = []
        for key, value in t.items():
            seen.append((int(key), value))
            if key == b"0010":
                t.delete_range(b"0011", b"0050")
                t[b"0060"] = b"new"
                t[b"0000"] = b"behind"
        assert [n for n, _ in seen] == [*range(11), *range(50, 100)]
        assert (60, b"new") in seen and (0, b"") in seen


def test_many_at_once(env: huon.Env) -> None:
    with env.write() as txn:
        t = txn["t"]
        t.put_many({b"%06d" % n: b"%d" % n for n in range(5000)})
        keys = [b"%06d" % n for n in range(0, 6000, 2)]
        wanted = [b"%d" % n if n < 5000 else None for n in range(0, 6000, 2)]
        assert t.get_many(keys) == wanted and t.get_many(iter(keys[:9])) == wanted[:9]
        assert t.delete_many(keys) == 2500
    with env.read() as txn:
        t = txn["t"]
        assert t.get_many(keys) == [None] * 3000 and t.get_many([]) == []
        assert t.get_many([b"000001", bytearray(b"000003")]) == [b"1", b"3"]


def test_all_kinds_of_buffers(env: huon.Env) -> None:
    with env.write() as txn:
        t = txn["t"]
        t[bytearray(b"a")] = memoryview(b"xyz")[1:]
        t[memoryview(b"abc")[::2]] = memoryview(b"12345678").cast("I")
        assert dict(t) == {b"a": b"yz", b"ac": b"12345678"}
        for wrong in ("a", 7, None, [1]):
            with pytest.raises(TypeError, match="bytes-like"):
                t.put(wrong, b"")  # type: ignore[arg-type]


def test_bulk_load(env: huon.Env) -> None:
    with env.write() as txn:
        old, new = txn["old"], txn["new"]
        old.put_many((b"%06d" % n, b"v" * 50) for n in range(40_000))
        new.bulk_load(old.items())  # out of the same transaction
        assert len(new) == 40_000 and new.first() == old.first() and new.last() == old.last()
        with pytest.raises(huon.InvalidError):
            new.bulk_load([(b"x", b"")])
        new.bulk_append((b"x%d" % n, b"") for n in range(3))
        wrongs: list[Any] = [[(b"a", b"")], [(b"y", b"")] * 2, [(b"y", b""), (b"z", "")]]
        for wrong in wrongs:
            with pytest.raises((huon.KeyOrderError, TypeError)):
                new.bulk_append(wrong)
            assert len(new) == 40_003, "all of it is undone"

        def meddling() -> collections.abc.Iterator[tuple[bytes, bytes]]:
            yield b"y", old[b"000001"]
            old[b"x"] = b"a change"
            yield b"z", b""

        with pytest.raises(huon.MisuseError, match="bulk load"):
            new.bulk_append(meddling())
        assert len(new) == 40_003 and b"x" not in old
    assert env.check()["problem_count"] == 0


def test_other_changes(env: huon.Env) -> None:
    with env.write() as txn:
        t = txn["t"]
        assert t.insert(b"k", b"1") and not t.insert(b"k", b"2")
        assert t.replace(b"k", b"3") == b"1" and t.replace(b"l", b"") is None
        t.append(b"m", b"")
        with pytest.raises(huon.KeyOrderError):
            t.append(b"a", b"")
        assert t.delete(b"m") and not t.delete(b"m")
        assert (t.take_sequence(), t.take_sequence(10), t.take_sequence(0)) == (0, 1, 11)
        assert t.sequence == 11
        t.rename("u")
        assert txn.tables() == ["u"] and dict(txn["u"]) == {b"k": b"3", b"l": b""}
        txn["u"].clear()
        assert len(txn["u"]) == 0 and "u" in txn
        del txn["u"]
        with pytest.raises(KeyError):
            del txn["u"]
        assert "u" not in txn and list(txn) == [] and len(txn) == 0


def test_multimaps(env: huon.Env) -> None:
    with env.write() as txn:
        tags = txn.table("tags", multi=True, create=True)
        assert tags.add(b"red", b"2") and tags.add(b"red", b"1") and not tags.add(b"red", b"1")
        assert tags.add_values(b"blue", [b"9", b"7", b"9"]) == 2
        assert tags[b"red"] == [b"1", b"2"] == tags.get(b"red") and tags[b"green"] == []
        pairs = [(b"blue", b"7"), (b"blue", b"9"), (b"red", b"1"), (b"red", b"2")]
        assert list(tags.items()) == pairs and list(tags.items(reverse=True)) == pairs[::-1]
        assert list(tags) == [b"blue", b"red"] == list(tags.keys())
        assert list(tags.values()) == [b"7", b"9", b"1", b"2"]
        assert list(tags.values(b"red", reverse=True)) == [b"2", b"1"]
        assert list(tags.values(b"red", start=b"2")) == [b"2"] != list(tags.values(b"red"))
        assert list(tags.values(b"red", stop=b"2")) == [b"1"]
        assert len(tags.values(b"red", start=b"1", stop=b"2")) == 1
        assert not tags.values(b"red", start=b"3") and tags.values(b"red", start=b"2")
        with pytest.raises(ValueError, match="prefix"):
            tags.values(b"red", prefix=b"1")
        assert list(reversed(tags)) == [b"red", b"blue"] and 0 < tags.estimate() < 100
        assert (b"blue", b"9") not in tags.items(limit=1) and pairs[0] in tags.items(limit=1)
        assert pairs[2] in tags.items(reverse=True, limit=2) and pairs[1] in tags.items(limit=2)
        assert tags.has(b"red", b"2") and b"red" in tags and b"green" not in tags
        assert (len(tags), tags.count_values(b"red"), tags.count(b"a", b"c")) == (4, 2, 2)
        assert tags.get_many([b"red", b"green"]) == [[b"1", b"2"], []]
        assert tags.first() == pairs[0] and tags.last() == pairs[-1]
        tags.add_values(b"many", (b"%05d" % n for n in range(3000)))
        assert [int(v) for v in tags.values(b"many")] == list(range(3000))
        assert [int(v) for v in tags.values(b"many", reverse=True)] == list(range(2999, -1, -1))
        assert len(list(tags.items())) == 3004 == len(list(tags.items(reverse=True)))
        assert list(tags.items(prefix=b"r", limit=1)) == [(b"red", b"1")]
        middle = tags.values(b"many", start=b"00100", stop=b"01100", reverse=True)
        assert [int(v) for v in middle] == list(range(1099, 99, -1)) and len(middle) == 1000
        many = [b"many", b"none", *(b"%d" % n for n in range(300)), b"red"]
        found = tags.get_many(many)
        assert len(found[0]) == 3000 and found[1] == [] == found[300] and found[-1] == tags[b"red"]
        for value in tags.values(b"many"):
            assert tags.remove(b"many", value)
        assert tags.set(b"red", b"5") == 2 and tags.pop(b"red") == [b"5"]
        del tags[b"blue"]
        with pytest.raises(KeyError):
            del tags[b"blue"]
        assert len(tags) == 0
        tags.bulk_append((b"%03d" % (n // 3), b"%03d" % n) for n in range(900))
        assert tags.delete_range(b"100", b"200") == 300 and len(tags) == 600
        with pytest.raises(huon.TableKindError):
            txn.table("tags", multi=False)
        with pytest.raises(huon.TableKindError):
            txn["plain"].clear()
            txn.table("plain", multi=True)
        assert isinstance(txn["tags"], huon.MultiTable)


def test_with_commits_or_undoes(env: huon.Env) -> None:
    with env.write() as txn:
        txn["t"][b"kept"] = b"1"
    with pytest.raises(LookupError):
        with env.write() as txn:
            txn["t"][b"lost"] = b"2"
            raise LookupError
    with env.write() as txn:
        txn["t"][b"lost too"] = b"3"
        txn.abort()
    with env.write() as txn:
        txn["t"][b"early"] = b"4"
        txn.commit()
    with env.read() as read:
        assert list(read["t"]) == [b"early", b"kept"]


def test_nested(env: huon.Env) -> None:
    with env.write() as txn:
        t = txn["t"]
        with txn.nested() as child:
            child["t"][b"a"] = b"1"
            with pytest.raises(huon.MisuseError, match="nested"):
                t.get(b"a")
            with pytest.raises(RuntimeError):
                with child.nested() as grandchild:
                    grandchild["t"][b"b"] = b"2"
                    grandchild["made"][b"x"] = b""
                    raise RuntimeError
            assert child.tables() == ["t"]
        with txn.nested() as child:
            child["t"][b"c"] = b"3"
            with pytest.raises(huon.MisuseError, match="durable"):
                child.commit("durable")
            child.abort()
        txn.nested()["t"][b"d"] = b"4"  # forgotten, and so undone
        assert dict(t) == {b"a": b"1"}
        left = txn.nested()
        left["t"][b"e"] = b"5"
        with pytest.raises(huon.MisuseError):
            txn.commit()
        txn.abort()
        for ended in (left, txn):
            assert ended.closed
            with pytest.raises(huon.MisuseError, match="ended"):
                ended["t"]


def test_snapshots(filled: huon.Env) -> None:
    old = filled.read()
    with filled.write(durability="durable") as txn:
        txn["t"].clear()
    with filled.read() as new:
        assert len(old["t"]) == 1000 and len(new["t"]) == 0 and new.id > old.id
        assert old.ids_behind > 0 and new.ids_behind == 0
    t = old["t"]
    assert old.renew() and not old.renew() and len(t) == 0
    old.park()
    with pytest.raises(huon.MisuseError, match="parked"):
        len(t)
    assert old.parked
    old.unpark()
    assert len(t) == 0
    old.close()
    old.close()
    assert old.closed


def test_durability(path: Path) -> None:
    with huon.open(path, durability="lazy") as env:
        assert str(env.durability) == "lazy"
        with env.write() as txn:
            txn["t"][b"a"] = b"1"
        assert env.durable_id < env.info()["visible"]
        assert env.sync() == env.durable_id == env.info()["visible"]
        txn = env.write()
        txn["t"][b"b"] = b"2"
        ticket = txn.commit_ticket()
        assert ticket.wait(timeout=60) and ticket.durable and ticket.id == env.durable_id
        with env.write(durability="durable") as txn:
            txn["t"][b"c"] = b"3"
        assert env.durable_id == env.info()["visible"]
        env.configure(durability="durable", lock_timeout=1.5)
        assert str(env.durability) == "durable" and not env.flush_if_due()
    wrong: Any = "maybe"
    with pytest.raises(ValueError, match="durability"):
        huon.open(path, durability=wrong)


def test_options_and_reports(path: Path) -> None:
    with huon.open(path, page_bytes=8192, max_bytes=1 << 24, journal_bytes=1 << 20) as env:
        with env.write() as txn:
            txn["t"].put_many((b"%05d" % n, b"x" * 100) for n in range(10_000))
        with env.write() as txn:
            txn["t"].delete_range(b"00100")
        info = env.info()
        assert (info["page_bytes"], info["max_bytes"]) == (8192, 1 << 24) and info["journal"]
        tables = {table["name"]: table for table in env.stat()["tables"]}
        assert tables["t"]["entries"] == 100
        steps: list[tuple[int, int]] = []
        assert env.check(progress=lambda *step: steps.append(step))["problems"] == []
        report = env.compact(durability="durable")
        assert report["after_bytes"] <= report["before_bytes"]
        with pytest.raises(huon.BusyError):
            huon.delete(path)
        with pytest.raises(huon.MapFullError):
            with env.write() as txn:
                txn["t"].put_many((b"%05d" % n, b"x" * 4000) for n in range(10_000))
    with huon.open(path, read_only=True) as env:
        with pytest.raises(huon.ReadOnlyError):
            env.write()
        assert len(env.read()["t"]) == 100
    assert huon.delete(path) and not huon.delete(path)
    with pytest.raises(FileNotFoundError):
        huon.open(path, create=False)
    path.write_bytes(b"something else" * 1000)
    with pytest.raises(huon.NotADatabaseError) as wrong:
        huon.open(path)
    assert wrong.value.code == 14


def test_copies(filled: huon.Env, tmp_path: Path) -> None:
    old = filled.read()
    with filled.write() as txn:
        txn["t"].clear()
    assert filled.copy(tmp_path / "a.huon")["bytes"] == (tmp_path / "a.huon").stat().st_size
    filled.copy(str(tmp_path / "b.huon"), compact=True, snapshot=old, progress=lambda a, b: None)
    with open(tmp_path / "c.huon", "wb") as file:
        filled.copy(file, snapshot=old)
    with open(tmp_path / "d.huon", "wb") as file:
        filled.copy(file.fileno(), snapshot=old)
    for name, count in ("a", 0), ("b", 1000), ("c", 1000), ("d", 1000):
        with huon.open(tmp_path / f"{name}.huon") as copy:
            assert len(copy.read()["t"]) == count and not copy.check()["problems"]
    with pytest.raises(FileExistsError):
        filled.copy(tmp_path / "a.huon")
    with pytest.raises(ValueError):
        filled.copy(10_000)
    filled.copy(os.fsencode(tmp_path / "e.huon"), snapshot=old)
    with huon.open(os.fsencode(tmp_path / "e.huon"), create=False) as copy:
        assert len(copy.read()["t"]) == 1000
    assert huon.delete(os.fsencode(tmp_path / "e.huon"))

    class Blocked(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> Any:
            return None  # as a pipe does that would block

    with pytest.raises(BlockingIOError):
        filled.copy(Blocked())

    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(28, "no space left")

    def stop(done: int, whole: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(OSError, match="no space left"):
        filled.copy(Full())
    for long in (filled.check, filled.compact):
        try:
            long(progress=stop)
        except KeyboardInterrupt:
            pass
    old.close()


def test_how_it_was_found(path: Path) -> None:
    for wanted in "new", "clean":
        with huon.open(path) as env:
            assert str(env.recovery) == wanted
            with env.write() as txn:
                txn["t"][b"a"] = b"1"


# A file that C has made: its table `r` compares keys from their last byte on (HUON_ORDER_REVERSED).
REVERSED = zlib.decompress(base64.b85decode(
    b"c-rmSu}Z^07y#f)Y(b^c4hqf{9DN2Cp*ScG;wIP#-31FO;@|`5?gO}~tLWe$E-oUDii;rV=H?*SB&98-lZy)92X}"
    b"w&?$45&{@m4;7Z;+?HL-d&etJB*I{kK6`a0YhyMCBisa_rIg-Qr<YrQu&w8v>H<ikqV4~H-m0001hzoOPx|KC2}K"
    b"fYcb-3+S#)4aH+?hm2+PoTg4FSgf*!r=D?iEIY|00000008_*W45~0IDeQ=&*|e3b<XMMLg<Vx%1-71007{Z%!W|"
    b"eNblW8QTKj*u`em^c^*{7PcEJ8ZjS613R!NklRuU9rB+*Cdn%{1YxS2bCiV9$){~EXe*3c=+YJB!0QfCYR=zi*ta"
    b"{Hvl81VdPi{ATBme*a00000000000000000000000000000000000000000000000000{)2D*%`>w"
))


def test_tables_of_another_order(path: Path) -> None:
    path.write_bytes(REVERSED)
    with huon.open(path) as env, env.read() as txn:
        r = txn["r"]
        keys = [b"da", b"ab", b"cb", b"bc", b"az"]
        assert list(r) == keys and list(r.keys(start=b"cb")) == keys[2:]
        assert [key in r.keys(start=b"cb") for key in keys] == [False, False, True, True, True]
        assert [key in r.keys(stop=b"cb") for key in keys] == [True, True, False, False, False]
        shown = r.items(start=b"ab", limit=2)
        assert [(key, b"v") in shown for key in keys] == [False, True, True, False, False]
        for ask in r.count, r.estimate, r.keys:
            with pytest.raises(huon.PrefixOrderError):
                ask(prefix=b"a")


def test_in_memory() -> None:
    with huon.open(None) as env:
        with env.write() as txn:
            txn["t"][b"a"] = b"1"
        assert env.path is None and dict(env.read()["t"]) == {b"a": b"1"}


def test_names_of_tables(env: huon.Env) -> None:
    with env.write() as txn:
        for name in "gr\u00f6\u00dfe", b"\xff\xfe", b"plain":
            assert len(txn[name]) == 0
        names: list[Any] = list(txn.tables())
        assert names == ["gr\u00f6\u00dfe", "plain", b"\xff\xfe"]
        assert txn["gr\u00f6\u00dfe"].name == "gr\u00f6\u00dfe"
        assert repr(txn["plain"]) == "<huon.Table 'plain'>"

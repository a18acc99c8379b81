"""Write-optimised tables, as programs use them, and use them wrongly."""

import collections.abc
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huon
import pytest
from test_processes import in_child


def add(older: bytes, newer: bytes) -> bytes:
    return b"%d" % (int(older) + int(newer))


def load(env: huon.Env, table: huon.LsmTable, rounds: int, count: int = 1000) -> None:
    """Some runs, with the same keys in each."""
    for number in range(rounds):
        with env.write() as txn:
            records = ((b"%05d" % (n * 7919 % 10007), b"%d" % number) for n in range(count))
            table.open(txn).put_many(records)


@pytest.fixture
def lsm(env: huon.Env) -> huon.Lsm:
    return env.lsm(fan=4, small=16)


def test_a_table_is_a_mapping(env: huon.Env, lsm: huon.Lsm) -> None:
    txn: huon.ReadTxn | huon.WriteTxn
    table = lsm.table("ages")
    with env.write() as txn:
        ages = table.open(txn)
        assert isinstance(ages, collections.abc.MutableMapping)
        assert not ages and len(ages) == 0 and ages.first() is None and ages.name == "ages"
        ages[b"ada"] = b"36"
        ages.update({b"alan": b"41"})
        ages.update([(b"grace", b"85")])
        assert ages == {b"ada": b"36", b"alan": b"41", b"grace": b"85"} and bool(ages)
        assert list(ages) == [b"ada", b"alan", b"grace"] == list(reversed(list(reversed(ages))))
        assert b"ada" in ages and b"bob" not in ages and len(ages) == 3
        assert ages.pop(b"ada") == b"36" and ages.pop(b"ada", None) is None
        assert ages.setdefault(b"bob", b"1") == b"1" == ages.setdefault(b"bob", b"2")
        assert ages.insert(b"eve", b"7") and not ages.insert(b"eve", b"8")
        assert ages.put_if_present(b"eve", b"9") and not ages.put_if_present(b"mallory", b"")
        assert ages.replace(b"eve", b"10") == b"9" and ages.replace(b"zoe", b"1") is None
        assert ages.popitem() == (b"zoe", b"1") and ages.popitem(last=False) == (b"alan", b"41")
        del ages[b"bob"]
        for absent in (lambda: ages[b"bob"], lambda: ages.__delitem__(b"bob"),
                       lambda: ages.pop(b"bob")):
            with pytest.raises(KeyError) as missing:
                absent()
            assert missing.value.args == (b"bob",)
        ages.delete(b"never there")
        ages.delete_many([b"eve", b"grace"])
        with pytest.raises(KeyError):
            ages.popitem()
        ages.put_many({b"ada": b"36", b"bob": b"47"})
    with env.read() as txn:
        ages = table.open(txn)
        assert dict(ages) == dict(ages.items()) == {b"ada": b"36", b"bob": b"47"}
        assert ages.get(b"x") is None and ages.get(b"x", 7) == 7 and ages.get(b"ada", 7) == b"36"
        assert ages.get_many([b"bob", b"x", bytearray(b"ada")]) == [b"47", None, b"36"]
        assert ages.at_or_above(b"b") == (b"bob", b"47") == ages.last()
        assert ages.at_or_below(b"b") == (b"ada", b"36") == ages.first()
        assert ages.keys() & {b"ada", b"x"} == {b"ada"} and (b"ada", b"36") in ages.items()
        assert lsm.names(txn) == ["ages"] and "ages" not in txn
        assert repr(ages) == "<huon.LsmMapping 'ages'>" and repr(table) == "<huon.LsmTable 'ages'>"


def test_ranges(env: huon.Env, lsm: huon.Lsm) -> None:
    txn: huon.ReadTxn | huon.WriteTxn
    table = lsm.table("t")
    for part in range(5):
        with env.write() as txn:
            table.open(txn).put_many((b"%04d" % n, b"v%d" % n) for n in range(part, 1000, 5))

    def keys(*numbers: int) -> list[bytes]:
        return [b"%04d" % n for n in numbers]

    both: list[huon.ReadTxn | huon.WriteTxn] = [env.read(), env.write()]
    for txn in both:
        t = table.open(txn)
        assert list(t.keys()) == keys(*range(1000)) and len(t) == 1000
        assert list(t.keys(reverse=True)) == keys(*reversed(range(1000)))
        assert list(t.keys(prefix=b"010")) == keys(*range(100, 110))
        assert list(t.keys(start=b"0010", stop=b"0012", reverse=True)) == keys(11, 10)
        assert list(t.keys(reverse=True, limit=2)) == keys(999, 998)
        assert list(t.keys(start=b"5", stop=b"1")) == [] == list(t.keys(limit=0))
        assert list(reversed(t.values(start=b"0998"))) == [b"v999", b"v998"]
        assert list(t.items(start=b"0999")) == [(b"0999", b"v999")]
        assert t.count(b"0100", b"0200") == 100 == t.count(prefix=b"01")
        assert len(t.keys(prefix=b"09")) == 100 and len(t.items(limit=5)) == 5
        assert t.estimate() == 1000 and 50 < t.estimate(prefix=b"01") < 200
        assert t.get_many(keys(*range(1000))) == [b"v%d" % n for n in range(1000)]
        txn.close()


def test_a_loop_that_changes_its_table(env: huon.Env, lsm: huon.Lsm) -> None:
    table = lsm.table("t")
    with env.write() as txn:
        t = table.open(txn)
        t.put_many((b"%04d" % n, b"") for n in range(100))
        passed = []
        for key in t:
            passed.append(key)
            t.delete(b"%04d" % (int(key) + 1))
            if key == b"0050":
                t[b"0050x"] = b""
                break
        assert passed == [b"%04d" % n for n in range(0, 51, 2)]
        t.delete_range(b"0010", b"0090")
        t.delete_range(prefix=b"009")
        assert list(t) == [b"%04d" % n for n in range(0, 10, 2)]
        t.clear()
        assert not t


def test_one_commit_has_both_kinds(env: huon.Env, lsm: huon.Lsm) -> None:
    txn: huon.ReadTxn | huon.WriteTxn
    table = lsm.table("events")
    with pytest.raises(LookupError):
        with env.write() as txn:
            table.open(txn)[b"a"] = txn["totals"].setdefault(b"n", b"1")
            raise LookupError
    with env.write() as txn:
        assert not table.open(txn)
        table.open(txn)[b"a"] = txn["totals"].setdefault(b"n", b"1")
        with txn.nested() as part:
            table.open(part)[b"b"] = b"2"
            with pytest.raises(huon.MisuseError):
                table.open(txn)
        with txn.nested() as part:
            table.open(part).clear()
            part.abort()
    with env.read() as txn:
        assert table.open(txn) == {b"a": b"1", b"b": b"2"} and txn["totals"] == {b"n": b"1"}
    with env.write() as txn:
        table.open(txn).drop()
    with env.read() as txn:
        assert lsm.names(txn) == []


def test_records_that_end(env: huon.Env, lsm: huon.Lsm) -> None:
    table = lsm.table("sessions")
    with env.write() as txn:
        t = table.open(txn)
        t.put_until(b"a", b"1", time.time() + 3600)
        t.put_until(b"b", b"2", time.time() - 1)
        for wrong in float("nan"), -1.0, float("inf"):
            with pytest.raises(ValueError):
                t.put_until(b"c", b"", wrong)
        assert t == {b"a": b"1"}
    batch = lsm.batch()
    batch.put_until(table, b"c", b"3", time.time() + 0.2)
    lsm.write(batch)
    while table.open(env.read()).get(b"c") is not None:
        time.sleep(0.01)
    assert list(table.open(env.read())) == [b"a"]


def test_batches_of_threads(env: huon.Env, lsm: huon.Lsm) -> None:
    hits, others = lsm.table("hits", merge=("sum", add)), lsm.table("others")

    def work(number: int) -> None:
        for each in range(20):
            batch = lsm.batch()
            assert not batch and batch.bytes == 0
            batch.merge(hits, b"all", b"1")
            batch.put(others, b"%d %d" % (number, each), b"x")
            batch.put_many(others, {b"gone": b"", b"gone too": b"", b"kept": b""})
            batch.delete(others, b"gone")
            batch.delete_range(others, prefix=b"gone")
            assert batch and batch.bytes > 0
            assert lsm.write(batch) > 0 and not batch

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with env.read() as txn:
        assert hits.open(txn) == {b"all": b"80"}
        names = [b"%d %d" % (n, each) for n in range(4) for each in range(20)]
        assert list(others.open(txn)) == sorted(names) + [b"kept"]
    with env.write(), pytest.raises(huon.ThreadWritesError):
        lsm.write(lsm.batch())


@pytest.mark.parametrize("work", ["due", "all"])
def test_compaction(env: huon.Env, lsm: huon.Lsm, work: Any) -> None:
    table = lsm.table("t")
    load(env, table, 6)
    told: list[int] = []
    before = table.open(env.read())
    stat, records = before.stat(), list(before.items())
    assert stat["runs"] > 1 and stat["records"] > 1000 and stat["fan"] == 4
    steps = lsm.compact("t", work=work, progress=told.append)
    after = table.open(env.read())
    if work == "all":
        assert steps > 0 and told[-1] == steps and after.stat()["runs"] == 1
        assert after.stat()["records"] == 1000 and after.stat()["debt_bytes"] == 0
    assert after.stat()["runs"] <= stat["runs"]
    assert list(before.items()) == records == list(after.items())
    report = after.check()
    assert report["problems"] == [] and sum(run["records"] for run in report["runs"]) >= 1000
    assert lsm.compact(work="shorten") >= 0
    assert not env.check()["problems"]


def test_compaction_releases_the_interpreter(env: huon.Env, lsm: huon.Lsm) -> None:
    """Other threads go on: without a step of this one, it would never end."""
    table = lsm.table("t")
    load(env, table, 4)
    asked, answered = threading.Event(), threading.Event()

    def other() -> None:
        asked.wait()
        answered.set()

    thread = threading.Thread(target=other)
    thread.start()
    lsm.compact(work="all", progress=lambda steps: asked.set())
    assert answered.wait(60)
    thread.join()


def test_what_ends_a_compaction(env: huon.Env) -> None:
    lsm = env.lsm(step_bytes=4096)
    table = lsm.table("t")
    load(env, table, 4, 4000)
    steps: list[int] = []

    def tell(count: int) -> None:
        steps.append(count)
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        lsm.compact(work="all", progress=tell)
    assert steps == [1]
    begun: list[int] = []

    def interrupt(count: int) -> None:
        begun.append(count)
        if count == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        lsm.compact(work="all", progress=interrupt)
    assert len(begun) < 4
    with env.read() as txn:
        assert len(table.open(txn)) == 4000 and not table.open(txn).check()["problems"]
    assert lsm.compact(work="all") > 0
    with pytest.raises(ValueError, match="due, all, shorten"):
        lsm.compact(work="some")  # type: ignore[arg-type]


def test_ctrl_c_while_it_waits_for_the_merge_of_others(env: huon.Env) -> None:
    """Without a function that is told of steps."""
    first, second = env.lsm(step_bytes=4096, lease=60), env.lsm(lease=60)
    load(env, first.table("t"), 4, 4000)

    def leave(count: int) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        first.compact(work="all", progress=leave)
    stop = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        second.compact(work="all")
    assert time.monotonic() - start < 50
    stop.join()
    assert first.compact(work="all") > 0, "its merge was left to it"


def test_threads_that_merge(env: huon.Env, lsm: huon.Lsm) -> None:
    txn: huon.ReadTxn | huon.WriteTxn
    hits = lsm.table("hits", merge=("sum", add))
    with lsm.compactor() as compactor:
        for _ in range(40):
            with env.write() as txn:
                t = hits.open(txn)
                for n in range(100):
                    t.merge(b"%d" % n, b"1")
        assert not compactor.failed and not compactor.stopped
    assert compactor.stopped and repr(compactor) == "<huon.Compactor, stopped>"
    compactor.stop()
    with env.read() as txn:
        assert dict(hits.open(txn).items()) == {b"%d" % n: b"40" for n in range(100)}
    lsm.compactor()  # forgotten at once
    gc.collect()
    with pytest.raises(LookupError):
        with lsm.compactor():
            raise LookupError


def test_a_function_that_raises(env: huon.Env, lsm: huon.Lsm) -> None:
    txn: huon.ReadTxn | huon.WriteTxn
    fails = True

    def sometimes(older: bytes, newer: bytes) -> bytes:
        if fails:
            raise LookupError("no sum")
        return add(older, newer)

    table = lsm.table("t", merge=("sometimes", sometimes))
    for _ in range(2):
        with env.write() as txn:
            t = table.open(txn)
            t.merge(b"a", b"1")
            t.put_many((b"%d" % n, b"1") for n in range(50))
    with pytest.raises(LookupError, match="no sum"):
        with env.write() as txn:
            t = table.open(txn)
            for _ in range(2):
                t.merge(b"never", b"1")
    with env.read() as txn:
        assert b"never" not in table.open(txn), "a commit that needs the function fails"
        t = table.open(txn)
        uses: list[Callable[[], Any]] = [
            lambda: t[b"a"], lambda: t.get(b"a"), lambda: t.get_many([b"a"]),
            lambda: t.get_many([b"a"] * 300), lambda: t.view(b"a"), lambda: list(t),
            lambda: list(reversed(t.items())), lambda: t.at_or_above(b"a"),
        ]
        for use in uses:
            with pytest.raises(LookupError, match="no sum"):
                use()
        assert t.get(b"7") == b"1" and b"a" in t, "other keys are as they were"
    with env.write() as txn:
        t = table.open(txn)
        t[b"b"] = b"2"
        with pytest.raises(LookupError):
            t.replace(b"a", b"1")
        assert t[b"b"] == b"2", "the transaction is whole"
    with pytest.raises(LookupError):
        lsm.compact("t", work="all")
    compactor = lsm.compactor()
    for _ in range(12):
        with env.write() as txn:
            t = table.open(txn)
            t.put_many((b"%d" % n, b"1") for n in range(50))
            t.merge(b"a", b"1")
    while not compactor.failed:
        time.sleep(0.01)
    with pytest.raises(LookupError, match="no sum"):
        compactor.stop()
    compactor.stop()
    fails = False
    with env.read() as txn:
        assert table.open(txn)[b"a"] == b"14"
    lsm.compact("t", work="all")
    with env.read() as txn:
        assert table.open(txn)[b"a"] == b"14" and not table.open(txn).check()["problems"]


def test_functions_that_return_something_else(env: huon.Env, lsm: huon.Lsm) -> None:
    wrong: Any = lambda older, newer: 7  # noqa: E731
    table = lsm.table("t", merge=("wrong", wrong))
    with env.write() as txn:
        t = table.open(txn)
        t.merge(b"a", b"1")
        with pytest.raises(TypeError, match="bytes-like"):
            t.merge(b"a", b"2")
            t.get(b"a")
        txn.abort()
    inner: list[Any] = []

    def nosy(older: bytes, newer: bytes) -> bytes:
        inner.append(nosy_table.open(open_txn).get(b"b"))
        return add(older, newer)

    nosy_table = lsm.table("nosy", merge=("nosy", nosy))
    for _ in range(2):
        with env.write() as txn:
            nosy_table.open(txn).merge(b"a", b"1")
            nosy_table.open(txn).put_many((b"x%d" % n, b"1") for n in range(20))
    open_txn: huon.ReadTxn | huon.WriteTxn = env.read()
    with open_txn:
        assert nosy_table.open(open_txn)[b"a"] == b"2" and inner == [None]
    open_txn = env.write()
    with open_txn:
        with pytest.raises(huon.MisuseError):
            nosy_table.open(open_txn)[b"a"]


def test_operators_have_names(env: huon.Env, lsm: huon.Lsm) -> None:
    table = lsm.table("t", merge=("sum", add))
    with env.write() as txn:
        table.open(txn).merge(b"a", b"1")
    with pytest.raises(huon.DecodeError, match="sum"):
        env.lsm().table("t", merge=("product", add))
    without = env.lsm().table("t")
    with env.write() as txn, pytest.raises(huon.InvalidError):
        without.open(txn).merge(b"a", b"1")
    with pytest.raises(huon.InvalidError):
        lsm.table("u", merge=("", add))
    for wrong in [("sum", 7), "sum", ("sum",)]:
        with pytest.raises((TypeError, ValueError)):
            lsm.table("u", merge=wrong)  # type: ignore[arg-type]


def test_views(env: huon.Env, lsm: huon.Lsm) -> None:
    table = lsm.table("t", merge=("sum", add))
    for _ in range(2):
        with env.write() as txn:
            t = table.open(txn)
            t.merge(b"folded", b"7")
            t[b"large"] = bytes(100_000)
            t.put_many((b"%d" % n, b"") for n in range(20))
    read = env.read()
    t = table.open(read)
    view, folded = t.view(b"large"), t.view(b"folded")
    assert view is not None and folded is not None and t.view(b"x") is None
    assert bytes(folded) == b"14" and view.nbytes == 100_000 and view.readonly
    with pytest.raises(BufferError):
        read.close()
    with pytest.raises(BufferError):
        read.renew()
    lsm.compact(work="all")
    env.close()
    assert bytes(folded) == b"14" and bytes(view) == bytes(100_000)
    view.release()
    folded.release()
    read.close()


def test_a_closed_environment(path: Path) -> None:
    env = huon.open(path)
    lsm = env.lsm()
    table, batch, compactor = lsm.table("t"), lsm.batch(), lsm.compactor()
    with env.write() as txn:
        table.open(txn)[b"a"] = b"1"
    read = env.read()
    t, late = table.open(read), env.write()
    table.open(late)[b"late"] = b"2"
    env.close()
    assert lsm.closed and compactor.stopped and repr(lsm) == "<huon.Lsm, closed>"
    uses: list[Callable[[], Any]] = [
        lambda: t.get(b"a"), lambda: list(t), lambda: len(t), lambda: table.open(read),
        lambda: t.keys() & {b"a"}, lsm.batch, lambda: lsm.write(batch), lsm.compact,
        lsm.compactor, lambda: lsm.table("u"), lambda: batch.put(table, b"a", b""),
        lambda: lsm.names(read), lambda: t.put(b"a", b""), t.stat, t.check,
    ]
    for use in uses:
        with pytest.raises(huon.MisuseError, match="closed"):
            use()
    late.commit()
    read.close()
    assert lsm.env is env
    with huon.open(path) as other, other.read() as now, other.lsm() as again:
        assert again.table("t").open(now) == {b"a": b"1", b"late": b"2"}
    del late, now
    assert huon.delete(path), "nothing keeps the file open"


def test_use_after_the_end(env: huon.Env, lsm: huon.Lsm) -> None:
    table = lsm.table("t")
    write = env.write()
    t = table.open(write)
    t[b"a"] = b"1"
    walk = iter(t.items())
    write.commit()
    uses: list[Callable[[], Any]] = [
        lambda: t.get(b"a"), lambda: t.put(b"b", b""), lambda: next(walk), t.clear, t.stat,
        lambda: t.merge(b"a", b""), lambda: len(t), lambda: table.open(write), t.drop,
    ]
    for use in uses:
        with pytest.raises(huon.MisuseError, match="ended"):
            use()
    with env.read() as read:
        t = table.open(read)
        changes: list[Callable[[], Any]] = [
            lambda: t.put(b"a", b""), lambda: t.delete(b"a"), t.clear, t.popitem,
            lambda: t.put_many([]), lambda: t.setdefault(b"a"), lambda: t.delete_many([b"a"]),
        ]
        for change in changes:
            with pytest.raises(huon.MisuseError, match="only reads"):
                change()


def test_what_does_not_fit(env: huon.Env, lsm: huon.Lsm) -> None:
    table = lsm.table("t")
    with pytest.raises(huon.InvalidError):
        lsm.table("")
    for options in [{"fan": 1}, {"filter_bits": 65}, {"lease": 61.0}, {"step_bytes": 0}]:
        with pytest.raises(huon.InvalidError):
            env.lsm(**options)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        env.lsm(lease=-1)
    with pytest.raises(OverflowError):
        env.lsm(fan=-1)
    with env.write() as txn:
        t = table.open(txn)
        with pytest.raises(huon.KeyTooLongError):
            t[bytes(100_000)] = b""
        wrong: list[Callable[[], Any]] = [
            lambda: t.put("a", b""),  # type: ignore[arg-type]
            lambda: t.get("a"),  # type: ignore[call-overload]
            lambda: t.put_many([7]), lambda: t.update(a=b""),  # type: ignore[list-item]
            lambda: table.open(env), lambda: lsm.names(7),  # type: ignore[arg-type]
        ]
        for use in wrong:
            with pytest.raises(TypeError):
                use()
        assert not t
    with huon.open(None) as other, other.write() as txn:
        with pytest.raises(huon.InvalidError):
            table.open(txn)[b"a"] = b""
        with pytest.raises(huon.InvalidError):
            table.open(txn).get(b"a")
    batch = lsm.batch()
    with huon.open(None) as other:
        batch.put(other.lsm().table("t"), b"a", b"")
        with pytest.raises(huon.InvalidError):
            lsm.write(batch)
        assert not batch


def test_a_function_that_leads_back_to_its_environment(path: Path) -> None:
    class Store:
        def __init__(self) -> None:
            self.env = huon.open(path)
            self.lsm = self.env.lsm()
            self.table = self.lsm.table("t", merge=("own", self.own))
            with self.env.write() as txn:
                self.table.open(txn).merge(b"a", b"1")

        def own(self, older: bytes, newer: bytes) -> bytes:
            return older

    gone = weakref.ref(Store())
    gc.collect()
    assert gone() is None and huon.delete(path), "the file is not open any more"


def test_a_forked_child_goes_on(env: huon.Env, lsm: huon.Lsm) -> None:
    txn: huon.ReadTxn | huon.WriteTxn
    table = lsm.table("t", merge=("sum", add))
    compactor = lsm.compactor()
    load(env, table, 3)

    def child() -> None:
        signal.alarm(120)
        compactor.stop()  # it has none
        with env.write() as txn:
            table.open(txn).merge(b"00000", b"100")
        batch = lsm.batch()
        batch.put(table, b"of the child", b"1")
        lsm.write(batch)
        lsm.compact(work="all")
        with lsm.compactor(), env.read() as txn:
            assert table.open(txn).get(b"00000") == b"102"
        env.close()

    assert in_child(child) == 0
    with env.read() as txn:
        t = table.open(txn)
        assert t[b"of the child"] == b"1" and t[b"00000"] == b"102"
    assert not compactor.failed
    compactor.stop()


def test_forks_while_functions_run(env: huon.Env, lsm: huon.Lsm) -> None:
    """Threads that merge with a Python function leave no lock to a child."""
    table, over = lsm.table("t", merge=("sum", add)), threading.Event()

    def work() -> None:
        while not over.is_set():
            batch = lsm.batch()
            for n in range(50):
                batch.merge(table, b"%d" % n, b"1")
            lsm.write(batch)
            with env.read() as txn:
                list(table.open(txn).items())

    def child() -> None:
        signal.alarm(120)
        with env.write(timeout=60) as txn:
            table.open(txn)[b"child"] = b"1"
        with env.read() as txn:
            t = table.open(txn)
            assert t[b"child"] == b"1" and len({*t.values()}) >= 1

    threads = [threading.Thread(target=work) for _ in range(2)]
    with lsm.compactor():
        for thread in threads:
            thread.start()
        try:
            assert [in_child(child) for _ in range(5)] == [0] * 5
        finally:
            over.set()
            for thread in threads:
                thread.join()


def test_a_program_that_stops_nothing_ends(path: Path) -> None:
    program = f"""
import huon
env = huon.open({str(path)!r}, durability="lazy")
lsm = env.lsm(fan=2, runs_max=4)
hits = lsm.table("hits", merge=("sum", lambda a, b: b"%d" % (int(a) + int(b))))
compactor = lsm.compactor()
for _ in range(30):
    with env.write() as txn:
        t = hits.open(txn)
        for n in range(200):
            t.merge(b"%d" % n, b"1")
print(hits.open(env.read())[b"7"].decode())
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=300, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"30\n"), done.stderr

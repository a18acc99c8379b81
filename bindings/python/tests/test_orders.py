"""Tables whose keys a Python function compares."""

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huon
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sortedcontainers import SortedDict  # type: ignore[import-untyped]
from test_processes import in_child


def by_length(a: bytes, b: bytes) -> int:
    return len(a) - len(b) or (a > b) - (a < b)


def folded(a: bytes, b: bytes) -> int:
    """It takes keys for the same that are not the same bytes."""
    a, b = a.lower(), b.lower()
    return (a > b) - (a < b)


BY_LENGTH: Any = ("by-length", by_length)


def words(txn: huon.ReadTxn | huon.WriteTxn, order: Any = BY_LENGTH) -> huon.Table:
    if isinstance(txn, huon.ReadTxn):
        return txn.table("words", order=order)
    return txn.table("words", create=True, order=order)


def number(n: int) -> bytes:
    return b"%d" % n


@pytest.fixture
def numbers(env: huon.Env) -> huon.Env:
    """A table of a thousand numbers without leading zeros, by length: so they are in order."""
    with env.write() as txn:
        t = words(txn)
        some = list(range(1000))
        random.Random(7).shuffle(some)
        t.put_many((number(n), b"v%d" % n) for n in some)
    return env


def test_keys_are_in_the_order_of_the_function(numbers: huon.Env) -> None:
    both: list[huon.ReadTxn | huon.WriteTxn] = [numbers.read(), numbers.write()]
    for txn in both:
        t = words(txn)
        assert [int(key) for key in t] == list(range(1000)) == [int(k) for k in t.keys()]
        assert [int(key) for key in reversed(t)] == list(reversed(range(1000)))
        assert list(t.keys(start=b"98", stop=b"102")) == [b"98", b"99", b"100", b"101"]
        assert list(t.keys(start=b"98", stop=b"102", reverse=True, limit=1)) == [b"101"]
        assert t.first() == (b"0", b"v0") and t.last() == (b"999", b"v999")
        assert t.at_or_above(b"0999") is None and t.at_or_below(b"00") == (b"9", b"v9")
        assert t[b"77"] == b"v77" and b"77" in t and b"077" not in t and t.get(b"x") is None
        assert t.get_many([number(n) for n in range(999)]) == [b"v%d" % n for n in range(999)]
        assert t.count(b"10", b"100") == 90 and len(t.keys(start=b"990")) == 10
        assert b"99" in t.keys(start=b"98", limit=2) and b"100" not in t.keys(start=b"98", limit=2)
        with pytest.raises(huon.PrefixOrderError):
            t.keys(prefix=b"9")
        txn.close()
    with numbers.write() as txn:
        t = words(txn)
        assert t.delete_range(b"10", b"990") == 980 and t.popitem() == (b"999", b"v999")
        t.append(b"1000", b"")
        with pytest.raises(huon.KeyOrderError):
            t.append(b"999", b"")
        t.clear()
        t.bulk_load((number(n), b"") for n in range(500))
        assert len(t) == 500 and t.pop(b"7") == b""
    assert not numbers.check()["problems"]


def test_orders_by_name(env: huon.Env, numbers: huon.Env, path: Path) -> None:
    with env.write() as txn:
        orders: list[tuple[Any, list[bytes]]] = [
            ("bytes", [b"aa", b"ab", b"ba"]), ("reversed", [b"aa", b"ba", b"ab"]),
        ]
        for name, keys in orders:
            t = txn.table(name, create=True, order=name)
            t.update({key: b"" for key in keys})
            assert list(t) == keys
        t = txn.table("u64", create=True, order="u64")
        t.update({n.to_bytes(8, "little"): b"" for n in (1000, 1, 256)})
        assert [int.from_bytes(key, "little") for key in t] == [1, 256, 1000]
        with pytest.raises(huon.KeyLengthError):
            t[b"1234567"] = b""
    with env.read() as read:
        with pytest.raises(huon.WrongOrderError):
            words(read, ("by-vowels", by_length))
        stored = read["words"]
        assert len(stored) == 1000 and next(iter(stored)) == b"0", "from end to end it can be read"
        with pytest.raises(huon.OrderUnknownError):
            stored.get(b"7")
        with pytest.raises(huon.TableKindError):
            read.table("u64", order="u32")
        assert list(read.table("reversed")) == [b"aa", b"ba", b"ab"]
    wrong: list[Any] = ["by-length", ("", by_length), ("x" * 256, by_length)]
    no_orders: list[Any] = [7, ("a", 7), ("a",), by_length]
    with env.write() as txn:
        for order in wrong:
            with pytest.raises(ValueError):
                txn.table("new", create=True, order=order)
        for order in no_orders:
            with pytest.raises((TypeError, ValueError)):
                txn.table("new", create=True, order=order)
        assert "new" not in txn


def test_multimaps(env: huon.Env) -> None:
    with env.write() as txn:
        m = txn.table("m", multi=True, create=True, order=BY_LENGTH, value_order=BY_LENGTH)
        m.put_many((number(k), number(v)) for k in (100, 7, 20) for v in (30, 4, 500))
        m.add_values(b"7", [number(n) for n in range(0, 1000, 7)])
    with env.read() as read:
        m = read.table("m", multi=True, order=BY_LENGTH, value_order=BY_LENGTH)
        assert list(m.keys()) == [b"7", b"20", b"100"] and m[b"20"] == [b"4", b"30", b"500"]
        values = [int(value) for value in m.values(b"7")]
        assert values == sorted({*range(0, 1000, 7), 30, 4, 500}) and m.has(b"100", b"30")
    with env.write() as txn:
        m = txn.table("m", multi=True, order=BY_LENGTH, value_order=BY_LENGTH)
        assert m.remove(b"20", b"30") and m.pop(b"100") == [b"4", b"30", b"500"]
    assert not env.check()["problems"]


def test_keys_that_are_taken_for_the_same(env: huon.Env) -> None:
    with env.write() as txn:
        t = txn.table("t", create=True, order=("folded", folded))
        t[b"Ada"] = b"1"
        assert t[b"ADA"] == b"1" and not t.insert(b"aDa", b"2") and len(t) == 1
        assert t.delete(b"ada") and not t


class Failing:
    """A function that raises at the calls that it is told to."""

    def __init__(self) -> None:
        self.left: int | None = None

    def __call__(self, a: bytes, b: bytes) -> int:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise LookupError("no order")
        return by_length(a, b)


def test_an_exception_is_raised_and_nothing_is_changed(env: huon.Env) -> None:
    order = Failing()
    with env.write() as txn:
        t = words(txn, ("failing", order))
        t.put_many((number(n), b"") for n in range(0, 2000, 2))
        many = [number(n) for n in range(400)]
        uses: list[Callable[[], Any]] = [
            lambda: t.get(b"7"), lambda: b"7" in t, lambda: t.get_many(many), lambda: t[b"8"],
            lambda: t.get_many(many[:9]), lambda: t.at_or_above(b"7"), lambda: t.view(b"8"),
            lambda: list(t.keys(start=b"7")), lambda: t.count(b"7"), lambda: t.estimate(b"7"),
            lambda: len(t.keys(start=b"7")), lambda: b"8" in t.keys(start=b"7"),
            lambda: t.put(b"7", b"x"), lambda: t.insert(b"7", b"x"), lambda: t.delete(b"8"),
            lambda: t.put_many({b"9": b""}), lambda: t.delete_many(many), lambda: t.pop(b"8"),
            lambda: t.delete_range(b"7", b"99"), lambda: t.append(b"100000", b""),
            lambda: t.bulk_append([(b"100000", b""), (b"100001", b"")]),
            lambda: t.replace(b"8", b""),
        ]
        before = list(t.items())
        for use in uses:
            calls = 0
            while True:
                order.left = calls
                try:
                    with txn.nested() as part:
                        t = words(part, ("failing", order))
                        use()
                        assert order.left >= 0, "the exception was lost"
                        part.abort()
                        break
                except LookupError as error:
                    assert str(error) == "no order"
                finally:
                    order.left, t = None, words(txn, ("failing", order))
                calls += 1 + calls // 4
            assert calls > 0, "it compares nothing"
            assert list(t.items()) == before
        order.left = 3
        with pytest.raises(LookupError):
            t[b"7"] = b"x"
        order.left = None
        assert list(t.items()) == before, "also without a nested transaction around it"
        t[b"7"] = b"x"
    assert not env.check()["problems"]
    with env.read() as read:
        t = words(read, ("failing", order))
        assert len(t) == 1001 and t[b"7"] == b"x"
        order.left = 0
        for look in lambda: t.get(b"7"), lambda: t.view(b"7"), lambda: t.get_many(many), env.check:
            with pytest.raises(LookupError):
                look()
            order.left = 0
        order.left = None
        assert t.get(b"7") == b"x", "no exception is left behind"


KEYS = st.text("aBc", max_size=5).map(str.encode)


@settings(max_examples=int(os.environ.get("HUON_EXAMPLES", "25")), deadline=None,
          derandomize=True, database=None)
@given(st.lists(st.tuples(KEYS, st.sampled_from("pdr"), st.integers(0, 40)), max_size=120))
def test_histories_with_a_function_that_fails(steps: list[tuple[bytes, str, int]]) -> None:
    order, model = Failing(), SortedDict(lambda key: (len(key), key))
    with huon.open(None, page_bytes=512) as env, env.write() as txn:
        t = words(txn, ("failing", order))
        for key, what, fails in steps:
            order.left = fails
            try:
                if what == "p":
                    t[key] = key * 30
                elif what == "d":
                    t.delete(key)
                else:
                    t.delete_range(key, key + b"a")
            except LookupError:
                order.left = None
            else:
                order.left = None
                if what == "p":
                    model[key] = key * 30
                elif what == "d":
                    model.pop(key, None)
                else:
                    for gone in list(model.irange(key, key + b"a", (True, False))):
                        del model[gone]
            assert list(t.items()) == list(model.items())
            assert all(t.get(each) == model.get(each) for each in (key, b"a", b""))
        txn.commit()
        assert not env.check()["problems"]


def test_functions_that_misbehave(env: huon.Env) -> None:
    answers: Any = None

    def odd(a: bytes, b: bytes) -> Any:
        return answers() if callable(answers) else answers

    with env.write() as txn:
        t = txn.table("odd", create=True, order=("odd", odd))
        answers = 1 << 100
        t.update({b"a": b"1", b"b": b"2"})
        answers = 0.5
        t[b"c"] = b"3"
        for answers, error in [
            (None, TypeError), ("x", TypeError), (lambda: 1 // 0, ZeroDivisionError),
            (lambda: t.get(b"a"), huon.MisuseError), (lambda: t.put(b"a", b""), huon.MisuseError),
            (txn.commit, huon.MisuseError), (lambda: sys.exit(3), SystemExit),
        ]:
            uses: list[Callable[[], Any]] = [lambda: t.get(b"x"), lambda: t.put(b"x", b"")]
            for use in uses:
                with pytest.raises(error):
                    use()
        answers = lambda: random.choice([-1, 0, 1])  # noqa: E731
        for n in range(300):
            try:
                t[number(n)] = b"x" * 100
                t.get(number(n // 2))
                t.delete(number(n // 3))
            except huon.CorruptError:
                pass
        txn["other"][b"a"] = b"1"
        t.drop()
    assert env.read()["other"] == {b"a": b"1"} and not env.check()["problems"]
    inner: list[Any] = []

    def nosy(a: bytes, b: bytes) -> int:
        inner.append(read["other"].get(b"a"))
        return by_length(a, b)

    with env.write() as txn:
        txn.table("nosy", create=True, order=("nosy", nosy))
    read = env.read()
    with env.write() as txn:
        t = txn.table("nosy", order=("nosy", nosy))
        t.update({b"a": b"", b"b": b""})
    assert inner and set(inner) == {b"1"}


def test_a_function_that_uses_its_own_table_in_a_read_transaction(numbers: huon.Env) -> None:
    with numbers.write() as txn:
        txn.table("own", create=True, order=("own", by_length)).update({b"1": b"", b"2": b""})
    path, program = numbers.path, """
import huon, sys, threading
env = huon.open(sys.argv[1])
def own(a, b):
    return table.get(b"x") and 0
txn = env.read()
table = txn.table("own", order=("own", own))
def use():
    try:
        table.get(b"y")
    except huon.MisuseError:
        print("refused")
use()
thread = threading.Thread(target=use)
thread.start()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, b"refused\n" * 2), done.stderr


def test_ctrl_c_in_a_function(env: huon.Env) -> None:
    def interrupted(a: bytes, b: bytes) -> int:
        if b"stop" in (a, b):
            signal.raise_signal(signal.SIGINT)
        return by_length(a, b)

    with env.write() as txn:
        t = txn.table("t", create=True, order=("interrupted", interrupted))
        t.update({b"a": b"1", b"b": b"2"})
        with pytest.raises(KeyboardInterrupt):
            t[b"stop"] = b""
        assert dict(t.items()) == {b"a": b"1", b"b": b"2"}


def test_threads(numbers: huon.Env) -> None:
    """Some hold the interpreter lock in a lookup, some have given it up, and one writes."""
    txn, wrong = numbers.read(), []
    t, keys = words(txn), [number(n) for n in range(1000)]

    def look() -> None:
        for _ in range(3):
            if t.get_many(keys) != [b"v%d" % n for n in range(1000)]:
                wrong.append("get_many")
            if [t.get(key) for key in keys[::20]] != [b"v%d" % n for n in range(0, 1000, 20)]:
                wrong.append("get")

    def write() -> None:
        for n in range(20):
            with numbers.write() as own:
                words(own).delete_many(keys[:300])
                words(own).put_many((key, b"new") for key in keys[:300])

    threads = [threading.Thread(target=work) for work in (look, look, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and words(numbers.read())[b"7"] == b"new"


def test_forks(numbers: huon.Env) -> None:
    over, keys = threading.Event(), [number(n) for n in range(1000)]

    def work() -> None:
        while not over.is_set():
            words(numbers.read()).get_many(keys)
            with numbers.write() as txn:
                words(txn).delete_many(keys[:300])

    def child() -> None:
        signal.alarm(120)
        with numbers.write(timeout=60) as txn:
            words(txn)[b"of a child"] = b"1"
        with numbers.read() as read:
            assert words(read)[b"of a child"] == b"1" and words(read)[b"999"] == b"v999"

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert [in_child(child) for _ in range(5)] == [0] * 5
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_what_outlives_its_environment(path: Path) -> None:
    env = huon.open(path, durability="lazy")
    txn = env.write()
    t = words(txn)
    t.update({number(n): b"" for n in range(100)})
    env.close()
    del env
    gc.collect()
    assert t.get(b"77") == b"" and [int(key) for key in t] == list(range(100))
    txn.commit()

    class Store:
        def __init__(self) -> None:
            self.env = huon.open(path)
            self.read = self.env.read()
            self.table = words(self.read, ("by-length", self.own))
            self.table.get(b"7")

        def own(self, a: bytes, b: bytes) -> int:
            return by_length(a, b)

    gone = weakref.ref(Store())
    gc.collect()
    assert gone() is None and huon.delete(path), "the file is not open any more"

"""What programs do wrong is an exception, and never a crash, a hang or a leak."""

import gc
import pickle
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import huon
import pytest


def readers(env: huon.Env) -> int:
    return len(env.info()["readers"])


def test_use_after_the_end(filled: huon.Env) -> None:
    txn = filled.read()
    t = txn["t"]
    keys, walk = t.keys(), iter(t)
    assert next(walk) == b"0000"
    txn.close()
    uses: list[Callable[[], Any]] = [
        lambda: txn["t"], lambda: txn.tables(), lambda: txn.id, lambda: "t" in txn, txn.renew,
        txn.park, lambda: t.get(b"0"), lambda: t.view(b"0"), lambda: len(t), lambda: b"0" in t,
        lambda: t.get_many([b"0"]), lambda: t.first(), lambda: list(t), lambda: len(keys),
        lambda: list(keys), lambda: list(walk), lambda: t.put(b"a", b""), t.clear,
    ]
    for use in uses:
        with pytest.raises(huon.MisuseError):
            use()
    short = filled.read()
    walk = iter(short["t"].keys(limit=2))
    assert next(walk) == b"0000"
    short.close()
    with pytest.raises(huon.MisuseError, match="ended"):
        list(walk)
    writer = filled.write()
    t = writer["t"]
    pairs = iter(t.items())
    next(pairs)
    writer.commit()
    uses = [
        lambda: writer["t"], lambda: t.put(b"a", b""), lambda: t.get(b"0"), lambda: next(pairs),
        lambda: t.bulk_append([]), t.drop, writer.commit, writer.nested, writer.commit_ticket,
    ]
    for use in uses:
        with pytest.raises(huon.MisuseError, match="ended"):
            use()
    writer.close()


def test_changes_in_a_read_transaction(filled: huon.Env) -> None:
    with filled.read() as txn:
        t = txn["t"]
        changes: list[Callable[[], Any]] = [
            lambda: t.put(b"a", b""), lambda: t.__setitem__(b"a", b""), lambda: t.delete(b"a"),
            lambda: t.put_many([]), lambda: t.bulk_load([]), t.clear, t.drop, t.popitem,
            lambda: t.setdefault(b"0000", b""), lambda: t.take_sequence(),
        ]
        for change in changes:
            with pytest.raises(huon.MisuseError):
                change()
        with pytest.raises(huon.TableNotFoundError):
            txn["missing"]


def test_a_closed_environment(path: Path) -> None:
    env = huon.open(path)
    txn = env.read()
    env.close()
    env.close()
    for use in env.read, env.write, env.info, env.sync, env.check, lambda: env.durable_id:
        with pytest.raises(huon.MisuseError, match="closed"):
            use()
    assert env.closed and txn.tables() == [], "transactions go on"
    txn.close()
    assert huon.delete(path)


def test_a_second_writer(env: huon.Env, path: Path) -> None:
    with env.write():
        start = time.monotonic()
        with pytest.raises(huon.ThreadWritesError):
            env.write()
        assert time.monotonic() - start < 5
        with huon.open(path) as other, pytest.raises(huon.BusyError):
            other.write(timeout=0.2)
        with huon.open(path) as other, pytest.raises(huon.ThreadWritesError):
            other.write()  # another opening of the same file, in the same thread
        found: list[BaseException] = []

        def wait() -> None:
            try:
                env.write(timeout=0.1)
            except huon.BusyError as error:
                found.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
        assert isinstance(found[0], TimeoutError) and not isinstance(
            found[0], huon.ThreadWritesError
        )
    with pytest.raises(ValueError):
        env.write(timeout=-1)
    env.write(timeout=float("inf")).abort()


def test_writers_queue(env: huon.Env) -> None:
    def count() -> None:
        for _ in range(50):
            with env.write() as txn:
                t = txn["t"]
                t[b"n"] = b"%d" % (int(t.get(b"n", b"0")) + 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert env.read()["t"][b"n"] == b"200"


def test_a_transaction_moves_between_threads(env: huon.Env) -> None:
    txn = env.write()
    t = txn["t"]

    def work() -> None:
        t[b"a"] = b"1"
        txn.commit()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert env.read()["t"][b"a"] == b"1"


def test_its_first_thread_can_wait_for_one_that_has_it(env: huon.Env) -> None:
    txn, used = env.write(), threading.Event()

    def work() -> None:
        txn["t"][b"a"] = b"1"
        used.set()
        time.sleep(1.5)  # longer than the engine takes to say that the thread waits for itself
        txn.commit()

    thread = threading.Thread(target=work)
    thread.start()
    used.wait()
    with env.write(timeout=600) as own:
        assert own["t"][b"a"] == b"1"
    thread.join()


def test_threads_share_a_reader(filled: huon.Env) -> None:
    txn = filled.read()
    t = txn["t"]
    keys = [b"%04d" % n for n in range(1000)]
    wrong: list[str] = []

    def look() -> None:
        for _ in range(20):
            if t.get_many(keys) != [b"value %d" % n for n in range(1000)]:
                wrong.append("get_many")
            if sum(1 for _ in t) != 1000:
                wrong.append("iteration")

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ending_it_while_another_thread_uses_it(filled: huon.Env) -> None:
    """Whatever comes first: the other thread gets its answer, or is told that it has ended."""
    keys = [b"%04d" % (n % 1000) for n in range(50_000)]
    for _ in range(20):
        txn = filled.read()
        t = txn["t"]
        answers: list[Any] = []

        def look() -> None:
            try:
                answers.append(len(t.get_many(keys)))
            except huon.MisuseError as error:
                answers.append(str(error))

        thread = threading.Thread(target=look)
        thread.start()
        while True:
            try:
                txn.close()
                break
            except huon.MisuseError:
                time.sleep(0.001)
        thread.join()
        assert answers[0] == 50_000 or "ended" in answers[0]
    assert readers(filled) == 0


def test_views_hold_their_transaction(filled: huon.Env) -> None:
    with filled.read() as txn:
        view = txn["t"].view(b"0007")
        assert view is not None and view.readonly and bytes(view) == b"value 7"
        part = view[6:]
        for end in txn.close, txn.renew, txn.park:
            with pytest.raises(BufferError):
                end()
        assert bytes(part) == b"7"
        with pytest.raises(TypeError):
            view[0] = 0
        below: Any = view.obj
        view.release()
        with pytest.raises(BufferError):
            txn.close()
        part.release()
        with pytest.raises(BufferError):
            memoryview(below)
        with txn["t"].view(b"0008") or memoryview(b"") as other:
            assert bytes(other) == b"value 8"
        assert txn["t"].view(b"missing") is None


def test_views_at_the_end_of_a_block(filled: huon.Env) -> None:
    txn, view = filled.read(), None
    with pytest.raises(BufferError):
        with txn:
            view = txn["t"].view(b"0007")
    assert bytes(view or b"") == b"value 7" and readers(filled) == 1
    with pytest.raises(huon.MisuseError):
        txn["t"]
    view = None
    assert readers(filled) == 0
    with pytest.raises(LookupError):  # and not BufferError
        with filled.read() as txn:
            view = txn["t"].view(b"0007")
            raise LookupError
    assert bytes(view or b"") == b"value 7"
    view = None
    assert readers(filled) == 0


def test_a_view_outlives_all_that_it_came_from(path: Path) -> None:
    env = huon.open(path)
    with env.write() as write:
        write["t"][b"large"] = bytes(range(256)) * 1000
        write["t"][b"empty"] = b""
    view = env.read()["t"].view(b"large")
    empty = env.read()["t"].view(b"empty")
    env.close()
    del env
    gc.collect()
    assert view is not None and empty is not None
    assert bytes(view) == bytes(range(256)) * 1000 and bytes(empty) == b""
    with pytest.raises(huon.BusyError):
        huon.delete(path)
    del view
    assert huon.delete(path)


def test_views_in_a_write_transaction_are_copies(filled: huon.Env) -> None:
    with filled.write() as txn:
        t = txn["t"]
        view = t.view(b"0007")
        t[b"0007"] = b"another"
        assert view is not None and bytes(view) == b"value 7"


def test_what_is_forgotten_ends(filled: huon.Env) -> None:
    for _ in range(5):
        filled.read()
        next(iter(filled.read()["t"]))
        filled.write()["t"][b"x"] = b""
        nested = filled.write().nested()
        nested["t"][b"y"] = b""
        del nested
    gc.collect()
    assert readers(filled) == 0
    with filled.write() as txn:
        assert b"x" not in txn["t"] and b"y" not in txn["t"]


def test_a_lost_change_is_warned_of(filled: huon.Env) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        filled.write()
        filled.write().abort()
        with filled.write() as txn:
            txn["t"][b"kept"] = b""
        gc.collect()
        assert not caught
        filled.write()["t"][b"lost"] = b""
        with pytest.raises(TypeError, match="bytes-like"):  # which is raised while it ends
            filled.write()["made"].put(b"lost", 7)  # type: ignore[arg-type]
        gc.collect()
    assert [warning.category for warning in caught] == [ResourceWarning] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match="bytes-like"):
            filled.write()["made"].put(b"lost", 7)  # type: ignore[arg-type]


def test_cycles_and_finalizers(filled: huon.Env) -> None:
    class Holder:
        def __init__(self) -> None:
            self.me = self
            self.txn = filled.read()
            self.table = self.txn["t"]
            self.walk = iter(self.table)

        def __del__(self) -> None:
            next(self.walk, None)
            self.table.get(b"0000")
            self.txn.close()

    ended = weakref.ref(Holder())
    gc.collect()
    assert ended() is None and readers(filled) == 0


def test_finalizers_in_the_middle_of_a_scan(env: huon.Env) -> None:
    """A collection may begin wherever an object is made that it tracks."""
    class Cycle:
        def __init__(self, table: huon.Table) -> None:
            self.me, self.table = self, table

        def __del__(self) -> None:
            self.table.put(b"of a finalizer", b"")

    with env.write() as txn:
        t = txn["t"]
        t.put_many((b"%04d" % n, b"") for n in range(200))
        before = gc.get_threshold()
        try:
            for look in lambda: list(t.items()), t.first, t.last, lambda: t.at_or_above(b"0001"):
                Cycle(t)
                t.delete(b"of a finalizer")
                gc.set_threshold(1)
                look()
                gc.set_threshold(*before)
                gc.collect()
                assert t.get(b"of a finalizer") == b""
        finally:
            gc.set_threshold(*before)


def test_iterators_that_raise(env: huon.Env) -> None:
    def failing() -> Iterator[tuple[bytes, bytes]]:
        yield b"a", b"1"
        raise LookupError("on the way")

    with env.write() as txn:
        t = txn["t"]
        for take in t.put_many, t.update, t.bulk_load:
            with pytest.raises(LookupError):
                take(failing())
            t.clear()
        for wrong in [b"ab"], [7], [(b"a",)], [(b"a", b"b", b"c")], [("a", b"b")]:
            with pytest.raises(TypeError):
                t.put_many(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            t.get_many([b"a", "b"])  # type: ignore[list-item]
        assert len(t) == 0


def test_iterators_that_use_the_transaction(env: huon.Env) -> None:
    with env.write() as txn:
        t = txn["t"]

        def own() -> Iterator[tuple[bytes, bytes]]:
            for n in range(1000):
                t[b"own %d" % n] = b""
                yield b"%d" % n, b"%d" % len(t)

        t.put_many(own())
        assert len(t) == 2000

        def ending() -> Iterator[tuple[bytes, bytes]]:
            yield b"x", b""
            txn.abort()
            yield b"y", b""

        with pytest.raises(huon.MisuseError):
            t.put_many(ending())


def test_callbacks_that_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: reported.append(about.exc_type))

    def slow(reader: Any) -> Any:
        asked.append(reader)
        raise LookupError("in the callback")

    with huon.open(tmp_path / "a.huon", max_bytes=1 << 20, on_slow_reader=slow) as env:
        def fill(byte: bytes) -> None:
            with env.write() as txn:
                txn["t"].put_many((b"%03d" % n, byte * 2000) for n in range(200))

        fill(b"1")
        with env.read():
            with pytest.raises(huon.MapFullError):
                for byte in b"abc":
                    fill(bytes([byte]))
        assert asked and asked[0]["own"] is True and asked[0]["full"] is True
        fill(b"3")
    assert set(reported) == {LookupError}


def test_a_callback_that_leads_back_to_its_environment(path: Path) -> None:
    class Store:
        def __init__(self) -> None:
            self.env = huon.open(path, on_slow_reader=self.slow)

        def slow(self, reader: Any) -> Any:
            return "evict"

    gone = weakref.ref(Store())
    gc.collect()
    assert gone() is None and huon.delete(path), "the file is not open any more"


def test_a_writer_that_outlives_its_environment_asks(path: Path) -> None:
    asked: list[Any] = []

    def slow(reader: Any) -> Any:
        asked.append(reader)
        return "evict"

    def fill(txn: huon.WriteTxn, byte: bytes) -> None:
        txn["t"].put_many((b"%03d" % n, byte * 2000) for n in range(200))

    env = huon.open(path, max_bytes=1 << 20, on_slow_reader=slow)
    with env.write() as txn:
        fill(txn, b"1")
    read = env.read()
    read.park()
    with env.write() as txn:
        fill(txn, b"2")
    txn = env.write()
    del env
    fill(txn, b"3")
    txn.commit()
    assert asked


def test_ctrl_c_in_a_callback(path: Path) -> None:
    def slow(reader: Any) -> Any:
        raise KeyboardInterrupt

    with huon.open(path, max_bytes=1 << 20, on_slow_reader=slow) as env:
        def fill(byte: bytes) -> None:
            with env.write() as txn:
                txn["t"].put_many((b"%03d" % n, byte * 2000) for n in range(200))

        fill(b"1")
        with env.read():
            with pytest.raises(KeyboardInterrupt):
                for byte in b"abc":
                    try:
                        fill(bytes([byte]))
                    except huon.MapFullError:
                        time.sleep(0.1)


def test_parked_readers_are_evicted(tmp_path: Path) -> None:
    def slow(reader: Any) -> Any:
        return "evict" if reader["parked"] else "give_up"

    with huon.open(tmp_path / "a.huon", max_bytes=1 << 20, on_slow_reader=slow) as env:
        def fill(byte: bytes) -> None:
            with env.write() as txn:
                txn["t"].put_many((b"%03d" % n, byte * 2000) for n in range(200))

        fill(b"1")
        txn = env.read()
        txn.park()
        for byte in b"abc":
            fill(bytes([byte]))
        with pytest.raises(huon.EvictedError):
            txn.unpark()
        assert txn.closed
        txn.close()


def test_errors() -> None:
    kinds = [kind for kind in vars(huon).values() if isinstance(kind, type)]
    codes = {kind.code for kind in kinds if issubclass(kind, huon.Error)} - {0}
    assert codes == set(range(1, 38))
    assert issubclass(huon.TableNotFoundError, KeyError)
    assert issubclass(huon.BusyError, TimeoutError) and issubclass(huon.IoError, OSError)
    with huon.open(None) as env, env.write() as txn:
        with pytest.raises(huon.KeyTooLongError) as long:
            txn["t"].put(b"k" * 3000, b"")
        assert str(long.value) == "key of 3000 bytes is too long: this page size allows 2022"
        assert str(pickle.loads(pickle.dumps(long.value))) == str(long.value)


def test_damage_is_named(filled: huon.Env, path: Path) -> None:
    filled.close()
    found = bytearray(path.read_bytes())
    at = found.rindex(b"value 500")
    found[at] ^= 1
    path.write_bytes(found)
    with huon.open(path) as env:
        assert env.check()["problems"]
        with pytest.raises(huon.CorruptError) as wrong:
            list(env.read()["t"])
        assert wrong.value.page == at // 4096


def test_nothing_leaks(filled: huon.Env) -> None:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("the memory of the process is not shown here")
    keys = [b"%04d" % n for n in range(0, 1000, 50)]

    def use(times: int) -> int:
        for _ in range(times):
            with filled.read() as read:
                t = read["t"]
                t.get_many(keys)
                with t.view(b"0001") or memoryview(b""):
                    pass
                next(iter(t.items(prefix=b"01")))
                list(t.values(start=b"0990"))
                with pytest.raises(KeyError):
                    t[b"missing"]
            with filled.write() as txn:
                txn["t"].put_many((key, b"changed") for key in keys)
                with txn.nested() as child:
                    next(iter(child["t"].items()))
                    child["t"].pop(b"0001")
                    child.abort()
                txn.abort()
        gc.collect()
        return int(statm.read_text().split()[1]) * 4096

    before = use(500)
    assert use(3000) - before < 2 << 20


def test_the_interpreter_may_end_with_all_of_it_open(path: Path) -> None:
    program = f"""
import atexit, huon, threading
env = huon.open({str(path)!r}, durability="lazy")
with env.write() as txn:
    txn["t"].put_many((b"%d" % n, b"") for n in range(1000))
read = env.read()
view = read["t"].view(b"1")
walk = iter(read["t"])
next(walk)
write = env.write()
write["t"][b"lost"] = b""
threading.Thread(target=lambda: env.wait_for_commit(10**9), daemon=True).start()
atexit.register(lambda: print(len(read["t"])))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1000\n", b"")
    with huon.open(path) as env:
        assert len(env.read()["t"]) == 1000

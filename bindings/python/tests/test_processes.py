"""Signals, forks and kills."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import huon
import pytest


def in_child(work: object) -> int:
    """Runs `work` in a forked child; its exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            work()  # type: ignore[operator]
            code = 0
        except AssertionError:
            code = 1
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            code = 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("wait", ["writer", "commit", "other writer"])
def test_ctrl_c_while_it_waits(path: Path, wait: str) -> None:
    with huon.open(path) as env, huon.open(path) as other:
        held: list[huon.WriteTxn] = []
        of = other if wait == "other writer" else env
        thread = threading.Thread(target=lambda: held.append(of.write()))
        thread.start()
        thread.join()
        stop = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        start = time.monotonic()
        stop.start()
        with pytest.raises(KeyboardInterrupt):
            if wait == "commit":
                env.wait_for_commit(env.info()["visible"])
            else:
                env.write(timeout=600)
        assert time.monotonic() - start < 60
        stop.join()
        held[0].abort()
        env.write().abort()


def test_ctrl_c_while_it_waits_to_delete(path: Path) -> None:
    with huon.open(path):
        stop = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        stop.start()
        with pytest.raises(KeyboardInterrupt):
            huon.delete(path, timeout=600)
        stop.join()
        with pytest.raises(huon.BusyError):
            huon.delete(path, timeout=0.1)
    assert huon.delete(path, timeout=0.1)


def test_ctrl_c_in_a_long_check(path: Path) -> None:
    with huon.open(path, durability="lazy") as env:
        with env.write() as txn:
            txn["t"].bulk_load((b"%08d" % n, b"x" * 400) for n in range(20_000))
        seen: list[int] = []

        def progress(done: int, whole: int) -> None:
            seen.append(done)
            signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            env.check(progress=progress)
        assert len(seen) == 1


def test_a_forked_child_goes_on(filled: huon.Env) -> None:
    read, write = filled.read(), filled.write()
    t, walk = read["t"], iter(read["t"])
    view = t.view(b"0001")
    next(walk)
    write["t"][b"of the parent"] = b""

    def child() -> None:
        for use in lambda: write.commit(), lambda: write["t"].put(b"a", b""):
            try:
                use()
            except (huon.ForkedError, huon.MisuseError):
                pass
            else:
                raise AssertionError
        write.abort()
        assert view is not None and bytes(view) == b"value 1"
        view.release()
        read.close()
        with filled.read() as own:
            assert len(own["t"]) == 1000
        try:
            filled.write(timeout=0.1)
        except huon.ThreadWritesError:
            raise AssertionError from None
        except huon.BusyError:
            pass
        filled.close()

    assert in_child(child) == 0
    assert len(t) == 1000 and len(list(walk)) == 999
    write.commit()

    def second() -> None:
        with filled.write() as txn:
            txn["t"][b"of the child"] = b""

    assert in_child(second) == 0
    with filled.read() as txn:
        assert b"of the parent" in txn["t"] and b"of the child" in txn["t"]


def test_a_fork_while_threads_work(filled: huon.Env) -> None:
    """No lock of the parent's threads is left to a child."""
    over = threading.Event()
    shared = filled.read()["t"]
    keys = [b"%04d" % (n % 1000) for n in range(2000)]

    def work() -> None:
        while not over.is_set():
            with filled.write() as txn:
                txn["t"].put_many((b"x%d" % n, b"") for n in range(100))
            shared.get_many(keys)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()

    def child() -> None:
        signal.alarm(60)
        with filled.write() as txn:
            txn["t"][b"child"] = b""
        with filled.read() as txn:
            assert txn["t"].get(b"child") == b""

    try:
        assert [in_child(child) for _ in range(10)] == [0] * 10
    finally:
        over.set()
        for thread in threads:
            thread.join()


def add(env: huon.Env, count: int) -> None:
    for _ in range(count):
        with env.write() as txn:
            t = txn["t"]
            t[b"n"] = b"%d" % (int(t.get(b"n", b"0")) + 1)


def add_by_path(path: str, count: int) -> None:
    with huon.open(path, durability="lazy") as env:
        add(env, count)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(env: huon.Env, path: Path, method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    work, what = (add, env) if method == "fork" else (add_by_path, str(path))
    children = [context.Process(target=work, args=(what, 50)) for _ in range(3)]
    for child in children:
        child.start()
    add(env, 50)
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert env.read()["t"][b"n"] == b"200"


def test_a_killed_writer(path: Path) -> None:
    program = f"""
import huon, os, signal
env = huon.open({str(path)!r}, durability="lazy")
with env.write() as txn:
    txn["t"][b"kept"] = b"1"
txn = env.write()
txn["t"][b"lost"] = b"2"
os.kill(os.getpid(), signal.SIGKILL)
"""
    with huon.open(path) as env:
        done = subprocess.run([sys.executable, "-c", program], timeout=600)
        assert done.returncode == -signal.SIGKILL
        with env.write(timeout=30) as txn:
            assert dict(txn["t"]) == {b"kept": b"1"}


def test_waiting_for_another_process(env: huon.Env, path: Path) -> None:
    with env.read() as txn:
        seen = txn.id
    child = multiprocessing.get_context("spawn").Process(target=add_by_path, args=(str(path), 1))
    child.start()
    found = env.wait_for_commit(seen, timeout=60)
    child.join()
    assert found is not None and found > seen
    assert env.wait_for_commit(env.info()["visible"], timeout=0.05) is None

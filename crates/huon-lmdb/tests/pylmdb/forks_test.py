"""Forked workers that go on with the environment of their parent, as the data loaders of machine
learning and pre-forking servers have it. Every child says by how it ends what it has found.
"""

import multiprocessing
import os
import threading

import lmdb
import pytest

RECORDS = 2000
WORKERS = 4
SECONDS_MAX = 60


def key(n):
    return b"%08d" % n


def value(n):
    return (b"%d " % n) * 40


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "a.mdb")
    with lmdb.open(path, map_size=1 << 28, subdir=False) as env:
        with env.begin(write=True) as txn:
            for n in range(RECORDS):
                txn.put(key(n), value(n))
    return path


def is_whole(env):
    """Whether all that was there at first is there, got one by one and in order."""
    with env.begin() as txn:
        if any(txn.get(key(n)) != value(n) for n in range(RECORDS)):
            return False
        first = [(k, v) for k, v in txn.cursor() if len(k) == 8]
    return first == [(key(n), value(n)) for n in range(RECORDS)]


def start(work):
    """A forked child that ends with 0 if what it does is true."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            import signal

            signal.alarm(SECONDS_MAX)
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return child


def ends(children):
    return [os.waitpid(child, 0)[1] for child in children]


@pytest.mark.parametrize("lock", [True, False])
@pytest.mark.parametrize("used", ["not used", "used", "a reader is open"])
def test_four_workers_of_a_reader_read_everything(path, lock, used):
    env = lmdb.open(path, readonly=True, lock=lock, subdir=False, readahead=False)
    reader = None
    if used != "not used":
        assert is_whole(env)
    if used == "a reader is open":
        reader = env.begin()
        assert reader.get(key(1)) == value(1)
    children = [start(lambda: is_whole(env) and is_whole(env)) for _ in range(WORKERS)]
    assert is_whole(env)
    assert ends(children) == [0] * WORKERS
    if reader is not None:
        assert reader.get(key(1)) == value(1)
        reader.abort()
    assert is_whole(env)
    env.close()


def test_workers_read_beside_a_parent_that_writes(path):
    env = lmdb.open(path, map_size=1 << 28, subdir=False)
    over = threading.Event()

    def write():
        n = 0
        while not over.is_set():
            with env.begin(write=True) as txn:
                for step in range(50):
                    txn.put(b"other%06d" % ((n + step) % 5000), os.urandom(500))
            n += 50

    writer = threading.Thread(target=write)
    writer.start()
    try:
        children = [start(lambda: all(is_whole(env) for _ in range(5))) for _ in range(WORKERS)]
        assert ends(children) == [0] * WORKERS
    finally:
        over.set()
        writer.join()
    assert is_whole(env)
    env.close()


def test_workers_write(path):
    env = lmdb.open(path, map_size=1 << 28, subdir=False)

    def work(number):
        for n in range(20):
            with env.begin(write=True) as txn:
                txn.put(b"of%d-%d" % (number, n), value(n))
        return True

    children = [start(lambda number=number: work(number)) for number in range(WORKERS)]
    assert ends(children) == [0] * WORKERS
    with env.begin() as txn:
        for number in range(WORKERS):
            for n in range(20):
                assert txn.get(b"of%d-%d" % (number, n)) == value(n)
    env.close()


class Loader:
    """As users write it: opened by the main process, read by item in the workers."""

    def __init__(self, path):
        self.env = lmdb.open(path, readonly=True, lock=False, subdir=False, meminit=False)
        with self.env.begin() as txn:
            self.length = txn.stat()["entries"]

    def __getitem__(self, n):
        with self.env.begin(buffers=True) as txn:
            return bytes(txn.get(key(n))) == value(n)


LOADER = None


def item(n):
    return LOADER[n]


def test_a_pool_of_processes_loads_all_items(path):
    global LOADER
    LOADER = Loader(path)
    assert LOADER.length == RECORDS and LOADER[3]
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        assert all(pool.map_async(item, range(RECORDS)).get(SECONDS_MAX))
    assert LOADER[4]
    LOADER.env.close()
    LOADER = None


def test_a_transaction_that_was_open_at_the_fork_is_dead(path):
    env = lmdb.open(path, map_size=1 << 28, subdir=False)
    reader = env.begin()
    cursor = reader.cursor()
    assert cursor.set_key(key(1))
    writer = env.begin(write=True)
    writer.put(b"k", b"v")

    def dead(use):
        try:
            use()
        except lmdb.Error:
            return True
        return False

    def work():
        uses = [
            lambda: reader.get(key(1)),
            lambda: cursor.set_key(key(1)),
            lambda: writer.get(key(1)),
            lambda: writer.put(b"l", b"v"),
            lambda: writer.commit(),
        ]
        return all([dead(use) for use in uses]) and is_whole(env)

    assert ends([start(work)]) == [0]
    writer.commit()
    assert reader.get(key(1)) == value(1)
    reader.abort()
    with env.begin() as txn:
        assert txn.get(b"k") == b"v" and txn.get(b"l") is None
    env.close()

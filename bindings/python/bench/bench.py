"""Huon beside py-lmdb: the same records, in one process, in turns.

    pip install -r bench/requirements.txt

Records have keys of 16 bytes, in hashed order, and values of 100. Commits are lazy, and py-lmdb's
without a flush (`sync=False, writemap=False`), but for durable puts. Each figure is the best of all
rounds; the last column says how many times as fast Huon is.
"""

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huon
import lmdb

Measure = Callable[[], int]


def key(number: int) -> bytes:
    return hashlib.md5(number.to_bytes(8, "big")).digest()


class Huon:
    name = "huon"

    def __init__(self, folder: Path) -> None:
        self.env = huon.open(folder / "data.huon", durability="lazy")
        self.durable = huon.open(folder / "durable.huon")

    def put(self, pairs: list[tuple[bytes, bytes]], durable: bool = False) -> None:
        with (self.durable if durable else self.env).write() as txn:
            put = txn["t"].put
            for one, value in pairs:
                put(one, value)

    def put_many(self, pairs: list[tuple[bytes, bytes]]) -> None:
        with self.env.write() as txn:
            txn["t"].put_many(pairs)

    def get(self, keys: list[bytes]) -> int:
        with self.env.read() as txn:
            get = txn["t"].get
            for one in keys:
                get(one)
        return len(keys)

    def get_many(self, keys: list[bytes]) -> int:
        with self.env.read() as txn:
            table = txn["t"]
            for at in range(0, len(keys), 64):
                table.get_many(keys[at : at + 64])
        return len(keys)

    def scan(self) -> int:
        count = 0
        with self.env.read() as txn:
            for _key, _value in txn["t"].items():
                count += 1
        return count


class Lmdb:
    name = "py-lmdb"

    def __init__(self, folder: Path) -> None:
        self.env = lmdb.open(str(folder / "lmdb"), map_size=1 << 34, sync=False)
        self.durable = lmdb.open(str(folder / "durable"), map_size=1 << 30)

    def put(self, pairs: list[tuple[bytes, bytes]], durable: bool = False) -> None:
        with (self.durable if durable else self.env).begin(write=True) as txn:
            put = txn.put
            for one, value in pairs:
                put(one, value)

    def put_many(self, pairs: list[tuple[bytes, bytes]]) -> None:
        with self.env.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti(pairs)

    def get(self, keys: list[bytes]) -> int:
        with self.env.begin() as txn:
            get = txn.get
            for one in keys:
                get(one)
        return len(keys)

    def get_many(self, keys: list[bytes]) -> int:
        with self.env.begin() as txn, txn.cursor() as cursor:
            for at in range(0, len(keys), 64):
                cursor.getmulti(keys[at : at + 64])
        return len(keys)

    def scan(self) -> int:
        count = 0
        with self.env.begin() as txn, txn.cursor() as cursor:
            for _key, _value in cursor:
                count += 1
        return count


def nanoseconds(work: Measure) -> float:
    start = time.perf_counter_ns()
    count = work()
    return (time.perf_counter_ns() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gets", type=int, default=200_000)
    parser.add_argument("--folder", default=None)
    given = parser.parse_args()
    keys = [key(n) for n in range(given.records)]
    value = b"v" * 100
    wanted = [keys[(n * 7919) % len(keys)] for n in range(given.gets)]
    fresh = iter(range(10**9, 2 * 10**9))

    def pairs(count: int) -> list[tuple[bytes, bytes]]:
        return [(key(next(fresh)), value) for _ in range(count)]

    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        stores: list[Any] = [Huon(Path(folder)), Lmdb(Path(folder))]
        best: dict[str, dict[str, float]] = {}

        def note(what: str, store: Any, took: float) -> None:
            found = best.setdefault(what, {})
            found[store.name] = min(took, found.get(store.name, took))

        def load(store: Any, batch: list[tuple[bytes, bytes]]) -> int:
            store.put(batch)
            return len(batch)

        for at in range(0, len(keys), 1000):
            batch = [(one, value) for one in keys[at : at + 1000]]
            for store in stores:
                took = nanoseconds(lambda store=store, batch=batch: load(store, batch))
                if at >= len(keys) // 2:
                    sums = best.setdefault("put 1000", {})
                    sums[store.name] = sums.get(store.name, 0.0) + took
        for store in stores:
            best["put 1000"][store.name] /= max(len(keys) // 2000, 1)

        for _ in range(given.rounds):
            batch = pairs(1000)
            for store in stores:
                note("get", store, nanoseconds(lambda store=store: store.get(wanted)))
            for store in stores:
                note("get_many", store, nanoseconds(lambda store=store: store.get_many(wanted)))
            for store in stores:
                note("scan", store, nanoseconds(store.scan))
            for store in stores:
                start = time.perf_counter_ns()
                store.put_many(batch)
                note("put_many 1000", store, (time.perf_counter_ns() - start) / len(batch))
            singles = [pairs(1) for _ in range(100)]
            for store in stores:
                start = time.perf_counter_ns()
                for one in singles:
                    store.put(one, durable=True)
                note("durable put", store, (time.perf_counter_ns() - start) / len(singles))

        print(f"{'':16}{'huon ns':>12}{'py-lmdb ns':>12}{'times':>8}")
        for what, found in best.items():
            ours, theirs = found["huon"], found["py-lmdb"]
            print(f"{what:16}{ours:12.0f}{theirs:12.0f}{theirs / ours:8.2f}")


if __name__ == "__main__":
    main()

"""Random histories of a write-optimised table against `sortedcontainers`, as `test_model.py`."""

import os
from typing import Any

import huon
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from sortedcontainers import SortedDict  # type: ignore[import-untyped]
from test_model import ENDS, KEYS, LIMITS, cut

VALUES = st.one_of(st.binary(max_size=20), st.integers(0, 3000).map(lambda n: b"v" * n))


def append(older: bytes, newer: bytes) -> bytes:
    """It shows in which order it was called; and what it makes stays short."""
    return (older + newer)[-4000:]


class LsmHistories(RuleBasedStateMachine):
    """A table in a write transaction with nested ones, committed and merged now and then."""

    @initialize(small=st.sampled_from([1, 16, 1000]), bits=st.sampled_from([0, 12]))
    def begin(self, small: int, bits: int) -> None:
        self.env = huon.open(None, page_bytes=1024)
        self.lsm = self.env.lsm(
            fan=2, small=small, filter_bits=bits, open_bytes=4096, step_bytes=4096
        )
        self.handle = self.lsm.table("t", merge=("append", append))
        self.txns = [self.env.write()]
        self.models: list[Any] = [SortedDict()]
        self.seen: list[tuple[huon.ReadTxn, Any]] = []

    def teardown(self) -> None:
        if hasattr(self, "env"):
            for txn in reversed(self.txns):
                txn.abort()
            with self.env.read() as read:
                report = self.handle.open(read).check()
                assert not report["problems"], report["problems"]
            assert not self.env.check()["problems"]
            self.env.close()

    @property
    def table(self) -> huon.LsmMapping:
        return self.handle.open(self.txns[-1])

    @rule(key=KEYS, value=VALUES)
    def put(self, key: bytes, value: bytes) -> None:
        self.table[key] = value
        self.models[-1][key] = value

    @rule(pairs=st.lists(st.tuples(KEYS, VALUES), max_size=40))
    def put_many(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self.table.put_many(pairs)
        self.models[-1].update(pairs)

    @rule(count=st.integers(1, 600), value=st.binary(max_size=8))
    def put_numbers(self, count: int, value: bytes) -> None:
        pairs = {b"%05d" % n: value for n in range(count)}
        self.table.update(pairs)
        self.models[-1].update(pairs)

    @rule(pairs=st.lists(st.tuples(KEYS, st.binary(max_size=6)), max_size=10))
    def merge(self, pairs: list[tuple[bytes, bytes]]) -> None:
        model = self.models[-1]
        for key, value in pairs:
            self.table.merge(key, value)
            model[key] = append(model[key], value) if key in model else value

    @rule(key=KEYS, value=VALUES)
    def conditional(self, key: bytes, value: bytes) -> None:
        model = self.models[-1]
        assert self.table.put_if_present(key, value) == (key in model)
        if key in model:
            model[key] = value
        assert self.table.insert(key, value) == (key not in model)
        model.setdefault(key, value)

    @rule(keys=st.lists(KEYS, max_size=8))
    def delete(self, keys: list[bytes]) -> None:
        self.table.delete_many(keys)
        for key in keys:
            self.models[-1].pop(key, None)

    @rule(key=KEYS)
    def pop(self, key: bytes) -> None:
        assert self.table.pop(key, None) == self.models[-1].pop(key, None)

    @rule(last=st.booleans())
    def popitem(self, last: bool) -> None:
        if self.models[-1]:
            assert self.table.popitem(last) == self.models[-1].popitem(-1 if last else 0)

    @rule(start=ENDS, stop=ENDS, prefix=ENDS)
    def delete_range(self, start: Any, stop: Any, prefix: Any) -> None:
        self.table.delete_range(start, stop, prefix=prefix)
        for key in cut(list(self.models[-1]), start, stop, prefix):
            del self.models[-1][key]

    @rule(keys=st.lists(KEYS, max_size=20))
    def look_up(self, keys: list[bytes]) -> None:
        model, table = self.models[-1], self.table
        assert table.get_many(keys) == [model.get(key) for key in keys]
        for key in keys:
            assert table.get(key) == model.get(key) and (key in table) == (key in model)
            at = model.bisect_left(key)
            assert table.at_or_above(key) == (model.peekitem(at) if at < len(model) else None)

    @rule(start=ENDS, stop=ENDS, prefix=ENDS, reverse=st.booleans(), limit=LIMITS)
    def scan(self, start: Any, stop: Any, prefix: Any, reverse: bool, limit: Any) -> None:
        self.compare(self.table, self.models[-1], start, stop, prefix, reverse, limit)

    @staticmethod
    def compare(table: huon.LsmMapping, model: Any, *part: Any) -> None:
        start, stop, prefix, reverse, limit = part
        wanted = cut(list(model.items()), start, stop, prefix, lambda record: record[0])
        assert table.count(start, stop, prefix=prefix) == len(wanted)
        wanted = (wanted[::-1] if reverse else wanted)[:limit]
        how = {"start": start, "stop": stop, "prefix": prefix, "reverse": reverse, "limit": limit}
        assert list(table.items(**how)) == wanted
        assert list(table.keys(**how)) == [key for key, _ in wanted]
        assert list(reversed(table.values(**how))) == [value for _, value in wanted][::-1]
        assert bool(table.keys(**how)) == bool(wanted) and len(table.items(**how)) == len(wanted)
        for pair in wanted[:1]:
            assert pair in table.items(**how) and pair[0] in table.keys(**how)

    @precondition(lambda self: len(self.txns) < 4)
    @rule()
    def nest(self) -> None:
        self.txns.append(self.txns[-1].nested())
        self.models.append(self.models[-1].copy())

    @rule(keep=st.booleans(), work=st.sampled_from([None, "due", "all"]))
    def end(self, keep: bool, work: Any) -> None:
        txn, model = self.txns.pop(), self.models.pop()
        if keep:
            txn.commit()
        else:
            txn.abort()
        if self.txns:
            if keep:
                self.models[-1] = model
            return
        if keep:
            self.committed = model
        if work:
            self.lsm.compact(work=work)
        model = getattr(self, "committed", SortedDict())
        self.seen = self.seen[-2:] + [(self.env.read(), model.copy())]
        self.txns, self.models = [self.env.write()], [model.copy()]

    @rule(start=ENDS, stop=ENDS, prefix=ENDS, reverse=st.booleans(), limit=LIMITS)
    def look_at_snapshots(
        self, start: Any, stop: Any, prefix: Any, reverse: bool, limit: Any
    ) -> None:
        for txn, model in self.seen:
            self.compare(self.handle.open(txn), model, start, stop, prefix, reverse, limit)


LsmHistories.TestCase.settings = settings(
    max_examples=int(os.environ.get("HUON_EXAMPLES", "25")),
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestLsmHistories = LsmHistories.TestCase

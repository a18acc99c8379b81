"""Random histories against `sortedcontainers`; `HUON_EXAMPLES=1000` for more of them."""

import os
from typing import Any

import huon
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sortedcontainers import SortedDict, SortedSet  # type: ignore[import-untyped]

# Short keys of few letters, so that they meet; and some that fill pages.
KEYS = st.one_of(
    st.binary(max_size=3),
    st.text("ab\xff", max_size=4).map(lambda text: text.encode("latin-1")),
    st.binary(min_size=1, max_size=1).map(lambda byte: byte * 400),
)
VALUES = st.one_of(st.binary(max_size=20), st.integers(0, 9000).map(lambda n: b"v" * n))
ENDS = st.one_of(st.none(), KEYS)
LIMITS = st.one_of(st.none(), st.integers(0, 400))


def cut(
    keys: list[Any], start: Any, stop: Any, prefix: Any, key: Any = lambda one: one
) -> list[Any]:
    return [
        one
        for one in keys
        if (start is None or key(one) >= start)
        and (stop is None or key(one) < stop)
        and (prefix is None or key(one).startswith(prefix))
    ]


class Histories(RuleBasedStateMachine):
    """A table and a multimap in a write transaction with nested ones, committed now and then."""

    @initialize()
    def begin(self) -> None:
        self.env = huon.open(None, page_bytes=1024)
        self.txns = [self.env.write()]
        self.models: list[tuple[Any, Any]] = [(SortedDict(), SortedSet())]
        self.seen: list[tuple[huon.ReadTxn, Any, Any]] = []

    def teardown(self) -> None:
        if hasattr(self, "env"):
            for txn in reversed(self.txns):
                txn.abort()
            report = self.env.check()
            assert not report["problems"], report["problems"]
            self.env.close()

    @property
    def table(self) -> huon.Table:
        return self.txns[-1]["t"]

    @property
    def multi(self) -> huon.MultiTable:
        return self.txns[-1].table("m", multi=True, create=True)

    @rule(key=KEYS, value=VALUES)
    def put(self, key: bytes, value: bytes) -> None:
        self.table[key] = value
        self.models[-1][0][key] = value

    @rule(pairs=st.lists(st.tuples(KEYS, VALUES), max_size=40))
    def put_many(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self.table.put_many(pairs)
        self.models[-1][0].update(pairs)

    @rule(count=st.integers(1, 600), value=st.binary(max_size=8))
    def put_numbers(self, count: int, value: bytes) -> None:
        pairs = {b"%05d" % n: value for n in range(count)}
        self.table.update(pairs)
        self.models[-1][0].update(pairs)

    @rule(key=KEYS, value=VALUES)
    def insert(self, key: bytes, value: bytes) -> None:
        model = self.models[-1][0]
        assert self.table.insert(key, value) == (key not in model)
        model.setdefault(key, value)

    @rule(key=KEYS)
    def delete(self, key: bytes) -> None:
        assert self.table.delete(key) == (self.models[-1][0].pop(key, None) is not None)

    @rule(last=st.booleans())
    def popitem(self, last: bool) -> None:
        model = self.models[-1][0]
        if model:
            assert self.table.popitem(last) == model.popitem(-1 if last else 0)

    @rule(start=ENDS, stop=ENDS, prefix=ENDS)
    def delete_range(self, start: Any, stop: Any, prefix: Any) -> None:
        model = self.models[-1][0]
        doomed = cut(list(model), start, stop, prefix)
        assert self.table.delete_range(start, stop, prefix=prefix) == len(doomed)
        for key in doomed:
            del model[key]

    @rule(keys=st.lists(KEYS, max_size=20))
    def look_up(self, keys: list[bytes]) -> None:
        model, table = self.models[-1][0], self.table
        assert table.get_many(keys) == [model.get(key) for key in keys]
        for key in keys:
            assert table.get(key) == model.get(key) and (key in table) == (key in model)
            at = model.bisect_left(key)
            above = model.peekitem(at) if at < len(model) else None
            assert table.at_or_above(key) == above

    @rule(start=ENDS, stop=ENDS, prefix=ENDS, reverse=st.booleans(), limit=LIMITS)
    def scan(self, start: Any, stop: Any, prefix: Any, reverse: bool, limit: Any) -> None:
        self.compare(self.table, self.models[-1][0], start, stop, prefix, reverse, limit)

    @staticmethod
    def compare(table: Any, model: Any, *part: Any) -> None:
        start, stop, prefix, reverse, limit = part
        wanted = cut(list(model.items()), start, stop, prefix, lambda record: record[0])
        assert table.count(start, stop, prefix=prefix) == len(wanted)
        wanted = (wanted[::-1] if reverse else wanted)[:limit]
        how = {"start": start, "stop": stop, "prefix": prefix, "reverse": reverse, "limit": limit}
        assert list(table.items(**how)) == wanted
        assert list(table.keys(**how)) == [key for key, _ in wanted]
        assert list(reversed(table.values(**how))) == [value for _, value in wanted][::-1]
        assert bool(table.keys(**how)) == bool(wanted)
        assert len(table.items(**how)) == len(wanted)

    @rule(changes=st.lists(st.tuples(KEYS, st.booleans()), max_size=8), reverse=st.booleans())
    def change_in_a_loop(self, changes: list[tuple[bytes, bool]], reverse: bool) -> None:
        """What a loop passes next is what is there then."""
        model, table, last = self.models[-1][0], self.table, None
        for key, value in table.items(reverse=reverse):
            assert model[key] == value
            if last is not None:
                between = sorted((last, key))
                assert list(model.irange(*between)) == between, "it passed something over"
            last = key
            if changes:
                changed, put = changes.pop()
                if put:
                    table[changed] = model[changed] = b"changed"
                elif changed in model:
                    del table[changed], model[changed]
                    if changed == last:
                        last = None

    @rule(key=KEYS, value=st.binary(max_size=6))
    def add(self, key: bytes, value: bytes) -> None:
        model = self.models[-1][1]
        assert self.multi.add(key, value) == ((key, value) not in model)
        model.add((key, value))

    @rule(key=KEYS, count=st.integers(1, 400))
    def add_values(self, key: bytes, count: int) -> None:
        model = self.models[-1][1]
        values = [b"%d" % n for n in range(count)]
        new = {(key, value) for value in values} - set(model)
        assert self.multi.add_values(key, values) == len(new)
        model.update(new)

    @rule(key=KEYS, value=st.binary(max_size=6))
    def remove(self, key: bytes, value: bytes) -> None:
        model = self.models[-1][1]
        assert self.multi.remove(key, value) == ((key, value) in model)
        model.discard((key, value))

    @rule(key=KEYS)
    def remove_all(self, key: bytes) -> None:
        model = self.models[-1][1]
        doomed = [pair for pair in model if pair[0] == key]
        assert list(self.multi.values(key)) == [value for _, value in doomed] == self.multi[key]
        assert self.multi.remove_all(key) == len(doomed)
        model.difference_update(doomed)

    @rule(start=ENDS, stop=ENDS, prefix=ENDS, reverse=st.booleans(), limit=LIMITS)
    def scan_pairs(self, start: Any, stop: Any, prefix: Any, reverse: bool, limit: Any) -> None:
        wanted = cut(list(self.models[-1][1]), start, stop, prefix, lambda pair: pair[0])
        multi = self.multi
        how = {"start": start, "stop": stop, "prefix": prefix, "reverse": reverse}
        keys = list(dict.fromkeys(key for key, _ in wanted))
        assert multi.count(start, stop, prefix=prefix) == len(wanted)
        wanted = wanted[::-1] if reverse else wanted
        assert list(multi.items(**how, limit=limit)) == wanted[:limit]
        assert list(multi.keys(**how)) == (keys[::-1] if reverse else keys)
        for pair in wanted[:1] + wanted[-1:]:
            assert (pair in multi.items(**how, limit=limit)) == (pair in wanted[:limit])

    @rule(key=KEYS, start=ENDS, stop=ENDS, reverse=st.booleans(), limit=LIMITS)
    def scan_values(self, key: bytes, start: Any, stop: Any, reverse: bool, limit: Any) -> None:
        wanted = cut([value for of, value in self.models[-1][1] if of == key], start, stop, None)
        wanted = (wanted[::-1] if reverse else wanted)[:limit]
        view = self.multi.values(key, start=start, stop=stop, reverse=reverse, limit=limit)
        assert list(view) == wanted and len(view) == len(wanted) and bool(view) == bool(wanted)

    @precondition(lambda self: len(self.txns) < 4)
    @rule()
    def nest(self) -> None:
        self.txns.append(self.txns[-1].nested())
        table, multi = self.models[-1]
        self.models.append((table.copy(), multi.copy()))

    @rule(keep=st.booleans())
    def end(self, keep: bool) -> None:
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
        model = getattr(self, "committed", (SortedDict(), SortedSet()))
        self.seen = self.seen[-2:] + [(self.env.read(), model[0].copy(), model[1].copy())]
        self.txns, self.models = [self.env.write()], [(model[0].copy(), model[1].copy())]

    @rule(start=ENDS, stop=ENDS, prefix=ENDS, reverse=st.booleans(), limit=LIMITS)
    def look_at_snapshots(
        self, start: Any, stop: Any, prefix: Any, reverse: bool, limit: Any
    ) -> None:
        for txn, table, multi in self.seen:
            if "t" in txn:
                self.compare(txn["t"], table, start, stop, prefix, reverse, limit)
            if "m" in txn:
                assert list(txn.table("m", multi=True).items()) == list(multi)

    @invariant()
    def lengths(self) -> None:
        if hasattr(self, "txns"):
            assert len(self.table) == len(self.models[-1][0])
            assert len(self.multi) == len(self.models[-1][1])


Histories.TestCase.settings = settings(
    max_examples=int(os.environ.get("HUON_EXAMPLES", "25")),
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestHistories = Histories.TestCase

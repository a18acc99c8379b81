"""The cases that all languages run: see `bindings/conformance/README.md`."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huon
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "conformance"
Step = dict[str, Any]


def data(given: Any) -> bytes:
    """Bytes, in either of their forms."""
    if isinstance(given, str):
        return bytes.fromhex(given)
    if isinstance(given, dict) and given.keys() == {"repeat", "times"}:
        return bytes.fromhex(given["repeat"]) * int(given["times"])
    raise AssertionError(f"{given!r} is no form of bytes")


def plain(answer: Any) -> Any:
    """An answer, with its bytes as bytes."""
    if isinstance(answer, (str, dict)):
        return data(answer)
    if isinstance(answer, list):
        return [plain(one) for one in answer]
    return answer


def listed(pairs: Any) -> Any:
    return [list(pair) for pair in pairs]


class Runner:
    def __init__(self, path: Path, durability: huon.Durability = "lazy") -> None:
        self.path = path
        self.durability: huon.Durability = durability
        self.env = huon.open(path, durability=durability)
        self.txns: dict[str, huon.ReadTxn | huon.WriteTxn] = {}
        self.steps = 0

    def close(self) -> None:
        for txn in reversed(self.txns.values()):
            txn.close()
        self.env.close()

    def run(self, number: int, step: Step) -> None:
        step = dict(step)
        op, wanted, error = step.pop("op"), step.pop("is", ...), step.pop("error", None)
        step.pop("part", None)
        action: Callable[..., Any] = getattr(self, f"do_{op}")
        try:
            answer = action(**step)
        except (huon.Error, AttributeError) as raised:
            assert error is not None, f"step {number}, {op}: {raised!r}"
            assert self.is_kind(raised, error), f"step {number}, {op}: {raised!r}, not {error}"
        else:
            assert error is None, f"step {number}, {op}: {answer!r}, not {error}"
            if wanted is not ...:
                wanted = wanted if op == "tables" else plain(wanted)
                assert answer == wanted, f"step {number}, {op}"
        self.steps += 1

    @staticmethod
    def is_kind(raised: Exception, error: str) -> bool:
        # What a transaction does not have cannot be called: so Python says that it is misused.
        kind = getattr(huon, f"{error}Error")
        return isinstance(raised, kind) or error == "Misuse" and isinstance(raised, AttributeError)

    def any(self, txn: str, table: str) -> Any:
        """A table of either kind."""
        return self.txns[txn][table] if self.is_there(txn, table) else self.table(txn, table)

    def is_there(self, txn: str, table: str) -> bool:
        return table in self.txns[txn]

    def table(self, txn: str, table: str) -> huon.Table:
        return self.txns[txn].table(table, multi=False)

    def multi(self, txn: str, table: str) -> huon.MultiTable:
        return self.txns[txn].table(table, multi=True)

    def do_read(self, txn: str) -> None:
        self.txns[txn] = self.env.read()

    def do_write(self, txn: str) -> None:
        self.txns[txn] = self.env.write()

    def do_try_write(self, txn: str) -> None:
        self.txns[txn] = self.env.write(timeout=0)

    def do_begin_nested(self, txn: str, parent: str) -> None:
        self.txns[txn] = self.txns[parent].nested()  # type: ignore[union-attr]

    def do_commit(self, txn: str) -> None:
        self.txns[txn].commit()  # type: ignore[union-attr]

    def do_abort(self, txn: str) -> None:
        if self.txns[txn].closed:
            raise huon.MisuseError("aborting again does nothing")
        self.txns[txn].close()

    def do_reopen(self, read_only: bool = False) -> None:
        self.env.close()
        self.env = huon.open(self.path, durability=self.durability, read_only=read_only)

    def do_create(self, txn: str, table: str, kind: str = "bytes") -> None:
        assert kind in ("bytes", "multi")
        if isinstance(self.txns[txn], huon.ReadTxn):
            raise huon.MisuseError("a read transaction makes no tables")
        self.txns[txn].table(table, create=True, multi=kind == "multi")  # type: ignore

    def do_has_table(self, txn: str, table: str) -> bool:
        return self.is_there(txn, table)

    def do_tables(self, txn: str) -> list[str]:
        return self.txns[txn].tables()

    def do_drop(self, txn: str, table: str) -> None:
        self.any(txn, table).drop()

    def do_clear(self, txn: str, table: str) -> None:
        self.any(txn, table).clear()

    def do_count(self, txn: str, table: str) -> int:
        return len(self.any(txn, table))

    def do_put(self, txn: str, table: str, key: Any, value: Any) -> None:
        self.table(txn, table)[data(key)] = data(value)

    def do_insert(self, txn: str, table: str, key: Any, value: Any) -> bool:
        return self.table(txn, table).insert(data(key), data(value))

    def do_get(self, txn: str, table: str, key: Any) -> bytes | None:
        return self.table(txn, table).get(data(key))

    def do_has(self, txn: str, table: str, key: Any) -> bool:
        return data(key) in self.table(txn, table)

    def do_delete(self, txn: str, table: str, key: Any) -> bool:
        return self.table(txn, table).delete(data(key))

    def do_put_many(self, txn: str, table: str, pairs: Any) -> None:
        self.table(txn, table).put_many((data(key), data(value)) for key, value in pairs)

    def do_get_many(self, txn: str, table: str, keys: Any) -> list[bytes | None]:
        return self.table(txn, table).get_many([data(key) for key in keys])

    def do_delete_range(self, txn: str, table: str, **ends: Any) -> int:
        return self.table(txn, table).delete_range(**part(ends, ("start", "stop")))

    def do_scan(self, txn: str, table: str, **given: Any) -> Any:
        return listed(self.table(txn, table).items(**part(given)))

    def do_scan_put(self, txn: str, table: str, value: Any, **given: Any) -> int:
        opened, count = self.table(txn, table), 0
        for key in opened.keys(**part(given)):
            opened[key] = data(value)
            count += 1
        return count

    def do_scan_delete(self, txn: str, table: str, **given: Any) -> int:
        opened, count = self.table(txn, table), 0
        for key, _ in opened.items(**part(given)):
            del opened[key]
            count += 1
        return count

    def do_first(self, txn: str, table: str) -> Any:
        first = self.table(txn, table).first()
        return first and list(first)

    def do_last(self, txn: str, table: str) -> Any:
        last = self.table(txn, table).last()
        return last and list(last)

    def do_sequence(self, txn: str, table: str, by: int) -> int:
        return self.table(txn, table).take_sequence(by)

    def do_multi_put(self, txn: str, table: str, key: Any, value: Any) -> bool:
        return self.multi(txn, table).add(data(key), data(value))

    def do_multi_values(self, txn: str, table: str, key: Any, reverse: bool = False) -> Any:
        return list(self.multi(txn, table).values(data(key), reverse=reverse))

    def do_multi_delete(self, txn: str, table: str, key: Any, value: Any) -> bool:
        return self.multi(txn, table).remove(data(key), data(value))

    def do_multi_delete_all(self, txn: str, table: str, key: Any) -> int:
        return self.multi(txn, table).remove_all(data(key))

    def do_multi_scan(self, txn: str, table: str, **given: Any) -> Any:
        return listed(self.multi(txn, table).items(**part(given)))


def part(given: dict[str, Any], known: tuple[str, ...] = ()) -> dict[str, Any]:
    """A range in Python's words."""
    words = {"from": "start", "to": "stop", "prefix": "prefix", "reverse": "reverse"}
    words["limit"] = "limit"
    found = {words[word]: value for word, value in given.items()}
    assert not known or set(found) <= set(known), f"{given} is not known"
    for end in ("start", "stop", "prefix"):
        if found.get(end) is not None:
            found[end] = data(found[end])
    return found


def files() -> list[Path]:
    return sorted(FOLDER.glob("cases*.json"))


def test_conformance(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cases = steps = 0
    for file in files():
        found = json.loads(file.read_text())
        assert found["format"] == 1
        for case in found["cases"]:
            folder = tmp_path / str(cases)
            folder.mkdir()
            runner = Runner(folder / "case.huon")
            try:
                for number, step in enumerate(case["steps"]):
                    runner.run(number, step)
            except BaseException as error:
                error.add_note(f"in the case {case['name']!r} of {file.name}")
                raise
            finally:
                runner.close()
            cases += 1
            steps += runner.steps
    assert cases > 0
    with capfd.disabled():
        print(f"\nconformance: {cases} cases, {steps} steps")


def exchange(path: Path, part: str) -> None:
    found = json.loads((FOLDER / "exchange.json").read_text())
    runner = Runner(path, "durable")
    try:
        for case in found["cases"]:
            for number, step in enumerate(case["steps"]):
                if step["part"] == part:
                    runner.run(number, step)
        assert runner.steps > 0
    finally:
        runner.close()


def test_exchange(tmp_path: Path) -> None:
    written = os.environ.get("HUON_EXCHANGE_WRITE")
    read = os.environ.get("HUON_EXCHANGE_READ")
    if not written and not read:
        written = read = str(tmp_path / "own.huon")
    if written:
        exchange(Path(written), "write")
    for path in (read or "").split(":"):
        if path:
            exchange(Path(path), "read")

"""`huon.aio`: nothing holds the loop up, and a cancelled task leaves nothing behind."""

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import huon
import huon.aio
import pytest


def test_tasks_queue_for_the_writer(env: huon.Env) -> None:
    async def add(count: int) -> None:
        for _ in range(count):
            async with huon.aio.write(env) as txn:
                t = txn["t"]
                n = int(t.get(b"n", b"0"))
                await asyncio.sleep(0)
                t[b"n"] = b"%d" % (n + 1)

    async def main() -> None:
        await asyncio.gather(*(add(10) for _ in range(20)))

    asyncio.run(main())
    assert env.read()["t"][b"n"] == b"200"


def test_beside_threads(env: huon.Env) -> None:
    def add() -> None:
        for _ in range(100):
            with env.write() as txn:
                t = txn["t"]
                t[b"n"] = b"%d" % (int(t.get(b"n", b"0")) + 1)

    async def main() -> int:
        threads = [threading.Thread(target=add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            async with huon.aio.write(env) as txn:
                t = txn["t"]
                t[b"n"] = b"%d" % (int(t.get(b"n", b"0")) + 1)
        while any(thread.is_alive() for thread in threads):
            await asyncio.sleep(0.01)
        return await huon.aio.update(env, lambda txn: int(txn["t"][b"n"]))

    assert asyncio.run(main()) == 220


def test_exceptions_and_cancellations_undo(env: huon.Env) -> None:
    async def main() -> None:
        with pytest.raises(LookupError):
            async with huon.aio.write(env) as txn:
                txn["t"][b"lost"] = b""
                raise LookupError

        async def forever() -> None:
            async with huon.aio.write(env) as txn:
                txn["t"][b"lost"] = b""
                await asyncio.sleep(3600)

        holding = asyncio.create_task(forever())
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(forever())
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(huon.BusyError):
            async with huon.aio.write(env, timeout=0.05):
                pass
        with pytest.raises(huon.BusyError):
            await huon.aio.update(env, lambda txn: None, timeout=0.05)
        holding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await holding
        async with huon.aio.write(env, timeout=30) as txn:
            assert "t" not in txn

    asyncio.run(main())


def test_a_task_that_would_wait_for_itself(env: huon.Env) -> None:
    async def main() -> None:
        async with huon.aio.write(env) as txn:
            txn["t"][b"a"] = b"1"
            with pytest.raises(huon.ThreadWritesError):
                await huon.aio.update(env, lambda txn: txn["t"].put(b"b", b"2"))
            waiting = asyncio.create_task(huon.aio.update(env, lambda txn: dict(txn["t"])))
            await asyncio.sleep(0)
        assert await waiting == {b"a": b"1"}

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_thread_that_would_wait_for_its_loop(env: huon.Env) -> None:
    """Whichever thread has begun the transaction: it is refused at once."""

    async def main() -> None:
        async with huon.aio.write(env), asyncio.timeout(5):
            with pytest.raises(huon.ThreadWritesError):
                env.write()
        held = env.write()
        thread = threading.Timer(0.2, held.abort)
        thread.start()
        async with huon.aio.write(env), asyncio.timeout(5):
            with pytest.raises(huon.ThreadWritesError):
                env.write()
        thread.join()

    asyncio.run(main())


def test_a_commit_that_is_refused_undoes(env: huon.Env) -> None:
    async def main() -> None:
        kept: list[huon.WriteTxn] = []
        with pytest.raises(huon.MisuseError, match="nested"):
            async with huon.aio.write(env) as txn:
                kept += [txn, txn.nested()]
        assert all(txn.closed for txn in kept)
        async with huon.aio.write(env, timeout=30) as txn:
            assert "t" not in txn

    asyncio.run(asyncio.wait_for(main(), 60))


def test_work_that_raises(env: huon.Env) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError) as raised:
            await huon.aio.run(lambda: next(iter(())))
        assert isinstance(raised.value.__cause__, StopIteration)
        with pytest.raises(SystemExit):
            await huon.aio.run(lambda: sys.exit(1))

    asyncio.run(main())


def test_a_timeout_counts_once(env: huon.Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the wait for other tasks took is taken off the wait for other threads."""
    ends: list[float | None] = []

    async def begin(env: huon.Env, until: float | None, durability: Any) -> huon.WriteTxn:
        ends.append(until)
        return await _begin(env, until, durability)

    _begin = huon.aio._begin
    monkeypatch.setattr(huon.aio, "_begin", begin)

    async def main() -> None:
        async def wait() -> None:
            async with huon.aio.write(env, timeout=3600):
                pass

        async with huon.aio.write(env):
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
            latest = asyncio.get_running_loop().time() + 3600
            await asyncio.sleep(0.2)
        await waiting
        assert ends[0] is None and ends[1] is not None and latest - 60 < ends[1] <= latest

    asyncio.run(main())


def test_waiting_for_a_thread_can_be_cancelled(env: huon.Env) -> None:
    """The writer is held outside of the loop; the task that waits for it is cancelled."""

    async def main() -> None:
        held = env._write_moving()

        async def wait() -> None:
            async with huon.aio.write(env):
                pass

        task = asyncio.create_task(wait())
        ticks = 0
        for _ in range(10):
            await asyncio.sleep(0.01)
            ticks += 1
        assert ticks == 10 and not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(huon.BusyError):
            async with huon.aio.write(env, timeout=0.1):
                pass
        held.abort()
        async with huon.aio.write(env, timeout=30):
            pass

    asyncio.run(main())


def test_commits_and_waits(path: Path) -> None:
    async def main() -> None:
        with huon.open(path) as env:
            txn = env.write()
            txn["t"][b"a"] = b"1"
            first = await huon.aio.commit(txn)
            txn = env.write()
            txn["t"][b"b"] = b"2"
            ticket = txn.commit_ticket()
            assert await huon.aio.durable(ticket) and ticket.id > first
            assert await huon.aio.sync(env) >= ticket.id
            assert await huon.aio.wait_for_commit(env, ticket.id, timeout=0.05) is None
            waiting = asyncio.create_task(huon.aio.wait_for_commit(env, ticket.id))
            seen: list[int] = []

            async def follow() -> None:
                async for newest in huon.aio.changes(env):
                    seen.append(newest)

            following = asyncio.create_task(follow())
            await asyncio.sleep(0.05)
            await huon.aio.update(env, lambda txn: txn["t"].put(b"c", b"3"))
            found = await waiting
            assert found is not None and found > ticket.id
            while not seen:
                await asyncio.sleep(0.01)
            following.cancel()
            with pytest.raises(asyncio.CancelledError):
                await following
            with pytest.raises(huon.MisuseError):
                await huon.aio.commit(txn)

    asyncio.run(main())

"""For ``asyncio``: what waits, waits in a thread, and the loop goes on.

>>> import asyncio, huon, huon.aio
>>> async def main() -> None:
...     with huon.open(None) as env:
...         async with huon.aio.write(env) as txn:  # committed at the end, without the loop
...             txn["ages"][b"ada"] = b"36"
...         with env.read() as txn:  # reads never wait
...             print(txn["ages"][b"ada"])
>>> asyncio.run(main())
b'36'

Lookups and changes of a transaction take microseconds, and are done in the loop as they are. The
tasks of a loop queue for the one write transaction in the order in which they came; a task that has
it and asks for it again gets ``ThreadWritesError``, and so does one that calls ``env.write()``
while any task of its loop has it, since both would wait for themselves. In a block of
``env.write()`` await nothing of this module that writes: it would wait for the end of the block.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ._errors import BusyError, ThreadWritesError
from ._huon import Env, Ticket, WriteTxn
from ._reports import Durability

T = TypeVar("T")

__all__ = ["changes", "commit", "durable", "run", "sync", "update", "wait_for_commit", "write"]

# A thread of its own for each wait: those of an executor may all be waiting for a transaction whose
# commit would need one of them.
_SLICE = 0.05


class _Turn(asyncio.Lock):
    """The queue of a loop's tasks for the write transaction of an environment."""

    holder: "asyncio.Task[Any] | None" = None


_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, WeakKeyDictionary[Env, _Turn]]"
_loops = WeakKeyDictionary()


def _turn(env: Env) -> _Turn:
    """The queue of the running loop."""
    turns = _loops.setdefault(asyncio.get_running_loop(), WeakKeyDictionary())
    return turns.setdefault(env, _Turn())


def _until(timeout: float | None) -> float | None:
    """The end of a wait, by the clock of the running loop."""
    return None if timeout is None else asyncio.get_running_loop().time() + timeout


async def run(work: Callable[[], T]) -> T:
    """Runs ``work`` in a thread of its own. When the task is cancelled, ``work`` goes on, and the
    task waits for it: so nothing is left to a thread that no task knows of."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def answer(set_it: Callable[[Any], None], what: Any) -> None:
        if not done.done():
            set_it(what)

    def thread() -> None:
        try:
            result = work()
        except BaseException as raised:
            error = raised
            if isinstance(raised, StopIteration):  # no future takes one
                error = RuntimeError("the work in the thread raised StopIteration")
                error.__cause__ = raised
            loop.call_soon_threadsafe(answer, done.set_exception, error)
        else:
            loop.call_soon_threadsafe(answer, done.set_result, result)

    threading.Thread(target=thread, name="huon.aio", daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while not done.done():
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:
            break
    if cancelled is not None:
        if not done.cancelled():
            done.exception()
        raise cancelled
    return done.result()


async def _begin(env: Env, until: float | None, durability: Durability | None) -> WriteTxn:
    """Begins a write transaction; a task that is cancelled meanwhile leaves none behind."""
    time = asyncio.get_running_loop().time
    try:
        return env._write_moving(timeout=0.0, durability=durability)
    except BusyError:
        if until is not None and time() >= until:
            raise
    given_up = threading.Event()
    begun: list[WriteTxn] = []

    def wait() -> None:
        while not given_up.is_set():
            left = _SLICE if until is None else min(_SLICE, max(until - time(), 0.0))
            try:
                begun.append(env._write_moving(timeout=left, durability=durability))
                return
            except BusyError:
                if until is not None and time() >= until:
                    raise

    try:
        await _watched(wait, given_up)
    except asyncio.CancelledError:
        for txn in begun:
            txn.abort()
        raise
    txn = begun.pop()
    _ = txn.id  # used here, it is a transaction of the loop's thread
    return txn


async def _watched(wait: Callable[[], T], given_up: threading.Event) -> T:
    """Runs a wait that ends soon once it is given up, and gives it up if the task is cancelled."""
    task = asyncio.ensure_future(run(wait))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        given_up.set()
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue
        raise


@asynccontextmanager
async def write(
    env: Env, *, timeout: float | None = None, durability: Durability | None = None
) -> AsyncIterator[WriteTxn]:
    """The write transaction: waits for it without holding the loop up, commits at the end in a
    thread, and undoes everything when the block raises or is cancelled. ``timeout``: at most so
    many seconds for the transaction, then ``BusyError``; without it, as long as it takes."""
    turn, task, until = _turn(env), asyncio.current_task(), _until(timeout)
    if turn.holder is task:
        raise ThreadWritesError("this task has the write transaction: it would wait for itself")
    try:
        async with asyncio.timeout_at(until):
            await turn.acquire()
    except TimeoutError:
        raise BusyError("another task of this loop has the write transaction") from None
    turn.holder = task
    try:
        txn = await _begin(env, until, durability)
        try:
            yield txn
            if not txn.closed:
                await run(txn.commit)
        except BaseException:
            txn.abort()  # also where the commit was refused: after a commit it does nothing
            raise
    finally:
        turn.holder = None
        turn.release()


async def update(
    env: Env,
    work: Callable[[WriteTxn], T],
    *,
    timeout: float | None = None,
    durability: Durability | None = None,
) -> T:
    """Runs ``work`` in a write transaction, commits, and returns what it returned."""
    async with write(env, timeout=timeout, durability=durability) as txn:
        return work(txn)


async def commit(txn: WriteTxn, durability: Durability | None = None) -> int:
    """Commits in a thread; returns the number of the snapshot."""
    return await run(lambda: txn.commit(durability))


async def durable(ticket: Ticket, timeout: float | None = None) -> bool:
    """Waits until a commit is durable: see ``WriteTxn.commit_ticket``."""
    return ticket.durable or await run(lambda: ticket.wait(timeout))


async def sync(env: Env) -> int:
    """As ``Env.sync``."""
    return await run(env.sync)


async def wait_for_commit(env: Env, after: int, timeout: float | None = None) -> int | None:
    """As ``Env.wait_for_commit``. When the task is cancelled, its thread ends within a moment."""
    given_up = threading.Event()
    time, until = asyncio.get_running_loop().time, _until(timeout)

    def wait() -> int | None:
        while not given_up.is_set():
            left = _SLICE if until is None else min(_SLICE, max(until - time(), 0.0))
            found = env.wait_for_commit(after, left)
            if found is not None or (until is not None and time() >= until):
                return found
        return None

    return await _watched(wait, given_up)


async def changes(env: Env, after: int | None = None) -> AsyncIterator[int]:
    """The numbers of snapshots as they become visible, each the newest at its time:
    ``async for newest in huon.aio.changes(env)``."""
    if after is None:
        with env.read() as txn:
            after = txn.id
    while True:
        found = await wait_for_commit(env, after)
        if found is not None:
            after = found
            yield found

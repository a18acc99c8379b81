"""What the tests share."""

import signal
from collections.abc import Iterator
from pathlib import Path

import huon
import pytest


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C arrives also where a shell runs the tests in the background, and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.huon"


@pytest.fixture
def env(path: Path) -> Iterator[huon.Env]:
    """A fresh environment whose commits do not wait for the disk."""
    with huon.open(path, durability="lazy") as env:
        yield env


@pytest.fixture
def filled(env: huon.Env) -> huon.Env:
    """The same with a table `t` of a thousand records."""
    with env.write() as txn:
        txn["t"].put_many((b"%04d" % n, b"value %d" % n) for n in range(1000))
    return env

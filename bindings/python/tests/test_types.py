"""The types: stubs against the module, and the package and its tests against the stubs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubtest() -> None:
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy.stubtest", "huon._huon", "--ignore-disjoint-bases")


def test_mypy() -> None:
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy", "--strict")


def test_pyright() -> None:
    pytest.importorskip("pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright needs node")
    run(sys.executable, "-m", "pyright", "--pythonpath", sys.executable)

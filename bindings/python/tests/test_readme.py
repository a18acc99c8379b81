"""What is written in the README and in docstrings runs."""

import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_readme(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[number], f"block {number} of README.md", "exec"), {"__name__": "readme"})


def test_readme_has_examples() -> None:
    assert len(BLOCKS) > 3


@pytest.mark.parametrize("name", ["", ".typed", ".aio", ".dbm", ".arrays"])
def test_docstrings(name: str) -> None:
    if name == ".arrays":
        pytest.importorskip("numpy")
    found = doctest.testmod(importlib.import_module(f"huon{name}"))
    assert found.attempted > 0 and found.failed == 0
    assert sys.version_info >= (3, 11)

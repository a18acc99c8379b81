"""`huon.dbm`, also below `shelve`."""

import os
import shelve
import stat
from pathlib import Path
from typing import Any

import huon
import huon.dbm
import pytest


def test_as_dbm(path: Path) -> None:
    with huon.dbm.open(path, "c") as db:
        db["ada"] = "36"
        db[b"alan"] = b"41"
        db.update({"grace": "85"}, bob="1")
        assert db["ada"] == b"36" == db.get("ada") and db.get("eve") is None
        assert db.keys() == [b"ada", b"alan", b"bob", b"grace"] and len(db) == 4
        assert "ada" in db and b"eve" not in db
        assert db.firstkey() == b"ada" and db.nextkey("ada") == b"alan" and db.nextkey("z") is None
        assert db.setdefault("ada", b"0") == b"36" and db.pop("bob") == b"1"
        for absent in (lambda: db["bob"], lambda: db.__delitem__("bob")):
            with pytest.raises(KeyError):
                absent()
        for key in db:
            del db[key]
        assert len(db) == 0 and db.firstkey() is None
        wrong: Any = 7
        with pytest.raises(TypeError):
            db[wrong] = b""
        db["kept"] = "1"
        db.sync()
        db.reorganize()
    with pytest.raises(huon.dbm.error):
        db["kept"]
    with huon.dbm.open(path) as db:
        assert db["kept"] == b"1"
        with pytest.raises(huon.dbm.error):
            db["more"] = b""
    with huon.dbm.open(path, "ws") as db:
        db["more"] = b""
    with huon.dbm.open(path, "n") as db:
        assert len(db) == 0 and "kept" not in db
    assert huon.dbm.whichdb(path) == "huon.dbm"
    assert huon.dbm.whichdb(path.with_name("none")) is None
    path.write_bytes(b"something else" * 1000)
    assert huon.dbm.whichdb(path) == ""
    with pytest.raises(FileNotFoundError):
        huon.dbm.open(path.with_name("none"))
    with pytest.raises(ValueError):
        huon.dbm.open(path, "x")


def test_the_umask_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads would make files with the one that is set meanwhile."""
    mask = os.umask(0o027)
    try:
        with monkeypatch.context() as patched:
            patched.delattr(os, "umask")
            huon.dbm.open(path, "c", 0o666).close()
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(mask)


def test_below_shelve(path: Path) -> None:
    with huon.dbm.shelf(path) as shelf:
        shelf["people"] = {"ada": [1815, 1852]}
    with huon.dbm.shelf(path, "w", writeback=True) as shelf:
        shelf["people"]["alan"] = [1912, 1954]
    assert isinstance(shelf, shelve.Shelf)
    with huon.dbm.shelf(path, "r") as shelf:
        assert shelf["people"] == {"ada": [1815, 1852], "alan": [1912, 1954]}
        assert list(shelf) == ["people"] and len(shelf) == 1

"""Named snapshots, backups, and files that are made of them."""

import io
from pathlib import Path

import huon
import pytest


def put(env: huon.Env, value: bytes) -> None:
    with env.write() as txn:
        txn["t"][b"key"] = value


def test_a_named_snapshot_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.huon"
    with huon.open(path) as env:
        put(env, b"old")
        before = env.name_snapshot("before")
        put(env, b"new")
    with huon.open(path) as env:
        assert env.named_snapshots() == [{"name": "before", "snapshot": before}]
        with env.read(snapshot="before") as txn:
            assert txn["t"][b"key"] == b"old"
        with env.read() as txn:
            assert txn["t"][b"key"] == b"new"
        assert env.check()["named_snapshots"] == 1
        with pytest.raises(KeyError, match="other"):
            env.read(snapshot="other")
        with pytest.raises(huon.InvalidError):
            env.name_snapshot("")
        with env.write(), pytest.raises(huon.ThreadWritesError):
            env.name_snapshot("within")
        assert env.drop_snapshot("before")
        assert not env.drop_snapshot("before")


def test_backups_are_restored(tmp_path: Path) -> None:
    one, two, path = tmp_path / "one", tmp_path / "two", tmp_path / "restored.huon"
    with huon.open(tmp_path / "a.huon") as env:
        put(env, b"old")
        env.name_snapshot("before")
        put(env, b"new")
        told: list[int] = []
        first = env.backup(
            one, snapshot="before", progress=lambda done, total: told.append(done)
        )
        assert first["since"] is None and told
        assert one.stat().st_mode & 0o777 == 0o600
        out = io.BytesIO()
        second = env.backup(out, since=first["snapshot"])
        assert second["since"] == first["snapshot"]
        assert second["bytes"] == len(out.getvalue())
        two.write_bytes(out.getvalue())
        with pytest.raises(huon.ExistingFileError):
            env.backup(one)
        with pytest.raises(KeyError):
            env.backup(tmp_path / "none", snapshot="other")
        with pytest.raises(ValueError, match="stop"):
            env.backup(tmp_path / "none", progress=stopped)
        assert not (tmp_path / "none").exists()
    report = huon.restore(path, [one, two])
    assert report["snapshot"] == second["snapshot"]
    with huon.open(path) as env, env.read() as txn:
        assert txn["t"][b"key"] == b"new"
    with pytest.raises(huon.DivergedError):
        huon.restore(tmp_path / "half.huon", [two])
    with pytest.raises(huon.MissingFileError):
        huon.restore(tmp_path / "half.huon", [tmp_path / "none"])
    assert not (tmp_path / "half.huon").exists()


def stopped(done: int, total: int) -> None:
    raise ValueError("stop")

"""`huon.arrays`."""

import huon
import pytest

np = pytest.importorskip("numpy")
import huon.arrays as arrays  # noqa: E402


@pytest.mark.parametrize("kind", ["u1", "u4", "u8", "i2", "i4", "i8", ">u4", ">i8"])
def test_integers(env: huon.Env, kind: str) -> None:
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    keys = np.array(sorted({low, low + 1, *range(100), high - 1, high}), kind)
    shuffled = np.random.default_rng(1).permutation(keys)
    with env.write() as txn:
        t = txn["t"]
        arrays.put_many(t, shuffled, shuffled.astype(float) / 2)
        found, values = arrays.scan(t, kind, float)
        assert (found == keys).all() and (values == keys.astype(float) / 2).all()
        found, values = arrays.scan(t, kind, float, start=10, stop=20, reverse=True, limit=3)
        assert list(found) == [19, 18, 17] and list(values) == [9.5, 9.0, 8.5]
    with env.read() as read:
        t = read["t"]
        wanted = np.array([5, 100, 7], kind)
        values, there = arrays.get_many(t, wanted, float)
        assert list(there) == [True, False, True] and list(values) == [2.5, 0.0, 3.5]
        first = next(iter(t))
        assert list(np.frombuffer(t[first], "<f8")) == [low / 2]
        view = np.frombuffer(t.view(first) or b"", "<f8")
        with pytest.raises(BufferError):
            read.close()
        del view


def test_more_than_there_is_room_for(env: huon.Env) -> None:
    with env.write() as txn:
        keys = np.arange(10**6, dtype="u8")
        with pytest.raises(MemoryError):
            arrays.get_many(txn["t"], keys, np.dtype("V2000000000"))


def test_other_forms(env: huon.Env) -> None:
    record = np.dtype([("a", "<u4"), ("b", "<f8", (2,))])
    values = np.zeros(50, record)
    values["a"], values["b"] = np.arange(50), np.arange(100).reshape(50, 2)
    names = np.array([b"key %02d" % n for n in range(50)], "S6")
    rows = np.arange(200, dtype=np.uint8).reshape(50, 4)
    with env.write() as txn:
        arrays.put_many(txn["s"], names, values)
        keys, found = arrays.scan(txn["s"], "S6", record, prefix=b"key 1")
        assert list(keys) == list(names[10:20]) and (found == values[10:20]).all()
        arrays.put_many(txn["r"], rows, rows[:, ::-1])
        found, there = arrays.get_many(txn["r"], rows[::2], np.dtype((np.uint8, 4)))
        assert there.all() and (found.reshape(-1, 4) == rows[::2, ::-1]).all()
        keys, _ = arrays.scan(txn["r"], "V4", "V4")
        assert keys.tobytes() == rows.tobytes()
        txn["s"][b"short"] = b""
        for wrong in (
            lambda: arrays.scan(txn["s"], "S6", record),
            lambda: arrays.get_many(txn["s"], np.array([b"short"]), record),
            lambda: arrays.put_many(txn["s"], names, values[:3]),
            lambda: arrays.put_many(txn["s"], np.array(b"x"), values[:1]),
        ):
            with pytest.raises((ValueError, TypeError)):
                wrong()
        empty = np.empty(0, "u8")
        arrays.put_many(txn["e"], empty, empty)
        assert len(arrays.get_many(txn["e"], empty, "u8")[0]) == 0
        assert [len(one) for one in arrays.scan(txn["e"], "u8", "u8")] == [0, 0]

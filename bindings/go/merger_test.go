package huon_test

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"huon"
)

// adds makes the sum of two numbers. Each call grows the stack now and then, which moves it, and
// collects garbage. It refuses, or panics, where a test wants it.
var (
	added            atomic.Uint64
	refuses, panicks atomic.Bool
	errNoSum         = errors.New("no sum")
)

var adds = huon.MustMerger("adds", func(older, newer []byte) ([]byte, error) {
	if n := added.Add(1); n%16 == 0 {
		deep(200)
		if n%4096 == 0 {
			runtime.GC()
		}
	}
	switch {
	case refuses.Load():
		return nil, errNoSum
	case panicks.Load():
		panic("no sum")
	}
	a, err := strconv.Atoi(string(older))
	b, other := strconv.Atoi(string(newer))
	return strconv.AppendInt(nil, int64(a+b), 10), errors.Join(err, other)
})

// joins makes one value of two that stand one behind the other; of two empty ones none.
var joins = huon.MustMerger("joins", func(older, newer []byte) ([]byte, error) {
	deep(200)
	if len(older)+len(newer) == 0 {
		return nil, nil
	}
	return slices.Concat(older, newer), nil
})

func merged(
	t *testing.T, db *huon.DB, name string, by *huon.Merger,
) (*huon.LSM, *huon.LSMTable) {
	t.Helper()
	lsm, err := db.LSM(smallLSM)
	must(t, err)
	table, err := lsm.MergedTable(name, by)
	must(t, err)
	return lsm, table
}

func digits(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// whereItFails has the function fail in either way, while something is done.
func whereItFails(t *testing.T, work func(t *testing.T, kinds ...error)) {
	t.Run("refuses", func(t *testing.T) {
		defer refuses.Store(false)
		refuses.Store(true)
		work(t, huon.ErrStopped, errNoSum)
	})
	t.Run("panics", func(t *testing.T) {
		defer panicks.Store(false)
		panicks.Store(true)
		work(t, huon.ErrStopped)
	})
}

// ofCounts is a table in which each of 40 keys has 1 in each of some runs, and how it is added to.
func ofCounts(t *testing.T) (db *huon.DB, lsm *huon.LSM, counts *huon.LSMTable, add func()) {
	t.Helper()
	db = open(t, nil)
	lsm, counts = merged(t, db, "counts", adds)
	add = func() {
		t.Helper()
		update(t, db, func(tx *huon.Tx) error {
			for n := range 40 {
				must(t, counts.Merge(tx, key(n), []byte("1")))
			}
			return nil
		})
	}
	for range 3 {
		add()
	}
	return db, lsm, counts, add
}

func haveAll(t *testing.T, db *huon.DB, counts *huon.LSMTable, want string) {
	t.Helper()
	view(t, db, func(tx *huon.Tx) error {
		found := all(t, counts.Scan(tx))
		for n, pair := range found {
			if pair != string(key(n))+"="+want {
				t.Fatalf("%q instead of %q", pair, want)
			}
		}
		if len(found) != 40 {
			t.Error(len(found))
		}
		return nil
	})
}

// What a function fails with is the error of the call that needed it: nothing is changed then.
func TestMergerFails(t *testing.T) {
	db, lsm, counts, add := ofCounts(t)
	whereItFails(t, func(t *testing.T, kinds ...error) {
		fails := func(err error) {
			t.Helper()
			for _, kind := range kinds {
				refused(t, err, kind)
			}
			if !strings.Contains(err.Error(), "the function that merges has ") ||
				!strings.Contains(err.Error(), "no sum") {
				t.Error(err)
			}
		}
		must(t, db.View(func(tx *huon.Tx) error {
			fails(second(counts.Get(tx, key(7))))
			fails(second(counts.GetRaw(tx, key(7))))
			fails(second(counts.GetMany(tx, [][]byte{key(50), key(7)})))
			scan := counts.Scan(tx)
			for range scan.Keys() {
				t.Error("a key whose value there is not")
			}
			fails(scan.Err())
			c := counts.Cursor(tx)
			c.Last()
			fails(c.Err())
			if is, err := counts.Has(tx, key(50)); is || err != nil {
				t.Error(is, err)
			}
			return nil
		}))
		twice := func(tx *huon.Tx) error {
			return errors.Join(counts.Merge(tx, key(7), []byte("1")),
				counts.Merge(tx, key(7), []byte("1")))
		}
		fails(db.Update(false, twice))
		tx, err := db.BeginWrite(t.Context())
		must(t, err)
		must(t, twice(tx))
		fails(second(tx.CommitTicket()))
		var b huon.LSMBatch
		b.Merge(counts, key(7), []byte("1"))
		b.Merge(counts, key(7), []byte("1"))
		fails(lsm.Write(t.Context(), huon.Lazy, &b))
		_, err = lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll})
		fails(err)
	})
	haveAll(t, db, counts, "3")
	// Merges after a commit fail for themselves.
	wanted := 3
	whereItFails(t, func(t *testing.T, _ ...error) {
		for range 12 {
			add()
			wanted++
		}
	})
	haveAll(t, db, counts, strconv.Itoa(wanted))
	_, err := lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll})
	must(t, err)
	haveAll(t, db, counts, strconv.Itoa(wanted))
}

// A transaction that writes goes on where a function has failed.
func TestMergerFailsInATransaction(t *testing.T) {
	db, _, counts, _ := ofCounts(t)
	update(t, db, func(tx *huon.Tx) error {
		must(t, counts.Merge(tx, key(7), []byte("10")))
		whereItFails(t, func(t *testing.T, kinds ...error) {
			for _, kind := range kinds {
				refused(t, second(counts.Get(tx, key(7))), kind)
			}
			// What is undone with its level is not asked for.
			refused(t, tx.Nested(func(tx *huon.Tx) error {
				must(t, counts.Merge(tx, key(7), []byte("100")))
				return errNoSum
			}), errNoSum)
			must(t, counts.Merge(tx, key(8), []byte("10")))
		})
		return nil
	})
	view(t, db, func(tx *huon.Tx) error {
		values, err := counts.GetMany(tx, [][]byte{key(7), key(8), key(9)})
		if found := string(bytes.Join(values, []byte(" "))); found != "13 23 3" {
			t.Error(found)
		}
		return err
	})
}

// Threads of a compactor end where a function fails, and tell why.
func TestMergerFailsInACompactor(t *testing.T) {
	for _, fails := range []*atomic.Bool{&refuses, &panicks} {
		db, lsm, counts, _ := ofCounts(t)
		fails.Store(true)
		before := added.Load()
		compactor, err := lsm.StartCompactor()
		must(t, err)
		for end := time.Now().Add(30 * time.Second); added.Load() == before; {
			if time.Now().After(end) {
				t.Fatal("nothing is merged")
			}
			time.Sleep(10 * time.Millisecond)
		}
		err = compactor.Stop()
		fails.Store(false)
		refused(t, err, huon.ErrStopped)
		if errors.Is(err, errNoSum) != (fails == &refuses) {
			t.Error(err)
		}
		must(t, compactor.Stop())
		haveAll(t, db, counts, "3")
		compactor, err = lsm.StartCompactor()
		must(t, err)
		for end := time.Now().Add(30 * time.Second); statOf(t, db, counts).Runs > 1; {
			if time.Now().After(end) {
				t.Fatalf("%+v", statOf(t, db, counts))
			}
			time.Sleep(10 * time.Millisecond)
		}
		must(t, compactor.Stop())
		haveAll(t, db, counts, "3")
	}
}

// What is no merger, and tables that are opened by another one, or by none.
func TestWrongMergers(t *testing.T) {
	function := func(older, newer []byte) ([]byte, error) { return newer, nil }
	for _, name := range []string{"", strings.Repeat("n", 256), "\xff", "a\x00b"} {
		refused(t, second(huon.NewMerger(name, function)), huon.ErrBadArgument)
	}
	refused(t, second(huon.NewMerger("none", nil)), huon.ErrBadArgument)
	refused(t, second(huon.NewMerger("adds", function)), huon.ErrNameTaken)
	func() {
		defer func() {
			if err, is := recover().(error); !is || !errors.Is(err, huon.ErrNameTaken) {
				t.Error(err)
			}
		}()
		huon.MustMerger("joins", function)
	}()
	db := open(t, nil)
	lsm, counts := merged(t, db, "counts", adds)
	if again, err := lsm.MergedTable("counts", adds); again != counts || err != nil {
		t.Error("it is another one", err)
	}
	if again, err := lsm.Table("counts"); again != counts || err != nil {
		t.Error("it is another one", err)
	}
	refused(t, second(lsm.MergedTable("counts", nil)), huon.ErrBadArgument)
	refused(t, second(lsm.MergedTable("counts", joins)), huon.ErrDecode)
	refused(t, second(lsm.MergedTable("", joins)), huon.ErrInvalid)
	plain, err := lsm.Table("plain")
	must(t, err)
	refused(t, second(lsm.MergedTable("plain", adds)), huon.ErrDecode)
	update(t, db, func(tx *huon.Tx) error {
		refused(t, plain.Merge(tx, []byte("a"), []byte("1")), huon.ErrInvalid)
		refused(t, counts.Merge(tx, make([]byte, 5000), nil), huon.ErrKeyTooLong)
		refused(t, counts.Merge(nil, []byte("a"), nil), huon.ErrBadTx)
		must(t, plain.Put(tx, []byte("a"), []byte("1")))
		return counts.Merge(tx, []byte("a"), []byte("1"))
	})
	refused(t, db.View(func(tx *huon.Tx) error { return counts.Merge(tx, nil, nil) }), huon.ErrBadTx)
	var b huon.LSMBatch
	b.Merge(plain, []byte("a"), []byte("1"))
	refused(t, lsm.Write(t.Context(), huon.Lazy, &b), huon.ErrInvalid)
	other, err := db.LSM(nil)
	must(t, err)
	refused(t, second(other.MergedTable("counts", joins)), huon.ErrDecode)
	refused(t, second(other.MergedTable("plain", adds)), huon.ErrDecode)
	must(t, db.Close())
	refused(t, second(lsm.MergedTable("counts", adds)), huon.ErrClosed)
}

// A table that is opened without its merger keeps what was merged, and shows the rest.
func TestReopenedWithoutItsMerger(t *testing.T) {
	db, _, _, _ := ofCounts(t)
	must(t, db.Close())
	again, err := huon.Open(db.Path(), nil)
	must(t, err)
	lsm, counts := openLSM(t, again, "counts")
	update(t, again, func(tx *huon.Tx) error {
		refused(t, second(counts.Get(tx, key(7))), huon.ErrInvalid)
		refused(t, counts.Merge(tx, key(7), []byte("1")), huon.ErrInvalid)
		must(t, counts.Put(tx, key(8), []byte("3")))
		must(t, counts.Delete(tx, key(40)))
		if v, err := counts.Get(tx, key(8)); string(v) != "3" || err != nil {
			t.Error(string(v), err)
		}
		return nil
	})
	view(t, again, func(tx *huon.Tx) error {
		scan := counts.Scan(tx)
		for range scan.All() {
		}
		refused(t, scan.Err(), huon.ErrInvalid)
		return nil
	})
	_, err = lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll, Table: "counts"})
	refused(t, err, huon.ErrInvalid)
	must(t, again.Close())
	again, err = huon.Open(db.Path(), nil)
	must(t, err)
	_, counts = merged(t, again, "counts", adds)
	haveAll(t, again, counts, "3")
	must(t, again.Close())
}

// In a transaction that has merged, C may call back whoever asks: also by a table that was opened
// without the merger.
func TestMergedBesideAnotherHandle(t *testing.T) {
	db := open(t, nil)
	small := *smallLSM
	small.BatchBytes = 4096
	lsm, err := db.LSM(&small)
	must(t, err)
	counts, err := lsm.MergedTable("counts", adds)
	must(t, err)
	_, plain := openLSM(t, db, "counts")
	_, others := openLSM(t, db, "others")
	apply := func(tx *huon.Tx) error {
		var b huon.LSMBatch
		b.Merge(counts, key(0), []byte("1"))
		b.Put(others, key(0), nil) // The batch's last table has no merger.
		return b.Apply(tx)
	}
	merge := func(tx *huon.Tx) error { return counts.Merge(tx, key(0), []byte("1")) }
	for _, add := range []func(tx *huon.Tx) error{merge, apply} {
		update(t, db, func(tx *huon.Tx) error {
			done := make(chan bool)
			go func() { // Its stack is small, and moves.
				defer close(done)
				for n := range 1000 {
					if err := add(tx); err != nil {
						t.Error(err)
					}
					if err := plain.Put(tx, key(1+n%3), digits(n)); err != nil {
						t.Error(err)
					}
					scan := plain.Scan(tx)
					for range scan.All() {
					}
					scan.Err() // It cannot merge what lies in runs.
				}
			}()
			<-done
			return nil
		})
	}
	view(t, db, func(tx *huon.Tx) error {
		if v, err := counts.Get(tx, key(0)); string(v) != "2000" || err != nil {
			t.Error(string(v), err)
		}
		return nil
	})
}

// Values that are folded are empty, or long, and stay until their transaction ends.
func TestMergedValuesStay(t *testing.T) {
	db := open(t, nil)
	lsm, logs := merged(t, db, "logs", joins)
	part := bytes.Repeat([]byte("0123456789"), 5000)
	for range 4 {
		update(t, db, func(tx *huon.Tx) error {
			for n := range 8 { // So many that they make a run.
				must(t, logs.Merge(tx, key(n), part))
			}
			must(t, logs.Merge(tx, []byte("empty"), nil))
			return logs.Merge(tx, nil, []byte("of the empty key"))
		})
	}
	view(t, db, func(tx *huon.Tx) error {
		var raws [][]byte
		for n := range 8 {
			raw, err := logs.GetRaw(tx, key(n))
			must(t, err)
			raws = append(raws, raw)
		}
		empty, err := logs.Get(tx, []byte("empty"))
		if empty == nil || len(empty) != 0 || err != nil {
			t.Error(empty, err)
		}
		v, err := logs.Get(tx, nil)
		if string(v) != strings.Repeat("of the empty key", 4) || err != nil {
			t.Error(string(v), err)
		}
		_, err = lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll})
		must(t, err)
		for n, raw := range raws {
			if !bytes.Equal(raw, bytes.Repeat(part, 4)) {
				t.Error(n, len(raw))
			}
		}
		return nil
	})
}

// asks looks into another database in the midst of a call, by another merger.
var asks struct {
	db     *huon.DB
	counts *huon.LSMTable
}

var askers = huon.MustMerger("asks", func(older, newer []byte) ([]byte, error) {
	var sum []byte
	err := asks.db.View(func(tx *huon.Tx) (err error) {
		sum, err = asks.counts.Get(tx, key(7))
		return err
	})
	return slices.Concat(older, newer, sum), err
})

func TestMergerUsesAnotherDatabase(t *testing.T) {
	asks.db, _, asks.counts, _ = ofCounts(t)
	db := open(t, nil)
	_, logs := merged(t, db, "logs", askers)
	update(t, db, func(tx *huon.Tx) error {
		must(t, logs.Merge(tx, []byte("k"), []byte("a")))
		must(t, logs.Merge(tx, []byte("k"), []byte("b")))
		whereItFails(t, func(t *testing.T, kinds ...error) {
			for _, kind := range kinds {
				refused(t, second(logs.Get(tx, []byte("k"))), kind)
			}
		})
		if v, err := logs.Get(tx, []byte("k")); string(v) != "ab3" || err != nil {
			t.Error(string(v), err)
		}
		return nil
	})
}

// Goroutines write and read at the same time, beside threads that merge.
func TestMergerInManyGoroutines(t *testing.T) {
	db := open(t, nil)
	lsm, counts := merged(t, db, "counts", adds)
	compactor, err := lsm.StartCompactor()
	must(t, err)
	const goroutines, rounds, keys = 8, 40, 10
	var wait sync.WaitGroup
	for range goroutines {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var b huon.LSMBatch
			for range rounds {
				b.Reset()
				for n := range 2 * keys {
					b.Merge(counts, key(n%keys), []byte("1"))
				}
				if err := lsm.Write(t.Context(), huon.Lazy, &b); err != nil {
					t.Error(err)
				}
				if err := db.View(func(tx *huon.Tx) error {
					return second(counts.Get(tx, key(3)))
				}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wait.Wait()
	must(t, compactor.Stop())
	view(t, db, func(tx *huon.Tx) error {
		for n := range keys {
			v, err := counts.Get(tx, key(n))
			if string(v) != string(digits(2*goroutines*rounds)) || err != nil {
				t.Error(n, string(v), err)
			}
		}
		return nil
	})
}

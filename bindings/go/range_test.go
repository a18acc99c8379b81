package huon_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"huon"
)

// A range keeps its bounds, whatever becomes of the slices that it was made of.
func TestRangeKeepsItsBounds(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1000)
	must(t, db.View(func(tx *huon.Tx) error {
		count, buffer := 0, []byte("key 0001")
		scan := table(t, tx, "t").Prefix(buffer)
		for range scan.Keys() {
			copy(buffer, "key 0009")
			count++
		}
		for range scan.Reverse().All() {
			count++
		}
		if count != 200 {
			t.Error(count)
		}
		return nil
	}))
}

// Options of a table that make no sense are refused.
func TestWrongTableOptions(t *testing.T) {
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		for _, with := range []huon.TableOptions{
			{ValueBytes: 1<<32 + 8}, {ValueBytes: -1}, {Keys: 4}, {Keys: -1}, {Values: 99},
		} {
			refused(t, second(tx.CreateMulti("m", with)), huon.ErrBadArgument)
			refused(t, second(tx.CreateTableWith("m", with)), huon.ErrBadArgument)
		}
		is, err := tx.HasTable("m")
		if is {
			t.Error("it was created")
		}
		return err
	}))
}

// Each step takes back the error of the one before it, and each loop that of the loop before.
func TestErrorsOfStepsBefore(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 100)
	must(t, db.View(func(tx *huon.Tx) error {
		c := table(t, tx, "t").Cursor()
		c.First()
		must(t, tx.Renew())
		if k, _ := c.Next(); k != nil {
			t.Error("it goes on in another snapshot")
		}
		if k, _ := c.First(); k == nil {
			t.Error("it does not begin anew")
		}
		return nil
	}))
	tx, err := db.BeginRead()
	must(t, err)
	scan := table(t, tx, "t").Scan()
	for range scan.All() {
		must(t, tx.Renew())
	}
	for range scan.All() {
		break
	}
	must(t, scan.Err())
	must(t, tx.Rollback())
}

// allocated is how many bytes fn takes from the heap.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A loop over keys copies no values, and a seek copies one.
func TestWhatIsCopied(t *testing.T) {
	db := open(t, nil)
	long := bytes.Repeat([]byte("v"), 1000)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		tb, err := tx.CreateTable("t")
		must(t, err)
		for n := range 1000 {
			must(t, tb.Put(key(n), long))
		}
		return nil
	}))
	must(t, db.View(func(tx *huon.Tx) error {
		tb := table(t, tx, "t")
		keys, c := 0, tb.Cursor()
		if n := allocated(func() {
			for k := range tb.Scan().Keys() {
				keys += len(k)
			}
		}); n > 200_000 || keys != 10_000 {
			t.Error("the keys take ", n, keys)
		}
		if n := allocated(func() {
			for n := range 1000 {
				if v, _ := c.Get(key(n)); !bytes.Equal(v, long) {
					t.Error("it is not found")
				}
			}
		}); n > 1_500_000 {
			t.Error("gets take ", n)
		}
		return nil
	}))
}

// A compaction waits for the writer no longer than its context, nor than other writers do.
func TestCompactWaits(t *testing.T) {
	db := open(t, &huon.Options{Durability: huon.Lazy, LockTimeout: 300 * time.Millisecond})
	fill(t, db, "t", 20_000)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		return second(table(t, tx, "t").DeleteRange(key(10), key(15_000)))
	}))
	other, err := huon.Open(db.Path(), &huon.Options{LockTimeout: time.Hour})
	must(t, err)
	defer other.Close()
	tx, err := db.BeginWrite(context.Background())
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	report, err := other.Compact(ctx, huon.CompactOptions{})
	must(t, err)
	if report.IsComplete {
		t.Error(report)
	}
	_, err = db.Compact(context.Background(), huon.CompactOptions{})
	if !errors.Is(err, huon.ErrBusy) {
		t.Error(err)
	}
	must(t, tx.Rollback())
	report, err = other.Compact(context.Background(), huon.CompactOptions{})
	must(t, err)
	if !report.IsComplete || report.AfterBytes >= report.BeforeBytes || report.Commits == 0 {
		t.Error(report)
	}
}

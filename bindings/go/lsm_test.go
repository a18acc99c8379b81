package huon_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"huon"
)

// Small enough that a test makes many runs, and merges some of them.
var smallLSM = &huon.LSMOptions{Small: 4, OpenBytes: 2000, BaseBytes: 1000, StepBytes: 4000}

func openLSM(t *testing.T, db *huon.DB, name string) (*huon.LSM, *huon.LSMTable) {
	t.Helper()
	lsm, err := db.LSM(smallLSM)
	must(t, err)
	events, err := lsm.Table(name)
	must(t, err)
	return lsm, events
}

func update(t *testing.T, db *huon.DB, fn func(tx *huon.Tx) error) {
	t.Helper()
	must(t, db.Update(false, fn))
}

func view(t *testing.T, db *huon.DB, fn func(tx *huon.Tx) error) {
	t.Helper()
	must(t, db.View(fn))
}

// Random changes of an LSM table and of an ordinary one: both show the same, by every way to look,
// in the transaction and after it, with many runs and with one.
func TestLSMModel(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 7))
		db := open(t, nil)
		lsm, events := openLSM(t, db, "events")
		fill(t, db, "t", 0)
		for round := range 12 {
			update(t, db, func(tx *huon.Tx) error {
				tb := table(t, tx, "t")
				for range 40 {
					changeBoth(t, random, tx, events, tb)
				}
				sameLSM(t, random, tx, events, tb)
				return nil
			})
			if round%5 == 4 {
				_, err := lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll})
				must(t, err)
			}
			view(t, db, func(tx *huon.Tx) error {
				sameLSM(t, random, tx, events, table(t, tx, "t"))
				return nil
			})
		}
	}
}

func changeBoth(
	t *testing.T, random *rand.Rand, tx *huon.Tx, events *huon.LSMTable, tb *huon.Table,
) {
	t.Helper()
	k, v := []byte(someKey(random)), fmt.Append(nil, random.Uint64())
	switch random.IntN(12) {
	case 0, 1:
		must(t, events.Delete(tx, k))
		_, err := tb.Delete(k)
		must(t, err)
	case 2:
		to := []byte(string(k[:1]) + "5")
		must(t, events.DeleteRange(tx, k, to))
		_, err := tb.DeleteRange(k, to)
		must(t, err)
	case 3:
		is, err := events.Insert(tx, k, v)
		must(t, err)
		want, err := tb.Insert(k, v)
		must(t, err)
		if is != want {
			t.Fatalf("%s: %v instead of %v", k, is, want)
		}
	case 4:
		is, err := events.Update(tx, k, v)
		must(t, err)
		want, err := tb.Update(k, v)
		must(t, err)
		if is != want {
			t.Fatalf("%s: %v instead of %v", k, is, want)
		}
	default:
		must(t, events.Put(tx, k, v))
		must(t, tb.Put(k, v))
	}
}

func all(t *testing.T, scan *huon.Scan) (all []string) {
	t.Helper()
	for k, v := range scan.All() {
		all = append(all, fmt.Sprintf("%s=%s", k, v))
	}
	must(t, scan.Err())
	return all
}

func sameLSM(
	t *testing.T, random *rand.Rand, tx *huon.Tx, events *huon.LSMTable, tb *huon.Table,
) {
	t.Helper()
	from, to := []byte(someKey(random)), []byte(someKey(random))
	for _, pair := range [][2]*huon.Scan{
		{events.Scan(tx), tb.Scan()},
		{events.Scan(tx).Reverse().Raw(), tb.Scan().Reverse()},
		{events.Range(tx, from, to), tb.Range(from, to)},
		{events.Range(tx, from, to).Reverse(), tb.Range(from, to).Reverse()},
		{events.Range(tx, from, nil).Limit(9), tb.Range(from, nil).Limit(9)},
		{events.Prefix(tx, from[:1]), tb.Prefix(from[:1])},
		{events.Prefix(tx, from[:2]).Reverse(), tb.Prefix(from[:2]).Reverse()},
	} {
		if found, want := all(t, pair[0]), all(t, pair[1]); !slices.Equal(found, want) {
			t.Fatalf("%q instead of %q", found, want)
		}
	}
	c, want := events.Cursor(tx), tb.Cursor()
	for range 60 {
		var k, v, wantK, wantV []byte
		switch random.IntN(8) {
		case 0:
			k, v = c.Seek(from)
			wantK, wantV = want.Seek(from)
		case 1:
			k, v = c.Last()
			wantK, wantV = want.Last()
		case 2, 3:
			k, v = c.Prev()
			wantK, wantV = want.Prev()
		default:
			k, v = c.Next()
			wantK, wantV = want.Next()
		}
		if string(k) != string(wantK) || string(v) != string(wantV) {
			t.Fatalf("%s=%s instead of %s=%s", k, v, wantK, wantV)
		}
	}
	must(t, c.Err())
	var keys [][]byte
	for range 300 {
		keys = append(keys, []byte(someKey(random)))
	}
	values, err := events.GetMany(tx, keys)
	must(t, err)
	wants, err := tb.GetMany(keys)
	must(t, err)
	for i, k := range keys {
		one, err := events.Get(tx, k)
		must(t, err)
		has, err := events.Has(tx, k)
		must(t, err)
		if (values[i] == nil) != (wants[i] == nil) || string(values[i]) != string(wants[i]) ||
			string(one) != string(wants[i]) || has != (wants[i] != nil) {
			t.Fatalf("%s: %s, %s, %v instead of %s", k, values[i], one, has, wants[i])
		}
	}
}

// Records may be changed in the midst of a loop, and at a cursor.
func TestLSMChangesWithinALoop(t *testing.T) {
	db := open(t, nil)
	_, events := openLSM(t, db, "events")
	update(t, db, func(tx *huon.Tx) error {
		for n := range 100 {
			must(t, events.Put(tx, key(n), value(n)))
		}
		return nil
	})
	update(t, db, func(tx *huon.Tx) error {
		n := 0
		for k := range events.Scan(tx).Keys() {
			if n%2 == 0 {
				must(t, events.Delete(tx, k))
			}
			n++
		}
		c := events.Cursor(tx)
		for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
			must(t, c.Put([]byte("new")))
			if string(k) < string(key(50)) {
				must(t, c.Delete())
			}
		}
		must(t, c.Err())
		if n != 100 {
			t.Error(n)
		}
		return nil
	})
	view(t, db, func(tx *huon.Tx) error {
		found := all(t, events.Scan(tx))
		if len(found) != 25 || found[0] != "key 000051=new" {
			t.Error(found)
		}
		return nil
	})
}

// Batches of many goroutines arrive whole, in few commits.
func TestLSMBatches(t *testing.T) {
	db := open(t, nil)
	lsm, events := openLSM(t, db, "events")
	_, others := openLSM(t, db, "others")
	before, err := db.Info()
	must(t, err)
	var wait sync.WaitGroup
	for g := range 20 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var b huon.LSMBatch
			for round := range 5 {
				b.Reset()
				for n := range 50 {
					b.Put(events, fmt.Append(nil, round, n, g), value(n))
				}
				b.Put(others, fmt.Append(nil, g), []byte("first"))
				b.Delete(events, fmt.Append(nil, round, 0, g))
				b.Put(others, fmt.Append(nil, g), fmt.Append(nil, round))
				b.PutUntil(others, []byte("over"), nil, time.Now())
				b.PutUntil(others, []byte("to come"), nil, time.Now().Add(time.Hour))
				if b.Len() != 55 {
					t.Error(b.Len())
				}
				if err := lsm.Write(t.Context(), huon.Lazy, &b); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wait.Wait()
	view(t, db, func(tx *huon.Tx) error {
		if n := len(all(t, events.Scan(tx))); n != 20*5*49 {
			t.Error(n)
		}
		for g := range 20 {
			if v, err := others.Get(tx, fmt.Append(nil, g)); string(v) != "4" {
				t.Error(string(v), err)
			}
		}
		over, err := others.Has(tx, []byte("over"))
		must(t, err)
		if toCome, err := others.Has(tx, []byte("to come")); over || !toCome {
			t.Error(over, toCome, err)
		}
		if raw, err := events.GetRaw(tx, fmt.Append(nil, 3, 7, 11)); string(raw) != string(value(7)) {
			t.Error(string(raw), err)
		}
		return nil
	})
	after, err := db.Info()
	must(t, err)
	if commits := after.Commits - before.Commits; commits == 0 {
		t.Error("no commit")
	}
}

// A batch may be made in a transaction, too, beside other changes, and be undone with it.
func TestLSMBatchApplied(t *testing.T) {
	db, other := open(t, nil), open(t, nil)
	lsm, events := openLSM(t, db, "events")
	if again, err := lsm.Table("events"); again != events || err != nil {
		t.Error("it is another one", err)
	}
	var b huon.LSMBatch
	b.Put(events, []byte("a"), []byte("1"))
	refused(t, db.Update(false, func(tx *huon.Tx) error {
		must(t, b.Apply(tx))
		if found := all(t, events.Scan(tx)); len(found) != 1 {
			t.Error(found)
		}
		return context.Canceled
	}), context.Canceled)
	refused(t, other.Update(false, b.Apply), huon.ErrBadTx)
	refused(t, db.View(b.Apply), huon.ErrBadTx)
	view(t, db, func(tx *huon.Tx) error {
		if found := all(t, events.Scan(tx)); len(found) != 0 {
			t.Error(found)
		}
		return new(huon.LSMBatch).Apply(tx)
	})
	update(t, db, b.Apply)
	view(t, db, func(tx *huon.Tx) error {
		if found := all(t, events.Scan(tx)); len(found) != 1 {
			t.Error(found)
		}
		return nil
	})
}

// What is wrong with a batch is told by Write, and changes nothing.
func TestWrongLSMBatches(t *testing.T) {
	db, other := open(t, nil), open(t, nil)
	lsm, events := openLSM(t, db, "events")
	_, foreign := openLSM(t, other, "events")
	write := func(fill func(b *huon.LSMBatch)) error {
		b := &huon.LSMBatch{}
		b.Put(events, []byte("a"), []byte("1"))
		fill(b)
		b.Put(events, []byte("b"), []byte("2"))
		return lsm.Write(t.Context(), huon.Lazy, b)
	}
	refused(t, write(func(b *huon.LSMBatch) { b.Put(events, make([]byte, 5000), nil) }),
		huon.ErrKeyTooLong)
	refused(t, write(func(b *huon.LSMBatch) { b.Delete(nil, []byte("a")) }), huon.ErrBadArgument)
	refused(t, write(func(b *huon.LSMBatch) { b.Put(foreign, []byte("x"), nil) }), huon.ErrBadTx)
	must(t, lsm.Write(t.Context(), huon.Lazy, &huon.LSMBatch{}))
	refused(t, lsm.Write(t.Context(), huon.Durability(9), &huon.LSMBatch{}), huon.ErrBadArgument)
	view(t, db, func(tx *huon.Tx) error {
		if found := all(t, events.Scan(tx)); len(found) != 0 {
			t.Error(found)
		}
		return nil
	})
	// One that waits for its turn until its context ends has done nothing.
	tx, err := db.BeginWrite(t.Context())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	var b huon.LSMBatch
	b.Put(events, []byte("late"), nil)
	refused(t, lsm.Write(ctx, huon.Lazy, &b), context.DeadlineExceeded)
	must(t, tx.Rollback())
	must(t, lsm.Write(t.Context(), huon.Lazy, &b))
}

// runs makes many runs that no commit merges.
func runs(t *testing.T, db *huon.DB, events *huon.LSMTable, count int) {
	t.Helper()
	for round := range count {
		update(t, db, func(tx *huon.Tx) error {
			for n := range 60 {
				must(t, events.Put(tx, fmt.Appendf(nil, "%04d", (round*60+n)*7919%5003), value(n)))
			}
			return nil
		})
	}
}

func statOf(t *testing.T, db *huon.DB, events *huon.LSMTable) (stat huon.LSMStat) {
	t.Helper()
	view(t, db, func(tx *huon.Tx) (err error) {
		stat, err = events.Stat(tx)
		return err
	})
	return stat
}

// A compaction tells how far it is, ends with its context, and goes on the next time.
func TestLSMCompact(t *testing.T) {
	db := open(t, nil)
	lsm, events := openLSM(t, db, "events")
	runs(t, db, events, 40)
	before := statOf(t, db, events)
	if before.Runs < 2 || before.Records < 2400 || before.Bytes == 0 || before.PutBytes == 0 ||
		before.FilterBytes == 0 {
		t.Fatalf("%+v", before)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := lsm.Compact(ctx, huon.LSMCompactOptions{Work: huon.MergeAll})
	refused(t, err, context.Canceled)
	var told uint64
	steps, err := lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll, Table: "events",
		Progress: func(steps uint64) { told = steps }})
	must(t, err)
	after := statOf(t, db, events)
	if steps < 5 || told != steps || after.Runs != 1 || after.DebtBytes != 0 ||
		after.MergedBytes <= before.MergedBytes {
		t.Errorf("%d, %d, %+v", steps, told, after)
	}
	for _, work := range []huon.LSMWork{huon.MergeDue, huon.Shorten} {
		_, err = lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: work})
		must(t, err)
	}
	_, err = lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: 9})
	refused(t, err, huon.ErrBadArgument)
	view(t, db, func(tx *huon.Tx) error {
		if problems, err := events.Check(tx); len(problems) != 0 || err != nil {
			t.Error(problems, err)
		}
		return nil
	})
	// What the function panics with that is told about progress goes on here.
	runs(t, db, events, 10)
	defer func() {
		if recover() != "told" {
			t.Error("no panic")
		}
	}()
	lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll,
		Progress: func(uint64) { panic("told") }})
}

// A compaction waits for a slow writer, until its context ends or as long as a transaction would.
func TestLSMCompactWaits(t *testing.T) {
	db := open(t, &huon.Options{Durability: huon.Lazy, LockTimeout: 200 * time.Millisecond})
	lsm, events := openLSM(t, db, "events")
	runs(t, db, events, 10)
	tx, err := db.BeginWrite(t.Context())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = lsm.Compact(ctx, huon.LSMCompactOptions{Work: huon.MergeAll})
	refused(t, err, context.DeadlineExceeded)
	_, err = lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll})
	refused(t, err, huon.ErrBusy)
	done := make(chan error)
	go func() {
		_, err := lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll})
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	must(t, tx.Rollback())
	must(t, <-done)
	if stat := statOf(t, db, events); stat.Runs != 1 {
		t.Errorf("%+v", stat)
	}
}

// Threads merge beside a writer that holds its place for longer than C waits.
func TestCompactor(t *testing.T) {
	db := open(t, nil)
	lsm, events := openLSM(t, db, "events")
	runs(t, db, events, 20)
	tx, err := db.BeginWrite(t.Context())
	must(t, err)
	compactor, err := lsm.StartCompactor()
	must(t, err)
	time.Sleep(150 * time.Millisecond)
	must(t, tx.Rollback())
	for end := time.Now().Add(30 * time.Second); statOf(t, db, events).Runs > 1; {
		if time.Now().After(end) {
			t.Fatalf("%+v", statOf(t, db, events))
		}
		time.Sleep(10 * time.Millisecond)
	}
	must(t, compactor.Stop())
	must(t, compactor.Stop())
	// One that is not stopped ends with the database.
	_, err = lsm.StartCompactor()
	must(t, err)
	must(t, db.Close())
}

// An end of a database closes its tables: nothing keeps the file open, and each use is an error.
func TestLSMAfterTheEnd(t *testing.T) {
	db, other := open(t, nil), open(t, nil)
	lsm, events := openLSM(t, db, "events")
	refused(t, second(lsm.Table("")), huon.ErrInvalid)
	for _, options := range []huon.LSMOptions{{Fan: 1}, {Fan: -1}, {Small: 1 << 40}} {
		if _, err := db.LSM(&options); !errors.Is(err, huon.ErrInvalid) &&
			!errors.Is(err, huon.ErrBadArgument) {
			t.Error(options, err)
		}
	}
	update(t, other, func(tx *huon.Tx) error {
		refused(t, events.Put(tx, nil, nil), huon.ErrBadTx)
		refused(t, second(events.Get(tx, nil)), huon.ErrBadTx)
		refused(t, second(events.Get(nil, nil)), huon.ErrBadTx)
		refused(t, second(events.GetMany(tx, nil)), huon.ErrBadTx)
		scan := events.Scan(tx)
		for range scan.All() {
		}
		refused(t, scan.Err(), huon.ErrBadTx)
		scan = events.Scan(nil)
		for range scan.All() {
		}
		refused(t, scan.Err(), huon.ErrClosed)
		return nil
	})
	view(t, db, func(tx *huon.Tx) error {
		refused(t, events.Put(tx, nil, nil), huon.ErrBadTx)
		refused(t, events.DeleteRange(tx, nil, nil), huon.ErrBadTx)
		return nil
	})
	must(t, lsm.Close())
	must(t, lsm.Close())
	refused(t, second(lsm.Table("x")), huon.ErrClosed)
	update(t, db, func(tx *huon.Tx) error { return events.Put(tx, []byte("a"), nil) })
	tx, err := db.BeginRead()
	must(t, err)
	refused(t, db.Close(), huon.ErrStillOpen)
	refused(t, second(events.Get(tx, []byte("a"))), huon.ErrClosed)
	must(t, tx.Rollback())
	refused(t, second(events.Get(tx, []byte("a"))), huon.ErrClosed)
	refused(t, second(db.LSM(nil)), huon.ErrClosed)
	refused(t, second(lsm.StartCompactor()), huon.ErrClosed)
	refused(t, second(lsm.Compact(t.Context(), huon.LSMCompactOptions{})), huon.ErrClosed)
	refused(t, lsm.Write(t.Context(), huon.Lazy, &huon.LSMBatch{}), huon.ErrClosed)
	// The file is free: it can be deleted.
	must(t, second(huon.Delete(db.Path())))
}

// A table is emptied, and deleted; changes of a transaction that is undone are none.
func TestLSMClearAndDrop(t *testing.T) {
	db := open(t, nil)
	_, events := openLSM(t, db, "events")
	runs(t, db, events, 2)
	update(t, db, func(tx *huon.Tx) error {
		err := tx.Nested(func(tx *huon.Tx) error {
			must(t, events.Clear(tx))
			if n := len(all(t, events.Scan(tx))); n != 0 {
				t.Error(n)
			}
			return errors.New("undone")
		})
		if n := len(all(t, events.Scan(tx))); n != 120 {
			t.Error(n, err)
		}
		return nil
	})
	update(t, db, events.Clear)
	if stat := statOf(t, db, events); stat.Tombstones > 120 {
		t.Errorf("%+v", stat)
	}
	update(t, db, events.Drop)
	update(t, db, func(tx *huon.Tx) error { return events.Put(tx, []byte("a"), []byte("1")) })
	view(t, db, func(tx *huon.Tx) error {
		if found := all(t, events.Scan(tx)); len(found) != 1 || events.Name() != "events" {
			t.Error(found)
		}
		return nil
	})
}

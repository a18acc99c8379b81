package huon_test

import (
	"context"
	"errors"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"huon"
)

// A durability that there is not commits nothing, and leaves nothing open.
func TestWrongDurability(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1)
	for _, d := range []huon.Durability{-2, -1, 4, 7, 1 << 40} {
		refused(t, db.UpdateContext(context.Background(), d, func(tx *huon.Tx) error {
			t.Error("it runs")
			return nil
		}), huon.ErrBadArgument)
		tx, err := db.BeginWrite(context.Background())
		must(t, err)
		must(t, table(t, tx, "t").Put([]byte("wrong"), nil))
		refused(t, second(tx.CommitWith(d)), huon.ErrBadArgument)
		refused(t, tx.Rollback(), huon.ErrClosed)
		tx, err = db.TryWrite()
		must(t, err)
		must(t, tx.Rollback())
	}
	if has(t, db, "wrong") {
		t.Error("it was committed")
	}
	must(t, db.Close())
}

// A Batch within a Batch waits for itself, as an Update within an Update does.
func TestBatchWithinBatch(t *testing.T) {
	db := open(t, &huon.Options{LockTimeout: 30 * time.Millisecond})
	must(t, db.Batch(func(*huon.Tx) error {
		refused(t, db.Batch(func(*huon.Tx) error { t.Error("it ran"); return nil }), huon.ErrBusy)
		return nil
	}))
	must(t, db.Batch(func(*huon.Tx) error { return nil }))
}

// slow writes when it is told to.
type slow struct{ begun, goOn chan struct{} }

func (s slow) Write(bytes []byte) (int, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.goOn
	return len(bytes), nil
}

// A transaction that ends while it is copied ends the copy, and leaves no reader.
func TestEndWithinACopy(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 20_000)
	var all sync.WaitGroup
	copied := func(tx *huon.Tx) slow {
		w := slow{make(chan struct{}, 1), make(chan struct{})}
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := tx.WriteTo(w)
			if !errors.Is(err, huon.ErrClosed) {
				t.Error(err)
			}
		}()
		<-w.begun
		return w
	}
	var w slow
	must(t, db.View(func(tx *huon.Tx) error { w = copied(tx); return nil }))
	readers, err := db.Readers()
	must(t, err)
	if len(readers) != 0 {
		t.Error("a reader is left: ", readers)
	}
	close(w.goOn)

	tx, err := db.BeginRead()
	must(t, err)
	w = copied(tx)
	must(t, tx.Rollback())
	close(w.goOn)
	all.Wait()
	must(t, db.Close())
}

// Tickets hold no file open, and what Close has flushed is durable.
func TestCloseWithTickets(t *testing.T) {
	for _, waits := range []bool{true, false} {
		db := open(t, nil)
		fill(t, db, "t", 1)
		tx, err := db.BeginWrite(context.Background())
		must(t, err)
		must(t, table(t, tx, "t").Put([]byte("k"), nil))
		ticket, err := tx.CommitTicket()
		must(t, err)
		if waits {
			must(t, ticket.Wait(context.Background()))
		}
		must(t, db.Close())
		if is, err := ticket.IsDurable(); !is || err != nil {
			t.Error(is, err)
		}
		must(t, ticket.Wait(context.Background()))
		if was, err := huon.Delete(db.Path()); !was || err != nil {
			t.Error(was, err)
		}
	}
}

// Those that wait for something of a database end with it, and do not hold it open.
func TestCloseWithWaiters(t *testing.T) {
	for range 10 {
		db := open(t, nil)
		fill(t, db, "t", 1)
		var all, begun sync.WaitGroup
		for _, wait := range []func(){
			func() {
				for range db.Commits(context.Background(), 1<<40) {
				}
			},
			func() {
				for {
					if _, err := db.Info(); err != nil {
						refused(t, err, huon.ErrClosed)
						return
					}
				}
			},
			func() {
				for {
					if _, err := db.Sync(); err != nil {
						refused(t, err, huon.ErrClosed)
						return
					}
				}
			},
		} {
			all.Add(1)
			begun.Add(1)
			go func() { defer all.Done(); begun.Done(); wait() }()
		}
		begun.Wait()
		time.Sleep(time.Millisecond)
		must(t, db.Close())
		all.Wait()
		again, err := huon.Open(db.Path(), &huon.Options{Exclusive: true})
		must(t, err)
		must(t, again.Close())
	}
}

// Goroutines that wait hold no thread of the system each.
func TestWaitersHoldNoThreads(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1)
	threads := func() int { return pprof.Lookup("threadcreate").Count() }
	ctx, cancel := context.WithCancel(context.Background())
	var all, begun sync.WaitGroup
	before := threads()
	for range 1000 {
		all.Add(1)
		begun.Add(1)
		go func() {
			defer all.Done()
			begun.Done()
			_, err := db.WaitForCommit(ctx, 1<<40)
			refused(t, err, context.Canceled)
		}()
	}
	begun.Wait()
	time.Sleep(60 * time.Millisecond)
	cancel()
	all.Wait()
	if grown := threads() - before; grown > 300 {
		t.Errorf("%d threads for 1000 goroutines", grown)
	}
}

// All that wait for commits see the last one, however many share a wait.
func TestManyWaitForCommits(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1)
	first, err := db.Info()
	must(t, err)
	var all sync.WaitGroup
	for range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			last := first.Visible
			for id := range db.Commits(context.Background(), first.Visible) {
				if id <= last {
					t.Errorf("%d after %d", id, last)
				}
				if last = id; id == first.Visible+200 {
					return
				}
			}
		}()
	}
	for n := range 200 {
		must(t, db.Update(false, func(tx *huon.Tx) error {
			return table(t, tx, "t").Put(key(n), []byte("new"))
		}))
	}
	all.Wait()
}

// A Batch whose context ends while another writer is in its place does nothing, and waits no more.
func TestBatchGivesUp(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1)
	tx, err := db.BeginWrite(t.Context())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	refused(t, db.BatchContext(ctx, huon.Lazy, func(*huon.Tx) error {
		t.Error("it ran")
		return nil
	}), context.DeadlineExceeded)
	if waited := time.Since(begun); waited > 10*time.Second {
		t.Error(waited)
	}
	ran := make(chan error)
	go func() { ran <- db.Batch(func(*huon.Tx) error { return nil }) }()
	time.Sleep(20 * time.Millisecond)
	must(t, tx.Rollback())
	must(t, <-ran)
}

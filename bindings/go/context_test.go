package huon_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"huon"
)

var (
	_ io.WriterTo = (*huon.DB)(nil)
	_ io.WriterTo = (*huon.Tx)(nil)
)

// waits are all calls that wait for another writer, or work long, until a context ends.
func waits(
	t *testing.T, db *huon.DB, lsm *huon.LSM, b *huon.LSMBatch,
) map[string]func(context.Context) error {
	nothing := func(*huon.Tx) error { return nil }
	dir := t.TempDir()
	return map[string]func(context.Context) error{
		"BeginWrite": func(ctx context.Context) error {
			tx, err := db.BeginWrite(ctx)
			if err == nil {
				err = tx.Rollback()
			}
			return err
		},
		"UpdateContext": func(ctx context.Context) error {
			return db.UpdateContext(ctx, huon.Lazy, nothing)
		},
		"BatchContext": func(ctx context.Context) error {
			return db.BatchContext(ctx, huon.NoMetaSync, nothing)
		},
		"LSM.Write": func(ctx context.Context) error { return lsm.Write(ctx, huon.Lazy, b) },
		"LSM.Compact": func(ctx context.Context) error {
			return second(lsm.Compact(ctx, huon.LSMCompactOptions{Work: huon.MergeAll}))
		},
		"WaitForCommit": func(ctx context.Context) error {
			return second(db.WaitForCommit(ctx, 1<<60))
		},
		"CopyTo": func(ctx context.Context) error {
			slow := func(_, _ uint64) { <-ctx.Done() }
			_, err := db.CopyTo(ctx, filepath.Join(dir, "copy"), huon.CopyOptions{Progress: slow})
			return err
		},
		"Check": func(ctx context.Context) error { return second(db.Check(ctx)) },
	}
}

// Each wait ends with its context, and soon; one whose context has ended does not begin.
func TestContexts(t *testing.T) {
	db := open(t, nil)
	lsm, events := openLSM(t, db, "events")
	runs(t, db, events, 10)
	var b huon.LSMBatch
	b.Put(events, []byte("late"), nil)
	all := waits(t, db, lsm, &b)
	tx, err := db.BeginWrite(t.Context())
	must(t, err)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, wait := range all {
		if err := wait(over); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "CopyTo" || name == "Check" {
			continue // They wait for no writer.
		}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		begun := time.Now()
		if err := wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if waited := time.Since(begun); waited > 10*time.Second {
			t.Errorf("%s: %v", name, waited)
		}
		cancel()
	}
	must(t, tx.Rollback())
	view(t, db, func(tx *huon.Tx) error {
		if is, err := events.Has(tx, []byte("late")); is || err != nil {
			t.Error(is, err)
		}
		return nil
	})
}

// Those that wait for a writer that does not end are woken when the database is closed.
func TestCloseWhileOthersWaitToWrite(t *testing.T) {
	db := open(t, nil)
	lsm, events := openLSM(t, db, "events")
	runs(t, db, events, 10)
	var b huon.LSMBatch
	b.Put(events, []byte("late"), nil)
	tx, err := db.BeginWrite(t.Context())
	must(t, err)
	type ended struct {
		name string
		err  error
	}
	woken, count := make(chan ended), 0
	for name, wait := range waits(t, db, lsm, &b) {
		if name == "CopyTo" || name == "Check" || name == "LSM.Compact" {
			continue // They stay good, and go on.
		}
		count++
		go func() { woken <- ended{name, wait(context.Background())} }()
	}
	time.Sleep(50 * time.Millisecond)
	refused(t, db.Close(), huon.ErrStillOpen)
	begun := time.Now()
	for range count {
		if e := <-woken; !errors.Is(e.err, huon.ErrClosed) {
			t.Errorf("%s: %v", e.name, e.err)
		}
	}
	if waited := time.Since(begun); waited > 10*time.Second {
		t.Error(waited)
	}
	must(t, tx.Rollback())
}

//go:build cgo

package huon

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// batcher gathers functions that are to write in one transaction, of one durability.
type batcher struct {
	mu        sync.Mutex
	calls     []*batched
	isRunning bool
}

type batched struct {
	fn   func(*Tx) error
	err  error
	done chan struct{}
	// What fn panicked with, to be thrown where Batch was called.
	thrown any
	// fn has returned, and not panicked.
	isOut bool
}

// The most functions of one transaction.
const batchMost = 1000

// Batch is a durable Update that shares its transaction with those of other goroutines: one commit,
// and one flush, for all that come while another one is on its way. A function that returns an
// error, or panics, undoes its own changes only. It may run in another goroutine. Wait for no other
// Batch or Update within fn.
func (db *DB) Batch(fn func(*Tx) error) error {
	return db.BatchContext(context.Background(), Durable, fn)
}

// BatchContext is Batch with any durability, shared with those that have the same. It gives up
// waiting for its turn when the context ends; what runs then goes on.
func (db *DB) BatchContext(ctx context.Context, d Durability, fn func(*Tx) error) error {
	if err := d.check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	call := &batched{fn: fn, done: make(chan struct{})}
	b := &db.batches[d]
	b.add(call, func() { db.runBatches(d) })
	timer := time.NewTimer(db.timeout)
	defer timer.Stop()
	var late error
	select {
	case <-call.done:
	case <-ctx.Done():
		late = fmt.Errorf("%w: %w", ctx.Err(), db.busy())
	case <-timer.C:
		late = db.busy()
	}
	if late != nil && b.withdraw(call) {
		return late
	}
	<-call.done
	if call.thrown != nil {
		panic(call.thrown)
	}
	return call.err
}

// add has a function wait for its turn, and a goroutine run those that do.
func (b *batcher) add(call *batched, run func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, call)
	if !b.isRunning {
		b.isRunning = true
		go run()
	}
}

// withdraw takes back a function that still waits for its turn.
func (b *batcher) withdraw(call *batched) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.calls, call)
	if at < 0 {
		return false
	}
	b.calls = slices.Delete(b.calls, at, at+1)
	return true
}

// goesOn reports whether functions wait; if none does, the goroutine that runs them ends.
func (b *batcher) goesOn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isRunning = len(b.calls) > 0
	return b.isRunning
}

// take takes the functions of the next transaction.
func (b *batcher) take() []*batched {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.calls), batchMost)
	calls := b.calls[:n:n]
	b.calls = b.calls[n:]
	return calls
}

func (db *DB) runBatches(d Durability) {
	isDone := false
	defer func() {
		if !isDone {
			go db.runBatches(d) // A function has ended this goroutine.
		}
	}()
	for b := &db.batches[d]; b.goesOn(); {
		db.runBatch(b, d)
	}
	isDone = true
}

// runBatch runs the functions that wait once it is the writer: until then they can be withdrawn.
func (db *DB) runBatch(b *batcher, d Durability) {
	tx, err := db.beginWrite(context.Background(), db.timeout)
	if isCode(err, ErrBusy) {
		return // Those that have waited for so long give up themselves.
	}
	calls := b.take()
	// Whatever ends this goroutine, nobody waits for ever.
	left := fmt.Errorf("huon: a function of the batch ended its goroutine: %w", ErrTxBroken)
	defer func() {
		for _, call := range calls {
			if call.err == nil && call.thrown == nil {
				call.err = left
			}
			close(call.done)
		}
	}()
	if err != nil {
		left = err
		return
	}
	tx.managed = true
	defer tx.end()
	for _, call := range calls {
		call.run(tx)
	}
	_, left = tx.commit(d)
}

// run runs one function in a transaction of its own within that of all.
func (call *batched) run(tx *Tx) {
	defer func() {
		if !call.isOut {
			call.thrown = recover()
		}
	}()
	call.err = tx.Nested(call.fn)
	call.isOut = true
}

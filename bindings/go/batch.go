package huon

import (
	"context"
	"fmt"
	"sync"
)

// batcher gathers functions that are to write in one transaction.
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
// error, or panics, undoes its own changes only. It may run in another goroutine.
func (db *DB) Batch(fn func(*Tx) error) error {
	call := &batched{fn: fn, done: make(chan struct{})}
	b := &db.batch
	b.mu.Lock()
	b.calls = append(b.calls, call)
	if !b.isRunning {
		b.isRunning = true
		go db.runBatches()
	}
	b.mu.Unlock()
	<-call.done
	if call.thrown != nil {
		panic(call.thrown)
	}
	return call.err
}

// take takes the functions of the next transaction; none ends the goroutine that runs them.
func (b *batcher) take() []*batched {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.calls), batchMost)
	calls := b.calls[:n:n]
	b.calls = b.calls[n:]
	b.isRunning = n > 0
	return calls
}

func (db *DB) runBatches() {
	isDone := false
	defer func() {
		if !isDone {
			go db.runBatches() // A function has ended this goroutine.
		}
	}()
	for calls := db.batch.take(); len(calls) > 0; calls = db.batch.take() {
		db.runBatch(calls)
	}
	isDone = true
}

func (db *DB) runBatch(calls []*batched) {
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
	tx, err := db.beginWrite(context.Background(), db.timeout)
	if err != nil {
		left = err
		return
	}
	tx.managed = true
	defer tx.end()
	for _, call := range calls {
		call.run(tx)
	}
	_, left = tx.commit(Durable)
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

// Package huon is an embedded, transactional, ordered key-value store in one memory-mapped file,
// which any number of goroutines and processes share. One writes at a time, all others read, and
// readers and writer never wait for each other.
//
//	db, err := huon.Open("people.huon", nil)
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	return db.Update(true, func(tx *huon.Tx) error {
//		ages, err := tx.CreateTable("ages")
//		if err != nil {
//			return err
//		}
//		return ages.Put([]byte("ada"), []byte("36"))
//	})
//
// Keys and values that are returned are copies, unless Raw is asked for. A key that is not there
// has the value nil, and that is no error.
//
// Transactions belong to no thread and no goroutine. All methods may be called from any goroutine;
// those of one transaction wait for each other, so give each reading goroutine its own.
package huon

// #include "bridge.h"
import "C"

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// DB is an open database. All goroutines may use it at the same time.
type DB struct {
	env     C.uintptr_t
	path    string
	timeout time.Duration
	closed  atomic.Bool
	ended   chan struct{} // is closed with it
	cleanup runtime.Cleanup
	// calls is shared by calls of C that have the database: Close waits for their end. Those that
	// take long, and transactions, are none of them.
	calls sync.RWMutex
	// Tickets whose answer is not final, and those that wait for flushes or commits.
	tickets          sync.Map
	flushes, changes rounds
	// writer has room for the one goroutine that begins or has a write transaction: others wait as
	// goroutines, and not each with a thread of the system. It is free again before the commit, so
	// that commits share flushes.
	writer chan struct{}
	lsms   *lsmHandles
	// By durability.
	batches [Unsynced + 1]batcher
}

// Open opens the database at path, and creates it if it is missing; its lock file lies beside it,
// with "-lock" appended. Close it when it is not needed any more.
func Open(path string, options *Options) (*DB, error) {
	name, err := cPath(path)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(name))
	return open(path, name, options)
}

// cPath is a path for C, which frees it.
func cPath(path string) (*C.char, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return nil, misuse(ErrBadArgument, "the path has a zero byte")
	}
	return C.CString(path), nil
}

// OpenInMemory opens a database without files, of this process.
func OpenInMemory(options *Options) (*DB, error) { return open("", nil, options) }

func open(path string, name *C.char, options *Options) (*DB, error) {
	if options == nil {
		options = &Options{}
	}
	numbers := options.numbers()
	told := C.go_open(name, C.size_t(len(numbers)/2), unsafe.SliceData(numbers))
	if err := failed(told.code, told.fault); err != nil {
		return nil, err
	}
	db := &DB{env: told.handle, path: path, timeout: options.LockTimeout, lsms: &lsmHandles{}}
	db.writer, db.ended = make(chan struct{}, 1), make(chan struct{})
	if db.timeout == 0 {
		db.timeout = lockTimeout
	}
	if options.EvictParked {
		waits := C.uint32_t(min(millis(options.WaitForReaders), 1<<31))
		if err := done(C.go_on_slow_reader(db.env, waits)); err != nil {
			db.Close()
			return nil, err
		}
		C.go_set(db.env, C.HUON_SLOW_READERS_BEFORE_GROWING, 1)
	}
	// A forgotten database is closed. It flushes, which may take long.
	lsms := db.lsms
	db.cleanup = runtime.AddCleanup(db, func(env C.uintptr_t) {
		go func() {
			lsms.closeAll()
			C.go_close(env)
		}()
	}, db.env)
	return db, nil
}

// Close flushes all commits, and closes the database. Those that wait for a commit or for the
// writer's place end with ErrClosed; compactors end, and write-optimised tables are closed.
// Transactions that are open, copies, checks and compactions stay good, with what they have shown:
// the file is closed with the last of them, and Close says ErrStillOpen. A second Close does
// nothing.
func (db *DB) Close() error {
	if db.closed.Swap(true) {
		return nil
	}
	close(db.ended)
	db.cleanup.Stop()
	db.calls.Lock()
	defer db.calls.Unlock()
	db.settleTickets()
	failed := db.lsms.closeAll()
	if err := done(C.go_close(db.env)); err != nil {
		return err
	}
	return failed
}

// enterC begins a call of C that Close waits for; leaveC ends it.
func (db *DB) enterC() error {
	db.calls.RLock()
	if db.closed.Load() {
		db.calls.RUnlock()
		return errDBClosed
	}
	return nil
}

func (db *DB) leaveC() { db.calls.RUnlock() }

// Path is what the database was opened with; empty in memory.
func (db *DB) Path() string { return db.path }

// Delete deletes the files of the database at path, which must be open nowhere. It reports whether
// there were any.
func Delete(path string) (bool, error) {
	name, err := cPath(path)
	if err != nil {
		return false, err
	}
	defer C.free(unsafe.Pointer(name))
	return either(C.go_delete(name), notFound)
}

// View runs fn in a transaction that reads the newest commit. It returns what fn returns, or the
// error of a loop in it that nobody asked for.
func (db *DB) View(fn func(*Tx) error) error {
	tx, err := db.begin()
	if err != nil {
		return err
	}
	defer tx.end()
	return tx.run(fn)
}

// Update runs fn in the one transaction that writes, and commits it if fn returns nil; else, or if
// fn panics, nothing has happened. If mustSync, the commit is Durable, else Lazy. Wait for no other
// Update within fn.
func (db *DB) Update(mustSync bool, fn func(*Tx) error) error {
	durability := Lazy
	if mustSync {
		durability = Durable
	}
	return db.UpdateContext(context.Background(), durability, fn)
}

// UpdateContext is Update with any durability. It gives up waiting for other writers when the
// context ends; what runs then goes on.
func (db *DB) UpdateContext(ctx context.Context, d Durability, fn func(*Tx) error) error {
	if err := d.check(); err != nil {
		return err
	}
	tx, err := db.beginWrite(ctx, db.timeout)
	if err != nil {
		return err
	}
	tx.managed = true
	defer tx.end()
	if err := tx.run(fn); err != nil {
		return err
	}
	_, err = tx.commit(d)
	return err
}

// BeginRead begins a transaction that reads the newest commit. End it with Rollback: as long as it
// lives, the file keeps what it sees. One that is forgotten is ended by the garbage collector, some
// time.
func (db *DB) BeginRead() (*Tx, error) {
	tx, err := db.begin()
	if err == nil {
		tx.watch()
	}
	return tx, err
}

// BeginWrite begins the one transaction that writes; it waits for others' end until the context
// ends, and at most for Options.LockTimeout. End it with Commit or Rollback.
func (db *DB) BeginWrite(ctx context.Context) (*Tx, error) {
	tx, err := db.beginWrite(ctx, db.timeout)
	if err == nil {
		tx.watch()
	}
	return tx, err
}

// TryWrite is BeginWrite that does not wait: ErrBusy if somebody writes.
func (db *DB) TryWrite() (*Tx, error) {
	tx, err := db.beginWrite(context.Background(), 0)
	if err == nil {
		tx.watch()
	}
	return tx, err
}

func (db *DB) begin() (*Tx, error) {
	if db.closed.Load() {
		return nil, errDBClosed
	}
	told := C.go_begin_read(db.env)
	if told.code != ok {
		return nil, failure(told.code, told.fault)
	}
	tx := &Tx{db: db, handle: told.handle, managed: true}
	tx.root = tx
	return tx, nil
}

// A wait of C's for the writer is cut into pieces of this length, to look at the context.
const waitSlice = 50 * time.Millisecond

func (db *DB) beginWrite(ctx context.Context, timeout time.Duration) (*Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	left, err := db.enter(ctx, timeout)
	if err != nil {
		return nil, err
	}
	tx, err := db.tryWrite(0)
	if isCode(err, ErrBusy) && left > 0 { // Only now a look at the clock is worth while.
		tx, err = db.waitToWrite(ctx, time.Now().Add(left))
	}
	if err != nil {
		db.leave()
	}
	return tx, err
}

// waitToWrite waits for a writer of another process, or for a thread that has the last one's.
func (db *DB) waitToWrite(ctx context.Context, deadline time.Time) (*Tx, error) {
	for {
		left := time.Until(deadline)
		tx, err := db.tryWrite(min(max(left, 0), waitSlice))
		if !isCode(err, ErrBusy) || left <= 0 {
			return tx, err
		}
		if ended := ctx.Err(); ended != nil {
			return nil, fmt.Errorf("%w: %w", ended, err)
		}
	}
}

// tryWrite waits for so long at most.
func (db *DB) tryWrite(wait time.Duration) (*Tx, error) {
	if err := db.enterC(); err != nil {
		return nil, err
	}
	told := C.go_begin_write(db.env, C.int64_t(millis(wait)))
	db.leaveC()
	if told.code == ok {
		tx := &Tx{db: db, handle: told.handle, writable: true}
		tx.root = tx
		return tx, nil
	}
	err := failure(told.code, told.fault)
	// A thread that ran the writer's goroutine before runs this one now: no reason to give up.
	if isCode(err, threadWrites) {
		time.Sleep(min(wait, time.Millisecond))
		err = db.busy()
	}
	return nil, err
}

// enter waits to be the one goroutine that writes, and returns what is left of the time.
func (db *DB) enter(ctx context.Context, timeout time.Duration) (time.Duration, error) {
	select {
	case db.writer <- struct{}{}:
		return timeout, nil
	default:
	}
	if timeout <= 0 {
		return 0, db.busy()
	}
	begun := time.Now()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case db.writer <- struct{}{}:
		return timeout - time.Since(begun), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", ctx.Err(), db.busy())
	case <-timer.C:
		return 0, db.busy()
	case <-db.ended:
		return 0, errDBClosed
	}
}

func (db *DB) leave() { <-db.writer }

func (db *DB) busy() error {
	return misuse(ErrBusy, "a transaction of this program writes, and did not end in time; "+
		"an Update within an Update waits for itself")
}

// Sync makes everything that was committed durable, and returns the id of the newest durable
// snapshot.
func (db *DB) Sync() (uint64, error) {
	if err := db.enterC(); err != nil {
		return 0, err
	}
	defer db.leaveC()
	return number(C.go_sync(db.env))
}

// FlushIfDue makes a checkpoint if Options.FlushAfter or FlushAfterBytes ask for one, as commits
// do, and reports whether it did: for a timer of a program that commits seldom. It costs next to
// nothing if none is due.
func (db *DB) FlushIfDue() (bool, error) {
	if err := db.enterC(); err != nil {
		return false, err
	}
	defer db.leaveC()
	flushed, err := number(C.go_flush_if_due(db.env))
	return flushed != 0, err
}

// WaitForCommit waits until there is a commit after the snapshot of that id, of any process, and
// returns the id of the newest one. Hold no transaction meanwhile.
func (db *DB) WaitForCommit(ctx context.Context, after uint64) (uint64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		newest, err := db.newerThan(0, 0)
		if err != nil || newest > after {
			return newest, err
		}
		done, leads := db.changes.join()
		if leads {
			db.newerThan(newest, waitSlice)
			db.changes.end()
			continue
		}
		// The round waits for what comes after a moment before this one: nothing is missed.
		if newest, err = db.newerThan(after, 0); err != nil || newest != 0 {
			return newest, err
		}
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}

// newerThan waits for a commit after the snapshot of that id, and returns the newest one; 0 if
// there is none in time.
func (db *DB) newerThan(after uint64, wait time.Duration) (uint64, error) {
	if err := db.enterC(); err != nil {
		return 0, err
	}
	defer db.leaveC()
	told := C.go_wait_for_commit(db.env, C.uint64_t(after), C.int64_t(millis(wait)))
	if told.code == timedOut {
		return 0, nil
	}
	return number(told)
}

// Commits yields the id of the newest snapshot each time there is a new one after the snapshot of
// that id, until the context ends or the database is closed.
func (db *DB) Commits(ctx context.Context, after uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for {
			id, err := db.WaitForCommit(ctx, after)
			if err != nil || !yield(id) {
				return
			}
			after = id
		}
	}
}

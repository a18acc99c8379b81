package huon

// #include "calls.h"
import "C"

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// LSM opens the write-optimised tables of a database, which lie in the same file and change in the
// same transactions as ordinary ones. Puts and deletes in random order, many a transaction, cost
// several times less there; lookups and ranges cost more until runs are merged. All goroutines may
// use it at the same time.
type LSM struct {
	db     *DB
	handle C.uintptr_t
	mu     sync.Mutex
	tables map[string]*LSMTable // nil: it is closed
}

// LSMOptions are how write-optimised tables are kept; nil, and zero in each field: as by default.
// Fan, FilterBits, NoFilters, Small and OpenBytes are stored with a table when it is made.
type LSMOptions struct {
	Fan        int  // runs of about the same size that are merged at a time: 2 to 1024; 8
	FilterBits int  // bits of filters for each key: 1 to 64; 12
	NoFilters  bool // no filters
	Small      int  // a transaction that puts fewer records adds them to the open run; 128
	OpenBytes  int  // at which the open run is frozen; 256 KiB

	BaseBytes    uint64        // up to which runs count as small; 64 KiB
	StepBytes    uint64        // that a merge hands over in one transaction; 4 MiB
	BatchBytes   uint64        // that a transaction collects before it makes a run of them; 64 MiB
	FilterMemory uint64        // bytes of filters kept in memory for a table; 64 MiB
	RunsMax      int           // at which a commit waits for merges, or helps; 512
	Lease        time.Duration // for which a merge is left to the process that began it; 10 s
}

// made are the options for C.
func (o *LSMOptions) made() (made C.huon_lsm_options, err error) {
	made.bytes = C.sizeof_huon_lsm_options
	if o == nil {
		return made, nil
	}
	for _, number := range []struct {
		to *C.uint32_t
		is int64
	}{
		{&made.fan, int64(o.Fan)}, {&made.filter_bits, int64(o.FilterBits)},
		{&made.small, int64(o.Small)}, {&made.open_bytes, int64(o.OpenBytes)},
		{&made.runs_max, int64(o.RunsMax)}, {&made.lease_ms, int64(millis(o.Lease))},
	} {
		if number.is < 0 || number.is >= math.MaxUint32 {
			return made, misuse(ErrBadArgument, "an option of write-optimised tables is out of range")
		}
		*number.to = C.uint32_t(number.is)
	}
	if o.NoFilters {
		made.filter_bits = C.HUON_LSM_NO_FILTERS
	}
	made.base_bytes, made.step_bytes = C.uint64_t(o.BaseBytes), C.uint64_t(o.StepBytes)
	made.batch_bytes, made.filter_memory = C.uint64_t(o.BatchBytes), C.uint64_t(o.FilterMemory)
	return made, nil
}

// lsmHandle is something that C has of write-optimised tables.
type lsmHandle struct {
	kind   C.int
	handle C.uintptr_t
}

func (h lsmHandle) close() error { return done(C.go_lsm_close(h.kind, h.handle)) }

// lsmHandles are those of a database: what its users have not closed, its end does.
type lsmHandles struct {
	mu  sync.Mutex
	all map[lsmHandle]struct{}
}

func (hs *lsmHandles) add(h lsmHandle) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.all == nil {
		hs.all = map[lsmHandle]struct{}{}
	}
	hs.all[h] = struct{}{}
}

// close closes one, unless that was done before.
func (hs *lsmHandles) close(h lsmHandle) error {
	hs.mu.Lock()
	_, is := hs.all[h]
	delete(hs.all, h)
	hs.mu.Unlock()
	if !is {
		return nil
	}
	return h.close()
}

// closeAll closes all of them. The error is the first one.
func (hs *lsmHandles) closeAll() (err error) {
	hs.mu.Lock()
	all := hs.all
	hs.all = nil
	hs.mu.Unlock()
	for h := range all {
		if failed := h.close(); err == nil {
			err = failed
		}
	}
	return err
}

// made makes a handle of C's that the database has to close.
func (db *DB) made(kind C.int, make func() C.go_handle) (C.uintptr_t, error) {
	if err := db.enterC(); err != nil {
		return 0, err
	}
	defer db.leaveC()
	told := make()
	if told.code != ok {
		return 0, failure(told.code, told.fault)
	}
	db.lsms.add(lsmHandle{kind, told.handle})
	return told.handle, nil
}

// LSM opens the write-optimised tables of the database, as often as one likes. Nothing is read or
// written. What was opened by the same call shares its memory for filters. Close it, or the
// database.
func (db *DB) LSM(options *LSMOptions) (*LSM, error) {
	with, err := options.made()
	if err != nil {
		return nil, err
	}
	handle, err := db.made(C.GO_LSM_HANDLE, func() C.go_handle {
		return C.go_lsm_open(db.env, &with)
	})
	if err != nil {
		return nil, err
	}
	return &LSM{db: db, handle: handle, tables: map[string]*LSMTable{}}, nil
}

// Close gives it back; its tables stay good until the database is closed. A second Close does
// nothing.
func (l *LSM) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tables = nil
	return l.db.lsms.close(lsmHandle{C.GO_LSM_HANDLE, l.handle})
}

// DB is the database.
func (l *LSM) DB() *DB { return l.db }

// Table is the table of that name, which need not exist: it is made by the first put. It is for all
// transactions and goroutines, and the same one for each call; the first costs a look at the file.
// ErrInvalid if the name is empty.
func (l *LSM) Table(name string) (*LSMTable, error) { return l.open(name, nil) }

// MergedTable is Table for one whose Merge works by a Merger, whose name the table keeps when it is
// made. Opened without, it can be put into, and is read as far as nothing is to be merged. Call it
// before Table, which gives the same one then. ErrDecode if the table is merged otherwise, or was
// opened otherwise by this LSM.
func (l *LSM) MergedTable(name string, by *Merger) (*LSMTable, error) {
	if by == nil {
		return nil, misuse(ErrBadArgument, "a merged table needs a merger")
	}
	return l.open(name, by)
}

func (l *LSM) open(name string, by *Merger) (*LSMTable, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.tables[name]; known != nil && !l.db.closed.Load() {
		if by != nil && by != known.merger {
			// Goroutines that use it do not expect to be called back.
			return nil, misuse(ErrDecode, "the table is open already, without that merger")
		}
		return known, nil
	}
	handle, err := l.db.made(C.GO_LSM_TABLE_HANDLE, func() C.go_handle {
		if by != nil {
			return by.open(l.handle, name)
		}
		key := (*C.uint8_t)(unsafe.Pointer(unsafe.StringData(name)))
		return C.go_lsm_table_open(l.handle, key, C.size_t(len(name)), nil)
	})
	if err != nil {
		return nil, err
	}
	made := &LSMTable{l.db, name, handle, by}
	l.tables[name] = made
	return made, nil
}

// LSMWork is what a compaction does.
type LSMWork int

const (
	MergeDue LSMWork = C.HUON_LSM_DUE     // merges what is due
	MergeAll LSMWork = C.HUON_LSM_ALL     // merges all runs of each table into one
	Shorten  LSMWork = C.HUON_LSM_SHORTEN // makes the file shorter, if it is worth it
)

// LSMCompactOptions are how LSM.Compact works.
type LSMCompactOptions struct {
	Work     LSMWork
	Table    string             // of the table of that name alone; empty: of all
	Progress func(steps uint64) // is told how many steps were made, in another goroutine
}

// Compact merges runs, step by step and outside the writer's place, while others read and write,
// and returns how many steps it made. It ends with the context, whose error it returns; what was
// merged until then stays. It waits for other writers as long as a transaction does. Where there is
// no Compactor, commits merge a little.
func (l *LSM) Compact(ctx context.Context, options LSMCompactOptions) (steps uint64, err error) {
	if options.Work < MergeDue || options.Work > Shorten {
		return 0, misuse(ErrBadArgument, "there is no such work: MergeDue, MergeAll or Shorten")
	}
	var progress func(done, total uint64)
	if options.Progress != nil {
		progress = func(done, _ uint64) { options.Progress(done) }
	}
	defer runtime.KeepAlive(l.db)
	err = watched(ctx, progress, func(watch *C.go_watch) error {
		return l.db.untilFree(ctx, watch, func() error {
			name := []byte(options.Table)
			key, n := ptr(name)
			made, err := number(C.go_lsm_compact_calling(l.handle, key, n, C.int(options.Work),
				watch))
			steps += made
			return err
		})
	})
	if ctx.Err() != nil && isBusy(err) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return steps, err
}

// Compactor is threads that merge what is due.
type Compactor struct {
	lsm    *LSM
	handle C.uintptr_t
}

// StartCompactor starts threads that merge what is due, and all when nothing was committed for a
// second, until Stop or the end of the database.
func (l *LSM) StartCompactor() (*Compactor, error) {
	handle, err := l.db.made(C.GO_COMPACTOR_HANDLE, func() C.go_handle {
		return C.go_compactor_start(l.handle)
	})
	if err != nil {
		return nil, err
	}
	return &Compactor{l, handle}, nil
}

// Stop ends the threads after the step that they are in. What went wrong in them is its error. A
// second Stop does nothing.
func (c *Compactor) Stop() error {
	err := c.lsm.db.lsms.close(lsmHandle{C.GO_COMPACTOR_HANDLE, c.handle})
	if isCode(err, ErrInvalid) {
		return c.lsm.refused(err)
	}
	return err
}

// refused is an error of threads that merge, and if a function has refused, why.
func (l *LSM) refused(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, table := range l.tables {
		if table.merger == nil {
			continue
		}
		if why := table.merger.lost.Load(); why != nil {
			return stopped(*why)
		}
	}
	return err
}

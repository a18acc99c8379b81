package huon

// #include "calls.h"
import "C"

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// WriteTo writes a copy of the database, as the newest commit left it, while readers and writers go
// on. It is an io.WriterTo.
func (db *DB) WriteTo(w io.Writer) (int64, error) { return db.copyTo(w, false) }

// WriteCompactTo is WriteTo that builds every table anew: its pages full, without free space.
func (db *DB) WriteCompactTo(w io.Writer) (int64, error) { return db.copyTo(w, true) }

func (db *DB) copyTo(w io.Writer, compact bool) (int64, error) {
	c, err := db.copy(0, compact)
	if err != nil {
		return 0, err
	}
	return c.to(w)
}

// WriteTo writes a copy of what a read transaction sees, which is not used meanwhile. Its end is
// the end of the copy, too: ErrClosed.
func (tx *Tx) WriteTo(w io.Writer) (int64, error) {
	if tx.writable {
		return 0, misuse(ErrBadTx, "the transaction writes, and that is for those that read")
	}
	c, err := tx.lend()
	if err != nil {
		return 0, err
	}
	defer func() {
		tx.mu.Lock()
		defer tx.mu.Unlock()
		tx.lent = nil
	}()
	n, err := c.to(w)
	if err != nil && tx.Ended() {
		err = errTxEnded
	}
	return n, err
}

// lend begins a copy, which has the transaction until it has ended.
func (tx *Tx) lend() (*copying, error) {
	if err := tx.lock(); err != nil {
		return nil, err
	}
	defer tx.unlock()
	c, err := tx.db.copy(tx.handle, false)
	tx.lent = c
	return c, err
}

// copying is a copy that C writes into a pipe: so the writer may do what it wants, also panic.
type copying struct {
	from  *os.File
	ended chan struct{}
	err   error // once it has ended
}

func (db *DB) copy(txn C.uintptr_t, compact bool) (*copying, error) {
	return db.piped(func(fd C.int) error {
		_, err := number(C.go_copy_to_fd_calling(db.env, txn, fd, C.bool(compact)))
		return err
	})
}

// piped has C write into a pipe.
func (db *DB) piped(write func(fd C.int) error) (*copying, error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	c := &copying{from: os.NewFile(uintptr(ends[0]), "copy"), ended: make(chan struct{})}
	go func() {
		defer runtime.KeepAlive(db)
		c.err = write(C.int(ends[1]))
		syscall.Close(ends[1])
		close(c.ended)
	}()
	return c, nil
}

// to copies what C writes.
func (c *copying) to(w io.Writer) (int64, error) {
	defer c.end()
	n, err := io.Copy(w, struct{ io.Reader }{c.from})
	c.end()
	if err == nil {
		err = c.err
	}
	return n, err
}

// end ends a copy, whole or not: where nobody reads, C does not write on.
func (c *copying) end() {
	c.from.Close()
	<-c.ended
}

// CopyOptions are how CopyTo makes a copy.
type CopyOptions struct {
	Compact  bool                     // builds every table anew, without free space
	Progress func(done, total uint64) // is told how many bytes are copied, in another goroutine
}

// CopyTo copies the database to a new file, which has its name when it is complete and flushed. It
// ends with the context. An fs.ErrExist if the file exists.
func (db *DB) CopyTo(
	ctx context.Context, path string, options CopyOptions,
) (bytes uint64, err error) {
	name, err := cPath(path)
	if err != nil {
		return 0, err
	}
	defer C.free(unsafe.Pointer(name))
	defer runtime.KeepAlive(db)
	err = watched(ctx, options.Progress, func(watch *C.go_watch) error {
		bytes, err = number(C.go_copy_calling(db.env, 0, name, C.bool(options.Compact), watch))
		return ofFile(err, path)
	})
	return bytes, err
}

// ofFile gives the error of a file that is there already its number, which the system was not asked
// for.
func ofFile(err error, path string) error {
	if e, is := err.(*Error); is && e.Code == ErrIO && e.Errno == 0 {
		if _, err := os.Lstat(path); err == nil {
			e.Errno = syscall.EEXIST
		}
	}
	return err
}

// watched does something that takes long, which ends with the context and is told about.
func watched(
	ctx context.Context, progress func(done, total uint64), work func(*C.go_watch) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	watch, err := newWatch()
	if err != nil {
		return err
	}
	defer C.go_watch_free(watch)
	w := &watcher{watch: watch, ended: make(chan struct{}), told: make(chan struct{})}
	go w.run(ctx, progress)
	err = work(watch)
	close(w.ended)
	<-w.told
	if w.thrown != nil {
		panic(w.thrown)
	}
	if ctx.Err() != nil && isCode(err, ErrStopped) {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

func newWatch() (*C.go_watch, error) {
	watch := (*C.go_watch)(C.calloc(1, C.sizeof_go_watch))
	if watch == nil {
		return nil, misuse(ErrOutOfMemory, "there is not enough memory")
	}
	return watch, nil
}

// problemsOf are those that a check has found.
func problemsOf(watch *C.go_watch) (problems []string) {
	for line := range strings.Lines(C.GoStringN(watch.text, C.int(watch.len))) {
		problems = append(problems, strings.TrimSuffix(line, "\n"))
	}
	return problems
}

// watcher stands between Go and a call that takes long.
type watcher struct {
	watch       *C.go_watch
	ended, told chan struct{}
	// What the function panicked with that is told about progress.
	thrown any
}

func (w *watcher) run(ctx context.Context, progress func(done, total uint64)) {
	defer close(w.told)
	defer func() {
		if w.thrown = recover(); w.thrown != nil {
			C.go_stop(w.watch)
		}
	}()
	tell := func() {
		if progress != nil {
			progress(uint64(C.go_done_bytes(w.watch)), uint64(C.go_total_bytes(w.watch)))
		}
	}
	tick := time.NewTicker(waitSlice)
	defer tick.Stop()
	for {
		select {
		case <-w.ended:
			tell()
			return
		case <-ctx.Done():
			C.go_stop(w.watch)
			return
		case <-tick.C:
			tell()
		}
	}
}

// CheckReport is what a check found.
type CheckReport struct {
	TxID     uint64   // the snapshot that was checked
	Problems []string // none: everything is as it must be
	Count    uint64   // of problems, of which the first megabyte is told
}

// Check verifies every page of every table, and that each page of the file is in use once or free
// once. It blocks no writer. Damage is reported, and no error.
func (db *DB) Check(ctx context.Context) (report CheckReport, err error) {
	defer runtime.KeepAlive(db)
	err = watched(ctx, nil, func(watch *C.go_watch) error {
		var found C.huon_check_report
		if err := done(C.go_check_calling(db.env, watch, &found)); err != nil {
			return err
		}
		report.TxID, report.Count = uint64(found.txnid), uint64(found.problems)
		report.Problems = problemsOf(watch)
		return nil
	})
	return report, err
}

// CompactOptions are how Compact works; zero in each field: as by default.
type CompactOptions struct {
	Target    float64 // ends when the file is so many times as long as its live pages; 1.1
	TimeLimit time.Duration
	Progress  func(done, total uint64)
}

// CompactReport is what a compaction did.
type CompactReport struct {
	BeforeBytes, AfterBytes, MovedBytes uint64
	Commits                             uint64
	// IsComplete: the file is as short as was asked for. Else time was over, older snapshots still
	// see pages at its end, or no free place fits what is there.
	IsComplete bool
}

// Compact makes the file shorter where it is, in many small transactions, while others read and
// write. It ends with the context, in order and without an error, and waits for other writers as
// long as a transaction does.
func (db *DB) Compact(
	ctx context.Context, options CompactOptions,
) (report CompactReport, err error) {
	defer runtime.KeepAlive(db)
	before, err := db.Info()
	if err != nil {
		return report, err
	}
	report = CompactReport{BeforeBytes: before.FileBytes, AfterBytes: before.FileBytes}
	err = watched(ctx, options.Progress, func(watch *C.go_watch) error {
		begun := time.Now()
		return db.untilFree(ctx, watch, func() error {
			return db.compact(watch, options, begun, &report)
		})
	})
	if ctx.Err() != nil && isBusy(err) {
		err = nil
	}
	return report, err
}

// untilFree does something again that ends when another writer does not end in a slice of time, as
// long as it goes on.
func (db *DB) untilFree(ctx context.Context, watch *C.go_watch, work func() error) error {
	var before C.uint64_t
	for since := time.Now(); ; {
		err := work()
		if !isBusy(err) || ctx.Err() != nil {
			return err
		}
		if now := C.go_done_bytes(watch); now != before {
			before, since = now, time.Now()
		}
		if time.Since(since) > db.timeout {
			return db.busy()
		}
	}
}

// isBusy reports whether another writer did not end in time.
func isBusy(err error) bool { return isCode(err, ErrBusy) || isCode(err, threadWrites) }

// compact goes on until it is done, or another writer does not end in a slice of time. What was
// moved until then is not in the report.
func (db *DB) compact(
	watch *C.go_watch, options CompactOptions, begun time.Time, report *CompactReport,
) error {
	limit := options.TimeLimit
	if limit > 0 {
		limit = max(limit-time.Since(begun), time.Millisecond)
	}
	var found C.huon_compact_report
	told := C.go_compact(db.env, watch, C.double(options.Target), C.uint64_t(millis(limit)), &found)
	if told.code != ok {
		return done(told)
	}
	report.AfterBytes = uint64(found.after_bytes)
	report.MovedBytes += uint64(found.moved_bytes)
	report.Commits += uint64(found.commits)
	report.IsComplete = found.end == C.HUON_COMPACTED
	return nil
}

// Info is the state of a database.
type Info struct {
	PageBytes, KeyBytesMax, Clients, Readers uint32
	FileBytes, UsedBytes, MaxBytes           uint64
	// Newest is the newest commit, Visible the snapshot that new readers get, Durable the newest
	// commit that survives a power loss.
	Newest, Visible, Durable       uint64
	UnflushedBytes                 uint64
	Commits, Flushes, WrittenBytes uint64 // of this opening
	UUID                           [16]byte
	IsPoisoned                     bool // a flush has failed: ErrPoisoned
	// Journal is whether durable commits go by a journal; JournalBatches, of how many appends it was
	// made since the last checkpoint.
	Journal                      JournalState
	JournalBytes, JournalBatches uint64
}

// JournalState is whether durable commits go by a journal; see Options.JournalBytes.
type JournalState int

const (
	JournalNone    JournalState = C.HUON_JOURNAL_NONE
	JournalWaiting JournalState = C.HUON_JOURNAL_WAITING // the next durable commit begins it
	JournalRunning JournalState = C.HUON_JOURNAL_RUNNING
	JournalFailed  JournalState = C.HUON_JOURNAL_FAILED // until the file was closed everywhere
)

// Info tells the state of the database.
func (db *DB) Info() (Info, error) {
	if err := db.enterC(); err != nil {
		return Info{}, err
	}
	defer db.leaveC()
	var i C.huon_info
	err := done(C.go_info(db.env, &i))
	info := Info{
		PageBytes: uint32(i.page_bytes), KeyBytesMax: uint32(i.key_bytes_max),
		Clients: uint32(i.clients), Readers: uint32(i.readers),
		FileBytes: uint64(i.file_bytes), UsedBytes: uint64(i.used_bytes),
		MaxBytes: uint64(i.max_bytes),
		Newest:   uint64(i.newest), Visible: uint64(i.visible), Durable: uint64(i.durable),
		UnflushedBytes: uint64(i.unflushed_bytes),
		Commits:        uint64(i.commits), Flushes: uint64(i.flushes),
		WrittenBytes: uint64(i.written_bytes), IsPoisoned: bool(i.is_poisoned),
		Journal: JournalState(i.journal), JournalBytes: uint64(i.journal_bytes),
		JournalBatches: uint64(i.journal_batches),
	}
	for n := range info.UUID {
		info.UUID[n] = byte(i.uuid[n])
	}
	return info, err
}

// Stat is where the space of a file is.
type Stat struct {
	TxID, FileBytes, TailBytes               uint64
	MetaPages, LivePages, FreeListPages      uint64
	ReusablePages, RetainedPages             uint64
	PageBytes, RetainedSnapshots, TableCount uint32
}

// Stat tells where the space is.
func (db *DB) Stat() (Stat, error) {
	if err := db.enterC(); err != nil {
		return Stat{}, err
	}
	defer db.leaveC()
	var s C.huon_stat
	err := done(C.go_stat(db.env, &s))
	return Stat{
		TxID: uint64(s.txnid), FileBytes: uint64(s.file_bytes), TailBytes: uint64(s.tail_bytes),
		MetaPages: uint64(s.meta_pages), LivePages: uint64(s.live_pages),
		FreeListPages: uint64(s.free_list_pages), ReusablePages: uint64(s.reusable_pages),
		RetainedPages: uint64(s.retained_pages), PageBytes: uint32(s.page_bytes),
		RetainedSnapshots: uint32(s.retained_snapshots), TableCount: uint32(s.tables),
	}, err
}

// TableStat is the size of a table or multimap.
type TableStat struct {
	Entries                               uint64 // records, or pairs
	Sequence, Changed                     uint64 // the id of the transaction that changed it last
	BranchPages, LeafPages, OverflowPages uint32
	Depth, ValueBytes                     uint32
	IsMulti                               bool
}

// TableStat tells the size of the table or multimap of that name. ErrTableNotFound if there is
// none.
func (tx *Tx) TableStat(name string) (TableStat, error) {
	if err := tx.lock(); err != nil {
		return TableStat{}, err
	}
	defer tx.unlock()
	var s C.huon_table_stat
	key := (*C.uint8_t)(unsafe.Pointer(unsafe.StringData(name)))
	told := C.go_table_stat(tx.handle, key, C.size_t(len(name)), &s)
	if told.code == notFound {
		return TableStat{}, misuse(ErrTableNotFound, "there is no table "+name)
	}
	return TableStat{
		Entries: uint64(s.entries), Sequence: uint64(s.sequence), Changed: uint64(s.changed),
		BranchPages: uint32(s.branch_pages), LeafPages: uint32(s.leaf_pages),
		OverflowPages: uint32(s.overflow_pages), Depth: uint32(s.depth),
		ValueBytes: uint32(s.value_bytes), IsMulti: bool(s.is_multi),
	}, done(told)
}

// TxInfo is what a transaction has cost so far. Of one that reads, the first three are told.
type TxInfo struct {
	ID, IDsBehind uint64
	// UsedBytes is the part of the file in use at its snapshot.
	UsedBytes                              uint64
	DirtyBytes, WrittenBytes, RetiredBytes uint64
}

// Info tells what the transaction has cost.
func (tx *Tx) Info() (TxInfo, error) {
	if err := tx.lock(); err != nil {
		return TxInfo{}, err
	}
	defer tx.unlock()
	var i C.huon_txn_info
	err := done(C.go_txn_info(tx.handle, &i))
	return TxInfo{
		ID: uint64(i.id), IDsBehind: uint64(i.ids_behind), UsedBytes: uint64(i.used_bytes),
		DirtyBytes: uint64(i.dirty_bytes), WrittenBytes: uint64(i.written_bytes),
		RetiredBytes: uint64(i.retired_bytes),
	}, err
}

// Reader is a read transaction of any process.
type Reader struct {
	PID, Thread     uint32 // for people only
	TxID, IDsBehind uint64
	Age             time.Duration
	IsParked        bool
	IsGuest         bool // it may not write the lock file: only its snapshot is known
}

// ClearDeadReaders gives up the snapshots of processes that have died, and returns how many there
// were. Writers do so themselves.
func (db *DB) ClearDeadReaders() (uint64, error) {
	if err := db.enterC(); err != nil {
		return 0, err
	}
	defer db.leaveC()
	return number(C.go_clear_dead_readers(db.env))
}

// Readers are the read transactions of all processes, the oldest snapshot first.
func (db *DB) Readers() ([]Reader, error) {
	if err := db.enterC(); err != nil {
		return nil, err
	}
	defer db.leaveC()
	room := make([]C.huon_reader, 32)
	for {
		count, err := number(C.go_readers(db.env, &room[0], C.size_t(len(room))))
		if err != nil {
			return nil, err
		}
		if count > uint64(len(room)) {
			room = make([]C.huon_reader, count+8)
			continue
		}
		readers := make([]Reader, count)
		for i := range readers {
			r := &room[i]
			readers[i] = Reader{
				PID: uint32(r.pid), Thread: uint32(r.thread),
				TxID: uint64(r.txnid), IDsBehind: uint64(r.ids_behind),
				Age:      time.Duration(r.age_ms) * time.Millisecond,
				IsParked: bool(r.is_parked),
				IsGuest:  bool(r.is_guest),
			}
		}
		runtime.KeepAlive(room)
		return readers, nil
	}
}

package huon

// #cgo noescape go_begin_read
// #cgo nocallback go_begin_read
// #cgo noescape go_abort
// #cgo nocallback go_abort
// #cgo noescape go_table_open
// #cgo nocallback go_table_open
// #include "calls.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Tx is a transaction: a snapshot that is read, or the one that writes.
type Tx struct {
	db *DB
	// mu is held by each call: a transaction that ends takes nothing away from one that copies. Nested
	// ones share that of their root.
	mu       sync.Mutex
	handle   C.uintptr_t // 0: it has ended
	writable bool
	managed  bool     // View, Update or Nested ends it
	lent     *copying // what copies it
	root     *Tx      // the one around all that are nested; itself, if it is that
	parent   *Tx      // of a nested transaction
	child    *Tx      // the nested transaction that uses this one
	depth    C.uint32_t
	cleanup  runtime.Cleanup
	watched  bool
	// version has changes in its lower half, and in its upper half how often the snapshot was
	// another one. What was looked up in another version is looked up anew.
	version atomic.Uint64
	// merges: a Merger may be called for what was collected, under the lock of the root.
	merges bool
	// loop is the first error of a loop that nobody has asked for.
	loop error
}

const turned = 1 << 32

// span is a huon_bytes, and two of them are a huon_pair. It holds no pointer: what it shows may be
// gone when the garbage collector looks.
type span struct{ data, len uintptr }

// raw shows the bytes where they lie, which must be there.
func (s *span) raw() []byte {
	if s.len == 0 {
		return []byte{}
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&s.data)), s.len)
}

func spanOf(data *C.uint8_t, len C.size_t) span {
	return span{uintptr(unsafe.Pointer(data)), uintptr(len)}
}

// ptr is where bytes begin, for C.
func ptr(bytes []byte) (*C.uint8_t, C.size_t) {
	return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(bytes))), C.size_t(len(bytes))
}

// watch has a transaction that is forgotten ended.
func (tx *Tx) watch() {
	type left struct {
		db       *DB
		handle   C.uintptr_t
		writable bool
	}
	tx.managed, tx.watched = false, true
	tx.cleanup = runtime.AddCleanup(tx, func(l left) {
		C.go_abort(l.handle)
		if l.writable {
			l.db.leave()
		}
	}, left{tx.db, tx.handle, tx.writable})
}

// lock begins a call; unlock ends it.
func (tx *Tx) lock() error {
	tx.root.mu.Lock()
	if tx.handle == 0 || tx.lent != nil || tx.child != nil {
		return tx.refused()
	}
	return nil
}

func (tx *Tx) refused() error {
	err := errLent
	if tx.handle == 0 {
		err = errTxEnded
	}
	tx.unlock()
	return err
}

func (tx *Tx) unlock() { tx.root.mu.Unlock() }

// lockChange begins a call that changes something.
func (tx *Tx) lockChange() error {
	if !tx.writable {
		return errReads
	}
	if err := tx.lock(); err != nil {
		return err
	}
	tx.version.Add(1)
	return nil
}

// run runs a function in a managed transaction.
func (tx *Tx) run(fn func(*Tx) error) error {
	if err := fn(tx); err != nil {
		return err
	}
	return tx.loopError()
}

func (tx *Tx) loopError() error {
	tx.root.mu.Lock()
	defer tx.unlock()
	return tx.loop
}

// end undoes the transaction, and ends those that are nested in it; errTxEnded if it has ended.
func (tx *Tx) end() error {
	tx.root.mu.Lock()
	defer tx.unlock()
	if tx.handle == 0 {
		return errTxEnded
	}
	return tx.abort()
}

// take ends a transaction for Go, with those that are nested in it and what copies it, and gives
// its handle to be ended in C. The writer's place is free before a commit: those that wait for a
// flush do not hold others up.
func (tx *Tx) take() C.uintptr_t {
	if tx.lent != nil {
		tx.lent.end()
	}
	handle := tx.handle
	for ended := tx; ended != nil; ended = ended.child {
		ended.handle = 0
		ended.version.Add(turned)
	}
	if tx.watched {
		tx.cleanup.Stop()
	}
	if tx.parent == nil && tx.writable {
		tx.db.leave()
	}
	return handle
}

func (tx *Tx) abort() error {
	if tx.parent != nil {
		return tx.endNested(false)
	}
	return done(C.go_abort(tx.take()))
}

// commit ends the transaction; its caller has not locked it.
func (tx *Tx) commit(d Durability) (uint64, error) {
	if err := tx.lockEnd(); err != nil {
		return 0, err
	}
	defer tx.unlock()
	if tx.parent != nil {
		return 0, tx.endNested(true)
	}
	return number(C.go_commit_calling(tx.take(), C.int(d)))
}

// lockEnd is lock for a commit, which undoes what it cannot commit.
func (tx *Tx) lockEnd() error {
	err := tx.lock()
	if err != nil {
		tx.end()
	}
	return err
}

// Commit commits what the transaction has changed, and waits as Options.Durability says. An error
// means that nothing was committed; ErrPoisoned, that it is not known whether a power loss takes it
// away. The transaction has ended, whatever the answer: it is rolled back if a nested one is open.
func (tx *Tx) Commit() error {
	if tx.managed {
		return errManaged
	}
	_, err := tx.commit(asOpened)
	return err
}

// CommitWith is Commit with a durability of its own. It returns the id of the snapshot it made.
func (tx *Tx) CommitWith(d Durability) (uint64, error) {
	if tx.managed {
		return 0, errManaged
	}
	if err := d.check(); err != nil {
		tx.end()
		return 0, err
	}
	return tx.commit(d)
}

// CommitTicket commits, visible at once, and returns a ticket to wait for its durability with.
func (tx *Tx) CommitTicket() (*Ticket, error) {
	if tx.managed {
		return nil, errManaged
	}
	if tx.parent != nil || !tx.writable {
		return nil, misuse(ErrBadTx, "a transaction that reads, or is nested, has no ticket")
	}
	if err := tx.lockEnd(); err != nil {
		return nil, err
	}
	defer tx.unlock()
	return tx.db.newTicket(tx.take())
}

// Rollback ends the transaction, with those that are nested in it or copy it, and undoes what it
// has changed. After Commit or Rollback it does nothing, and says ErrClosed.
func (tx *Tx) Rollback() error {
	if tx.managed {
		return errManaged
	}
	return tx.end()
}

// DB is the database of the transaction.
func (tx *Tx) DB() *DB { return tx.db }

// Writable reports whether the transaction can change something.
func (tx *Tx) Writable() bool { return tx.writable }

// Ended reports whether the transaction has ended.
func (tx *Tx) Ended() bool {
	tx.root.mu.Lock()
	defer tx.unlock()
	return tx.handle == 0
}

// ID is the id of the snapshot that is read, or of that which a commit would make now. Ids rise
// from commit to commit. 0 if the transaction has ended.
func (tx *Tx) ID() uint64 {
	if tx.lock() != nil {
		return 0
	}
	defer tx.unlock()
	id, _ := number(C.go_txn_id(tx.handle))
	return id
}

// Nested runs fn in a transaction within this one: if it returns an error, or panics, what it has
// changed is undone, and this transaction goes on. Use this one, and tables that were opened in it,
// only after that.
func (tx *Tx) Nested(fn func(*Tx) error) error {
	child, err := tx.BeginNested()
	if err != nil {
		return err
	}
	child.managed = true
	defer child.end()
	if err := child.run(fn); err != nil {
		return err
	}
	_, err = child.commit(asOpened)
	return err
}

// BeginNested begins a transaction within this one, which is not used until that has ended, and
// whose end is also its own.
func (tx *Tx) BeginNested() (*Tx, error) {
	if err := tx.lockChange(); err != nil {
		return nil, err
	}
	defer tx.unlock()
	child := &Tx{db: tx.db, handle: tx.handle, writable: true, root: tx.root, parent: tx,
		depth: tx.depth + 1}
	if err := done(C.go_savepoint(tx.handle, child.depth)); err != nil {
		return nil, err
	}
	tx.child = child
	return child, nil
}

func (tx *Tx) endNested(isKept bool) error {
	err := done(C.go_release(tx.take(), tx.depth, C.bool(isKept)))
	tx.parent.child = nil
	tx.parent.version.Add(1)
	return err
}

// turn moves a read transaction to another state.
func (tx *Tx) turn(to C.int) error {
	if tx.writable {
		return misuse(ErrBadTx, "the transaction writes, and that is for those that read")
	}
	if err := tx.lock(); err != nil {
		return err
	}
	defer tx.unlock()
	tx.version.Add(turned)
	return done(C.go_turn(tx.handle, to))
}

// Reset lets go of the snapshot of a read transaction, and keeps what it takes to begin again.
// What it has shown raw is not to be read any more.
func (tx *Tx) Reset() error { return tx.turn(C.GO_RESET) }

// Renew has a read transaction read the newest commit, whether it was reset before or not. What it
// has shown raw is not to be read any more.
func (tx *Tx) Renew() error { return tx.turn(C.GO_RENEW) }

// Park puts a read transaction aside. It keeps its snapshot until a writer, in any process, would
// otherwise fail for want of room. What it has shown raw is not to be read any more.
func (tx *Tx) Park() error { return tx.turn(C.GO_PARK) }

// Unpark goes on with a parked transaction, at the same snapshot. ErrEvicted if a writer needed its
// pages: it can only be ended then.
func (tx *Tx) Unpark() error { return tx.turn(C.GO_UNPARK) }

// Markers are three numbers that a program may keep with its snapshots; 0 in a new database.
func (tx *Tx) Markers() (markers [3]uint64, err error) {
	if err := tx.lock(); err != nil {
		return markers, err
	}
	defer tx.unlock()
	err = done(C.go_markers(tx.handle, (*C.uint64_t)(&markers[0]), false))
	return markers, err
}

// SetMarkers sets them; they are committed with the transaction.
func (tx *Tx) SetMarkers(markers [3]uint64) error {
	if err := tx.lockChange(); err != nil {
		return err
	}
	defer tx.unlock()
	return done(C.go_markers(tx.handle, (*C.uint64_t)(&markers[0]), true))
}

// Tables are the names of all tables and multimaps, in order.
func (tx *Tx) Tables() ([]string, error) {
	if err := tx.lock(); err != nil {
		return nil, err
	}
	defer tx.unlock()
	names := make([]span, 16)
	for {
		first := (*C.uintptr_t)(unsafe.Pointer(&names[0]))
		count, err := number(C.go_table_names(tx.handle, first, C.size_t(len(names))))
		if err != nil {
			return nil, err
		}
		if count <= uint64(len(names)) {
			all := make([]string, count)
			for i := range all {
				all[i] = string(names[i].raw())
			}
			return all, nil
		}
		names = make([]span, count)
	}
}

func (tx *Tx) open(name string, isMulti, creates bool, with TableOptions) (h handle, err error) {
	h = handle{tx: tx, isMulti: isMulti}
	lock := tx.lock
	if creates {
		lock = tx.lockChange
	}
	if with != stored {
		if err := with.check(); err != nil {
			return h, err
		}
	}
	if err := lock(); err != nil {
		return h, err
	}
	defer tx.unlock()
	key := (*C.uint8_t)(unsafe.Pointer(unsafe.StringData(name)))
	var words [2]C.uintptr_t
	var told C.go_done
	keys, ofKeys := with.Keys.function()
	values, ofValues := with.Values.function()
	if h.calls = ofKeys || isMulti && ofValues; h.calls {
		told = C.go_table_open_custom(tx.handle, C.bool(isMulti), C.bool(creates), key,
			C.size_t(len(name)), C.int(with.Keys), C.int(with.Values), C.uint32_t(with.ValueBytes),
			&words[0], keys.forC, values.forC)
	} else {
		told = C.go_table_open(tx.handle, C.bool(isMulti), C.bool(creates), key,
			C.size_t(len(name)), C.int(with.Keys), C.int(with.Values), C.uint32_t(with.ValueBytes),
			&words[0])
	}
	h.raw.words[0], h.raw.words[1] = C.uint64_t(words[0]), C.uint64_t(words[1])
	return h, done(told)
}

var stored = TableOptions{Keys: asStored, Values: asStored}

// Table opens the table of that name. ErrTableNotFound if the transaction sees none.
func (tx *Tx) Table(name string) (*Table, error) {
	h, err := tx.open(name, false, false, stored)
	if err != nil {
		return nil, err
	}
	return &Table{h}, nil
}

// TableWith is Table with the options that it was created with. Functions that compare are not kept
// with a table, only their names: so one whose order is a function is opened in this way. As opened
// by Table it can only be read from end to end, and dropped.
func (tx *Tx) TableWith(name string, with TableOptions) (*Table, error) {
	h, err := tx.open(name, false, false, with)
	if err != nil {
		return nil, err
	}
	return &Table{h}, nil
}

// Main is the table without a name, which always exists. Names of tables are no keys of it.
func (tx *Tx) Main() (*Table, error) { return tx.Table("") }

// HasTable reports whether there is a table or multimap of that name.
func (tx *Tx) HasTable(name string) (bool, error) {
	_, err := tx.TableStat(name)
	if isCode(err, ErrTableNotFound) {
		return false, nil
	}
	return err == nil, err
}

// CreateTable opens the table of that name, and creates it if there is none.
func (tx *Tx) CreateTable(name string) (*Table, error) {
	return tx.CreateTableWith(name, TableOptions{})
}

// CreateTableWith is CreateTable with options. ErrTableKind if it exists and is another one.
func (tx *Tx) CreateTableWith(name string, with TableOptions) (*Table, error) {
	h, err := tx.open(name, false, true, with)
	if err != nil {
		return nil, err
	}
	return &Table{h}, nil
}

// Multi opens the multimap of that name, in which a key may have many values.
func (tx *Tx) Multi(name string) (*Multi, error) {
	h, err := tx.open(name, true, false, stored)
	if err != nil {
		return nil, err
	}
	return &Multi{h, name}, nil
}

// MultiWith is Multi with the options that it was created with: see TableWith.
func (tx *Tx) MultiWith(name string, with TableOptions) (*Multi, error) {
	h, err := tx.open(name, true, false, with)
	if err != nil {
		return nil, err
	}
	return &Multi{h, name}, nil
}

// CreateMulti opens the multimap of that name, and creates it if there is none.
func (tx *Tx) CreateMulti(name string, with TableOptions) (*Multi, error) {
	h, err := tx.open(name, true, true, with)
	if err != nil {
		return nil, err
	}
	return &Multi{h, name}, nil
}

// DropTable deletes the table or multimap of that name, with all that is in it. It reports whether
// there was one.
func (tx *Tx) DropTable(name string) (bool, error) {
	stat, err := tx.TableStat(name)
	if isCode(err, ErrTableNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h, err := tx.open(name, stat.IsMulti, false, stored)
	if err != nil {
		return false, err
	}
	if err := tx.lockChange(); err != nil {
		return false, err
	}
	defer tx.unlock()
	return either(C.go_table_drop(tx.handle, C.bool(h.isMulti), h.raw), notFound)
}

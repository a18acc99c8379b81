package huon

// #cgo noescape go_lsm_get
// #cgo nocallback go_lsm_get
// #cgo noescape go_lsm_change
// #cgo nocallback go_lsm_change
// #cgo noescape go_lsm_delete_range
// #cgo nocallback go_lsm_delete_range
// #include "calls.h"
import "C"

import (
	"encoding/binary"
	"time"
)

// LSMTable is a write-optimised table. It belongs to no transaction: each call names one of its
// database. All goroutines may use it.
type LSMTable struct {
	db     *DB
	name   string
	handle C.uintptr_t
	merger *Merger // nil: it was opened without
}

// Name is the name of the table.
func (t *LSMTable) Name() string { return t.name }

// lock begins a call in a transaction.
func (t *LSMTable) lock(tx *Tx) error {
	if tx == nil || tx.db != t.db {
		return errOtherDB
	}
	return tx.lock()
}

func (t *LSMTable) lockChange(tx *Tx) error {
	if tx == nil || tx.db != t.db {
		return errOtherDB
	}
	if err := tx.lockChange(); err != nil {
		return err
	}
	tx.root.merges = tx.root.merges || t.merger != nil
	return nil
}

// mayCall reports whether C may call a function of Go's, in a transaction that is locked: what that
// has collected is merged by the Merger of the table that collected it, by which table one may ask.
func (t *LSMTable) mayCall(tx *Tx) bool { return t.merger != nil || tx.root.merges }

var errOtherDB = misuse(ErrBadTx, "the transaction is not one of the table's database")

// look finds a value, and leaves the transaction locked if there is one.
func (t *LSMTable) look(tx *Tx, key []byte) (span, bool, error) {
	if err := t.lock(tx); err != nil {
		return span{}, false, err
	}
	var told C.go_bytes
	if t.mayCall(tx) {
		told = bytesOf(t.in(tx).calling(call{of: C.GO_CALL_GET, a: key}))
	} else {
		keyPtr, keyLen := ptr(key)
		told = C.go_lsm_get(tx.handle, t.handle, keyPtr, keyLen)
	}
	if told.code == ok {
		return spanOf(told.data, told.len), true, nil
	}
	tx.unlock()
	if told.code == notFound {
		return span{}, false, nil
	}
	return span{}, false, failure(told.code, told.fault)
}

// Get returns the value of a key, nil if there is none. It costs a lookup in each run whose filter
// lets it pass.
func (t *LSMTable) Get(tx *Tx, key []byte) ([]byte, error) {
	found, is, err := t.look(tx, key)
	if !is {
		return nil, err
	}
	value := clone(found.raw())
	tx.unlock()
	return value, nil
}

// GetRaw is Get without a copy: see Table.GetRaw.
func (t *LSMTable) GetRaw(tx *Tx, key []byte) ([]byte, error) {
	found, is, err := t.look(tx, key)
	if !is {
		return nil, err
	}
	tx.unlock()
	return found.raw(), nil
}

// Has reports whether a key is there.
func (t *LSMTable) Has(tx *Tx, key []byte) (bool, error) {
	_, is, err := t.look(tx, key)
	if is {
		tx.unlock()
	}
	return is, err
}

// GetMany returns the values of many keys, nil for each that is not there: see Table.GetMany.
func (t *LSMTable) GetMany(tx *Tx, keys [][]byte) ([][]byte, error) {
	if tx == nil || tx.db != t.db {
		return nil, errOtherDB
	}
	return t.in(tx).getMany(keys)
}

func (t *LSMTable) change(
	tx *Tx, what C.int, key, value []byte, until uint64,
) (told C.go_done, err error) {
	if err := t.lockChange(tx); err != nil {
		return told, err
	}
	defer tx.unlock()
	if t.mayCall(tx) {
		return doneOf(t.in(tx).calling(call{of: C.GO_CALL_PUT, what: what, a: key, b: value,
			c: binary.NativeEndian.AppendUint64(nil, until)})), nil
	}
	keyPtr, keyLen := ptr(key)
	valuePtr, valueLen := ptr(value)
	return C.go_lsm_change(tx.handle, t.handle, what, keyPtr, keyLen, valuePtr, valueLen,
		C.uint64_t(until)), nil
}

// doChange is change for what answers nothing.
func (t *LSMTable) doChange(tx *Tx, what C.int, key, value []byte, until uint64) error {
	told, err := t.change(tx, what, key, value, until)
	if err != nil {
		return err
	}
	return done(told)
}

// Put stores a value under a key, without looking whether it has one.
func (t *LSMTable) Put(tx *Tx, key, value []byte) error {
	return t.doChange(tx, C.GO_LSM_PUT, key, value, 0)
}

// PutUntil is Put of a record that is absent from a time on, by the clock; merges then drop it.
func (t *LSMTable) PutUntil(tx *Tx, key, value []byte, until time.Time) error {
	return t.doChange(tx, C.GO_LSM_PUT_UNTIL, key, value, unixMillis(until))
}

// unixMillis is a time for C: none is before 1970.
func unixMillis(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) }

// Merge merges an operand onto what a key has, as the table's Merger says, without looking at it; a
// key that has nothing has the operand then. ErrInvalid if the table was opened without a Merger.
func (t *LSMTable) Merge(tx *Tx, key, operand []byte) error {
	return t.doChange(tx, C.GO_LSM_MERGE, key, operand, 0)
}

// Delete deletes a key, without looking whether it is there.
func (t *LSMTable) Delete(tx *Tx, key []byte) error {
	return t.doChange(tx, C.GO_LSM_DELETE, key, nil, 0)
}

// Clear deletes all records.
func (t *LSMTable) Clear(tx *Tx) error { return t.doChange(tx, C.GO_LSM_CLEAR, nil, nil, 0) }

// Drop deletes the table, which the next put makes anew.
func (t *LSMTable) Drop(tx *Tx) error { return t.doChange(tx, C.GO_LSM_DROP, nil, nil, 0) }

// Insert stores a value under a key that has none, which takes a lookup. It reports whether that
// was so.
func (t *LSMTable) Insert(tx *Tx, key, value []byte) (bool, error) {
	told, err := t.change(tx, C.GO_LSM_INSERT, key, value, 0)
	if err != nil {
		return false, err
	}
	return either(told, exists)
}

// Update stores a value under a key that has one, which takes a lookup. It reports whether that was
// so.
func (t *LSMTable) Update(tx *Tx, key, value []byte) (bool, error) {
	told, err := t.change(tx, C.GO_LSM_UPDATE, key, value, 0)
	if err != nil {
		return false, err
	}
	return either(told, notFound)
}

// DeleteRange deletes all keys from from up to to, without to; nil is an open end. It costs as much
// as one delete.
func (t *LSMTable) DeleteRange(tx *Tx, from, to []byte) error {
	if err := t.lockChange(tx); err != nil {
		return err
	}
	defer tx.unlock()
	if t.mayCall(tx) {
		return done(doneOf(t.in(tx).calling(call{of: C.GO_CALL_OF_RANGE,
			flags: flagsOf(from, to), a: from, b: to})))
	}
	fromPtr, fromLen := ptr(from)
	toPtr, toLen := ptr(to)
	return done(C.go_lsm_delete_range(tx.handle, t.handle, flagsOf(from, to), fromPtr, fromLen,
		toPtr, toLen))
}

// in is the table in a transaction, for loops and cursors.
func (t *LSMTable) in(tx *Tx) *handle {
	if tx == nil {
		tx = &Tx{} // It has ended: a step is refused.
		tx.root = tx
	}
	return &handle{tx: tx, lsm: t}
}

// Scan is the whole table.
func (t *LSMTable) Scan(tx *Tx) *Scan { return t.in(tx).Scan() }

// Range is the keys from from up to to, without to; nil is an open end.
func (t *LSMTable) Range(tx *Tx, from, to []byte) *Scan { return t.in(tx).Range(from, to) }

// Prefix is the keys that begin with prefix.
func (t *LSMTable) Prefix(tx *Tx, prefix []byte) *Scan { return t.in(tx).Prefix(prefix) }

// Cursor is a cursor that has not begun: see Table.Cursor. Each time that it turns, or goes on
// after a change, it descends in all runs.
func (t *LSMTable) Cursor(tx *Tx) *Cursor {
	c := &Cursor{}
	c.walk.h = t.in(tx)
	return c
}

// LSMStat is what a write-optimised table consists of, and what it has cost.
type LSMStat struct {
	Runs uint64
	// Records of all runs: a key that is in several counts in each of them. Tombstones are the
	// deletes among them.
	Records, Tombstones uint64
	// Bytes of runs and of filters, about, and bytes that are to be merged.
	Bytes, FilterBytes, DebtBytes uint64
	// Bytes that commits of all processes have put, and that their merges have written.
	PutBytes, MergedBytes uint64
	// Commits of this process that waited, as there were too many runs.
	Stalls uint64
}

// Stat tells what the table consists of.
func (t *LSMTable) Stat(tx *Tx) (LSMStat, error) {
	if err := t.lock(tx); err != nil {
		return LSMStat{}, err
	}
	defer tx.unlock()
	var s C.huon_lsm_stat
	err := done(C.go_lsm_stat(tx.handle, t.handle, &s))
	return LSMStat{
		Runs: uint64(s.runs), Records: uint64(s.records), Tombstones: uint64(s.tombstones),
		Bytes: uint64(s.bytes), FilterBytes: uint64(s.filter_bytes),
		DebtBytes: uint64(s.debt_bytes), PutBytes: uint64(s.total_put_bytes),
		MergedBytes: uint64(s.total_merged_bytes), Stalls: uint64(s.stalls),
	}, err
}

// Check reads every run, and returns a sentence for each problem; of many, the first megabyte.
func (t *LSMTable) Check(tx *Tx) ([]string, error) {
	if err := t.lock(tx); err != nil {
		return nil, err
	}
	defer tx.unlock()
	watch, err := newWatch()
	if err != nil {
		return nil, err
	}
	defer C.go_watch_free(watch)
	_, err = number(C.go_lsm_check(tx.handle, t.handle, watch))
	return problemsOf(watch), err
}

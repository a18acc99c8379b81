package huon

// #include "calls.h"
import "C"

import "unsafe"

// handle is a table or multimap of a transaction.
type handle struct {
	tx      *Tx
	raw     C.go_table
	isMulti bool
	calls   bool      // a Go function compares: see mayCall
	lsm     *LSMTable // in the place of raw
}

// mayCall reports whether C may call a function of Go's, in a transaction that is locked.
func (h *handle) mayCall() bool { return h.calls || h.lsm != nil && h.lsm.mayCall(h.tx) }

// Clear deletes all records.
func (h *handle) Clear() error {
	if err := h.tx.lockChange(); err != nil {
		return err
	}
	defer h.tx.unlock()
	return done(C.go_table_clear(h.tx.handle, C.bool(h.isMulti), h.raw))
}

// Rename gives it another name; ErrTableExists if there is one of that name. Open it anew then.
func (h *handle) Rename(name string) error {
	if err := h.tx.lockChange(); err != nil {
		return err
	}
	defer h.tx.unlock()
	key, n := ptr([]byte(name))
	return done(C.go_table_rename(h.tx.handle, C.bool(h.isMulti), h.raw, key, n))
}

// Tx is the transaction that it belongs to.
func (h *handle) Tx() *Tx { return h.tx }

// ofRange does something with a range of keys: nil is an open end.
func (h *handle) ofRange(what C.int, from, to []byte) (uint64, error) {
	lock := h.tx.lock
	if what == C.GO_REMOVE {
		lock = h.tx.lockChange
	}
	if err := lock(); err != nil {
		return 0, err
	}
	defer h.tx.unlock()
	flags := flagsOf(from, to)
	if h.calls {
		return number(numberOf(h.calling(call{of: C.GO_CALL_OF_RANGE, what: what, flags: flags,
			a: from, b: to, changes: what == C.GO_REMOVE})))
	}
	fromPtr, fromLen := ptr(from)
	toPtr, toLen := ptr(to)
	return number(C.go_of_range(h.tx.handle, C.bool(h.isMulti), h.raw, what, flags,
		fromPtr, fromLen, toPtr, toLen))
}

// flagsOf says which ends of a range are closed.
func flagsOf(from, to []byte) (flags C.uint32_t) {
	if from != nil {
		flags |= C.HUON_FROM
	}
	if to != nil {
		flags |= C.HUON_BEFORE
	}
	return flags
}

// DeleteRange deletes all keys from from up to to, without to; nil is an open end. It returns how
// many records there were. Whole leaves go at once.
func (h *handle) DeleteRange(from, to []byte) (uint64, error) {
	return h.ofRange(C.GO_REMOVE, from, to)
}

// Count is the number of records; of a multimap, of pairs. It costs nothing.
func (h *handle) Count() (uint64, error) { return h.ofRange(C.GO_COUNT, nil, nil) }

// CountRange counts the records of a range, by a walk over its leaves.
func (h *handle) CountRange(from, to []byte) (uint64, error) {
	return h.ofRange(C.GO_COUNT, from, to)
}

// EstimateRange is about how many records a range has, for two descents.
func (h *handle) EstimateRange(from, to []byte) (uint64, error) {
	return h.ofRange(C.GO_ESTIMATE, from, to)
}

// pick finds a record, or takes it out.
func (h *handle) pick(which C.int, key []byte) (k, v []byte, err error) {
	lock := h.tx.lock
	if which == C.GO_POP_FIRST || which == C.GO_POP_LAST {
		lock = h.tx.lockChange
	}
	if err := lock(); err != nil {
		return nil, nil, err
	}
	defer h.tx.unlock()
	var told C.go_pair
	if h.calls {
		is := h.calling(call{of: C.GO_CALL_PICK, what: which, a: key, changes: true})
		told = C.go_pair{code: is.code, fault: is.fault, pair: is.pair}
	} else {
		keyPtr, keyLen := ptr(key)
		told = C.go_pick(h.tx.handle, C.bool(h.isMulti), h.raw, which, keyPtr, keyLen)
	}
	if told.code == notFound {
		return nil, nil, nil
	}
	if told.code != ok {
		return nil, nil, failure(told.code, told.fault)
	}
	found := (*[2]span)(unsafe.Pointer(&told.pair))
	return clone(found[0].raw()), clone(found[1].raw()), nil
}

// First returns the record with the lowest key, of a multimap the first pair; a nil key if there is
// none.
func (h *handle) First() (key, value []byte, err error) { return h.pick(C.GO_FIRST, nil) }

// Last returns the record with the highest key.
func (h *handle) Last() (key, value []byte, err error) { return h.pick(C.GO_LAST, nil) }

// PopFirst removes the record with the lowest key, and returns it.
func (h *handle) PopFirst() (key, value []byte, err error) { return h.pick(C.GO_POP_FIRST, nil) }

// PopLast removes the record with the highest key, and returns it.
func (h *handle) PopLast() (key, value []byte, err error) { return h.pick(C.GO_POP_LAST, nil) }

package huon

// #cgo noescape go_multi_get
// #cgo nocallback go_multi_get
// #cgo noescape go_multi_pair
// #cgo nocallback go_multi_pair
// #cgo noescape go_multi_put_many
// #cgo nocallback go_multi_put_many
// #cgo noescape go_multi_update
// #cgo nocallback go_multi_update
// #include "calls.h"
import "C"

import (
	"bytes"
	"iter"
	"math"
)

// Multi is a multimap in a transaction: a key may have many values, in order and none twice.
type Multi struct {
	handle
	name string
}

// Get returns the first value of a key, nil if it has none.
func (m *Multi) Get(key []byte) ([]byte, error) {
	if err := m.tx.lock(); err != nil {
		return nil, err
	}
	defer m.tx.unlock()
	var told C.go_bytes
	if m.calls {
		told = bytesOf(m.calling(call{of: C.GO_CALL_MULTI_GET, a: key}))
	} else {
		keyPtr, keyLen := ptr(key)
		told = C.go_multi_get(m.tx.handle, m.raw, keyPtr, keyLen)
	}
	if told.code == notFound {
		return nil, nil
	}
	if told.code != ok {
		return nil, failure(told.code, told.fault)
	}
	first := spanOf(told.data, told.len)
	return clone(first.raw()), nil
}

// Values is the values of a key: its loop yields the key with each of them.
func (m *Multi) Values(key []byte) *Scan {
	s := m.scan(0, key, nil)
	s.walk.ofValues = true
	return s
}

func (m *Multi) pair(what C.int, key, value []byte) (C.int, uint64, error) {
	lock := m.tx.lockChange
	if what == C.GO_PAIR_HAS {
		lock = m.tx.lock
	}
	if err := lock(); err != nil {
		return ok, 0, err
	}
	defer m.tx.unlock()
	var told C.go_number
	if m.calls {
		told = numberOf(m.calling(call{of: C.GO_CALL_MULTI_PAIR, what: what, a: key, b: value,
			changes: what != C.GO_PAIR_HAS}))
	} else {
		keyPtr, keyLen := ptr(key)
		valuePtr, valueLen := ptr(value)
		told = C.go_multi_pair(m.tx.handle, m.raw, what, keyPtr, keyLen, valuePtr, valueLen)
	}
	if told.code == notFound || told.code == exists {
		return told.code, 0, nil
	}
	n, err := number(told)
	return told.code, n, err
}

// Has reports whether a key has that value.
func (m *Multi) Has(key, value []byte) (bool, error) {
	code, _, err := m.pair(C.GO_PAIR_HAS, key, value)
	return code == ok && err == nil, err
}

// Put adds a value to those of a key. It reports whether it was not among them.
func (m *Multi) Put(key, value []byte) (bool, error) {
	_, isNew, err := m.pair(C.GO_PAIR_PUT, key, value)
	return isNew != 0 && err == nil, err
}

// Insert adds a value to a key that has none. It reports whether that was so.
func (m *Multi) Insert(key, value []byte) (bool, error) {
	code, _, err := m.pair(C.GO_PAIR_INSERT, key, value)
	return code == ok && err == nil, err
}

// Append adds a pair behind all that are there; ErrKeyOutOfOrder if it does not come last.
func (m *Multi) Append(key, value []byte) error {
	_, _, err := m.pair(C.GO_PAIR_APPEND, key, value)
	return err
}

// Delete removes one value of a key. It reports whether it was there.
func (m *Multi) Delete(key, value []byte) (bool, error) {
	code, _, err := m.pair(C.GO_PAIR_REMOVE, key, value)
	return code == ok && err == nil, err
}

// PutMany adds many pairs: values of one key that come one after another by few descents. What came
// before an error may be stored.
func (m *Multi) PutMany(pairs iter.Seq2[[]byte, []byte]) error {
	r := run{m: m}
	for key, value := range pairs {
		if !r.add(key, value) {
			if err := r.flush(); err != nil {
				return err
			}
			r.add(key, value)
		}
	}
	return r.flush()
}

// run is values of one key, to be put together.
type run struct {
	m           *Multi
	key, values []byte
	ends        []C.uint32_t
}

// The most bytes of values that are put together, but for a longer one.
const runMost = 64 << 10

// add adds a value; false if it does not belong to the run.
func (r *run) add(key, value []byte) bool {
	if len(r.ends) == 0 {
		r.key = append(r.key[:0], key...)
	} else if !bytes.Equal(key, r.key) || len(r.ends) == C.GO_VALUES_MOST ||
		len(r.values)+len(value) > runMost {
		return false
	}
	// No value of a multimap is so long: C says so.
	value = value[:min(len(value), math.MaxInt32)]
	r.values = append(r.values, value...)
	r.ends = append(r.ends, C.uint32_t(len(r.values)))
	return true
}

func (r *run) flush() error {
	if len(r.ends) == 0 {
		return nil
	}
	m := r.m
	if len(r.ends) == 1 {
		_, err := m.Put(r.key, r.values)
		r.values, r.ends = r.values[:0], r.ends[:0]
		return err
	}
	if err := m.tx.lockChange(); err != nil {
		return err
	}
	defer m.tx.unlock()
	var told C.go_done
	if m.calls {
		told = doneOf(m.calling(call{of: C.GO_CALL_MULTI_PUT_MANY, a: r.key, b: r.values,
			ends: r.ends, n: len(r.ends), changes: true}))
	} else {
		keyPtr, keyLen := ptr(r.key)
		valuesPtr, _ := ptr(r.values)
		told = C.go_multi_put_many(m.tx.handle, m.raw, keyPtr, keyLen, valuesPtr, &r.ends[0],
			C.size_t(len(r.ends)))
	}
	r.values, r.ends = r.values[:0], r.ends[:0]
	return done(told)
}

// Update puts a value in the place of another one of a key. It reports whether that was there.
func (m *Multi) Update(key, old, value []byte) (bool, error) {
	if err := m.tx.lockChange(); err != nil {
		return false, err
	}
	defer m.tx.unlock()
	if m.calls {
		told := m.calling(call{of: C.GO_CALL_MULTI_UPDATE, a: key, b: old, c: value, changes: true})
		return either(doneOf(told), notFound)
	}
	keyPtr, keyLen := ptr(key)
	oldPtr, oldLen := ptr(old)
	valuePtr, valueLen := ptr(value)
	return either(C.go_multi_update(m.tx.handle, m.raw, keyPtr, keyLen, oldPtr, oldLen, valuePtr,
		valueLen), notFound)
}

// Set has a key have this value alone, and returns how many it had.
func (m *Multi) Set(key, value []byte) (uint64, error) {
	if err := m.tx.lockChange(); err != nil {
		return 0, err
	}
	defer m.tx.unlock()
	if m.calls {
		return number(numberOf(m.calling(call{of: C.GO_CALL_MULTI_SET, a: key, b: value,
			changes: true})))
	}
	keyPtr, keyLen := ptr(key)
	valuePtr, valueLen := ptr(value)
	return number(C.go_multi_set(m.tx.handle, m.raw, keyPtr, keyLen, valuePtr, valueLen))
}

// DeleteAll removes all values of a key, and returns how many it had.
func (m *Multi) DeleteAll(key []byte) (uint64, error) {
	if err := m.tx.lockChange(); err != nil {
		return 0, err
	}
	defer m.tx.unlock()
	var told C.go_number
	if m.calls {
		told = numberOf(m.calling(call{of: C.GO_CALL_MULTI_REMOVE_KEY, a: key, changes: true}))
	} else {
		keyPtr, keyLen := ptr(key)
		told = C.go_multi_remove_key(m.tx.handle, m.raw, keyPtr, keyLen)
	}
	if told.code == notFound {
		return 0, nil
	}
	return number(told)
}

// CountValues is how many values a key has. It costs a descent, however many they are.
func (m *Multi) CountValues(key []byte) (uint64, error) {
	if err := m.tx.lock(); err != nil {
		return 0, err
	}
	defer m.tx.unlock()
	var told C.go_number
	if m.calls {
		told = numberOf(m.calling(call{of: C.GO_CALL_MULTI_COUNT_VALUES, a: key}))
	} else {
		keyPtr, keyLen := ptr(key)
		told = C.go_multi_count_values(m.tx.handle, m.raw, keyPtr, keyLen)
	}
	if told.code == notFound {
		return 0, nil
	}
	return number(told)
}

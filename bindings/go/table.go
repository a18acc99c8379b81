package huon

// #cgo noescape go_get
// #cgo nocallback go_get
// #cgo noescape go_has
// #cgo nocallback go_has
// #cgo noescape go_get_many
// #cgo nocallback go_get_many
// #cgo noescape go_lsm_get_many
// #cgo nocallback go_lsm_get_many
// #cgo noescape go_pick
// #cgo nocallback go_pick
// #cgo noescape go_put
// #cgo nocallback go_put
// #cgo noescape go_put_if
// #cgo nocallback go_put_if
// #cgo noescape go_replace
// #cgo nocallback go_replace
// #cgo noescape go_take
// #cgo nocallback go_take
// #cgo noescape go_remove
// #cgo nocallback go_remove
// #cgo noescape go_put_packed
// #cgo nocallback go_put_packed
// #cgo noescape go_bulk_append
// #cgo nocallback go_bulk_append
// #cgo noescape go_sequence
// #cgo nocallback go_sequence
// #include "calls.h"
// #include "lsm.h"
import "C"

import (
	"encoding/binary"
	"iter"
	"math"
	"unsafe"
)

// Table is a table in a transaction. Open it anew in each.
type Table struct{ handle }

// Pair is a record: a key and its value.
type Pair struct{ Key, Value []byte }

// look finds a value, and leaves the transaction locked if there is one.
func (t *Table) look(key []byte) (span, bool, error) {
	tx := t.tx
	if err := tx.lock(); err != nil {
		return span{}, false, err
	}
	var told C.go_bytes
	if t.calls {
		told = bytesOf(t.calling(call{of: C.GO_CALL_GET, a: key}))
	} else {
		keyPtr, keyLen := ptr(key)
		told = C.go_get(tx.handle, t.raw, keyPtr, keyLen)
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

// Get returns the value of a key, nil if there is none: an empty value is not nil.
func (t *Table) Get(key []byte) ([]byte, error) {
	found, is, err := t.look(key)
	if !is {
		return nil, err
	}
	value := clone(found.raw())
	t.tx.unlock()
	return value, nil
}

// GetRaw is Get without a copy. The bytes are not to be changed, and are gone when the transaction
// ends, is reset, renewed or parked; in one that writes with its next change. What reads them after
// that reads other bytes, or crashes. They do not keep the transaction: one of BeginRead that is
// not reachable any more ends, so end it behind the last use, as by defer tx.Rollback().
func (t *Table) GetRaw(key []byte) ([]byte, error) {
	found, is, err := t.look(key)
	if !is {
		return nil, err
	}
	t.tx.unlock()
	return found.raw(), nil
}

// AppendValue appends the value of a key to dst, and reports whether there is one: Get for those
// that go without garbage.
func (t *Table) AppendValue(dst, key []byte) ([]byte, bool, error) {
	found, is, err := t.look(key)
	if !is {
		return dst, false, err
	}
	dst = append(dst, found.raw()...)
	t.tx.unlock()
	return dst, true, nil
}

// Has reports whether a key is there.
func (t *Table) Has(key []byte) (bool, error) {
	if err := t.tx.lock(); err != nil {
		return false, err
	}
	defer t.tx.unlock()
	if t.calls {
		return either(doneOf(t.calling(call{of: C.GO_CALL_HAS, a: key})), notFound)
	}
	keyPtr, keyLen := ptr(key)
	return either(C.go_has(t.tx.handle, t.raw, keyPtr, keyLen), notFound)
}

// GetMany returns the values of many keys, nil for each that is not there: several times faster
// than one after another. Values that come together share memory.
func (t *Table) GetMany(keys [][]byte) ([][]byte, error) {
	return t.getMany(keys)
}

func (h *handle) getMany(keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for first := 0; first < len(keys); first += manyAtOnce {
		last := min(len(keys), first+manyAtOnce)
		if err := h.getSome(keys[first:last], values[first:last]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// The most keys that are looked up in one call.
const manyAtOnce = C.GO_KEYS_MOST

func (h *handle) getSome(keys, values [][]byte) error {
	var ends [manyAtOnce]C.uint32_t
	var spans [manyAtOnce]span
	var room [4096]byte
	packed := room[:0]
	for i, key := range keys {
		if uint64(len(packed))+uint64(len(key)) > math.MaxUint32 {
			return misuse(ErrKeyTooLong, "a key is longer than any may be")
		}
		packed = append(packed, key...)
		ends[i] = C.uint32_t(len(packed))
	}
	if err := h.tx.lock(); err != nil {
		return err
	}
	defer h.tx.unlock()
	keysPtr, _ := ptr(packed)
	first := (*C.uintptr_t)(unsafe.Pointer(&spans[0]))
	count := C.size_t(len(keys))
	var told C.go_number
	switch {
	case h.mayCall():
		told = numberOf(h.calling(call{of: C.GO_CALL_GET_MANY, a: packed, ends: ends[:len(keys)],
			n: len(keys), out: spans[:len(keys)]}))
	case h.lsm != nil:
		told = C.go_lsm_get_many(h.tx.handle, h.lsm.handle, keysPtr, &ends[0], count, first)
	default:
		told = C.go_get_many(h.tx.handle, h.raw, keysPtr, &ends[0], count, first)
	}
	if told.code != ok {
		return failure(told.code, told.fault)
	}
	var copies copier
	for i := range values {
		if spans[i].data != 0 {
			values[i] = copies.copy(spans[i].raw())
		}
	}
	return nil
}

// copier makes copies of which small ones share pieces of memory.
type copier struct {
	room []byte
	next int
}

// No piece is longer than this: a copy that is kept keeps no more.
const pieceMax = 8 << 10

func (c *copier) copy(bytes []byte) []byte {
	n := len(bytes)
	if n == 0 {
		return []byte{} // nil would be none
	}
	if n > len(c.room) {
		if n >= pieceMax/8 {
			return append(make([]byte, 0, n), bytes...)
		}
		c.next = min(max(2*c.next, 4*n), pieceMax)
		c.room = make([]byte, c.next)
	}
	made := c.room[:n:n]
	c.room = c.room[n:]
	copy(made, bytes)
	return made
}

// clone is a copy that is not nil. In these very words the compiler does not clear what it makes.
func clone(bytes []byte) []byte {
	made := make([]byte, len(bytes))
	copy(made, bytes)
	return made
}

// AtOrAbove returns the record with the lowest key that is not below the given one.
func (t *Table) AtOrAbove(at []byte) (key, value []byte, err error) {
	return t.pick(C.GO_AT_OR_ABOVE, at)
}

// AtOrBelow returns the record with the highest key that is not above the given one.
func (t *Table) AtOrBelow(at []byte) (key, value []byte, err error) {
	return t.pick(C.GO_AT_OR_BELOW, at)
}

// Put stores a value under a key, over the one that is there.
func (t *Table) Put(key, value []byte) error {
	tx := t.tx
	if err := tx.lockChange(); err != nil {
		return err
	}
	var told C.go_done
	if t.calls {
		told = doneOf(t.calling(call{of: C.GO_CALL_PUT, a: key, b: value, changes: true}))
	} else {
		keyPtr, keyLen := ptr(key)
		valuePtr, valueLen := ptr(value)
		told = C.go_put(tx.handle, t.raw, keyPtr, keyLen, valuePtr, valueLen)
	}
	tx.unlock()
	return done(told)
}

func (t *Table) putIf(how C.int, key, value []byte, no C.int) (bool, error) {
	if err := t.tx.lockChange(); err != nil {
		return false, err
	}
	defer t.tx.unlock()
	if t.calls {
		return either(doneOf(t.calling(call{of: C.GO_CALL_PUT_IF, what: how, a: key, b: value,
			changes: true})), no)
	}
	keyPtr, keyLen := ptr(key)
	valuePtr, valueLen := ptr(value)
	return either(C.go_put_if(t.tx.handle, t.raw, how, keyPtr, keyLen, valuePtr, valueLen), no)
}

// Insert stores a value under a key that has none. It reports whether that was so.
func (t *Table) Insert(key, value []byte) (bool, error) {
	return t.putIf(C.GO_INSERT, key, value, exists)
}

// Update stores a value under a key that has one. It reports whether that was so.
func (t *Table) Update(key, value []byte) (bool, error) {
	return t.putIf(C.GO_UPDATE, key, value, notFound)
}

// Append stores a value behind all that are there, several times faster than Put where keys rise.
// ErrKeyOutOfOrder if the key is not above the last one.
func (t *Table) Append(key, value []byte) error {
	_, err := t.putIf(C.GO_APPEND, key, value, ok)
	return err
}

// before makes a copy of a value that a change showed.
func before(told C.go_bytes) ([]byte, error) {
	if told.code != ok && told.code != notFound {
		return nil, failure(told.code, told.fault)
	}
	if told.data == nil {
		return nil, nil
	}
	old := spanOf(told.data, told.len)
	return clone(old.raw()), nil
}

// Replace is Put that returns the value before, nil if there was none.
func (t *Table) Replace(key, value []byte) ([]byte, error) {
	if err := t.tx.lockChange(); err != nil {
		return nil, err
	}
	defer t.tx.unlock()
	if t.calls {
		return before(bytesOf(t.calling(call{of: C.GO_CALL_REPLACE, a: key, b: value,
			changes: true})))
	}
	keyPtr, keyLen := ptr(key)
	valuePtr, valueLen := ptr(value)
	return before(C.go_replace(t.tx.handle, t.raw, keyPtr, keyLen, valuePtr, valueLen))
}

// Take removes a key, and returns its value, nil if there was none.
func (t *Table) Take(key []byte) ([]byte, error) {
	if err := t.tx.lockChange(); err != nil {
		return nil, err
	}
	defer t.tx.unlock()
	if t.calls {
		return before(bytesOf(t.calling(call{of: C.GO_CALL_TAKE, a: key, changes: true})))
	}
	keyPtr, keyLen := ptr(key)
	return before(C.go_take(t.tx.handle, t.raw, keyPtr, keyLen))
}

// Delete removes a key. It reports whether it was there.
func (t *Table) Delete(key []byte) (bool, error) {
	if err := t.tx.lockChange(); err != nil {
		return false, err
	}
	defer t.tx.unlock()
	if t.calls {
		told := t.calling(call{of: C.GO_CALL_REMOVE, a: key, changes: true})
		return either(doneOf(told), notFound)
	}
	keyPtr, keyLen := ptr(key)
	return either(C.go_remove(t.tx.handle, t.raw, keyPtr, keyLen), notFound)
}

// CompareAndSet stores a value under a key that has the value old, and reports whether it had.
// old nil: the key must not be there; value nil: it is removed.
func (t *Table) CompareAndSet(key, old, value []byte) (bool, error) {
	if err := t.tx.lockChange(); err != nil {
		return false, err
	}
	defer t.tx.unlock()
	if t.calls {
		told := t.calling(call{of: C.GO_CALL_COMPARE_AND_SET, a: key, b: old, c: value,
			changes: true})
		return either(doneOf(told), conflict)
	}
	keyPtr, keyLen := ptr(key)
	oldPtr, oldLen := ptr(old)
	valuePtr, valueLen := ptr(value)
	return either(C.go_compare_and_set(t.tx.handle, t.raw, keyPtr, keyLen, C.bool(old != nil),
		oldPtr, oldLen, C.bool(value != nil), valuePtr, valueLen), conflict)
}

// PutMany stores many records, in the order in which they come, with few crossings to C. What came
// before an error is stored.
func (t *Table) PutMany(pairs iter.Seq2[[]byte, []byte]) error {
	return t.packed(pairs, 64<<10, func(records []byte) error {
		if t.calls {
			is := call{of: C.GO_CALL_PUT_PACKED, a: records, changes: true}
			return done(doneOf(t.calling(is)))
		}
		first, n := ptr(records)
		_, err := number(C.go_put_packed(t.tx.handle, t.raw, first, n))
		return err
	})
}

// BulkAppend fills a table with records in the order of keys, behind those that are there: into
// full pages, many times faster than Put. An error leaves a transaction that can only be rolled
// back.
func (t *Table) BulkAppend(pairs iter.Seq2[[]byte, []byte]) error {
	return t.packed(pairs, 4<<20, func(records []byte) error {
		if t.calls {
			is := call{of: C.GO_CALL_BULK_APPEND, a: records, changes: true}
			return done(doneOf(t.calling(is)))
		}
		first, n := ptr(records)
		return done(C.go_bulk_append(t.tx.handle, t.raw, first, n))
	})
}

// packed gathers records, and hands them over about so many bytes at a time. The transaction is not
// locked while the next ones are made, which may read in it.
func (t *Table) packed(
	pairs iter.Seq2[[]byte, []byte], bytes int, put func(records []byte) error,
) (err error) {
	var room []byte
	flush := func() error {
		if err := t.tx.lockChange(); err != nil {
			return err
		}
		defer t.tx.unlock()
		err := put(room)
		room = room[:0]
		return err
	}
	for key, value := range pairs {
		if uint64(len(key)) > math.MaxUint32 || uint64(len(value)) > math.MaxUint32 {
			return misuse(ErrValueTooLong, "a key or value is longer than any may be")
		}
		room = binary.NativeEndian.AppendUint32(room, uint32(len(key)))
		room = binary.NativeEndian.AppendUint32(room, uint32(len(value)))
		room = append(append(room, key...), value...)
		if len(room) >= bytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(room) == 0 {
		return nil
	}
	return flush()
}

// Pairs yields pairs, for PutMany and BulkAppend.
func Pairs(pairs ...Pair) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for _, pair := range pairs {
			if !yield(pair.Key, pair.Value) {
				return
			}
		}
	}
}

// Sequence takes so many numbers of the table's sequence, and returns the first of them: 0 in a new
// table. They are taken with the commit; 0 only looks.
func (t *Table) Sequence(count uint64) (uint64, error) {
	lock := t.tx.lockChange
	if count == 0 {
		lock = t.tx.lock
	}
	if err := lock(); err != nil {
		return 0, err
	}
	defer t.tx.unlock()
	return number(C.go_sequence(t.tx.handle, t.raw, C.uint64_t(count)))
}

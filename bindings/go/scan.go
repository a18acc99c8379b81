package huon

// #cgo noescape go_range_many
// #cgo nocallback go_range_many
// #cgo noescape go_multi_from
// #cgo nocallback go_multi_from
// #cgo noescape go_copy_pairs
// #cgo nocallback go_copy_pairs
// #cgo noescape go_next
// #cgo nocallback go_next
// #cgo noescape go_lsm_range_many
// #cgo nocallback go_lsm_range_many
// #include "calls.h"
// #include "lsm.h"
import "C"

import (
	"bytes"
	"iter"
	"unsafe"
)

// walker goes from record to record. It takes many at a time from C, and keeps nothing there for a
// table: it knows the key that it stands at, and looks it up again for the next ones, or after a
// change. So it sees what is changed beside it, in either direction.
type walker struct {
	h        *handle
	isRaw    bool
	isKeys   bool // shows empty values
	ofValues bool // of the key from, in a multimap
	// Where the range begins and ends.
	flags    C.uint32_t
	from, to []byte

	// Records that come next, the way of back, and whether there are no more behind them: where C
	// has them, until the transaction changes something or ends, and how long they are.
	spans  []span
	count  int
	at     int
	back   bool
	isLast bool
	// piece has copies of all of them, of which those from copied on come next.
	piece  []byte
	copied int
	// How many to ask for.
	want    int
	version uint64

	place place
	key   []byte
	err   error
	// Of a cursor of a multimap, whose place is a pair, or all values of a key.
	ofPairs bool
	value   []byte
	ofKey   bool
	// cursor is C's, of a multimap: a key alone is no place there.
	cursor C.uintptr_t
}

// place is where a walker stands, by its key, or its pair.
type place int8

const (
	nowhere place = iota // it has not begun
	at                   // the record was shown
	above                // behind all records from the key on
	below                // before all records up to the key
	deleted              // before where the pair of a multimap was that a cursor deleted
)

const (
	wantFirst = 8
	wantMost  = 256
	// The most bytes of copies that share a piece of memory: one that is kept keeps no more.
	pieceMost = 16 << 10
)

// step goes to the next record, or to that before; a nil key if there is none.
func (w *walker) step(back bool) (key, value []byte) {
	if w.at == w.count || w.back != back || w.version != w.h.tx.version.Load() {
		if !w.fetch(back) {
			return nil, nil
		}
	}
	i := w.at
	w.at++
	w.place, w.ofKey = at, false
	if w.isRaw {
		return w.spans[2*i].raw(), w.spans[2*i+1].raw()
	}
	keyEnd := w.copied + int(w.spans[2*i].len)
	end := keyEnd + int(w.spans[2*i+1].len)
	key, value = w.piece[w.copied:keyEnd:keyEnd], w.piece[keyEnd:end:end]
	w.copied = end
	if w.h.tx.writable {
		w.key = append(w.key[:0], key...)
		if w.ofPairs {
			w.value = append(w.value[:0], value...)
		}
	}
	return key, value
}

// fetch takes the next records; false if there are none.
func (w *walker) fetch(back bool) bool {
	tx := w.h.tx
	if err := tx.lock(); err != nil {
		return w.refuse(err)
	}
	defer tx.unlock()
	version := tx.version.Load()
	isSame := w.version == version
	switch {
	case w.place == nowhere:
		w.want = min(max(w.want, wantFirst), wantMost)
	case w.version/turned != version/turned:
		return w.fail(errNotNewer)
	case w.isLast && isSame && w.back == back && w.at == w.count:
		w.leave(back)
		return false
	case isSame:
		w.want = min(max(4*w.want, 1), wantMost)
	default:
		w.want = 1
	}
	w.remember()
	w.count, w.at, w.back, w.isLast, w.version = 0, 0, back, false, version
	if err := w.load(); err != nil {
		return w.fail(err)
	}
	if w.count == 0 {
		w.leave(back)
	}
	return w.count > 0
}

// remember copies the key of the record that was shown last, as others take its place. In a
// transaction that writes, which may move it, each step does.
func (w *walker) remember() {
	if w.place == at && w.at > 0 && !w.h.tx.writable {
		w.key = append(w.key[:0], w.spans[2*w.at-2].raw()...)
		if w.ofPairs {
			w.value = append(w.value[:0], w.spans[2*w.at-1].raw()...)
		}
	}
}

// leave is what a step does at the end.
func (w *walker) leave(back bool) {
	w.remember()
	w.count, w.at = 0, 0
	switch {
	case w.place == nowhere:
	case back:
		w.place = below
	default:
		w.place = above
	}
}

// refuse is fail where the transaction is not locked.
func (w *walker) refuse(err error) bool {
	tx := w.h.tx
	tx.root.mu.Lock()
	defer tx.unlock()
	return w.fail(err)
}

// fail keeps an error; the transaction is locked.
func (w *walker) fail(err error) bool {
	if tx := w.h.tx; tx.loop == nil {
		tx.loop = err
	}
	w.count, w.at, w.err = 0, 0, err
	return false
}

func (w *walker) load() error {
	tx := w.h.tx
	w.isRaw = w.isRaw && !tx.writable
	if len(w.spans) < 2*w.want {
		w.spans = make([]span, 2*w.want)
	}
	count, err := w.look((*C.uintptr_t)(unsafe.Pointer(&w.spans[0])))
	if err != nil {
		return err
	}
	w.count, w.isLast = int(count), int(count) < w.want
	if !w.isRaw {
		w.copyAll()
	}
	return nil
}

// copyAll copies what C has shown into a piece of memory, but for what is too much and can come
// again with what follows.
func (w *walker) copyAll() {
	length := 0
	for i := range w.count {
		if w.isKeys {
			w.spans[2*i+1].len = 0
		}
		next := int(w.spans[2*i].len + w.spans[2*i+1].len)
		if i > 0 && length+next > pieceMost && w.cursor == 0 {
			w.count, w.want, w.isLast = i, (i+3)/4, false
			break
		}
		length += next
	}
	// A piece of nothing would be nil.
	w.piece, w.copied = make([]byte, max(length, 1)), 0
	spans := (*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(w.spans)))
	room, _ := ptr(w.piece)
	C.go_copy_pairs(spans, C.size_t(w.count), room)
}

// look asks C.
func (w *walker) look(first *C.uintptr_t) (uint64, error) {
	h := w.h
	switch {
	case w.ofPairs:
		return w.lookPairs(first)
	case h.isMulti:
		return w.lookMulti(first)
	}
	flags, from, to := w.bounds()
	if h.lsm != nil && h.lsm.db != h.tx.db {
		return 0, errOtherDB
	}
	if h.mayCall() {
		return number(numberOf(h.calling(call{of: C.GO_CALL_RANGE_MANY, what: backOf(w.back),
			flags: flags, a: from, b: to, n: w.want, out: w.spans[:2*w.want]})))
	}
	fromPtr, fromLen := ptr(from)
	toPtr, toLen := ptr(to)
	if h.lsm != nil {
		return number(C.go_lsm_range_many(h.tx.handle, h.lsm.handle, flags, fromPtr, fromLen,
			toPtr, toLen, C.bool(w.back), C.size_t(w.want), first))
	}
	return number(C.go_range_many(h.tx.handle, h.raw, flags, fromPtr, fromLen, toPtr, toLen,
		C.bool(w.back), C.size_t(w.want), first))
}

func backOf(back bool) C.int {
	if back {
		return 1
	}
	return 0
}

const (
	lower = C.HUON_FROM | C.HUON_AFTER
	upper = C.HUON_TO | C.HUON_BEFORE
)

// bounds are what is left of the range, the way that the walker goes.
func (w *walker) bounds() (flags C.uint32_t, from, to []byte) {
	flags, from, to = w.flags, w.from, w.to
	if w.place == nowhere {
		return flags, from, to
	}
	if flags == C.HUON_PREFIX {
		flags, to = C.HUON_FROM, successor(from)
		if to != nil {
			flags |= C.HUON_BEFORE
		}
	}
	switch {
	case !w.back && w.place == below:
		flags, from = flags&^lower|C.HUON_FROM, w.key
	case !w.back:
		flags, from = flags&^lower|C.HUON_AFTER, w.key
	case w.place == above:
		flags, to = flags&^upper|C.HUON_TO, w.key
	default:
		flags, to = flags&^upper|C.HUON_BEFORE, w.key
	}
	return flags, from, to
}

// successor is the first key behind all that begin with prefix; nil if there is none.
func successor(prefix []byte) []byte {
	for n := len(prefix); n > 0; n-- {
		if prefix[n-1] != 0xff {
			next := clone(prefix[:n])
			next[n-1]++
			return next
		}
	}
	return nil
}

// lookMulti goes on with C's cursor, which knows how to go on after a change; one pair at a time
// where there may be some.
func (w *walker) lookMulti(first *C.uintptr_t) (uint64, error) {
	h := w.h
	if w.cursor == 0 {
		fromPtr, fromLen := ptr(w.from)
		toPtr, toLen := ptr(w.to)
		told := C.go_multi_cursor(h.tx.handle, h.raw, C.bool(w.ofValues), w.flags, fromPtr, fromLen,
			toPtr, toLen, C.bool(w.back))
		if told.code == notFound {
			return 0, nil
		}
		if told.code != ok {
			return 0, failure(told.code, told.fault)
		}
		w.cursor = told.handle
	}
	if h.tx.writable {
		w.want = 1
	}
	if h.calls {
		return number(numberOf(h.calling(call{of: C.GO_CALL_NEXT, what: backOf(w.back), n: w.want,
			out: w.spans[:2*w.want], cursor: w.cursor})))
	}
	return number(C.go_next(w.cursor, h.tx.handle, C.bool(w.back), C.size_t(w.want), first))
}

// lookPairs goes on from a pair, or from all values of a key.
func (w *walker) lookPairs(first *C.uintptr_t) (uint64, error) {
	isBehind := w.place == above || w.place == at && !w.back
	var place C.int
	switch {
	case w.place == nowhere:
		place = C.GO_AT_END
	case w.ofKey && isBehind:
		place = C.GO_BEHIND_KEY
	case w.ofKey:
		place = C.GO_BEFORE_KEY
	case isBehind:
		place = C.GO_BEHIND_PAIR
	default:
		place = C.GO_BEFORE_PAIR
	}
	if w.h.calls {
		return number(numberOf(w.h.calling(call{of: C.GO_CALL_MULTI_FROM, what: backOf(w.back),
			flags: C.uint32_t(place), a: w.key, b: w.value, n: w.want, out: w.spans[:2*w.want]})))
	}
	keyPtr, keyLen := ptr(w.key)
	valuePtr, valueLen := ptr(w.value)
	return number(C.go_multi_from(w.h.tx.handle, w.h.raw, place, keyPtr, keyLen, valuePtr, valueLen,
		C.bool(w.back), C.size_t(w.want), first))
}

func (w *walker) close() {
	if w.cursor != 0 {
		C.go_cursor_close(w.cursor)
		w.cursor = 0
	}
}

// Scan is a range of a table or multimap that a loop can go through:
//
//	people := ages.Prefix([]byte("a")).Reverse().Limit(10)
//	for name, age := range people.All() {
//		...
//	}
//	return people.Err()
//
// Records may be changed within the loop, which goes on behind the key that it was at.
type Scan struct {
	walk  walker
	back  bool
	limit int
	err   error
}

func (h *handle) scan(flags C.uint32_t, from, to []byte) *Scan {
	s := &Scan{limit: -1}
	s.walk.h, s.walk.flags = h, flags
	s.walk.from, s.walk.to = bytes.Clone(from), bytes.Clone(to)
	return s
}

// Scan is the whole table; of a multimap, a key comes once for each of its values.
func (h *handle) Scan() *Scan { return h.scan(0, nil, nil) }

// Range is the keys from from up to to, without to; nil is an open end.
func (h *handle) Range(from, to []byte) *Scan { return h.scan(flagsOf(from, to), from, to) }

// Prefix is the keys that begin with prefix, in a table whose order is that of bytes.
func (h *handle) Prefix(prefix []byte) *Scan { return h.scan(C.HUON_PREFIX, prefix, nil) }

// Reverse goes from the end to the start.
func (s *Scan) Reverse() *Scan {
	s.back = !s.back
	return s
}

// Limit ends after so many records.
func (s *Scan) Limit(count int) *Scan {
	s.limit = max(count, 0)
	return s
}

// Raw shows records without a copy, as Table.GetRaw does, and as long as that. In a transaction
// that writes it copies all the same.
func (s *Scan) Raw() *Scan {
	s.walk.isRaw = true
	return s
}

// All yields keys and values. Those that come one after another share pieces of memory: a key that
// is kept keeps 16 KiB, or its own record if that is longer; of a multimap, up to 256 pairs.
func (s *Scan) All() iter.Seq2[[]byte, []byte] { return s.loop(false) }

func (s *Scan) loop(isKeys bool) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		w := s.walk
		w.isKeys = isKeys
		s.err = nil
		w.version = w.h.tx.version.Load()
		if s.limit >= 0 {
			w.want = s.limit
		}
		defer w.close()
		for left := s.limit; left != 0; left-- {
			key, value := w.step(s.back)
			if key == nil {
				s.err = w.err
				return
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// Keys yields keys alone, and copies no values.
func (s *Scan) Keys() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for key := range s.loop(true) {
			if !yield(key) {
				return
			}
		}
	}
}

// Err is the error that ended a loop, or nil. An error that is not asked for is what View or Update
// return, if their function returns nil.
func (s *Scan) Err() error {
	s.walk.h.tx.forgive(s.err)
	return s.err
}

// forgive forgets an error of a loop that was asked for.
func (tx *Tx) forgive(err error) {
	tx.root.mu.Lock()
	defer tx.unlock()
	if tx.loop == err {
		tx.loop = nil
	}
}

package huon

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Merger is a function that merges values of write-optimised tables: see NewMerger.
type Merger struct {
	name   string
	merge  func(older, newer []byte) ([]byte, error)
	handle cgo.Handle // for C; never deleted
	// lost is what it has failed with last in a thread of the library's, where no call could tell.
	lost atomic.Pointer[error]
}

// Mergers stay for the life of the program, as databases may call them until the last one is
// closed.
var mergers struct {
	mu    sync.Mutex
	names map[string]bool
}

// NewMerger makes a Merger of a function, for LSM.MergedTable: it makes one value of what a key has
// and of what is merged onto it, for counters, sums, sets and the like. It must be associative, and
// the same in each program that opens the table, which keeps the name: 1 to 255 bytes of UTF-8.
// ErrNameTaken if there is a Merger of that name already: make one where the program begins, as of
// a package's variable, and never in a loop.
//
// The function is called wherever two records of a key meet: in goroutines that read, commit or
// compact, in the midst of a call, and in threads of a Compactor; so by several at a time. What it
// is shown is not to be changed or kept, what it returns is copied. It must not use the
// transaction, which waits for it, and must not end its goroutine (runtime.Goexit, T.FailNow).
//
// If it panics, or returns an error, that call is an error, ErrStopped, in which errors.Is finds
// the other one. Nothing is changed then, and what was merged stays as it was: a transaction goes
// on, and a commit has not been made. A merge after a commit that fails so is left to later ones; a
// Compactor ends, and its Stop returns the error.
func NewMerger(
	name string, merge func(older, newer []byte) ([]byte, error),
) (*Merger, error) {
	switch {
	case merge == nil:
		return nil, misuse(ErrBadArgument, "a merger needs a function")
	case !isName(name):
		return nil, misuse(ErrBadArgument, "the name of a merger is 1 to 255 bytes of UTF-8")
	}
	mergers.mu.Lock()
	defer mergers.mu.Unlock()
	if mergers.names[name] {
		return nil, misuse(ErrNameTaken, "there is a merger of the name "+name)
	}
	if mergers.names == nil {
		mergers.names = map[string]bool{}
	}
	mergers.names[name] = true
	m := &Merger{name: name, merge: merge}
	m.handle = cgo.NewHandle(m)
	return m, nil
}

// MustMerger is NewMerger that panics where that is an error, for variables of packages.
func MustMerger(name string, merge func(older, newer []byte) ([]byte, error)) *Merger {
	m, err := NewMerger(name, merge)
	if err != nil {
		panic(err)
	}
	return m
}

// call calls the function, and ends its panic.
func (m *Merger) call(older, newer []byte) (value []byte, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = panicked("merges", why)
		}
	}()
	if value, err = m.merge(older, newer); err != nil {
		err = fmt.Errorf("huon: the function that merges has refused: %w", err)
	}
	return value, err
}

// huonGoMerge is what C calls. The value is C's to free.
//
//export huonGoMerge
func huonGoMerge(
	merger C.uintptr_t, older *C.uint8_t, olderLen C.size_t, newer *C.uint8_t, newerLen C.size_t,
	made *unsafe.Pointer, madeLen *C.size_t, failed *C.uintptr_t,
) C.int {
	m := cgo.Handle(merger).Value().(*Merger)
	value, err := m.call(shownToGo(older, olderLen), shownToGo(newer, newerLen))
	if err != nil {
		if failed == nil {
			m.lost.Store(&err)
		}
		hand(failed, err)
		return 1
	}
	*made, *madeLen = C.CBytes(value), C.size_t(len(value))
	return 0
}

// open opens a table that the merger merges.
func (m *Merger) open(lsm C.uintptr_t, name string) C.go_handle {
	by := m.name
	return C.go_lsm_table_open_merged(lsm,
		(*C.uint8_t)(unsafe.Pointer(unsafe.StringData(name))), C.size_t(len(name)),
		(*C.uint8_t)(unsafe.Pointer(unsafe.StringData(by))), C.size_t(len(by)),
		C.uintptr_t(m.handle))
}

package huon

// #include "calls.h"
import "C"

import (
	"bytes"
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// hand hands what a function of the program's has failed with to the call of C that led to it,
// which is told of the first failure alone; nil: there is no such call.
func hand(failed *C.uintptr_t, err error) {
	if failed != nil && *failed == 0 {
		*failed = C.uintptr_t(cgo.NewHandle(err))
	}
}

// taken takes back what was handed to a call.
func taken(failed C.uintptr_t) error {
	handle := cgo.Handle(failed)
	defer handle.Delete()
	return handle.Value().(error)
}

// huonGoForget drops what was handed to a call that succeeded all the same.
//
//export huonGoForget
func huonGoForget(failed C.uintptr_t) { cgo.Handle(failed).Delete() }

// panicked is the error of a function that has panicked.
func panicked(what string, why any) error {
	return fmt.Errorf("huon: the function that %s has panicked: %v", what, why)
}

func shownToGo(data *C.uint8_t, len C.size_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(data)), int(len))
}

// call is a call of C that may call back.
type call struct {
	of      C.int
	what    C.int
	flags   C.uint32_t
	a, b, c []byte
	ends    []C.uint32_t
	n       int
	out     []span
	cursor  C.uintptr_t
	changes bool
}

// calling makes a call in a transaction that is locked. What C is shown lies on the heap, as a
// stack moves when Go is called back. These are copies, or every key of every table would have to
// lie there.
func (h *handle) calling(is call) C.go_answer {
	a, aLen := ptr(bytes.Clone(is.a))
	b, bLen := ptr(bytes.Clone(is.b))
	c, cLen := ptr(bytes.Clone(is.c))
	ends := append([]C.uint32_t(nil), is.ends...)
	out := make([]span, len(is.out))
	var lsm C.uintptr_t
	if h.lsm != nil {
		lsm = h.lsm.handle
	}
	told := C.go_calling(is.of, h.tx.handle, C.bool(h.isMulti), h.raw, lsm, is.what, is.flags,
		a, aLen, b, bLen, c, cLen, unsafe.SliceData(ends), C.size_t(is.n),
		(*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(out))), is.cursor)
	copy(is.out, out)
	if is.changes && Code(told.code) == ErrStopped {
		h.tx.root.abort() // Who knows what became of the table.
	}
	return told
}

// The parts of an answer.

func doneOf(told C.go_answer) C.go_done { return C.go_done{code: told.code, fault: told.fault} }

func numberOf(told C.go_answer) C.go_number {
	return C.go_number{code: told.code, fault: told.fault, number: told.number}
}

func bytesOf(told C.go_answer) C.go_bytes {
	data := (*C.uint8_t)(told.bytes.data)
	return C.go_bytes{code: told.code, fault: told.fault, data: data, len: told.bytes.len}
}

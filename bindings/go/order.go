package huon

// #include "calls.h"
import "C"

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

// Functions that compare, by the number of their order. They stay for the life of the program, as
// databases may call them until the last one is closed.
var functions struct {
	mu  sync.Mutex // is held to add one
	all atomic.Pointer[[]function]
}

type function struct {
	name    string
	compare func(a, b []byte) int
	forC    *C.go_order
}

// The first order that is a function.
const firstFunction Order = 1 << 16

// The most bytes of a name: as the engine has it.
const nameMost = 255

// NewOrder makes an order of a function, for keys of tables or values of multimaps
// (TableOptions.Keys, Values): below 0, 0 or above 0, as a is below, the same as, or above b. It
// must be a total order, and the same in each program that opens the table, which keeps the name:
// 1 to 255 bytes of UTF-8. ErrNameTaken if there is an order of that name already: make one where
// the program begins, as of a package's variable, and never in a loop.
//
// The function is called in the goroutine that uses the table, in the midst of a call, some 100
// nanoseconds each time. What it is shown is not to be changed or kept. It must not use the
// transaction, which waits for it, and must not end its goroutine (runtime.Goexit, T.FailNow). If
// it panics, that call is an error, ErrStopped, and a transaction that writes is rolled back.
func NewOrder(name string, compare func(a, b []byte) int) (Order, error) {
	switch {
	case compare == nil:
		return 0, misuse(ErrBadArgument, "an order needs a function")
	case name == "" || len(name) > nameMost || !utf8.ValidString(name) ||
		bytes.IndexByte([]byte(name), 0) >= 0:
		return 0, misuse(ErrBadArgument, "the name of an order is 1 to 255 bytes of UTF-8")
	}
	functions.mu.Lock()
	defer functions.mu.Unlock()
	all := knownFunctions()
	for _, known := range all {
		if known.name == name {
			return 0, misuse(ErrNameTaken, "there is an order of the name "+name)
		}
	}
	order := (*C.go_order)(C.calloc(1, C.sizeof_go_order))
	if order == nil {
		return 0, misuse(ErrOutOfMemory, "there is not enough memory")
	}
	order.name, order.number = C.CString(name), C.uintptr_t(len(all))
	all = append(slices.Clip(all), function{name, compare, order})
	functions.all.Store(&all)
	return firstFunction + Order(order.number), nil
}

func knownFunctions() []function {
	if all := functions.all.Load(); all != nil {
		return *all
	}
	return nil
}

// MustOrder is NewOrder that panics where that is an error, for variables of packages.
func MustOrder(name string, compare func(a, b []byte) int) Order {
	order, err := NewOrder(name, compare)
	if err != nil {
		panic(err)
	}
	return order
}

// function is that of an order, if it has one.
func (o Order) function() (f function, is bool) {
	if o < firstFunction {
		return function{}, false
	}
	all, number := knownFunctions(), int(o-firstFunction)
	if number >= len(all) {
		return function{}, false
	}
	return all[number], true
}

// huonGoCompare is what C calls.
//
//export huonGoCompare
func huonGoCompare(
	number C.uintptr_t, a *C.uint8_t, aLen C.size_t, b *C.uint8_t, bLen C.size_t, thrown **C.char,
) (compared C.int) {
	defer func() {
		if why := recover(); why != nil {
			*thrown = C.CString(fmt.Sprint("huon: the function that compares has panicked: ", why))
		}
	}()
	f, _ := (firstFunction + Order(number)).function()
	is := f.compare(shownToGo(a, aLen), shownToGo(b, bLen))
	switch {
	case is < 0:
		return -1
	case is > 0:
		return 1
	}
	return 0
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
	told := C.go_calling(is.of, h.tx.handle, C.bool(h.isMulti), h.raw, is.what, is.flags, a, aLen,
		b, bLen, c, cLen, unsafe.SliceData(ends), C.size_t(is.n),
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

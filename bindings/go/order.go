package huon

// #include "calls.h"
import "C"

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
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
	case !isName(name):
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

// isName reports whether a function may have that name, which tables keep.
func isName(name string) bool {
	return name != "" && len(name) <= nameMost && utf8.ValidString(name) &&
		strings.IndexByte(name, 0) < 0
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
	number C.uintptr_t, a *C.uint8_t, aLen C.size_t, b *C.uint8_t, bLen C.size_t,
	failed *C.uintptr_t,
) (compared C.int) {
	defer func() {
		if why := recover(); why != nil {
			hand(failed, panicked("compares", why))
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

package huon

// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"unsafe"
)

// Code is the number of a kind of error, the same in every language. Codes are errors themselves,
// to be compared with:
//
//	if errors.Is(err, huon.ErrReadOnly) { ...
type Code int

// The kinds of errors of the engine.
const (
	ErrKeyTooLong         Code = C.HUON_KEY_TOO_LONG
	ErrValueTooLong       Code = C.HUON_VALUE_TOO_LONG
	ErrKeyLength          Code = C.HUON_KEY_LENGTH // the table's order wants another length
	ErrKeyOutOfOrder      Code = C.HUON_KEY_OUT_OF_ORDER
	ErrTableNotFound      Code = C.HUON_TABLE_NOT_FOUND
	ErrTableKind          Code = C.HUON_TABLE_KIND // it is a multimap, or it is none
	ErrTableExists        Code = C.HUON_TABLE_EXISTS
	ErrReadOnly           Code = C.HUON_READ_ONLY
	ErrInvalid            Code = C.HUON_INVALID // an option makes no sense
	ErrFull               Code = C.HUON_MAP_FULL
	ErrTxBroken           Code = C.HUON_TXN_BROKEN // an earlier error left it unusable
	ErrBusy               Code = C.HUON_BUSY       // the writer, or the file, was not free in time
	ErrNotADatabase       Code = C.HUON_NOT_A_DATABASE
	ErrVersion            Code = C.HUON_VERSION_UNKNOWN
	ErrPageSize           Code = C.HUON_PAGE_SIZE
	ErrPoisoned           Code = C.HUON_POISONED // a flush failed: open the file anew
	ErrForked             Code = C.HUON_FORKED   // the database is that of the parent process
	ErrIO                 Code = C.HUON_IO       // errors.Is also finds the syscall.Errno
	ErrCorrupt            Code = C.HUON_CORRUPT
	ErrTooManyOpen        Code = C.HUON_ENVIRONMENTS_FULL
	ErrOutOfMemory        Code = C.HUON_OUT_OF_MEMORY
	ErrSortedValueTooLong Code = C.HUON_SORTED_VALUE_TOO_LONG
	ErrValueLength        Code = C.HUON_VALUE_LENGTH
	ErrMapTooSmall        Code = C.HUON_MAP_TOO_SMALL
	ErrEvicted            Code = C.HUON_EVICTED // a writer needed the pages of a parked reader
	ErrWrongOrder         Code = C.HUON_WRONG_ORDER
	ErrNameTaken          Code = C.HUON_NAME_TAKEN
	ErrOrderUnknown       Code = C.HUON_ORDER_UNKNOWN // another language's function orders the table
	ErrPrefixOrder        Code = C.HUON_PREFIX_ORDER  // keys with a prefix do not lie together
	ErrTablesInside       Code = C.HUON_TABLES_INSIDE
	ErrTableType          Code = C.HUON_TABLE_TYPE
	ErrDecode             Code = C.HUON_DECODE  // what is stored is merged, or read, otherwise
	ErrJournal            Code = C.HUON_JOURNAL // it is lost, or not the one that goes with the file
	ErrDiverged           Code = C.HUON_DIVERGED
)

// Wrong calls.
const (
	// ErrClosed: the database was closed, or the transaction has ended. It is an fs.ErrClosed.
	ErrClosed Code = C.HUON_BAD_HANDLE
	// ErrInUse: a nested transaction or a copy uses the transaction, and that must end first.
	ErrInUse Code = C.HUON_IN_USE
	// ErrBadTx: the transaction only reads, was reset or parked, or is ended by View or Update.
	ErrBadTx Code = C.HUON_BAD_TXN
	// ErrBadArgument: an argument makes no sense.
	ErrBadArgument Code = C.HUON_BAD_ARGUMENT
	// ErrTooMany: there are more transactions, or databases, than handles.
	ErrTooMany Code = C.HUON_TOO_MANY
	// ErrPanic: a bug in Huon, stopped at its border.
	ErrPanic Code = C.HUON_PANIC
	// ErrStopped: a function of the program's that compares or merges has panicked, or one that
	// merges has returned an error, which errors.Is also finds.
	ErrStopped Code = C.HUON_STOPPED
	// ErrStillOpen: what Close says while transactions are open. They stay good.
	ErrStillOpen Code = C.HUON_STILL_SHARED
)

const (
	ok                = C.HUON_OK
	notFound          = C.HUON_NOT_FOUND
	exists            = C.HUON_EXISTS
	timedOut          = C.HUON_TIMED_OUT
	conflict          = C.HUON_CONFLICT
	threadWrites Code = C.HUON_THREAD_WRITES
)

// Error says what the code means, in a few words.
func (code Code) Error() string {
	text := C.huon_strerror(C.int(code))
	if text == nil {
		return fmt.Sprintf("error %d", int(code))
	}
	return C.GoString(text)
}

// Is reports whether target is the same kind of error.
func (code Code) Is(target error) bool {
	return code == ErrClosed && target == fs.ErrClosed
}

// Error is an error of the engine's, or a wrong call.
type Error struct {
	Code    Code
	Message string        // what, where, and what to do
	Errno   syscall.Errno // what the system said, or 0
	Page    uint32        // the damaged page, or NoPage

	cause error // what a function of the program's has failed with
}

// NoPage is the Page of errors that are about none.
const NoPage = ^uint32(0)

func (e *Error) Error() string { return e.Message }

// Unwrap gives the code, what the system said, and what a function of the program's has returned.
func (e *Error) Unwrap() []error {
	all := []error{e.Code}
	if e.Errno != 0 {
		all = append(all, e.Errno)
	}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	return all
}

// stopped is the error of a call in which a function of the program's has failed.
func stopped(cause error) error {
	return &Error{Code: ErrStopped, Message: cause.Error(), Page: NoPage, cause: cause}
}

func misuse(code Code, message string) error {
	return &Error{Code: code, Message: "huon: " + message, Page: NoPage}
}

var (
	errDBClosed = misuse(ErrClosed, "the database is closed")
	errTxEnded  = misuse(ErrClosed, "the transaction has ended")
	errLent     = misuse(ErrInUse, "a nested transaction or a copy uses the transaction: "+
		"let that end first, and use tables that were opened in the nested one")
	errManaged  = misuse(ErrBadTx, "View, Update, Batch or Nested ends this transaction")
	errReads    = misuse(ErrBadTx, "the transaction only reads: use Update")
	errNotNewer = misuse(ErrBadTx, "the transaction was reset, renewed or parked since: seek anew")
)

// failed makes an error of what a call came to; nil for what is none. It takes the fault.
func failed(code C.int, fault *C.go_fault) error {
	if code == ok {
		return nil
	}
	return failure(code, fault)
}

func failure(code C.int, fault *C.go_fault) error {
	e := &Error{Code: Code(code), Page: NoPage}
	if fault == nil {
		e.Message = "huon: " + e.Code.Error()
		return e
	}
	defer C.free(unsafe.Pointer(fault))
	if fault.failed != 0 {
		return stopped(taken(fault.failed))
	}
	message := unsafe.Add(unsafe.Pointer(fault), unsafe.Offsetof(fault.page)+unsafe.Sizeof(fault.page))
	e.Message = C.GoString((*C.char)(message))
	e.Errno = syscall.Errno(fault.system)
	e.Page = uint32(fault.page)
	return e
}

// done is failed for calls that tell nothing else.
func done(told C.go_done) error { return failed(told.code, told.fault) }

// number is failed for calls that tell a number.
func number(told C.go_number) (uint64, error) {
	return uint64(told.number), failed(told.code, told.fault)
}

// either is failed for calls that answer yes, or no by that code.
func either(told C.go_done, no C.int) (bool, error) {
	if told.code == no {
		return false, nil
	}
	return told.code == ok, failed(told.code, told.fault)
}

// isCode reports whether an error is of that kind, of this package: not what a function of the
// program's has returned.
func isCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

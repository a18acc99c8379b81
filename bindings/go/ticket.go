package huon

// #include "bridge.h"
import "C"

import (
	"context"
	"runtime"
)

// Ticket is a commit whose durability can be waited for, by any goroutine and any number of times.
type Ticket struct {
	handle C.uintptr_t
	id     uint64
}

func newTicket(txn C.uintptr_t) (*Ticket, error) {
	var id C.uint64_t
	told := C.go_commit_ticket(txn, &id)
	if told.code != ok {
		return nil, failure(told.code, told.fault)
	}
	t := &Ticket{handle: told.handle, id: uint64(id)}
	runtime.AddCleanup(t, func(handle C.uintptr_t) { C.go_ticket_free(handle) }, t.handle)
	return t, nil
}

// ID is the id of the snapshot that the commit made.
func (t *Ticket) ID() uint64 { return t.id }

// IsDurable reports whether the commit survives a power loss by now.
func (t *Ticket) IsDurable() (bool, error) {
	defer runtime.KeepAlive(t)
	return either(C.go_ticket_wait(t.handle, 0), timedOut)
}

// Wait waits until the commit is durable; it flushes it if nobody else does. A flush that has begun
// is not cut short by the context.
func (t *Ticket) Wait(ctx context.Context) error {
	defer runtime.KeepAlive(t)
	slice := C.int64_t(-1)
	if ctx.Done() != nil {
		slice = C.int64_t(waitSlice.Milliseconds())
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if is, err := either(C.go_ticket_wait(t.handle, slice), timedOut); is || err != nil {
			return err
		}
	}
}

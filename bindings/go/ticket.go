package huon

// #include "calls.h"
import "C"

import (
	"context"
	"runtime"
	"sync"
)

// Ticket is a commit whose durability can be waited for, by any goroutine and any number of times.
// It holds no file open: Close makes all commits durable.
type Ticket struct {
	id   uint64
	held *heldTicket
}

// heldTicket is what C has of a ticket, until the answer is final.
type heldTicket struct {
	db *DB
	// mu is shared by those that ask C.
	mu     sync.RWMutex
	handle C.uintptr_t // 0: the answer is final
	err    error       // the answer
}

func (db *DB) newTicket(txn C.uintptr_t) (*Ticket, error) {
	var id C.uint64_t
	told := C.go_commit_ticket_calling(txn, &id)
	if told.code != ok {
		return nil, failure(told.code, told.fault)
	}
	held := &heldTicket{db: db, handle: told.handle}
	db.tickets.Store(held, nil)
	t := &Ticket{id: uint64(id), held: held}
	runtime.AddCleanup(t, func(held *heldTicket) { held.settle(nil) }, held)
	return t, nil
}

// settle gives back what C has.
func (h *heldTicket) settle(answer error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handle != 0 {
		C.go_ticket_free(h.handle)
		h.handle, h.err = 0, answer
		h.db.tickets.Delete(h)
	}
}

// ask asks C whether the commit is durable, or waits for that without end.
func (h *heldTicket) ask(wait C.int64_t) (bool, error) {
	h.mu.RLock()
	if h.handle == 0 {
		defer h.mu.RUnlock()
		return h.err == nil, h.err
	}
	is, err := either(C.go_ticket_wait(h.handle, wait), timedOut)
	h.mu.RUnlock()
	if is {
		h.settle(nil)
	}
	return is, err
}

// settleTickets makes all commits durable that somebody has a ticket of.
func (db *DB) settleTickets() {
	db.tickets.Range(func(held, _ any) bool {
		h := held.(*heldTicket)
		_, err := h.ask(-1)
		h.settle(err)
		return true
	})
}

// ID is the id of the snapshot that the commit made.
func (t *Ticket) ID() uint64 { return t.id }

// IsDurable reports whether the commit survives a power loss by now.
func (t *Ticket) IsDurable() (bool, error) {
	defer runtime.KeepAlive(t)
	return t.held.ask(0)
}

// Wait waits until the commit is durable; it flushes it if nobody else does. What was begun goes on
// when the context ends.
func (t *Ticket) Wait(ctx context.Context) error {
	for {
		if is, err := t.IsDurable(); is || err != nil {
			return err
		}
		var err error
		done, leads := t.held.db.flushes.join()
		flush := func() {
			defer t.held.db.flushes.end()
			_, err = t.held.ask(-1)
		}
		switch {
		case leads && ctx.Done() == nil:
			flush()
		case leads:
			go flush()
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		// Of a flush that others have begun, for a commit before this one, it is nil.
		if err != nil {
			return err
		}
	}
}

// rounds has one goroutine at a time do what many wait for, so that they hold no threads of the
// system.
type rounds struct {
	mu   sync.Mutex
	done chan struct{}
}

// join gives the round that is on its way; or the caller leads a new one, and ends it.
func (r *rounds) join() (done <-chan struct{}, leads bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		r.done, leads = make(chan struct{}), true
	}
	return r.done, leads
}

func (r *rounds) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.done)
	r.done = nil
}

package huon

// #include "calls.h"
import "C"

import (
	"context"
	"encoding/binary"
	"math"
	"time"
)

// LSMBatch is changes of write-optimised tables that are collected without a transaction, and made
// by LSM.Write, or in a transaction by Apply. A new one is empty. One goroutine at a time uses it.
type LSMBatch struct {
	// As go_lsm_apply reads them.
	ops   []byte
	table *LSMTable
	count int
	err   error
	// A table is among them that has a Merger.
	merges bool
}

func (b *LSMBatch) op(what uint32, key, value []byte) {
	b.ops = binary.NativeEndian.AppendUint32(b.ops, what)
	b.ops = binary.NativeEndian.AppendUint32(b.ops, uint32(len(key)))
	b.ops = binary.NativeEndian.AppendUint32(b.ops, uint32(len(value)))
	b.ops = append(append(b.ops, key...), value...)
}

func (b *LSMBatch) word(what uint32, word uint64) {
	b.op(what, binary.NativeEndian.AppendUint64(nil, word), nil)
}

// begin begins a change of a table; false if there can be none.
func (b *LSMBatch) begin(t *LSMTable, key, value []byte) bool {
	switch {
	case b.err != nil:
		return false
	case t == nil:
		b.err = misuse(ErrBadArgument, "a change of the batch is of no table")
		return false
	case uint64(len(key)) > math.MaxUint32 || uint64(len(value)) > math.MaxUint32:
		b.err = misuse(ErrValueTooLong, "a key or value is longer than any may be")
		return false
	case b.table != nil && t.db != b.table.db:
		b.err = errOtherDB
		return false
	case t != b.table:
		b.word(C.GO_LSM_OP_TABLE, uint64(t.handle))
		b.table, b.merges = t, b.merges || t.merger != nil
	}
	b.count++
	return true
}

// Put adds a put. What is wrong with it, Write and Apply tell.
func (b *LSMBatch) Put(t *LSMTable, key, value []byte) {
	if b.begin(t, key, value) {
		b.op(C.GO_LSM_OP_PUT, key, value)
	}
}

// PutUntil adds a put of a record that is absent from a time on.
func (b *LSMBatch) PutUntil(t *LSMTable, key, value []byte, until time.Time) {
	if b.begin(t, key, value) {
		b.word(C.GO_LSM_OP_UNTIL, unixMillis(until))
		b.op(C.GO_LSM_OP_PUT, key, value)
	}
}

// Merge adds an operand: see LSMTable.Merge.
func (b *LSMBatch) Merge(t *LSMTable, key, operand []byte) {
	if b.begin(t, key, operand) {
		b.op(C.GO_LSM_OP_MERGE, key, operand)
	}
}

// Delete adds a delete.
func (b *LSMBatch) Delete(t *LSMTable, key []byte) {
	if b.begin(t, key, nil) {
		b.op(C.GO_LSM_OP_DELETE, key, nil)
	}
}

// Len is how many changes were added.
func (b *LSMBatch) Len() int { return b.count }

// Reset makes the batch empty, and keeps its memory.
func (b *LSMBatch) Reset() { *b = LSMBatch{ops: b.ops[:0]} }

// Write makes the changes of a batch, all or none, in a transaction that it shares with what other
// goroutines write by Write or DB.BatchContext at the same time; later changes of a key count. It
// gives up waiting for its turn when the context ends. The batch stays as it was.
func (l *LSM) Write(ctx context.Context, d Durability, b *LSMBatch) error {
	if b.err != nil {
		return b.err
	}
	return l.db.BatchContext(ctx, d, b.Apply)
}

// Apply makes the changes of a batch in a transaction, by one crossing to C. What came before an
// error is changed.
func (b *LSMBatch) Apply(tx *Tx) error {
	switch {
	case b.err != nil:
		return b.err
	case b.table == nil:
		return nil
	}
	if err := b.table.lockChange(tx); err != nil {
		return err
	}
	defer tx.unlock()
	tx.root.merges = tx.root.merges || b.merges
	first, n := ptr(b.ops)
	return done(C.go_lsm_apply_calling(tx.handle, first, n))
}

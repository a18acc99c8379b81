package huon_test

import (
	"context"
	"errors"
	"testing"

	"huon"
)

var errNo = errors.New("no")

// has reports whether table t has the key.
func has(t *testing.T, db *huon.DB, key string) (is bool) {
	t.Helper()
	must(t, db.View(func(tx *huon.Tx) (err error) {
		is, err = table(t, tx, "t").Has([]byte(key))
		return err
	}))
	return is
}

// What a nested transaction has changed is undone with it, also what one within it has left open.
func TestNestedLeftOpen(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1)
	for what, end := range map[string]func(){
		"error": nil, "panic": func() { panic(errNo) },
	} {
		var left *huon.Tx
		must(t, db.Update(false, func(tx *huon.Tx) error {
			func() {
				defer func() { recover() }()
				refused(t, tx.Nested(func(child *huon.Tx) error {
					must(t, table(t, child, "t").Put([]byte("child"), nil))
					var err error
					left, err = child.BeginNested()
					must(t, err)
					must(t, table(t, left, "t").Put([]byte("left"), nil))
					if end != nil {
						end()
					}
					return errNo
				}), errNo)
			}()
			refused(t, left.Commit(), huon.ErrClosed)
			return tx.Nested(func(child *huon.Tx) error {
				must(t, table(t, child, "t").Put([]byte(what), nil))
				refused(t, left.Rollback(), huon.ErrClosed)
				refused(t, second(left.CreateTable("u")), huon.ErrClosed)
				return nil
			})
		}))
		if has(t, db, "child") || has(t, db, "left") || !has(t, db, what) {
			t.Error("what was undone is there, or what was not is gone: ", what)
		}
	}
	// One that would commit what it has left open commits nothing.
	must(t, db.Update(false, func(tx *huon.Tx) error {
		refused(t, tx.Nested(func(child *huon.Tx) error {
			must(t, table(t, child, "t").Put([]byte("child"), nil))
			return second(child.BeginNested())
		}), huon.ErrInUse)
		return nil
	}))
	refused(t, db.Batch(func(tx *huon.Tx) error {
		must(t, table(t, tx, "t").Put([]byte("child"), nil))
		return second(tx.BeginNested())
	}), huon.ErrInUse)
	if has(t, db, "child") {
		t.Error("it was committed")
	}
}

// breaks leaves a transaction that can only be rolled back, and keeps that to itself.
func breaks(t *testing.T, tx *huon.Tx) {
	t.Helper()
	late := huon.Pairs(huon.Pair{Key: []byte("2")}, huon.Pair{Key: []byte("1")})
	refused(t, table(t, tx, "t").BulkAppend(late), huon.ErrKeyOutOfOrder)
	refused(t, second(tx.CreateTable("u")), huon.ErrTxBroken)
}

// A nested transaction that cannot be committed is undone, and the one around it goes on.
func TestNestedThatIsBroken(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 0)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		must(t, table(t, tx, "t").Put([]byte("1 kept"), nil))
		refused(t, tx.Nested(func(child *huon.Tx) error {
			must(t, table(t, child, "t").Put([]byte("1 outer"), nil))
			refused(t, child.Nested(func(child *huon.Tx) error {
				breaks(t, child)
				return nil
			}), huon.ErrTxBroken)
			must(t, table(t, child, "t").Put([]byte("1 outer too"), nil))
			return errNo
		}), errNo)
		return nil
	}))
	if !has(t, db, "1 kept") || has(t, db, "1 outer") || has(t, db, "1 outer too") {
		t.Error("the wrong one was undone")
	}
	must(t, db.Update(false, func(tx *huon.Tx) error { return table(t, tx, "t").Clear() }))
	refused(t, db.Batch(func(tx *huon.Tx) error { breaks(t, tx); return nil }), huon.ErrTxBroken)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		refused(t, tx.Nested(func(child *huon.Tx) error {
			breaks(t, child)
			return nil
		}), huon.ErrTxBroken)
		return table(t, tx, "t").Put([]byte("after"), nil)
	}))
	if !has(t, db, "after") {
		t.Error("it did not go on")
	}
}

// The end of a transaction is the end of those in it: the writer's place is free.
func TestEndAroundNested(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1)
	for _, end := range []func(*huon.Tx) error{
		(*huon.Tx).Rollback, (*huon.Tx).Commit,
		func(tx *huon.Tx) error { return second(tx.CommitTicket()) },
	} {
		tx, err := db.BeginWrite(context.Background())
		must(t, err)
		must(t, table(t, tx, "t").Put([]byte("outer"), nil))
		child, err := tx.BeginNested()
		must(t, err)
		inner, err := child.BeginNested()
		must(t, err)
		tb := table(t, inner, "t")
		err = end(tx)
		if err != nil {
			refused(t, err, huon.ErrInUse)
		}
		for _, tx := range []*huon.Tx{tx, child, inner} {
			refused(t, tx.Commit(), huon.ErrClosed)
			refused(t, tx.Rollback(), huon.ErrClosed)
		}
		refused(t, tb.Put([]byte("inner"), nil), huon.ErrClosed)
		again, err := db.TryWrite()
		must(t, err)
		must(t, again.Rollback())
	}
	if has(t, db, "outer") {
		t.Error("it was committed")
	}
}

//go:build cgo

package huon

// Cursor is a place in a table, from which one can go either way:
//
//	c := table.Cursor()
//	for k, v := c.Seek(from); k != nil; k, v = c.Next() {
//		...
//	}
//	return c.Err()
//
// There is nothing to close. Records may be changed beside it: it goes on from its key. One
// goroutine at a time uses it.
type Cursor struct{ cursor }

// cursor is what cursors of tables and of multimaps have in common.
type cursor struct{ walk walker }

// Cursor is a cursor that has not begun: Next goes to the first record, Prev to the last one.
func (t *Table) Cursor() *Cursor {
	c := &Cursor{}
	c.walk.h = &t.handle
	return c
}

// Raw has the cursor show records without a copy, as Table.GetRaw does. In a transaction that
// writes it copies all the same.
func (c *Cursor) Raw() *Cursor {
	c.walk.isRaw = true
	return c
}

func (c *cursor) begin(place place, key []byte) {
	w := &c.walk
	if w.err != nil {
		w.h.tx.forgive(w.err)
	}
	w.place, w.count, w.at, w.want, w.isLast, w.err = place, 0, 0, 0, false, nil
	w.version = w.h.tx.version.Load()
	w.key, w.ofKey = append(w.key[:0], key...), true
}

// First goes to the first record, of a multimap to the first pair. A nil key: there is none.
func (c *cursor) First() (key, value []byte) {
	c.begin(nowhere, nil)
	return c.walk.step(false)
}

// Last goes to the last record, or pair.
func (c *cursor) Last() (key, value []byte) {
	c.begin(nowhere, nil)
	return c.walk.step(true)
}

// Next goes to the next record, or pair. At the end it stays: what is put there later is still
// shown.
func (c *cursor) Next() (key, value []byte) { return c.walk.step(false) }

// Prev goes to the record before, or to the pair before.
func (c *cursor) Prev() (key, value []byte) { return c.walk.step(true) }

// Seek goes to the first record whose key is not below that key, of a multimap to the first value
// of such a key. If there is none, Prev goes to the last record.
func (c *cursor) Seek(key []byte) (k, v []byte) {
	c.begin(below, key)
	return c.one(false)
}

// one is a step after a search.
func (c *cursor) one(back bool) (key, value []byte) {
	key, value = c.walk.step(back)
	c.walk.want = wantFirst / 4 // One was asked for, and if there is a loop, then so many.
	return key, value
}

// Get goes to the record of the key, and returns its value: nil if there is none. Then Next goes to
// the record behind the key, and Prev to that before it.
func (c *Cursor) Get(key []byte) ([]byte, error) {
	k, v := c.Seek(key)
	if k == nil || string(k) != string(key) {
		err := c.walk.err
		c.begin(below, key)
		c.walk.err = err
		return nil, c.Err()
	}
	return v, nil
}

// Key is a copy of the key of the record that the cursor is at; nil if it is at none.
func (c *cursor) Key() []byte {
	if key, _, is := c.here(); is {
		return clone(key)
	}
	return nil
}

// here is the record that the cursor is at, until it moves; the value is that of a multimap.
func (c *cursor) here() (key, value []byte, is bool) {
	w := &c.walk
	if w.place != at || w.h.tx.lock() != nil {
		return nil, nil, false
	}
	defer w.h.tx.unlock()
	if w.version/turned != w.h.tx.version.Load()/turned {
		return nil, nil, false
	}
	w.remember()
	return w.key, w.value, true
}

// Put stores a value under the key of the record that the cursor is at.
func (c *Cursor) Put(value []byte) error {
	if c.walk.place != at {
		return errNoRecord
	}
	return c.walk.h.put(c.walk.key, value)
}

// Delete removes the record that the cursor is at. Next and Prev go on from there.
func (c *Cursor) Delete() error {
	if c.walk.place != at {
		return errNoRecord
	}
	if err := c.walk.h.delete(c.walk.key); err != nil {
		return err
	}
	c.walk.place = below
	return nil
}

func (h *handle) put(key, value []byte) error {
	if h.lsm != nil {
		return h.lsm.Put(h.tx, key, value)
	}
	return (&Table{*h}).Put(key, value)
}

func (h *handle) delete(key []byte) error {
	if h.lsm != nil {
		return h.lsm.Delete(h.tx, key)
	}
	_, err := (&Table{*h}).Delete(key)
	return err
}

var errNoRecord = misuse(ErrBadArgument, "the cursor is at no record")

// Err is the error that ended the last step, or nil. An error that is not asked for is what View
// or Update return, if their function returns nil.
func (c *cursor) Err() error {
	c.walk.h.tx.forgive(c.walk.err)
	return c.walk.err
}

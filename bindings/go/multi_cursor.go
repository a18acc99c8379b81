//go:build cgo

package huon

import (
	"bytes"
	"fmt"
)

// MultiCursor is a place in a multimap, from pair to pair, or from key to key:
//
//	c := multi.Cursor()
//	for k, v := c.First(); k != nil; k, v = c.NextKey() {
//		for ; v != nil; v = c.NextValue() {
//			...
//		}
//	}
//	return c.Err()
//
// There is nothing to close. Pairs may be changed beside it: it goes on from its pair. One
// goroutine at a time uses it.
type MultiCursor struct {
	cursor
	name string
	// Where it was before a step that may lead too far.
	key, value []byte
}

// Cursor is a cursor that has not begun: Next goes to the first pair, Prev to the last one.
func (m *Multi) Cursor() *MultiCursor {
	c := &MultiCursor{name: m.name}
	c.walk.h, c.walk.ofPairs = &m.handle, true
	return c
}

// Raw has the cursor show pairs without a copy, as Table.GetRaw does. In a transaction that writes
// it copies all the same.
func (c *MultiCursor) Raw() *MultiCursor {
	c.walk.isRaw = true
	return c
}

// SeekPair goes to the first pair that is not below that one: to a value of the key that is not
// below the value, else to the first value of the next key. ErrValueLength if all values have one
// length, and this one has another.
func (c *MultiCursor) SeekPair(key, value []byte) (k, v []byte) {
	c.begin(below, key)
	if err := c.checkLength(value); err != nil {
		c.walk.refuse(err)
		return nil, nil
	}
	c.walk.value, c.walk.ofKey = append(c.walk.value[:0], value...), false
	return c.one(false)
}

// checkLength refuses what cannot be a value. C would take it to some place, as any bytes have one.
func (c *MultiCursor) checkLength(value []byte) error {
	stat, err := c.walk.h.tx.TableStat(c.name)
	if isCode(err, ErrTableNotFound) {
		return nil // It was renamed, or is gone: the step tells.
	}
	if is := int(stat.ValueBytes); err == nil && is != 0 && is != len(value) {
		err = misuse(ErrValueLength, fmt.Sprintf("values of this multimap have %d bytes, and not %d",
			is, len(value)))
	}
	return err
}

// beside goes beside all values of the key that the cursor is at, or at which it deleted a value.
func (c *MultiCursor) beside(side place) {
	w := &c.walk
	if _, _, is := c.here(); is || w.place == deleted {
		c.begin(side, w.key)
	}
}

// NextKey goes to the first value of the next key.
func (c *MultiCursor) NextKey() (key, value []byte) {
	c.beside(above)
	return c.one(false)
}

// PrevKey goes to the last value of the key before.
func (c *MultiCursor) PrevKey() (key, value []byte) {
	c.beside(below)
	return c.one(true)
}

// NextValue goes to the next value of the key. nil: there is none, and the cursor stays.
func (c *MultiCursor) NextValue() []byte { return c.within(nowhere, false) }

// PrevValue goes to the value of the key before; nil if there is none.
func (c *MultiCursor) PrevValue() []byte { return c.within(nowhere, true) }

// FirstValue goes to the first value of the key that the cursor is at.
func (c *MultiCursor) FirstValue() []byte { return c.within(below, false) }

// LastValue goes to the last value of the key that the cursor is at.
func (c *MultiCursor) LastValue() []byte { return c.within(above, true) }

// within makes a step, from that side of all values of the key, that stays among them: if it leads
// to another key, or to an end, the cursor is where it was.
func (c *MultiCursor) within(from place, back bool) []byte {
	w := &c.walk
	if _, _, is := c.here(); !is && w.place != deleted {
		return nil
	}
	before, ofKey := w.place, w.ofKey
	c.key, c.value = append(c.key[:0], w.key...), append(c.value[:0], w.value...)
	if from != nowhere {
		c.begin(from, c.key)
	}
	key, value := w.step(back)
	if w.err != nil || key != nil && bytes.Equal(key, c.key) {
		return value
	}
	c.begin(before, c.key)
	w.value, w.ofKey = append(w.value[:0], c.value...), ofKey
	return nil
}

// Value is a copy of the value of the pair that the cursor is at; nil if it is at none.
func (c *MultiCursor) Value() []byte {
	if _, value, is := c.here(); is {
		return clone(value)
	}
	return nil
}

// CountValues is how many values the key has that the cursor is at.
func (c *MultiCursor) CountValues() (uint64, error) {
	key, _, is := c.here()
	if !is {
		return 0, errNoRecord
	}
	return (&Multi{handle: *c.walk.h}).CountValues(key)
}

// Delete removes the pair that the cursor is at. Next and Prev go on from there, and NextValue and
// PrevValue among the other values of the key.
func (c *MultiCursor) Delete() error {
	w := &c.walk
	if w.place != at {
		return errNoRecord
	}
	if _, err := (&Multi{handle: *w.h}).Delete(w.key, w.value); err != nil {
		return err
	}
	w.place = deleted
	return nil
}

// DeleteAll removes all values of the key that the cursor is at, and returns how many it had. Next
// and NextKey go to the next key, Prev and PrevKey to that before.
func (c *MultiCursor) DeleteAll() (uint64, error) {
	w := &c.walk
	if w.place != at {
		return 0, errNoRecord
	}
	count, err := (&Multi{handle: *w.h}).DeleteAll(w.key)
	if err == nil {
		w.place, w.ofKey = below, true
	}
	return count, err
}

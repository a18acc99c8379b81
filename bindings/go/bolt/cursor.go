package bolt

import (
	"bytes"
	"sort"

	"huon"
)

// Cursor goes through a bucket in the order of keys. A nil key: there is none any more.
type Cursor struct {
	bucket  *Bucket
	records *huon.Cursor
	// names goes through the buckets within, if there are any.
	names stream

	// Of both, what comes next the way that the cursor goes.
	record, name head
	back         bool
	key          []byte
	isBucket     bool
}

type stream interface {
	First() (key, value []byte)
	Last() (key, value []byte)
	Next() (key, value []byte)
	Prev() (key, value []byte)
	Seek(key []byte) (k, v []byte)
}

type head struct{ key, value []byte }

// Bucket is the bucket of the cursor.
func (c *Cursor) Bucket() *Bucket { return c.bucket }

// First goes to the first key.
func (c *Cursor) First() (key, value []byte) {
	return c.begin(false, func(s stream) (k, v []byte) { return s.First() })
}

// Last goes to the last key.
func (c *Cursor) Last() (key, value []byte) {
	return c.begin(true, func(s stream) (k, v []byte) { return s.Last() })
}

// Seek goes to the first key that is not below seek.
func (c *Cursor) Seek(seek []byte) (key, value []byte) {
	return c.begin(false, func(s stream) (k, v []byte) { return s.Seek(seek) })
}

func (c *Cursor) begin(back bool, step func(stream) (k, v []byte)) (key, value []byte) {
	c.back, c.record, c.name = back, head{}, head{}
	if c.records != nil {
		c.record.key, c.record.value = step(c.records)
	}
	if c.names != nil {
		c.name.key, _ = step(c.names)
	}
	return c.show()
}

// Next goes to the next key.
func (c *Cursor) Next() (key, value []byte) {
	if c.names == nil && c.records != nil {
		c.key, value = c.records.Next()
		if c.key == nil {
			c.ask()
		}
		return c.key, value
	}
	return c.step(false)
}

// Prev goes to the key before.
func (c *Cursor) Prev() (key, value []byte) {
	if c.names == nil && c.records != nil {
		c.key, value = c.records.Prev()
		if c.key == nil {
			c.ask()
		}
		return c.key, value
	}
	return c.step(true)
}

// step goes on in the one of both that was shown; in both, if the other way.
func (c *Cursor) step(back bool) (key, value []byte) {
	if c.key == nil {
		switch {
		case c.back == back:
			return nil, nil
		case back:
			return c.Last()
		default:
			return c.First()
		}
	}
	if c.back != back {
		return c.begin(back, func(s stream) (k, v []byte) { return beside(s, c.key, back) })
	}
	next := stream.Next
	if back {
		next = stream.Prev
	}
	if c.isBucket {
		c.name.key, _ = next(c.names)
	} else {
		c.record.key, c.record.value = next(c.records)
	}
	return c.show()
}

// beside goes to what lies beside a key.
func beside(s stream, key []byte, back bool) (k, v []byte) {
	k, v = s.Seek(key)
	if back {
		return s.Prev()
	}
	if bytes.Equal(k, key) {
		return s.Next()
	}
	return k, v
}

// show shows the nearer of both.
func (c *Cursor) show() (key, value []byte) {
	if c.record.key == nil || c.name.key == nil {
		c.ask()
	}
	order := bytes.Compare(c.name.key, c.record.key)
	c.isBucket = c.record.key == nil ||
		c.name.key != nil && (order < 0) != c.back
	if c.isBucket {
		c.key = c.name.key
		return c.key, nil
	}
	c.key = c.record.key
	return c.key, c.record.value
}

// ask keeps the error of a cursor that came to an end.
func (c *Cursor) ask() {
	for _, s := range []stream{c.records, c.names} {
		if of, is := s.(*huon.Cursor); is && of != nil {
			if err := of.Err(); err != nil {
				c.bucket.tx.note(err)
			}
		}
	}
}

// Delete deletes the record that the cursor is at; ErrIncompatibleValue if that is a bucket.
func (c *Cursor) Delete() error {
	if err := c.bucket.tx.closed(); err != nil {
		return err
	}
	if !c.bucket.Writable() {
		return ErrTxNotWritable
	}
	if c.isBucket {
		return ErrIncompatibleValue
	}
	if c.key == nil {
		return nil
	}
	_, err := c.bucket.records.Delete(c.key)
	return of(err)
}

// list goes through the buckets that are in no other.
type list struct {
	tx *Tx
	at int
}

func (l *list) show(at int) (key, value []byte) {
	names := l.tx.topNames()
	l.at = min(max(at, -1), len(names))
	if l.at < 0 || l.at == len(names) {
		return nil, nil
	}
	return []byte(names[l.at]), nil
}

func (l *list) First() (key, value []byte) { return l.show(0) }
func (l *list) Last() (key, value []byte)  { return l.show(len(l.tx.topNames()) - 1) }
func (l *list) Next() (key, value []byte)  { return l.show(l.at + 1) }
func (l *list) Prev() (key, value []byte)  { return l.show(l.at - 1) }
func (l *list) Seek(key []byte) (k, v []byte) {
	return l.show(sort.SearchStrings(l.tx.topNames(), string(key)))
}

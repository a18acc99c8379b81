package bolt

import (
	"context"
	stderrors "errors"

	"huon"
)

var background = context.Background()

// Bucket is a collection of records and of other buckets.
type Bucket struct {
	tx   *Tx
	path string // of the table; "" for the one that all are in
	// records is nil for the one that all are in.
	records *huon.Table
	// names has the names of buckets within as keys; nil if there is none, once that was looked up.
	names     *huon.Table
	hasLooked bool

	// FillPercent is of no use here: pages are full where keys come in order.
	FillPercent float64
}

// within is the path of a bucket within this one.
func (b *Bucket) within(name []byte) string {
	if b.records == nil {
		return escaped.Replace(string(name))
	}
	return b.path + "/" + escaped.Replace(string(name))
}

// table opens a table; nil if there is none.
func (tx *Tx) table(path string) (*huon.Table, error) {
	table, err := tx.huon.Table(path)
	if stderrors.Is(err, huon.ErrTableNotFound) {
		return nil, nil
	}
	return table, err
}

// listed are the names of buckets within, nil if there never was one.
func (b *Bucket) listed() (*huon.Table, error) {
	if b.hasLooked || b.records == nil {
		return b.names, nil
	}
	names, err := b.tx.table(b.path + "/")
	b.names, b.hasLooked = names, err == nil
	return names, err
}

// hasBucket reports whether the name is that of a bucket within.
func (b *Bucket) hasBucket(name []byte) (bool, error) {
	if b.records == nil {
		table, err := b.tx.table(b.within(name))
		return table != nil, err
	}
	names, err := b.listed()
	if names == nil {
		return false, err
	}
	return names.Has(name)
}

// Tx is the transaction of the bucket.
func (b *Bucket) Tx() *Tx { return b.tx }

// Writable reports whether the bucket can be changed.
func (b *Bucket) Writable() bool { return b.tx.Writable() }

// Huon is the table of the bucket's records.
func (b *Bucket) Huon() *huon.Table { return b.records }

// Bucket is the bucket of that name within this one, nil if there is none.
func (b *Bucket) Bucket(name []byte) *Bucket {
	if len(name) == 0 {
		return nil
	}
	path := b.within(name)
	if found := b.tx.buckets[path]; found != nil {
		return found
	}
	table, err := b.tx.table(path)
	if table == nil {
		isOther := stderrors.Is(err, huon.ErrTableKind) || stderrors.Is(err, huon.ErrNameTaken)
		if err != nil && !isOther {
			b.tx.note(err)
		}
		return nil
	}
	return b.tx.keep(path, table)
}

func (tx *Tx) keep(path string, table *huon.Table) *Bucket {
	if tx.buckets == nil {
		tx.buckets = map[string]*Bucket{}
	}
	made := &Bucket{tx: tx, path: path, records: table, FillPercent: DefaultFillPercent}
	tx.buckets[path] = made
	return made
}

// changeable says why a name cannot be that of a bucket that is made, moved or deleted.
func (b *Bucket) changeable(name []byte) error {
	if err := b.tx.closed(); err != nil {
		return err
	}
	if !b.Writable() {
		return ErrTxNotWritable
	}
	if len(name) == 0 {
		return ErrBucketNameRequired
	}
	return nil
}

// CreateBucket makes a bucket within this one. ErrBucketExists if there is one of that name,
// ErrIncompatibleValue if that is a key.
func (b *Bucket) CreateBucket(name []byte) (*Bucket, error) {
	if err := b.changeable(name); err != nil {
		return nil, err
	}
	if is, err := b.hasBucket(name); is || err != nil {
		if err == nil {
			err = ErrBucketExists
		}
		return nil, of(err)
	}
	if b.records != nil {
		if is, err := b.records.Has(name); is || err != nil {
			if err == nil {
				err = ErrIncompatibleValue
			}
			return nil, of(err)
		}
	}
	// First what may fail for the length of its name.
	table, err := b.tx.huon.CreateTable(b.within(name))
	if err != nil {
		return nil, of(err)
	}
	if b.records != nil && b.names == nil {
		b.names, err = b.tx.huon.CreateTable(b.path + "/")
		if err != nil {
			return nil, of(err)
		}
	}
	if b.names != nil {
		err = b.names.Put(name, nil)
	}
	b.tx.tops = nil
	if err != nil {
		return nil, of(err)
	}
	return b.tx.keep(b.within(name), table), nil
}

// CreateBucketIfNotExists makes a bucket within this one if there is none of that name.
func (b *Bucket) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if err := b.changeable(name); err != nil {
		return nil, err
	}
	if found := b.Bucket(name); found != nil {
		return found, nil
	}
	return b.CreateBucket(name)
}

// DeleteBucket deletes a bucket within this one, with all that is in it.
func (b *Bucket) DeleteBucket(name []byte) error {
	if err := b.changeable(name); err != nil {
		return err
	}
	found := b.Bucket(name)
	if found == nil {
		return b.missing(name)
	}
	if err := found.drop(); err != nil {
		return of(err)
	}
	b.tx.tops = nil
	names, err := b.listed()
	if names != nil {
		_, err = names.Delete(name)
	}
	return of(err)
}

// missing says why there is no bucket of that name.
func (b *Bucket) missing(name []byte) error {
	if b.records != nil {
		if is, err := b.records.Has(name); is || err != nil {
			if err == nil {
				err = ErrIncompatibleValue
			}
			return of(err)
		}
	}
	return ErrBucketNotFound
}

// drop deletes the tables of a bucket.
func (b *Bucket) drop() error {
	names, err := b.listed()
	if err != nil {
		return err
	}
	if names != nil {
		scan := names.Scan()
		for name := range scan.Keys() {
			if within := b.Bucket(name); within != nil {
				if err := within.drop(); err != nil {
					return err
				}
			}
		}
		if err := scan.Err(); err != nil {
			return err
		}
		if _, err := b.tx.huon.DropTable(b.path + "/"); err != nil {
			return err
		}
	}
	delete(b.tx.buckets, b.path)
	_, err = b.tx.huon.DropTable(b.path)
	return err
}

// Get is the value of a key; nil if there is none, or if the name is that of a bucket. It is good
// until the transaction ends, and not to be changed.
func (b *Bucket) Get(key []byte) []byte {
	if b.records == nil {
		return nil
	}
	get := b.records.GetRaw
	if b.tx.Writable() {
		get = b.records.Get
	}
	value, err := get(key)
	if err != nil {
		b.tx.note(err)
	}
	return value
}

// changed says why a key cannot be put or deleted.
func (b *Bucket) changed(key []byte) error {
	if !b.Writable() {
		return ErrTxNotWritable
	}
	if b.records == nil {
		return ErrIncompatibleValue
	}
	if is, err := b.hasBucket(key); is || err != nil {
		if err == nil {
			err = ErrIncompatibleValue
		}
		return of(err)
	}
	return nil
}

// Put stores a value under a key.
func (b *Bucket) Put(key, value []byte) error {
	if len(key) == 0 && b.Writable() {
		return ErrKeyRequired
	}
	if err := b.changed(key); err != nil {
		return err
	}
	return of(b.records.Put(key, value))
}

// Delete removes a key. It is no error if there is none.
func (b *Bucket) Delete(key []byte) error {
	if err := b.changed(key); err != nil {
		return err
	}
	_, err := b.records.Delete(key)
	return of(err)
}

// Sequence is the number that NextSequence returned last, or 0.
func (b *Bucket) Sequence() uint64 {
	if b.records == nil {
		return 0
	}
	last, err := b.records.Sequence(0)
	if err != nil {
		b.tx.note(err)
	}
	return last
}

// NextSequence is a number that the bucket has not given before; the first one is 1.
func (b *Bucket) NextSequence() (uint64, error) {
	if !b.Writable() || b.records == nil {
		return 0, ErrTxNotWritable
	}
	last, err := b.records.Sequence(1)
	return last + 1, of(err)
}

// SetSequence has NextSequence go on from a number, which must not be lower than the last one.
func (b *Bucket) SetSequence(v uint64) error {
	if !b.Writable() || b.records == nil {
		return ErrTxNotWritable
	}
	last, err := b.records.Sequence(0)
	if err != nil {
		return of(err)
	}
	if v < last {
		return ErrSequenceLowered
	}
	_, err = b.records.Sequence(v - last)
	return of(err)
}

// ForEach calls fn for each record, and for each bucket within, whose value is nil.
func (b *Bucket) ForEach(fn func(k, v []byte) error) error {
	if err := b.tx.closed(); err != nil {
		return err
	}
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if err := fn(k, v); err != nil {
			return err
		}
	}
	return b.tx.err
}

// ForEachBucket calls fn for each bucket within.
func (b *Bucket) ForEachBucket(fn func(k []byte) error) error {
	if err := b.tx.closed(); err != nil {
		return err
	}
	c := b.Cursor()
	c.records = nil
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if err := fn(k); err != nil {
			return err
		}
	}
	return b.tx.err
}

// Cursor goes from record to record, and to the buckets within, whose values are nil.
func (b *Bucket) Cursor() *Cursor {
	c := &Cursor{bucket: b}
	if b.records == nil {
		c.names = &list{tx: b.tx}
		return c
	}
	c.records = b.records.Cursor().Raw()
	names, err := b.listed()
	if err != nil {
		b.tx.note(err)
	}
	if names != nil {
		c.names = names.Cursor()
	}
	return c
}

package bolt

// Compact copies all buckets of src into dst, which should be empty, in transactions of about
// txMaxSize bytes; 0: in one. For a database of Huon's alone, CopyTo of package huon is faster.
func Compact(dst, src *DB, txMaxSize int64) error {
	return src.View(func(from *Tx) error {
		m := &mover{dst: dst, most: txMaxSize}
		defer m.end()
		if err := m.begin(); err != nil {
			return err
		}
		err := from.ForEach(func(name []byte, bucket *Bucket) error {
			return m.move([][]byte{name}, bucket)
		})
		if err != nil {
			return err
		}
		return m.tx.Commit()
	})
}

// mover copies buckets in transactions of a limited size.
type mover struct {
	dst        *DB
	tx         *Tx
	size, most int64
}

func (m *mover) begin() (err error) {
	m.tx, err = m.dst.Begin(true)
	m.size = 0
	return err
}

// end undoes what was not committed.
func (m *mover) end() {
	if m.tx != nil {
		m.tx.Rollback()
	}
}

// bucket is that of a path, which exists.
func (m *mover) bucket(path [][]byte) *Bucket {
	bucket := m.tx.root()
	for _, name := range path {
		bucket = bucket.Bucket(name)
	}
	return bucket
}

// next makes room for so many bytes, and reports whether it is in another transaction.
func (m *mover) next(bytes int) (bool, error) {
	is := m.most > 0 && m.size > 0 && m.size+int64(bytes) > m.most
	if is {
		if err := m.tx.Commit(); err != nil {
			return is, err
		}
		if err := m.begin(); err != nil {
			return is, err
		}
	}
	m.size += int64(bytes)
	return is, nil
}

// move copies a bucket, with those within.
func (m *mover) move(path [][]byte, from *Bucket) error {
	last := len(path) - 1
	if _, err := m.next(len(path[last])); err != nil {
		return err
	}
	to, err := m.bucket(path[:last]).CreateBucket(path[last])
	if err != nil {
		return err
	}
	if err := to.SetSequence(from.Sequence()); err != nil {
		return err
	}
	return from.ForEach(func(k, v []byte) error {
		if v == nil {
			err := m.move(append(path[:last+1:last+1], k), from.Bucket(k))
			to = m.bucket(path)
			return err
		}
		isOther, err := m.next(len(k) + len(v))
		if err != nil {
			return err
		}
		if isOther {
			to = m.bucket(path)
		}
		return to.Put(k, v)
	})
}

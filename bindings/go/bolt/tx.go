package bolt

import (
	stderrors "errors"
	"io"
	"os"
	"sort"
	"strings"

	"huon"
)

// Tx is a transaction.
type Tx struct {
	db      *DB
	huon    *huon.Tx
	managed bool
	// buckets are those that were opened, by path.
	buckets map[string]*Bucket
	// tops are the names of all buckets that are in none, once somebody has asked.
	tops     []string
	onCommit []func()
	copied   int64 // bytes of a copy, once it was asked for
	// err is the first error of a call that has no place for one.
	err error
}

func newTx(db *DB, tx *huon.Tx, managed bool) *Tx {
	return &Tx{db: db, huon: tx, managed: managed}
}

// note keeps an error of a call that has no place for it: View, Update and Commit return it.
func (tx *Tx) note(err error) {
	if stderrors.Is(err, huon.ErrClosed) {
		panic("tx closed")
	}
	if tx.err == nil {
		tx.err = of(err)
	}
}

// closed is ErrTxClosed if the transaction has ended.
func (tx *Tx) closed() error {
	if tx.huon.Ended() {
		return ErrTxClosed
	}
	return nil
}

// Huon is the transaction below.
func (tx *Tx) Huon() *huon.Tx { return tx.huon }

// ID is the id of the snapshot.
func (tx *Tx) ID() int { return int(tx.huon.ID()) }

// DB is the database of the transaction.
func (tx *Tx) DB() *DB { return tx.db }

// Writable reports whether the transaction can change something.
func (tx *Tx) Writable() bool { return tx.huon.Writable() }

// Size is the bytes that WriteTo writes. The first call of a transaction makes a copy to count
// them. Of one that writes, which makes no copies, it is the part of the file in use.
func (tx *Tx) Size() int64 {
	if tx.Writable() {
		info, err := tx.huon.Info()
		if err != nil {
			tx.note(err)
		}
		return int64(info.UsedBytes)
	}
	if tx.copied == 0 {
		size, err := tx.huon.WriteTo(io.Discard)
		if err != nil {
			tx.note(err)
		}
		tx.copied = size
	}
	return tx.copied
}

// OnCommit has fn called after the commit, if it succeeds.
func (tx *Tx) OnCommit(fn func()) { tx.onCommit = append(tx.onCommit, fn) }

func (tx *Tx) committed() {
	for _, fn := range tx.onCommit {
		fn()
	}
}

// Commit commits what was changed, and waits until it is durable unless DB.NoSync is set.
func (tx *Tx) Commit() error {
	if tx.managed {
		panic("managed tx commit not allowed")
	}
	if err := tx.closed(); err != nil {
		return err
	}
	if !tx.Writable() {
		return ErrTxNotWritable
	}
	if tx.err != nil {
		tx.huon.Rollback()
		return tx.err
	}
	if _, err := tx.huon.CommitWith(tx.db.durability()); err != nil {
		return of(err)
	}
	tx.committed()
	return nil
}

// Rollback ends the transaction, and undoes what it has changed.
func (tx *Tx) Rollback() error {
	if tx.managed {
		panic("managed tx rollback not allowed")
	}
	return of(tx.huon.Rollback())
}

// WriteTo writes a copy of what the transaction sees.
func (tx *Tx) WriteTo(w io.Writer) (int64, error) {
	n, err := tx.huon.WriteTo(w)
	return n, of(err)
}

// Copy is WriteTo that does not say how much it was.
func (tx *Tx) Copy(w io.Writer) error {
	_, err := tx.WriteTo(w)
	return err
}

// CopyFile writes a copy to a file, over what it has.
func (tx *Tx) CopyFile(path string, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if err := tx.Copy(file); err != nil {
		file.Close()
		return err
	}
	if err := file.Sync(); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// root stands for the database as the bucket that all are in.
func (tx *Tx) root() *Bucket { return &Bucket{tx: tx} }

// Bucket is the bucket of that name, nil if there is none.
func (tx *Tx) Bucket(name []byte) *Bucket { return tx.root().Bucket(name) }

// CreateBucket makes a bucket; ErrBucketExists if there is one of that name.
func (tx *Tx) CreateBucket(name []byte) (*Bucket, error) { return tx.root().CreateBucket(name) }

// CreateBucketIfNotExists makes a bucket if there is none of that name.
func (tx *Tx) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	return tx.root().CreateBucketIfNotExists(name)
}

// DeleteBucket deletes a bucket with all that is in it.
func (tx *Tx) DeleteBucket(name []byte) error { return tx.root().DeleteBucket(name) }

// ForEach calls fn for each bucket that is in no other.
func (tx *Tx) ForEach(fn func(name []byte, b *Bucket) error) error {
	return tx.root().ForEachBucket(func(name []byte) error { return fn(name, tx.Bucket(name)) })
}

// Cursor goes from bucket to bucket, of those that are in no other; values are nil.
func (tx *Tx) Cursor() *Cursor { return tx.root().Cursor() }

// CheckOption is for those of bbolt, of which there is none.
type CheckOption func()

// Check checks the whole file, and sends what is wrong.
func (tx *Tx) Check(...CheckOption) <-chan error {
	problems := make(chan error)
	go func() {
		defer close(problems)
		report, err := tx.db.huon.Check(background)
		if err != nil {
			problems <- of(err)
		}
		for _, problem := range report.Problems {
			problems <- stderrors.New(problem)
		}
	}()
	return problems
}

// topNames are the names of the buckets that are in no other, in order.
func (tx *Tx) topNames() []string {
	if tx.tops != nil {
		return tx.tops
	}
	names, err := tx.huon.Tables()
	if err != nil {
		tx.note(err)
		return nil
	}
	tx.tops = []string{}
	for _, name := range names {
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		if stat, err := tx.huon.TableStat(name); err != nil || stat.IsMulti {
			continue
		}
		tx.tops = append(tx.tops, plain.Replace(name))
	}
	sort.Strings(tx.tops)
	return tx.tops
}

// How a name stands in a path, and back.
var (
	escaped = strings.NewReplacer("%", "%25", "/", "%2F")
	plain   = strings.NewReplacer("%25", "%", "%2F", "/")
)

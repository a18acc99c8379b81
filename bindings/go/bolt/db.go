// Package bolt has the names of bbolt over a file of Huon's: programs that use bbolt move over by
// changing an import. Its files are Huon's, and not bbolt's.
//
//	import bolt "huon/bolt"
//
// A bucket is the table of its name, and may be used as that from other languages and by the
// command huon. A nested bucket is a table, too, named by its path with slashes, as "users/ada": a
// slash in a name is written %2F there, and a per cent sign %25. The names of the buckets in a
// bucket are the keys of the table of its path with a slash at the end, as "users/".
//
// As in bbolt, what Get and cursors return is good until the transaction ends, and not to be
// changed. In a transaction that writes these are copies, which stay.
//
// What differs: readers and writer of any number of processes share the file: a second Open gets no
// ErrTimeout. Keys, and the paths of nested buckets, have at most about half a page (2022 bytes,
// unless Options.PageSize is larger). A sequence cannot be lowered. Batch runs each function once,
// in a nested transaction. A transaction that writes makes no copies. An Update within an Update
// waits for an hour. Close does not wait for transactions.
package bolt

import (
	stderrors "errors"
	"fmt"
	"os"
	"time"

	"huon"
	"huon/bolt/errors"
)

// The errors, as in package errors.
var (
	ErrDatabaseNotOpen    = errors.ErrDatabaseNotOpen
	ErrInvalid            = errors.ErrInvalid
	ErrTimeout            = errors.ErrTimeout
	ErrTxNotWritable      = errors.ErrTxNotWritable
	ErrTxClosed           = errors.ErrTxClosed
	ErrDatabaseReadOnly   = errors.ErrDatabaseReadOnly
	ErrBucketNotFound     = errors.ErrBucketNotFound
	ErrBucketExists       = errors.ErrBucketExists
	ErrBucketNameRequired = errors.ErrBucketNameRequired
	ErrKeyRequired        = errors.ErrKeyRequired
	ErrKeyTooLarge        = errors.ErrKeyTooLarge
	ErrValueTooLarge      = errors.ErrValueTooLarge
	ErrIncompatibleValue  = errors.ErrIncompatibleValue
	ErrSequenceLowered    = errors.ErrSequenceLowered
	ErrMaxSizeReached     = errors.ErrMaxSizeReached
	ErrVersionMismatch    = errors.ErrVersionMismatch
	ErrChecksum           = errors.ErrChecksum
	ErrInvalidMapping     = errors.ErrInvalidMapping
	ErrFreePagesNotLoaded = errors.ErrFreePagesNotLoaded
)

// of gives an error of Huon's its name in bolt, where it has one.
func of(err error) error {
	e, is := err.(*huon.Error)
	if !is {
		return err
	}
	switch e.Code {
	case huon.ErrClosed:
		return ErrTxClosed
	case huon.ErrReadOnly:
		return ErrDatabaseReadOnly
	case huon.ErrBadTx:
		return ErrTxNotWritable
	case huon.ErrKeyTooLong:
		return ErrKeyTooLarge
	case huon.ErrValueTooLong:
		return ErrValueTooLarge
	case huon.ErrBusy:
		return ErrTimeout
	case huon.ErrFull:
		return ErrMaxSizeReached
	case huon.ErrTableNotFound:
		return ErrBucketNotFound
	case huon.ErrTableKind, huon.ErrNameTaken:
		return ErrIncompatibleValue
	case huon.ErrNotADatabase, huon.ErrVersion:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return err
}

// What bbolt takes at most. What Huon takes for a key depends on the page: see package bolt.
const (
	MaxKeySize   = 32768
	MaxValueSize = (1 << 31) - 2
)

// What programs set of a bucket or database and Huon needs no more.
const (
	DefaultFillPercent   = 0.5
	DefaultMaxBatchSize  = 1000
	DefaultMaxBatchDelay = 10 * time.Millisecond
)

// FreelistType is of bbolt's files alone.
type FreelistType string

const (
	FreelistArrayType = FreelistType("array")
	FreelistMapType   = FreelistType("hashmap")
)

// Options are what a database is opened with.
type Options struct {
	// Timeout is how long Open waits for others that have the file for themselves, as a copy that
	// is switched to another snapshot; most programs share it.
	Timeout  time.Duration
	ReadOnly bool
	NoSync   bool
	PageSize int
	// OpenFile, and what follows, is of no use here.
	OpenFile        func(string, int, os.FileMode) (*os.File, error)
	NoGrowSync      bool
	NoFreelistSync  bool
	PreLoadFreelist bool
	FreelistType    FreelistType
	InitialMmapSize int
	MmapFlags       int
	Mlock           bool
	MaxSize         int
	NoStatistics    bool
}

// DefaultOptions are those of Open with nil.
var DefaultOptions = &Options{Timeout: 0}

// DB is an open database.
type DB struct {
	// NoSync has commits not wait for the disk: a power loss may take the last ones, and no more.
	NoSync bool
	// These are of no use here.
	StrictMode     bool
	NoGrowSync     bool
	NoFreelistSync bool
	MaxBatchSize   int
	MaxBatchDelay  time.Duration
	AllocSize      int
	MmapFlags      int
	MaxSize        int
	Mlock          bool

	PreLoadFreelist bool
	FreelistType    FreelistType

	huon     *huon.DB
	readOnly bool
}

// bbolt waits for the writer without end. Who waits so long waits for himself.
const writerTimeout = time.Hour

// Open opens the database at path, and creates it if it is missing.
func Open(path string, mode os.FileMode, options *Options) (*DB, error) {
	if options == nil {
		options = DefaultOptions
	}
	with := &huon.Options{
		Mode: mode, PageSize: options.PageSize, ReadOnly: options.ReadOnly,
		LockTimeout: writerTimeout,
	}
	if options.MaxSize > 0 {
		with.MaxBytes = uint64(options.MaxSize)
	}
	deadline := time.Now().Add(options.Timeout)
	for {
		db, err := huon.Open(path, with)
		if stderrors.Is(err, huon.ErrBusy) && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if err != nil {
			return nil, of(err)
		}
		return Over(db, options), nil
	}
}

// Over gives a database that is open already the names of bolt; both may be used. Options beside
// ReadOnly and NoSync have no effect.
func Over(db *huon.DB, options *Options) *DB {
	if options == nil {
		options = DefaultOptions
	}
	return &DB{
		NoSync: options.NoSync, MaxBatchSize: DefaultMaxBatchSize,
		MaxBatchDelay: DefaultMaxBatchDelay, huon: db, readOnly: options.ReadOnly,
	}
}

// Huon is the database below.
func (db *DB) Huon() *huon.DB { return db.huon }

// Path is what the database was opened with.
func (db *DB) Path() string { return db.huon.Path() }

// String says what it is.
func (db *DB) String() string { return fmt.Sprintf("DB<%q>", db.Path()) }

// GoString is for %#v.
func (db *DB) GoString() string { return fmt.Sprintf("bolt.DB{path:%q}", db.Path()) }

// IsReadOnly reports whether it was opened so.
func (db *DB) IsReadOnly() bool { return db.readOnly }

// Close flushes all commits, and closes the database. Transactions that are open stay good.
func (db *DB) Close() error {
	err := db.huon.Close()
	if stderrors.Is(err, huon.ErrStillOpen) {
		return nil
	}
	return err
}

// opened is of for what is asked of the database.
func (db *DB) opened(err error) error {
	if stderrors.Is(err, huon.ErrClosed) {
		return ErrDatabaseNotOpen
	}
	return of(err)
}

func (db *DB) durability() huon.Durability {
	if db.NoSync {
		return huon.Lazy
	}
	return huon.Durable
}

// Begin begins a transaction. End it by Commit or Rollback.
func (db *DB) Begin(writable bool) (*Tx, error) {
	begin := db.huon.BeginRead
	if writable {
		if db.readOnly {
			return nil, ErrDatabaseReadOnly
		}
		begin = func() (*huon.Tx, error) { return db.huon.BeginWrite(background) }
	}
	tx, err := begin()
	if err != nil {
		return nil, db.opened(err)
	}
	return newTx(db, tx, false), nil
}

// managed runs fn in a transaction that fn may not end.
func (db *DB) managed(fn func(*Tx) error, made **Tx) func(*huon.Tx) error {
	return func(huon *huon.Tx) error {
		tx := newTx(db, huon, true)
		*made = tx
		if err := fn(tx); err != nil {
			return err
		}
		return tx.err
	}
}

// View runs fn in a transaction that reads.
func (db *DB) View(fn func(*Tx) error) error {
	var tx *Tx
	err := db.huon.View(db.managed(fn, &tx))
	return db.ended(tx, err)
}

// Update runs fn in the transaction that writes, and commits it if fn returns nil.
func (db *DB) Update(fn func(*Tx) error) error {
	if db.readOnly {
		return ErrDatabaseReadOnly
	}
	var tx *Tx
	err := db.huon.UpdateContext(background, db.durability(), db.managed(fn, &tx))
	return db.committed(tx, db.ended(tx, err))
}

// Batch is Update that shares its transaction with those of other goroutines that call it at the
// time. Unlike bbolt's, it runs fn once.
func (db *DB) Batch(fn func(*Tx) error) error {
	if db.readOnly {
		return ErrDatabaseReadOnly
	}
	var tx *Tx
	err := db.huon.BatchContext(background, db.durability(), db.managed(fn, &tx))
	return db.committed(tx, db.ended(tx, err))
}

// ended gives errors of fn as they are, and others their names.
func (db *DB) ended(tx *Tx, err error) error {
	if tx == nil {
		return db.opened(err)
	}
	return of(err)
}

func (db *DB) committed(tx *Tx, err error) error {
	if err == nil {
		tx.committed()
	}
	return err
}

// Sync makes all commits durable.
func (db *DB) Sync() error {
	_, err := db.huon.Sync()
	return db.opened(err)
}

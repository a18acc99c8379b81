// Package errors has the errors of package bolt, as bbolt has its own in such a package.
package errors

import "errors"

// These come from package bolt as they are, to be compared by == or errors.Is.
var (
	ErrDatabaseNotOpen    = errors.New("database not open")
	ErrInvalid            = errors.New("invalid database")
	ErrTimeout            = errors.New("timeout")
	ErrTxNotWritable      = errors.New("tx not writable")
	ErrTxClosed           = errors.New("tx closed")
	ErrDatabaseReadOnly   = errors.New("database is in read-only mode")
	ErrBucketNotFound     = errors.New("bucket not found")
	ErrBucketExists       = errors.New("bucket already exists")
	ErrBucketNameRequired = errors.New("bucket name required")
	ErrKeyRequired        = errors.New("key required")
	ErrKeyTooLarge        = errors.New("key too large")
	ErrValueTooLarge      = errors.New("value too large")
	ErrIncompatibleValue  = errors.New("incompatible value")
	ErrSequenceLowered    = errors.New("a sequence cannot be lowered")
	ErrMaxSizeReached     = errors.New("database reached maximum size")

	// Nothing of Huon's makes these.
	ErrVersionMismatch    = errors.New("version mismatch")
	ErrChecksum           = errors.New("checksum error")
	ErrInvalidMapping     = errors.New("database isn't correctly mapped")
	ErrFreePagesNotLoaded = errors.New("free pages are not pre-loaded")
	ErrDifferentDB        = errors.New("the source and target buckets are in different database files")
	ErrSameBuckets        = errors.New("the source and target are the same bucket")
)

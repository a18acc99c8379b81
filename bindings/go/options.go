package huon

// #include "bridge.h"
import "C"

import (
	"io/fs"
	"math"
	"time"
)

// Durability is what a commit waits for.
type Durability int

const (
	// Durable waits until no power loss can take the commit away. Commits of many goroutines and
	// processes that wait at the same time share one flush.
	Durable Durability = C.HUON_DURABLE
	// NoMetaSync waits for one flush; of a commit of more than a megabyte the last step is left to
	// the next flush.
	NoMetaSync Durability = C.HUON_NO_META_SYNC
	// Lazy waits for nothing. Killing the process loses nothing; a power loss falls back to the
	// last checkpoint, which is whole.
	Lazy Durability = C.HUON_LAZY
	// Unsynced is as Lazy, and only Sync and durable commits flush.
	Unsynced Durability = C.HUON_UNSYNCED

	asOpened Durability = -1
)

// check refuses what is none of these.
func (d Durability) check() error {
	if d < Durable || d > Unsynced {
		return misuse(ErrBadArgument, "there is no such durability: Durable, NoMetaSync, Lazy or "+
			"Unsynced")
	}
	return nil
}

// Options are what a database is opened with; nil, and zero in each field: as by default.
type Options struct {
	ReadOnly  bool // only reads
	MustExist bool // a missing file is an error, and not created
	Exclusive bool // shares the file with no other opening

	Mode     fs.FileMode // of files that are created; 0600
	PageSize int         // of a new file, in bytes: 256 to 65536, a power of two; 4096
	MaxBytes uint64      // the most that a new file may have; 1 TiB
	MinBytes uint64      // below this a new file never shrinks

	// Durability is what Tx.Commit waits for; Durable.
	Durability Durability
	// FlushAfterBytes has lazy commits make a checkpoint once so many bytes were written.
	FlushAfterBytes uint64
	// FlushAfter has them make one once something was unflushed for so long.
	FlushAfter time.Duration

	// JournalBytes has durable commits wait for one append to a file beside the database, which all
	// processes use: 65536 to 64 GiB, 16 MiB is usual; 0: no journal. The two files belong together
	// until the last one is closed.
	JournalBytes uint64
	// GiveUpJournal opens a file whose journal is lost, without the commits that were in it alone.
	GiveUpJournal bool

	// LockTimeout is how long a transaction waits to become the writer, unless its context ends
	// before: ErrBusy after that; 30 seconds.
	LockTimeout time.Duration
	// WriteBufferBytes is how much a write transaction keeps in memory; 256 MiB.
	WriteBufferBytes uint64
	// VerifyAlways verifies checksums of large values each time, not only pages when they are read
	// first.
	VerifyAlways bool
	// EvictParked has a writer that finds no free pages evict readers that are parked, and wait
	// for others as long as WaitForReaders says, before the file grows.
	EvictParked    bool
	WaitForReaders time.Duration
}

const lockTimeout = 30 * time.Second

// numbers are the options as pairs for C.
func (o *Options) numbers() []C.uint64_t {
	var all []C.uint64_t
	set := func(is bool, option C.int, value uint64) {
		if is {
			all = append(all, C.uint64_t(option), C.uint64_t(value))
		}
	}
	set(o.ReadOnly, C.HUON_OPEN_READ_ONLY, 1)
	set(o.MustExist, C.HUON_CREATE, 0)
	set(o.Exclusive, C.HUON_EXCLUSIVE, 1)
	set(o.Mode != 0, C.HUON_FILE_MODE, uint64(o.Mode.Perm()))
	set(o.PageSize != 0, C.HUON_PAGE_BYTES, uint64(o.PageSize))
	set(o.MaxBytes != 0, C.HUON_MAX_BYTES, o.MaxBytes)
	set(o.MinBytes != 0, C.HUON_MIN_BYTES, o.MinBytes)
	set(o.Durability != Durable, C.HUON_DURABILITY, uint64(o.Durability))
	set(o.FlushAfterBytes != 0, C.HUON_FLUSH_AFTER_BYTES, o.FlushAfterBytes)
	set(o.FlushAfter != 0, C.HUON_FLUSH_AFTER_MS, millis(o.FlushAfter))
	set(o.JournalBytes != 0, C.HUON_JOURNAL_BYTES, o.JournalBytes)
	set(o.GiveUpJournal, C.HUON_GIVE_UP_JOURNAL, 1)
	set(o.WriteBufferBytes != 0, C.HUON_WRITE_BUFFER_BYTES, o.WriteBufferBytes)
	set(o.VerifyAlways, C.HUON_VERIFY, 1)
	// C waits for the writer in slices: to look at a context between them.
	set(true, C.HUON_LOCK_TIMEOUT_MS, millis(waitSlice))
	return all
}

// millis rounds up: a short time is not none.
func millis(d time.Duration) uint64 {
	return uint64(max(0, d+time.Millisecond-1) / time.Millisecond)
}

// Order is how keys, or the values of a multimap, compare.
type Order int

const (
	Bytes         Order = C.HUON_ORDER_BYTES    // as bytes.Compare
	ReversedBytes Order = C.HUON_ORDER_REVERSED // from the last byte to the first
	Uint32        Order = C.HUON_ORDER_U32      // as numbers of 4 bytes, little-endian
	Uint64        Order = C.HUON_ORDER_U64      // as numbers of 8 bytes, little-endian
	// NewOrder makes others of functions.

	asStored Order = C.HUON_ORDER_STORED
)

// TableOptions say what a table or multimap is created with.
type TableOptions struct {
	Keys Order
	// Values is how the values of a key compare, in a multimap.
	Values Order
	// ValueBytes is the length that all values of a multimap have; 0: any.
	ValueBytes int
}

// check refuses what C's numbers cannot say, or say otherwise.
func (o *TableOptions) check() error {
	for _, order := range []Order{o.Keys, o.Values} {
		if _, is := order.function(); !is && (order < Bytes || order > Uint64) {
			return misuse(ErrBadArgument, "there is no such order: Bytes, ReversedBytes, Uint32, "+
				"Uint64, or one of NewOrder")
		}
	}
	if o.ValueBytes < 0 || uint64(o.ValueBytes) > math.MaxUint32 {
		return misuse(ErrBadArgument, "no value has such a length")
	}
	return nil
}

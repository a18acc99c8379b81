package huon

// #include "calls.h"
import "C"

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"unsafe"
)

// Snapshot says which snapshot of a file it is: two processes that write copies of one file give
// the same id to different snapshots, whose checksums differ.
type Snapshot struct {
	ID       uint64 // of the transaction that made it; 0: none
	Checksum uint64 // of its image
}

// NamedSnapshot is a snapshot that the file keeps under a name.
type NamedSnapshot struct {
	Name string
	Snapshot
}

// NameSnapshot gives the newest snapshot a name of 1 to 255 bytes, and so keeps it in the file,
// over restarts, until DropSnapshot. It costs at most one more copy of what it sees. One that
// has the name so far is dropped. It is a transaction of its own, and waits for others until the
// context ends, and at most for Options.LockTimeout.
func (db *DB) NameSnapshot(ctx context.Context, name string) (Snapshot, error) {
	var named C.huon_snapshot
	err := db.alone(ctx, func() error {
		data, size := textOf(name)
		return done(C.go_name_snapshot(db.env, data, size, &named))
	})
	return snapshotOf(named), err
}

// DropSnapshot takes its name away from a snapshot, and reports whether one had it. What only it
// saw is used again.
func (db *DB) DropSnapshot(ctx context.Context, name string) (had bool, err error) {
	err = db.alone(ctx, func() error {
		data, size := textOf(name)
		had, err = either(C.go_drop_snapshot(db.env, data, size), notFound)
		return err
	})
	return had, err
}

// alone does what is a write transaction of its own in C, when no other of this process is running.
func (db *DB) alone(ctx context.Context, work func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := db.enter(ctx, db.timeout); err != nil {
		return err
	}
	defer db.leave()
	defer runtime.KeepAlive(db)
	return work()
}

// ViewSnapshot is View of the snapshot of that name: an fs.ErrNotExist if there is none.
func (db *DB) ViewSnapshot(name string, fn func(*Tx) error) error {
	if db.closed.Load() {
		return errDBClosed
	}
	data, size := textOf(name)
	told := C.go_begin_read_named(db.env, data, size)
	if told.code == notFound {
		return noSnapshot(name)
	}
	if told.code != ok {
		return failure(told.code, told.fault)
	}
	tx := &Tx{db: db, handle: told.handle, managed: true}
	tx.root = tx
	defer tx.end()
	return tx.run(fn)
}

func noSnapshot(name string) error {
	return fmt.Errorf("huon: no snapshot is named %q: %w", name, fs.ErrNotExist)
}

// Snapshots are the named snapshots, the oldest first.
func (db *DB) Snapshots() ([]NamedSnapshot, error) {
	defer runtime.KeepAlive(db)
	watch, err := newWatch()
	if err != nil {
		return nil, err
	}
	defer C.go_watch_free(watch)
	if err := done(C.go_named_snapshots(db.env, watch)); err != nil {
		return nil, err
	}
	var all []NamedSnapshot
	for text := C.GoBytes(unsafe.Pointer(watch.text), C.int(watch.len)); len(text) > 0; {
		word := func(i int) uint64 { return binary.NativeEndian.Uint64(text[8*i:]) }
		one := NamedSnapshot{Snapshot: Snapshot{word(0), word(1)}}
		end := 24 + word(2)
		one.Name, text = string(text[24:end]), text[end:]
		all = append(all, one)
	}
	return all, nil
}

// BackupOptions are how Backup works; zero in each field: all of the newest snapshot.
type BackupOptions struct {
	Snapshot string   // the named snapshot to save
	Since    Snapshot // only what changed after this one, which another report tells
}

// BackupReport is what a backup has.
type BackupReport struct {
	Snapshot Snapshot
	Since    Snapshot // the one that it follows; an ID of 0: it has everything
	Pages    uint64
	Bytes    uint64
}

// Backup writes the pages of a snapshot, or those that changed after another one: it costs what it
// writes. Restore makes a file of a backup and those that follow it.
func (db *DB) Backup(w io.Writer, options BackupOptions) (BackupReport, error) {
	var told C.huon_backup_report
	since := C.huon_snapshot{
		id: C.uint64_t(options.Since.ID), checksum: C.uint64_t(options.Since.Checksum),
	}
	found := true
	c, err := db.piped(func(fd C.int) (err error) {
		data, size := textOf(options.Snapshot)
		found, err = either(C.go_backup_to_fd(db.env, fd, data, size, since, &told), notFound)
		return err
	})
	if err != nil {
		return BackupReport{}, err
	}
	if _, err := c.to(w); err != nil {
		return BackupReport{}, err
	}
	if !found {
		return BackupReport{}, noSnapshot(options.Snapshot)
	}
	return BackupReport{
		Snapshot: snapshotOf(told.snapshot),
		Since:    snapshotOf(told.since),
		Pages:    uint64(told.pages),
		Bytes:    uint64(told.bytes),
	}, nil
}

// Restore makes a database of a whole backup and those that follow it, in their order. It has its
// name when every page was verified and flushed. An fs.ErrExist if there is a file of that name,
// ErrDiverged if a backup does not follow the one before.
func Restore(path string, backups ...string) (Snapshot, error) {
	name, err := cPath(path)
	if err != nil {
		return Snapshot{}, err
	}
	defer C.free(unsafe.Pointer(name))
	size := C.size_t(unsafe.Sizeof(name))
	paths := (**C.char)(C.calloc(C.size_t(len(backups)+1), size))
	if paths == nil {
		return Snapshot{}, misuse(ErrOutOfMemory, "there is not enough memory")
	}
	defer C.free(unsafe.Pointer(paths))
	list := unsafe.Slice(paths, len(backups))
	for i, backup := range backups {
		if list[i], err = cPath(backup); err != nil {
			return Snapshot{}, err
		}
		defer C.free(unsafe.Pointer(list[i]))
	}
	var restored C.huon_snapshot
	err = done(C.go_restore(name, paths, C.size_t(len(backups)), &restored))
	return snapshotOf(restored), ofFile(err, path)
}

func snapshotOf(told C.huon_snapshot) Snapshot {
	return Snapshot{ID: uint64(told.id), Checksum: uint64(told.checksum)}
}

func textOf(text string) (*C.uint8_t, C.size_t) {
	return (*C.uint8_t)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))
}

package huon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"huon"
)

func open(t *testing.T, options *huon.Options) *huon.DB {
	t.Helper()
	if options == nil {
		options = &huon.Options{Durability: huon.Lazy}
	}
	db, err := huon.Open(filepath.Join(t.TempDir(), "t.huon"), options)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("%v instead of %v", err, kind)
	}
}

// fill makes a table of so many records.
func fill(t *testing.T, db *huon.DB, name string, count int) {
	t.Helper()
	must(t, db.Update(false, func(tx *huon.Tx) error {
		table, err := tx.CreateTable(name)
		if err != nil {
			return err
		}
		return table.PutMany(func(yield func(k, v []byte) bool) {
			for n := range count {
				if !yield(key(n), value(n)) {
					return
				}
			}
		})
	}))
}

func key(n int) []byte   { return fmt.Appendf(nil, "key %06d", n) }
func value(n int) []byte { return fmt.Appendf(nil, "value %d", n) }

func table(t *testing.T, tx *huon.Tx, name string) *huon.Table {
	t.Helper()
	table, err := tx.Table(name)
	must(t, err)
	return table
}

// Every method of what has ended is an error.
func TestUseAfterTheEnd(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1000)
	tx, err := db.BeginWrite(context.Background())
	must(t, err)
	tb := table(t, tx, "t")
	m, err := tx.CreateMulti("m", huon.TableOptions{})
	must(t, err)
	c := tb.Cursor()
	c.First()
	scan := tb.Scan()
	must(t, tx.Commit())
	k, v := []byte("k"), []byte("v")
	for what, err := range map[string]error{
		"commit": tx.Commit(), "rollback": tx.Rollback(), "put": tb.Put(k, v), "clear": tb.Clear(),
		"get":       second(tb.Get(k)),
		"get many":  second(tb.GetMany([][]byte{k})),
		"raw":       second(tb.GetRaw(k)),
		"has":       second(tb.Has(k)),
		"delete":    second(tb.Delete(k)),
		"range":     second(tb.DeleteRange(nil, nil)),
		"sequence":  second(tb.Sequence(1)),
		"put many":  tb.PutMany(huon.Pairs(huon.Pair{Key: k, Value: v})),
		"append":    tb.BulkAppend(huon.Pairs(huon.Pair{Key: k, Value: v})),
		"multi put": second(m.Put(k, v)),
		"multi get": second(m.Get(k)),
		"table":     second(tx.Table("t")),
		"tables":    second(tx.Tables()),
		"drop":      second(tx.DropTable("t")),
		"nested":    tx.Nested(func(*huon.Tx) error { return nil }),
		"markers":   second(tx.Markers()),
		"stat":      second(tx.TableStat("t")),
		"ticket":    second(tx.CommitTicket()),
		"info":      second(tx.Info()),
		"delete at": c.Delete(),
	} {
		if !errors.Is(err, huon.ErrClosed) || !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if key, _ := c.Next(); key != nil {
		t.Error("a cursor goes on")
	}
	refused(t, c.Err(), huon.ErrClosed)
	for range scan.All() {
		t.Error("a scan goes on")
	}
	refused(t, scan.Err(), huon.ErrClosed)
	if tx.ID() != 0 {
		t.Error("it has an id")
	}

	must(t, db.Close())
	must(t, db.Close())
	refused(t, db.View(nil), huon.ErrClosed)
	refused(t, db.Update(true, nil), huon.ErrClosed)
	refused(t, db.Batch(nil), huon.ErrClosed)
	refused(t, second(db.Info()), huon.ErrClosed)
	refused(t, second(db.Sync()), huon.ErrClosed)
	refused(t, second(db.WriteTo(io.Discard)), huon.ErrClosed)
	refused(t, second(db.Check(context.Background())), huon.ErrClosed)
	refused(t, second(db.WaitForCommit(context.Background(), 0)), huon.ErrClosed)
}

func second[T any](_ T, err error) error { return err }

// A transaction outlives its database, with what it shows.
func TestCloseBeforeTheEnd(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1000)
	tx, err := db.BeginRead()
	must(t, err)
	refused(t, db.Close(), huon.ErrStillOpen)
	count := 0
	for range table(t, tx, "t").Scan().Raw().All() {
		count++
	}
	if count != 1000 {
		t.Fatal(count)
	}
	must(t, tx.Rollback())
}

// What ends within a loop ends the loop.
func TestEndWithinALoop(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1000)
	tx, err := db.BeginRead()
	must(t, err)
	scan, count := table(t, tx, "t").Scan(), 0
	for range scan.All() {
		if count++; count == 3 {
			must(t, tx.Rollback())
		}
	}
	refused(t, scan.Err(), huon.ErrClosed)
	if count != 3 {
		t.Fatal(count)
	}

	tx, err = db.BeginRead()
	must(t, err)
	tb := table(t, tx, "t")
	c := tb.Cursor()
	c.First()
	must(t, tx.Reset())
	must(t, tx.Renew())
	if k, _ := c.Next(); k != nil {
		t.Fatal("it goes on in another snapshot")
	}
	refused(t, c.Err(), huon.ErrBadTx)
	if k, _ := c.Seek(key(7)); !bytes.Equal(k, key(7)) {
		t.Fatal("it does not seek anew")
	}
	must(t, tx.Park())
	refused(t, second(tb.Get(key(1))), huon.ErrBadTx)
}

func TestWrongTransactions(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 10)
	must(t, db.View(func(tx *huon.Tx) error {
		tb := table(t, tx, "t")
		refused(t, tb.Put(nil, nil), huon.ErrBadTx)
		refused(t, second(tx.CreateTable("u")), huon.ErrBadTx)
		refused(t, second(tx.BeginNested()), huon.ErrBadTx)
		refused(t, tx.Commit(), huon.ErrBadTx)
		refused(t, tx.Rollback(), huon.ErrBadTx)
		c := tb.Cursor()
		refused(t, c.Delete(), huon.ErrBadArgument)
		c.First()
		refused(t, c.Delete(), huon.ErrBadTx)
		return nil
	}))
	must(t, db.Update(false, func(tx *huon.Tx) error {
		tb := table(t, tx, "t")
		child, err := tx.BeginNested()
		must(t, err)
		refused(t, tb.Put(nil, nil), huon.ErrInUse)
		refused(t, second(tx.BeginNested()), huon.ErrInUse)
		refused(t, tx.Park(), huon.ErrBadTx)
		must(t, table(t, child, "t").Put([]byte("child"), nil))
		must(t, child.Rollback())
		refused(t, child.Rollback(), huon.ErrClosed)
		if has, _ := tb.Has([]byte("child")); has {
			t.Error("it was not undone")
		}
		return nil
	}))
	refused(t, db.Update(false, func(tx *huon.Tx) error {
		_, err := tx.BeginNested()
		return err
	}), huon.ErrInUse)
	must(t, db.Update(false, func(*huon.Tx) error { return nil }))
}

// An error of a loop that nobody asks for is that of View.
func TestErrorOfALoop(t *testing.T) {
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		tb, err := tx.CreateTableWith("t", huon.TableOptions{Keys: huon.ReversedBytes})
		must(t, err)
		return tb.Put([]byte("a"), nil)
	}))
	loop := func(isAsked bool) error {
		return db.View(func(tx *huon.Tx) error {
			scan := table(t, tx, "t").Prefix([]byte("a"))
			for range scan.All() {
				t.Error("keys with a prefix do not lie together there")
			}
			if isAsked {
				refused(t, scan.Err(), huon.ErrPrefixOrder)
			}
			return nil
		})
	}
	refused(t, loop(false), huon.ErrPrefixOrder)
	must(t, loop(true))
}

// A panic undoes what was changed, and leaves nothing locked.
func TestPanics(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 10)
	for _, run := range []func(func(*huon.Tx) error) error{
		db.View, db.Batch, func(fn func(*huon.Tx) error) error { return db.Update(true, fn) },
	} {
		func() {
			defer func() {
				if recover() != "stop" {
					t.Error("the panic is gone")
				}
			}()
			run(func(tx *huon.Tx) error {
				if tx.Writable() {
					must(t, table(t, tx, "t").Put([]byte("panic"), nil))
				}
				for range table(t, tx, "t").Scan().All() {
					panic("stop")
				}
				return nil
			})
		}()
		done := make(chan struct{})
		go func() {
			defer close(done)
			run(func(*huon.Tx) error {
				runtime.Goexit()
				return nil
			})
		}()
		<-done
	}
	must(t, db.Update(true, func(tx *huon.Tx) error {
		if has, _ := table(t, tx, "t").Has([]byte("panic")); has {
			t.Error("it was not undone")
		}
		return tx.Nested(func(*huon.Tx) error { return nil })
	}))
}

// A second writer waits as long as it is told to, and no longer.
func TestWaitForTheWriter(t *testing.T) {
	db := open(t, &huon.Options{LockTimeout: 30 * time.Millisecond})
	other, err := huon.Open(db.Path(), &huon.Options{LockTimeout: 30 * time.Millisecond})
	must(t, err)
	defer other.Close()
	must(t, db.Update(false, func(tx *huon.Tx) error {
		nothing := func(*huon.Tx) error { return nil }
		for _, db := range []*huon.DB{db, other} {
			refused(t, db.Update(false, nothing), huon.ErrBusy)
			refused(t, second(db.TryWrite()), huon.ErrBusy)
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			err := db.UpdateContext(ctx, huon.Lazy, nothing)
			if !errors.Is(err, huon.ErrBusy) {
				refused(t, err, context.DeadlineExceeded)
			}
		}
		return nil
	}))
	tx, err := other.TryWrite()
	must(t, err)
	must(t, tx.Rollback())
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	refused(t, db.UpdateContext(canceled, huon.Lazy, nil), context.Canceled)
}

// What is forgotten is ended by the garbage collector.
func TestForgotten(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1000)
	forget := func() {
		tx, err := db.BeginWrite(context.Background())
		must(t, err)
		tb := table(t, tx, "t")
		must(t, tb.Put([]byte("forgotten"), nil))
		child, err := tx.BeginNested()
		must(t, err)
		must(t, table(t, child, "t").Put([]byte("forgotten"), nil))
		for range 20 {
			tx, err := db.BeginRead()
			must(t, err)
			c := table(t, tx, "t").Cursor()
			c.First()
			for range table(t, tx, "t").Scan().All() {
				break
			}
		}
		other, err := huon.OpenInMemory(nil)
		must(t, err)
		_, err = other.BeginRead()
		must(t, err)
	}
	forget()
	is := func() bool {
		readers, err := db.Readers()
		must(t, err)
		return len(readers) == 0
	}
	for n := 0; !is(); n++ {
		if n == 1000 {
			t.Fatal("forgotten transactions live on")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	must(t, db.Update(true, func(tx *huon.Tx) error {
		if has, _ := table(t, tx, "t").Has([]byte("forgotten")); has {
			t.Error("a forgotten transaction was committed")
		}
		return nil
	}))
}

// Goroutines go from thread to thread, with their transactions.
func TestGoroutinesMigrate(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1)
	var all sync.WaitGroup
	for g := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range 50 {
				err := db.Update(false, func(tx *huon.Tx) error {
					tb := table(t, tx, "t")
					runtime.Gosched()
					last, err := tb.Sequence(1)
					if err != nil {
						return err
					}
					runtime.Gosched()
					return tb.Put(key(int(last)), fmt.Appendf(nil, "%d %d", g, n))
				})
				if err != nil {
					t.Error(err)
				}
				err = db.View(func(tx *huon.Tx) error {
					runtime.Gosched()
					count, err := table(t, tx, "t").Count()
					if count == 0 {
						t.Error("it is empty")
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	must(t, db.View(func(tx *huon.Tx) error {
		if count, _ := table(t, tx, "t").Count(); count != 400 {
			t.Error(count)
		}
		return nil
	}))
}

// One transaction of many goroutines, which one of them ends in the middle: answers or errors.
func TestOneTransactionOfMany(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 2000)
	for _, begin := range []func() (*huon.Tx, error){
		db.BeginRead, func() (*huon.Tx, error) { return db.BeginWrite(context.Background()) },
	} {
		tx, err := begin()
		must(t, err)
		tb := table(t, tx, "t")
		var all sync.WaitGroup
		for g := range 6 {
			all.Add(1)
			go func() {
				defer all.Done()
				for n := 0; ; n++ {
					at := (n*7 + g) % 2000
					got, err := tb.Get(key(at))
					if errors.Is(err, huon.ErrClosed) {
						return
					}
					if err != nil || !bytes.Equal(got, value(at)) {
						t.Error(string(got), err)
						return
					}
					for k := range tb.Scan().Limit(20).All() {
						_ = k
					}
					if n == 200 && g == 0 {
						must(t, tx.Rollback())
						db.Close()
					}
				}
			}()
		}
		all.Wait()
		db, err = huon.Open(db.Path(), &huon.Options{Durability: huon.Lazy})
		must(t, err)
		defer db.Close()
	}
}

// failing fails, panics or ends the goroutine after some bytes.
type failing struct {
	left int
	how  func() error
}

func (f *failing) Write(bytes []byte) (int, error) {
	if f.left -= len(bytes); f.left < 0 {
		return 0, f.how()
	}
	return len(bytes), nil
}

// A copy whose writer fails in any way leaves nothing behind.
func TestWritersThatFail(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 20_000)
	failed := errors.New("full")
	for _, left := range []int{0, 5000, 300_000} {
		_, err := db.WriteTo(&failing{left, func() error { return failed }})
		refused(t, err, failed)
		func() {
			defer func() { recover() }()
			db.WriteTo(&failing{left, func() error { panic("stop") }})
		}()
		done := make(chan struct{})
		go func() {
			defer close(done)
			db.WriteTo(&failing{left, func() error { runtime.Goexit(); return nil }})
		}()
		<-done
	}
	must(t, db.View(func(tx *huon.Tx) error {
		_, err := tx.WriteTo(&failing{1 << 30, nil})
		must(t, err)
		_, err = tx.WriteTo(writer(func() { refused(t, second(tx.Table("t")), huon.ErrInUse) }))
		must(t, err)
		_, err = tx.WriteTo(&failing{0, func() error { return failed }})
		refused(t, err, failed)
		_, err = table(t, tx, "t").Get(key(1))
		return err
	}))
	readers, err := db.Readers()
	must(t, err)
	if len(readers) != 0 {
		t.Error(readers)
	}
}

type writer func()

func (w writer) Write(bytes []byte) (int, error) { w(); return len(bytes), nil }

func TestErrorsOfTheSystem(t *testing.T) {
	_, err := huon.Open(filepath.Join(t.TempDir(), "no", "folder"), nil)
	refused(t, err, huon.ErrIO)
	refused(t, err, syscall.ENOENT)
	refused(t, err, fs.ErrNotExist)
	var told *huon.Error
	if !errors.As(err, &told) || told.Code != huon.ErrIO || told.Page != huon.NoPage {
		t.Error(told)
	}
	path := filepath.Join(t.TempDir(), "other")
	must(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 2000), 0o600))
	_, err = huon.Open(path, nil)
	refused(t, err, huon.ErrNotADatabase)
	_, err = huon.Open("a\x00b", nil)
	refused(t, err, huon.ErrBadArgument)
	if huon.ErrReadOnly.Error() == "" || huon.Code(12345).Error() != "error 12345" {
		t.Error("codes have no names")
	}
}

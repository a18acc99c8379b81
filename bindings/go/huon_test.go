package huon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"huon"
)

// Random operations in a table, and in a sorted slice; cursors and loops of both are compared.
func TestModel(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 1))
		db := open(t, nil)
		var model []string
		fill(t, db, "t", 0)
		for range 6 {
			must(t, db.Update(false, func(tx *huon.Tx) error {
				tb := table(t, tx, "t")
				model = change(t, random, tb, model, 300)
				model = walk(t, random, tb, model, true)
				return nil
			}))
			must(t, db.View(func(tx *huon.Tx) error {
				walk(t, random, table(t, tx, "t"), model, false)
				return nil
			}))
		}
	}
}

func someKey(random *rand.Rand) string { return fmt.Sprintf("%03d", random.IntN(400)) }

func change(t *testing.T, random *rand.Rand, tb *huon.Table, model []string, count int) []string {
	t.Helper()
	for range count {
		k := someKey(random)
		at, is := slices.BinarySearch(model, k)
		switch random.IntN(4) {
		case 0:
			was, err := tb.Delete([]byte(k))
			must(t, err)
			if was != is {
				t.Fatal(k, was, is)
			}
			if is {
				model = slices.Delete(model, at, at+1)
			}
		default:
			must(t, tb.Put([]byte(k), bytes.Repeat([]byte(k), random.IntN(300))))
			if !is {
				model = slices.Insert(model, at, k)
			}
		}
	}
	return model
}

// walk moves a cursor about, beside changes where the transaction writes.
func walk(
	t *testing.T, random *rand.Rand, tb *huon.Table, model []string, isWritten bool,
) []string {
	t.Helper()
	c := tb.Cursor()
	if random.IntN(2) == 0 {
		c.Raw()
	}
	// What lies before the cursor in the model; and whether it is at a record.
	at := -1
	is := false
	for range 500 {
		var k []byte
		what := random.IntN(8)
		switch what {
		case 0:
			k, _ = c.First()
			at, is = 0, len(model) > 0
		case 1:
			k, _ = c.Last()
			at, is = len(model)-1, len(model) > 0
		case 2:
			sought := someKey(random)
			k, _ = c.Seek([]byte(sought))
			at, _ = slices.BinarySearch(model, sought)
			is = at < len(model)
		default:
			if at < 0 || len(model) == 0 {
				continue
			}
			if isWritten && random.IntN(4) == 0 {
				// The record that it is at may be gone then.
				here := c.Key()
				if is && string(here) != model[at] {
					t.Fatal(string(here), model[at])
				}
				if is {
					model2 := changeAt(t, random, tb, c, model)
					at, _ = slices.BinarySearch(model2, string(here))
					_, still := slices.BinarySearch(model2, string(here))
					model, is = model2, still
					if !still {
						at--
						// between at and at+1
						if what%2 == 0 {
							k, _ = c.Next()
							at++
							is = at < len(model)
						} else {
							k, _ = c.Prev()
							is = at >= 0
						}
						break
					}
				}
			}
			if what%2 == 0 {
				k, _ = c.Next()
				if is || at < 0 {
					at++
				}
				is = at < len(model)
			} else {
				k, _ = c.Prev()
				at--
				is = at >= 0
			}
		}
		must(t, c.Err())
		if is != (k != nil) || is && string(k) != model[at] {
			t.Fatalf("%d: %q at %d of %v", what, k, at, model)
		}
		if !is {
			at = -1
		}
	}
	return model
}

func changeAt(
	t *testing.T, random *rand.Rand, tb *huon.Table, c *huon.Cursor, model []string,
) []string {
	if random.IntN(3) == 0 {
		here := string(c.Key())
		must(t, c.Delete())
		at, _ := slices.BinarySearch(model, here)
		return slices.Delete(model, at, at+1)
	}
	return change(t, random, tb, model, 3)
}

// Loops over ranges, both ways, with each limit and each kind of copy.
func TestScans(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1234)
	check := func(tx *huon.Tx) error {
		tb := table(t, tx, "t")
		for _, limit := range []int{-1, 1, 7, 8, 9, 300, 2000} {
			for _, back := range []bool{false, true} {
				for _, raw := range []bool{false, true} {
					for _, scan := range []*huon.Scan{
						tb.Range(key(100), key(1100)), tb.Prefix([]byte("key 0005")), tb.Scan(),
					} {
						compareScan(t, tb, scan, limit, back, raw)
					}
				}
			}
		}
		return nil
	}
	must(t, db.View(check))
	must(t, db.Update(false, check))
}

func compareScan(t *testing.T, tb *huon.Table, scan *huon.Scan, limit int, back, raw bool) {
	t.Helper()
	whole := scan.Keys()
	var all [][]byte
	for key := range whole {
		all = append(all, key)
	}
	if back {
		scan.Reverse()
		slices.Reverse(all)
	}
	if limit >= 0 {
		scan.Limit(limit)
		all = all[:min(limit, len(all))]
	}
	if raw {
		scan.Raw()
	}
	at := 0
	for k, v := range scan.All() {
		if !bytes.Equal(k, all[at]) {
			t.Fatalf("%q instead of %q", k, all[at])
		}
		if want, err := tb.Get(k); err != nil || !bytes.Equal(v, want) {
			t.Fatal(err)
		}
		if !raw {
			clear(k) // It is the caller's.
			clear(v)
		}
		at++
	}
	must(t, scan.Err())
	if at != len(all) || at == 0 {
		t.Fatal(at, len(all))
	}
}

// Values of all lengths come back, by each way to get them.
func TestGets(t *testing.T) {
	db := open(t, nil)
	var keys, values [][]byte
	for n := range 700 {
		keys = append(keys, key(n))
		values = append(values, bytes.Repeat([]byte{byte(n)}, n*n%5000))
	}
	check := func(tx *huon.Tx) error {
		tb := table(t, tx, "t")
		many, err := tb.GetMany(append(keys, []byte("none")))
		must(t, err)
		if many[700] != nil {
			t.Error("none is there")
		}
		for n, want := range values {
			copied, err := tb.Get(keys[n])
			must(t, err)
			raw, err := tb.GetRaw(keys[n])
			must(t, err)
			appended, is, err := tb.AppendValue([]byte("<"), keys[n])
			must(t, err)
			if !is || copied == nil || many[n] == nil || raw == nil ||
				!bytes.Equal(appended[1:], want) || !bytes.Equal(copied, want) ||
				!bytes.Equal(raw, want) || !bytes.Equal(many[n], want) {
				t.Fatal(n)
			}
		}
		none, err := tb.Get([]byte("none"))
		must(t, err)
		_, is, err := tb.AppendValue(nil, []byte("none"))
		must(t, err)
		if none != nil || is {
			t.Error("none is there")
		}
		return nil
	}
	must(t, db.Update(true, func(tx *huon.Tx) error {
		tb, err := tx.CreateTable("t")
		must(t, err)
		for n := range keys {
			must(t, tb.Put(keys[n], values[n]))
		}
		return check(tx)
	}))
	must(t, db.View(check))
}

func TestChanges(t *testing.T) {
	db := open(t, nil)
	k, one, two := []byte("k"), []byte("1"), []byte("2")
	must(t, db.Update(false, func(tx *huon.Tx) error {
		tb, err := tx.CreateTable("t")
		must(t, err)
		is := func(what string, wanted any, got any, err error) {
			t.Helper()
			if err != nil || fmt.Sprint(got) != fmt.Sprint(wanted) {
				t.Errorf("%s: %v, %v instead of %v", what, got, err, wanted)
			}
		}
		yes, err := tb.Update(k, one)
		is("update none", false, yes, err)
		yes, err = tb.Insert(k, one)
		is("insert", true, yes, err)
		yes, err = tb.Insert(k, two)
		is("insert again", false, yes, err)
		old, err := tb.Replace(k, two)
		is("replace", one, old, err)
		yes, err = tb.CompareAndSet(k, one, nil)
		is("another one", false, yes, err)
		yes, err = tb.CompareAndSet(k, two, nil)
		is("remove", true, yes, err)
		yes, err = tb.CompareAndSet(k, nil, one)
		is("make", true, yes, err)
		old, err = tb.Take(k)
		is("take", one, old, err)
		old, err = tb.Take(k)
		is("take none", []byte(nil), old, err)
		must(t, tb.Append(k, one))
		refused(t, tb.Append(k, one), huon.ErrKeyOutOfOrder)
		must(t, tb.Append([]byte("l"), two))
		key, _, err := tb.AtOrAbove([]byte("ka"))
		is("above", "l", string(key), err)
		key, _, err = tb.AtOrBelow([]byte("ka"))
		is("below", "k", string(key), err)
		key, _, err = tb.PopLast()
		is("pop last", "l", string(key), err)
		key, _, err = tb.PopFirst()
		is("pop first", "k", string(key), err)
		key, _, err = tb.PopFirst()
		is("pop none", []byte(nil), key, err)
		refused(t, tb.Put(bytes.Repeat(k, 3000), nil), huon.ErrKeyTooLong)
		must(t, tb.Rename("u"))
		refused(t, second(tx.Table("t")), huon.ErrTableNotFound)
		must(t, tx.SetMarkers([3]uint64{1, 2, 3}))
		return nil
	}))
	must(t, db.View(func(tx *huon.Tx) error {
		if markers, _ := tx.Markers(); markers != [3]uint64{1, 2, 3} {
			t.Error(markers)
		}
		names, err := tx.Tables()
		if len(names) != 1 || names[0] != "u" {
			t.Error(names)
		}
		return err
	}))
}

func TestBulk(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "from", 100_000)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		to, err := tx.CreateTable("to")
		must(t, err)
		from := table(t, tx, "from").Scan()
		must(t, to.BulkAppend(from.All()))
		must(t, from.Err())
		if count, _ := to.Count(); count != 100_000 {
			t.Error(count)
		}
		stat, err := tx.TableStat("to")
		before, _ := tx.TableStat("from")
		if stat.LeafPages > before.LeafPages || stat.LeafPages == 0 {
			t.Error(stat)
		}
		n, err := to.DeleteRange(key(10), key(99_990))
		if n != 99_980 {
			t.Error(n)
		}
		n, _ = to.CountRange(nil, key(5))
		if about, _ := to.EstimateRange(nil, nil); n != 5 || about == 0 {
			t.Error(n, about)
		}
		return err
	}))
	refused(t, db.Update(false, func(tx *huon.Tx) error {
		return table(t, tx, "to").BulkAppend(huon.Pairs(huon.Pair{Key: key(1)}))
	}), huon.ErrKeyOutOfOrder)
	must(t, db.Update(false, func(*huon.Tx) error { return nil }))
}

func TestMulti(t *testing.T) {
	db := open(t, nil)
	ann, bob := []byte("ann"), []byte("bob")
	must(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.CreateMulti("m", huon.TableOptions{})
		must(t, err)
		for n := range 1000 {
			if isNew, err := m.Put(ann, value(n)); !isNew || err != nil {
				t.Error(n, err)
			}
		}
		must(t, m.PutMany(huon.Pairs(huon.Pair{Key: bob, Value: ann}, huon.Pair{Key: bob, Value: bob})))
		if yes, _ := m.Insert(bob, []byte("x")); yes {
			t.Error("inserted")
		}
		if had, err := m.Set(bob, []byte("z")); had != 2 || err != nil {
			t.Error(had, err)
		}
		must(t, m.Append([]byte("z"), nil))
		// Values are deleted in the midst of a loop over them.
		count := 0
		values := m.Values(ann)
		for k, v := range values.All() {
			if count++; count%2 == 0 {
				if was, err := m.Delete(k, v); !was || err != nil {
					t.Error(was, err)
				}
			}
		}
		must(t, values.Err())
		if n, _ := m.CountValues(ann); count != 1000 || n != 500 {
			t.Error(count, n)
		}
		return nil
	}))
	must(t, db.View(func(tx *huon.Tx) error {
		m, err := tx.Multi("m")
		must(t, err)
		refused(t, second(tx.Table("m")), huon.ErrTableKind)
		count := 0
		for _, back := range []bool{false, true} {
			scan := m.Scan()
			if back {
				scan.Reverse()
			}
			var last []byte
			for k, v := range scan.Raw().All() {
				pair := slices.Concat(k, []byte{0}, v)
				if last != nil && (bytes.Compare(last, pair) > 0) != back {
					t.Fatalf("%q %q", last, pair)
				}
				last = pair
				count++
			}
			must(t, scan.Err())
		}
		if count != 2*502 {
			t.Error(count)
		}
		if first, _ := m.Get(bob); string(first) != "z" {
			t.Error(string(first))
		}
		for range m.Values([]byte("none")).All() {
			t.Error("none has values")
		}
		if has, _ := m.Has(bob, bob); has {
			t.Error("it is there")
		}
		return nil
	}))
}

func TestOrders(t *testing.T) {
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		tb, err := tx.CreateTableWith("t", huon.TableOptions{Keys: huon.Uint64})
		must(t, err)
		for _, n := range []byte{7, 0, 255, 3} {
			must(t, tb.Put([]byte{n, 0, 0, 0, 0, 0, 0, 0}, nil))
			must(t, tb.Put([]byte{0, n, 0, 0, 0, 0, 0, 0}, nil))
		}
		refused(t, tb.Put([]byte("short"), nil), huon.ErrKeyLength)
		refused(t, second(tx.CreateTable("t")), huon.ErrTableKind)
		tb = table(t, tx, "t") // in the order that it was made with
		last := -1
		for key := range tb.Scan().Keys() {
			n := int(key[0]) + 256*int(key[1])
			if n <= last {
				t.Error(n, last)
			}
			last = n
		}
		return nil
	}))
}

// Nested transactions, some of which are undone, at any depth.
func TestNested(t *testing.T) {
	db := open(t, nil)
	failed := errors.New("no")
	must(t, db.Update(true, func(tx *huon.Tx) error {
		_, err := tx.CreateTable("t")
		must(t, err)
		put := func(tx *huon.Tx, name string) { must(t, table(t, tx, "t").Put([]byte(name), nil)) }
		put(tx, "a")
		must(t, tx.Nested(func(tx *huon.Tx) error {
			put(tx, "b")
			refused(t, tx.Nested(func(tx *huon.Tx) error {
				put(tx, "c")
				must(t, tx.Nested(func(tx *huon.Tx) error { put(tx, "d"); return nil }))
				return failed
			}), failed)
			put(tx, "e")
			return nil
		}))
		var names string
		for key := range table(t, tx, "t").Scan().Keys() {
			names += string(key)
		}
		if names != "abe" {
			t.Error(names)
		}
		return nil
	}))
}

func TestTickets(t *testing.T) {
	db := open(t, nil)
	tx, err := db.BeginWrite(context.Background())
	must(t, err)
	_, err = tx.CreateTable("t")
	must(t, err)
	ticket, err := tx.CommitTicket()
	must(t, err)
	if is, err := ticket.IsDurable(); is || err != nil {
		t.Error(is, err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	refused(t, ticket.Wait(canceled), context.Canceled)
	must(t, ticket.Wait(context.Background()))
	if is, err := ticket.IsDurable(); !is || err != nil {
		t.Error(is, err)
	}
	if info, _ := db.Info(); info.Durable != ticket.ID() || info.Newest != ticket.ID() {
		t.Error(info)
	}
	tx, err = db.BeginWrite(context.Background())
	must(t, err)
	_, err = tx.CreateTable("u")
	must(t, err)
	id, err := tx.CommitWith(huon.Lazy)
	must(t, err)
	if synced, err := db.Sync(); synced != id || err != nil {
		t.Error(synced, id, err)
	}
}

// Durable commits of goroutines that come at the same time share flushes.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.huon")
	put := func(db *huon.DB, key string) {
		t.Helper()
		if err := db.Update(true, func(tx *huon.Tx) error {
			table, err := tx.CreateTable("t")
			if err != nil {
				return err
			}
			return table.Put([]byte(key), []byte("v"))
		}); err != nil {
			t.Fatal(err)
		}
	}
	db, err := huon.Open(path, &huon.Options{JournalBytes: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	put(db, "a")
	put(db, "b")
	info, err := db.Info()
	if err != nil || info.Journal != huon.JournalRunning || info.JournalBytes != 1<<16 ||
		info.JournalBatches != 1 || info.Durable != info.Newest {
		t.Fatal(info, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = huon.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if info, err := db.Info(); err != nil || info.Journal != huon.JournalNone {
		t.Fatal(info, err)
	}
}

func TestFlushesAreShared(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 1)
	for round, update := range []func(func(*huon.Tx) error) error{
		db.Batch, func(fn func(*huon.Tx) error) error { return db.Update(true, fn) },
	} {
		before, err := db.Info()
		must(t, err)
		var all sync.WaitGroup
		for g := range 8 {
			all.Add(1)
			go func() {
				defer all.Done()
				for n := range 20 {
					err := update(func(tx *huon.Tx) error {
						return table(t, tx, "t").Put(key(100*g+n), value(round))
					})
					if err != nil {
						t.Error(err)
					}
				}
			}()
		}
		all.Wait()
		after, err := db.Info()
		must(t, err)
		if after.Durable != after.Newest || after.Flushes == before.Flushes {
			t.Error(after)
		}
		if flushes := after.Flushes - before.Flushes; flushes > 150 {
			t.Error(flushes, "flushes for 160 commits")
		}
	}
}

// A function of a batch that fails undoes its own changes.
func TestBatch(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 0)
	failed := errors.New("no")
	var all sync.WaitGroup
	var ran atomic.Int32
	for n := range 100 {
		all.Add(1)
		go func() {
			defer all.Done()
			err := db.Batch(func(tx *huon.Tx) error {
				ran.Add(1)
				if err := table(t, tx, "t").Put(key(n), nil); err != nil || n%2 == 0 {
					return errors.Join(err, failed)
				}
				return nil
			})
			if errors.Is(err, failed) != (n%2 == 0) {
				t.Error(n, err)
			}
		}()
	}
	all.Wait()
	must(t, db.View(func(tx *huon.Tx) error {
		for n := range 100 {
			if has, _ := table(t, tx, "t").Has(key(n)); has != (n%2 == 1) {
				t.Error(n, has)
			}
		}
		return nil
	}))
	if ran.Load() != 100 {
		t.Error(ran.Load())
	}
}

func TestCopies(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 5000)
	dir := t.TempDir()
	check := func(path string, count uint64) {
		t.Helper()
		copied, err := huon.Open(path, &huon.Options{MustExist: true, ReadOnly: true})
		must(t, err)
		defer copied.Close()
		report, err := copied.Check(context.Background())
		must(t, err)
		if report.Count != 0 || len(report.Problems) != 0 {
			t.Error(report)
		}
		must(t, copied.View(func(tx *huon.Tx) error {
			if n, _ := table(t, tx, "t").Count(); n != count {
				t.Error(n, count)
			}
			return nil
		}))
		refused(t, copied.Update(false, nil), huon.ErrReadOnly)
	}
	write := func(name string, write func(file *os.File) (int64, error)) string {
		path := filepath.Join(dir, name)
		file, err := os.Create(path)
		must(t, err)
		n, err := write(file)
		must(t, err)
		if info, _ := file.Stat(); info.Size() != n || n == 0 {
			t.Error(n, info.Size())
		}
		must(t, file.Close())
		return path
	}
	tx, err := db.BeginRead()
	must(t, err)
	fill(t, db, "t", 6000)
	check(write("a", func(file *os.File) (int64, error) { return db.WriteTo(file) }), 6000)
	check(write("b", func(file *os.File) (int64, error) { return db.WriteCompactTo(file) }), 6000)
	check(write("c", func(file *os.File) (int64, error) { return tx.WriteTo(file) }), 5000)
	must(t, tx.Rollback())
	path := filepath.Join(dir, "d")
	_, err = db.CopyTo(context.Background(), path, huon.CopyOptions{Compact: true})
	must(t, err)
	check(path, 6000)
	_, err = db.CopyTo(context.Background(), path, huon.CopyOptions{})
	refused(t, err, fs.ErrExist)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = db.CopyTo(canceled, path+"2", huon.CopyOptions{Progress: func(uint64, uint64) {}})
	refused(t, err, context.Canceled)
	func() {
		defer func() {
			if recover() != "stop" {
				t.Error("the panic is gone")
			}
		}()
		stop := func(done, total uint64) { panic("stop") }
		db.CopyTo(context.Background(), path+"3", huon.CopyOptions{Progress: stop})
	}()
	was, err := huon.Delete(path)
	if !was || err != nil {
		t.Error(was, err)
	}
	was, err = huon.Delete(path)
	if was || err != nil {
		t.Error(was, err)
	}
}

func TestCompact(t *testing.T) {
	db := open(t, nil)
	fill(t, db, "t", 20_000)
	fill(t, db, "u", 1000)
	must(t, db.Update(true, func(tx *huon.Tx) error {
		_, err := tx.DropTable("t")
		return err
	}))
	report, err := db.Compact(context.Background(), huon.CompactOptions{TimeLimit: time.Minute})
	must(t, err)
	if !report.IsComplete || report.AfterBytes > report.BeforeBytes {
		t.Error(report)
	}
	stat, err := db.Stat()
	must(t, err)
	if stat.FileBytes != report.AfterBytes || stat.TableCount != 2 {
		t.Error(stat, report)
	}
}

func TestWaitForCommit(t *testing.T) {
	db := open(t, nil)
	info, err := db.Info()
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	seen := make(chan uint64)
	go func() {
		defer close(seen)
		for id := range db.Commits(ctx, info.Visible) {
			seen <- id
		}
	}()
	last := uint64(0)
	for n := range 5 {
		fill(t, db, "t", n+1)
		id := <-seen
		if id <= last {
			t.Error(id, last)
		}
		last = id
	}
	cancel()
	for range seen {
	}
	timed, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	_, err = db.WaitForCommit(timed, last)
	refused(t, err, context.DeadlineExceeded)
}

// A parked reader keeps its snapshot, until a writer needs its pages.
func TestParkedReaders(t *testing.T) {
	db := open(t, &huon.Options{Durability: huon.Lazy, MaxBytes: 256 << 10, EvictParked: true})
	fill(t, db, "t", 2500)
	tx, err := db.BeginRead()
	must(t, err)
	must(t, tx.Park())
	must(t, tx.Unpark())
	must(t, tx.Park())
	readers, err := db.Readers()
	must(t, err)
	if len(readers) != 1 || !readers[0].IsParked || readers[0].PID != uint32(os.Getpid()) {
		t.Error(readers)
	}
	for n := range 10 {
		must(t, db.Update(false, func(tx *huon.Tx) error {
			tb := table(t, tx, "t")
			for at := range 2500 {
				if err := tb.Put(key(at), value(at+n+1)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	refused(t, tx.Unpark(), huon.ErrEvicted)
	must(t, tx.Rollback())
}

// What is committed lazily is flushed when it is due, by a program that asks.
func TestFlushIfDue(t *testing.T) {
	db := open(t, &huon.Options{Durability: huon.Lazy, FlushAfter: time.Hour})
	fill(t, db, "t", 1)
	if flushed, err := db.FlushIfDue(); flushed || err != nil {
		t.Error(flushed, err)
	}
	other := open(t, &huon.Options{Durability: huon.Lazy, FlushAfter: time.Millisecond})
	fill(t, other, "t", 1)
	time.Sleep(5 * time.Millisecond)
	for _, due := range []bool{true, false} {
		if flushed, err := other.FlushIfDue(); flushed != due || err != nil {
			t.Error(flushed, err)
		}
	}
	must(t, db.View(func(tx *huon.Tx) error {
		if n, err := db.ClearDeadReaders(); n != 0 || err != nil {
			t.Error(n, err)
		}
		return second(table(t, tx, "t").Get(key(0)))
	}))
}

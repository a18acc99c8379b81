package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"huon"
	"huon/bolt"
)

func open(t *testing.T) *bolt.DB {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "t.huon"), 0o600, &bolt.Options{NoSync: true})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func b(text string) []byte { return []byte(text) }

// Buckets are tables, named by their paths, whatever is in their names.
func TestBucketsAreTables(t *testing.T) {
	db := open(t)
	odd := []string{"a/b", "a%2Fb", "/", "%", "\x00\xff", "a", "ab"}
	must(t, db.Update(func(tx *bolt.Tx) error {
		for _, name := range odd {
			top, err := tx.CreateBucket(b(name))
			must(t, err)
			for _, inner := range odd {
				within, err := top.CreateBucket(b(inner))
				must(t, err)
				must(t, within.Put(b("k"), b(name+" "+inner)))
			}
		}
		return nil
	}))
	must(t, db.View(func(tx *bolt.Tx) error {
		sorted := slices.Sorted(slices.Values(odd))
		var names, all []string
		must(t, tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
			names = append(names, string(name))
			return bucket.ForEachBucket(func(inner []byte) error {
				all = append(all, string(inner))
				if got := bucket.Bucket(inner).Get(b("k")); string(got) != string(name)+" "+string(inner) {
					t.Errorf("%q", got)
				}
				if bucket.Get(inner) != nil {
					t.Error("a bucket has a value")
				}
				return nil
			})
		}))
		if !slices.Equal(names, sorted) || len(all) != 49 || !slices.Equal(all[:7], sorted) {
			t.Errorf("%q %q", names, all)
		}
		return nil
	}))
	must(t, db.Huon().View(func(tx *huon.Tx) error {
		table, err := tx.Table("a%2Fb/ab")
		must(t, err)
		if got, _ := table.Get(b("k")); string(got) != "a/b ab" {
			t.Errorf("%q", got)
		}
		return nil
	}))
	must(t, db.Update(func(tx *bolt.Tx) error {
		for _, name := range odd {
			must(t, tx.DeleteBucket(b(name)))
		}
		return nil
	}))
	must(t, db.Huon().View(func(tx *huon.Tx) error {
		names, err := tx.Tables()
		if len(names) != 0 {
			t.Errorf("%q are left", names)
		}
		return err
	}))
}

// Multimaps and the main table of a file that other programs use are no buckets.
func TestOtherTables(t *testing.T) {
	db := open(t)
	must(t, db.Huon().Update(false, func(tx *huon.Tx) error {
		_, err := tx.CreateMulti("multi", huon.TableOptions{})
		must(t, err)
		main, err := tx.Main()
		must(t, err)
		return main.Put(b("main"), nil)
	}))
	must(t, db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket(b("multi")) != nil || tx.Bucket(nil) != nil {
			t.Error("they are buckets")
		}
		if k, _ := tx.Cursor().First(); k != nil {
			t.Errorf("%q", k)
		}
		if _, err := tx.CreateBucket(b("main")); !errors.Is(err, bolt.ErrIncompatibleValue) {
			t.Error(err)
		}
		return nil
	}))
}

// node is a bucket of the model.
type node struct {
	values  map[string]string
	buckets map[string]*node
}

func newNode() *node { return &node{map[string]string{}, map[string]*node{}} }

// Random changes of a tree of buckets, and of one in memory.
func TestModel(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		db := open(t)
		model := newNode()
		for range 8 {
			must(t, db.Update(func(tx *bolt.Tx) error {
				for range 100 {
					change(t, random, tx, model)
				}
				compare(t, tx, nil, model)
				return nil
			}))
			must(t, db.View(func(tx *bolt.Tx) error { compare(t, tx, nil, model); return nil }))
		}
	}
}

func change(t *testing.T, random *rand.Rand, tx *bolt.Tx, model *node) {
	t.Helper()
	in := interface {
		Bucket([]byte) *bolt.Bucket
		CreateBucket([]byte) (*bolt.Bucket, error)
		DeleteBucket([]byte) error
	}(tx)
	var at *bolt.Bucket
	for random.IntN(3) != 0 {
		name := []byte{byte('a' + random.IntN(4))}
		if model.buckets[string(name)] == nil {
			break
		}
		at = in.Bucket(name)
		in, model = at, model.buckets[string(name)]
	}
	name := string([]byte{byte('a' + random.IntN(8))})
	_, hasValue := model.values[name]
	hasBucket := model.buckets[name] != nil
	check := func(err, wanted error) {
		t.Helper()
		if err != wanted {
			t.Fatalf("%v instead of %v", err, wanted)
		}
	}
	switch random.IntN(6) {
	case 0, 1:
		_, err := in.CreateBucket(b(name))
		switch {
		case hasBucket:
			check(err, bolt.ErrBucketExists)
		case hasValue:
			check(err, bolt.ErrIncompatibleValue)
		default:
			must(t, err)
			model.buckets[name] = newNode()
		}
	case 2:
		err := in.DeleteBucket(b(name))
		switch {
		case hasBucket:
			must(t, err)
			delete(model.buckets, name)
		case hasValue:
			check(err, bolt.ErrIncompatibleValue)
		default:
			check(err, bolt.ErrBucketNotFound)
		}
	case 3:
		if at == nil {
			return
		}
		err := at.Delete(b(name))
		if hasBucket {
			check(err, bolt.ErrIncompatibleValue)
			return
		}
		must(t, err)
		delete(model.values, name)
	default:
		if at == nil {
			return
		}
		value := fmt.Sprint(random.Uint64())
		err := at.Put(b(name), b(value))
		if hasBucket {
			check(err, bolt.ErrIncompatibleValue)
			return
		}
		must(t, err)
		model.values[name] = value
	}
}

func compare(t *testing.T, tx *bolt.Tx, at *bolt.Bucket, model *node) {
	t.Helper()
	var names []string
	for name := range model.values {
		names = append(names, name)
	}
	for name := range model.buckets {
		names = append(names, name)
	}
	slices.Sort(names)
	cursor := tx.Cursor()
	if at != nil {
		cursor = at.Cursor()
	}
	var there, back []string
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		there = append(there, string(k))
		want, is := model.values[string(k)]
		if is != (v != nil) || string(v) != want || is && string(at.Get(k)) != want {
			t.Fatalf("%q: %q instead of %q", k, v, want)
		}
	}
	for k, _ := cursor.Last(); k != nil; k, _ = cursor.Prev() {
		back = append(back, string(k))
	}
	slices.Reverse(back)
	if !slices.Equal(there, names) || !slices.Equal(back, names) {
		t.Fatalf("%q %q instead of %q", there, back, names)
	}
	for n, name := range names {
		// There and back from each key.
		for _, steps := range []string{"n", "p", "np", "pn", "nnp", "ppn"} {
			k, _ := cursor.Seek(b(name))
			place := n
			for _, step := range steps {
				if k == nil {
					break
				}
				if step == 'n' {
					place++
					k, _ = cursor.Next()
				} else {
					place--
					k, _ = cursor.Prev()
				}
			}
			if is := place >= 0 && place < len(names); is != (k != nil) || is && string(k) != names[place] {
				t.Fatalf("%q from %q by %s", k, name, steps)
			}
		}
	}
	for name, inner := range model.buckets {
		within := tx.Bucket(b(name))
		if at != nil {
			within = at.Bucket(b(name))
		}
		compare(t, tx, within, inner)
	}
}

func TestSequences(t *testing.T) {
	db := open(t)
	must(t, db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket(b("s"))
		must(t, err)
		for want := uint64(1); want < 4; want++ {
			if n, err := bucket.NextSequence(); n != want || err != nil {
				t.Error(n, err)
			}
		}
		must(t, bucket.SetSequence(10))
		if n := bucket.Sequence(); n != 10 {
			t.Error(n)
		}
		if err := bucket.SetSequence(9); err != bolt.ErrSequenceLowered {
			t.Error(err)
		}
		return nil
	}))
}

// Misuse panics, as in bbolt, or is an error.
func TestMisuse(t *testing.T) {
	db := open(t)
	must(t, db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket(b("t"))
		return err
	}))
	panics := func(what string, fn func()) {
		t.Helper()
		defer func() {
			if got := fmt.Sprint(recover()); !strings.Contains(got, what) {
				t.Errorf("%v instead of %v", got, what)
			}
		}()
		fn()
	}
	must(t, db.View(func(tx *bolt.Tx) error {
		panics("managed tx rollback", func() { tx.Rollback() })
		panics("managed tx commit", func() { tx.Commit() })
		return nil
	}))
	tx, err := db.Begin(true)
	must(t, err)
	bucket := tx.Bucket(b("t"))
	must(t, bucket.Put(bytes.Repeat(b("k"), 2000), nil))
	if err := bucket.Put(bytes.Repeat(b("k"), 3000), nil); err != bolt.ErrKeyTooLarge {
		t.Error(err)
	}
	cursor := bucket.Cursor()
	cursor.First()
	must(t, tx.Commit())
	if err := bucket.Put(b("k"), nil); err != bolt.ErrTxClosed {
		t.Error(err)
	}
	if err := tx.Rollback(); err != bolt.ErrTxClosed {
		t.Error(err)
	}
	panics("tx closed", func() { bucket.Get(b("k")) })
	panics("tx closed", func() { cursor.Next() })
	panics("tx closed", func() { tx.Bucket(b("u")) })
	err = db.View(func(tx *bolt.Tx) error { return bucket.Delete(b("k")) })
	if err != bolt.ErrTxClosed {
		t.Error(err)
	}
}

// Changes in the midst of a loop are seen by it.
func TestDeleteInALoop(t *testing.T) {
	db := open(t)
	must(t, db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket(b("t"))
		must(t, err)
		for n := range 1000 {
			must(t, bucket.Put(fmt.Appendf(nil, "%03d", n), b("x")))
		}
		_, err = bucket.CreateBucket(b("500 bucket"))
		must(t, err)
		cursor := bucket.Cursor()
		count := 0
		for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
			if v == nil {
				if err := cursor.Delete(); err != bolt.ErrIncompatibleValue {
					t.Error(err)
				}
				continue
			}
			must(t, cursor.Delete())
			count++
		}
		if k, _ := cursor.First(); count != 1000 || string(k) != "500 bucket" {
			t.Errorf("%d %q", count, k)
		}
		return nil
	}))
}

// A Batch without sync waits for no flush, as an Update.
func TestBatchWithoutSync(t *testing.T) {
	db := open(t)
	batch := func() (flushed bool) {
		before, err := db.Huon().Info()
		must(t, err)
		must(t, db.Batch(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists(fmt.Appendf(nil, "%t", db.NoSync))
			return err
		}))
		after, err := db.Huon().Info()
		must(t, err)
		return after.Durable > before.Durable
	}
	if batch() {
		t.Error("it is flushed")
	}
	db.NoSync = false
	if !batch() {
		t.Error("it is not flushed")
	}
}

// What is called after the end is an error where bbolt has one.
func TestErrorsAfterTheEnd(t *testing.T) {
	db := open(t)
	for _, writable := range []bool{true, false} {
		var tx *bolt.Tx
		var bucket *bolt.Bucket
		var cursor *bolt.Cursor
		tx, err := db.Begin(true)
		must(t, err)
		bucket, err = tx.CreateBucketIfNotExists(b("t"))
		must(t, err)
		must(t, bucket.Put(b("k"), b("v")))
		if !writable {
			must(t, tx.Commit())
			tx, err = db.Begin(false)
			must(t, err)
			bucket = tx.Bucket(b("t"))
		}
		cursor = bucket.Cursor()
		must(t, tx.Rollback())
		nothing := func(k []byte) error { return nil }
		for what, err := range map[string]error{
			"commit":              tx.Commit(),
			"create":              second(tx.CreateBucket(b("u"))),
			"create if not":       second(tx.CreateBucketIfNotExists(b("t"))),
			"create within":       second(bucket.CreateBucketIfNotExists(b("u"))),
			"delete bucket":       tx.DeleteBucket(b("t")),
			"delete within":       bucket.DeleteBucket(b("u")),
			"for each":            bucket.ForEach(func(k, v []byte) error { return nil }),
			"for each bucket":     bucket.ForEachBucket(nothing),
			"for each of all":     tx.ForEach(func(k []byte, b *bolt.Bucket) error { return nil }),
			"delete of a cursor":  cursor.Delete(),
			"delete of no bucket": tx.DeleteBucket(b("none")),
		} {
			if err != bolt.ErrTxClosed {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Size is what WriteTo writes, also with free pages in the midst and at the end.
func TestSize(t *testing.T) {
	db := open(t)
	for _, end := range []int{3000, 0} {
		must(t, db.Update(func(tx *bolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists(b("t"))
			must(t, err)
			for n := range 5000 {
				must(t, bucket.Put(fmt.Appendf(nil, "%d", n), bytes.Repeat(b("v"), 100)))
			}
			return nil
		}))
		must(t, db.Update(func(tx *bolt.Tx) error {
			for n := end; n < 5000; n += 1 + n/4990 {
				must(t, tx.Bucket(b("t")).Delete(fmt.Appendf(nil, "%d", n)))
			}
			return nil
		}))
		must(t, db.View(func(tx *bolt.Tx) error {
			var copied bytes.Buffer
			n, err := tx.WriteTo(&copied)
			must(t, err)
			if n != tx.Size() || n != int64(copied.Len()) {
				t.Error(n, tx.Size(), copied.Len())
			}
			return nil
		}))
	}
}

// From beyond an end one comes back, whether there are buckets within or not.
func TestBackFromTheEnd(t *testing.T) {
	db := open(t)
	must(t, db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"plain", "with one within"} {
			bucket, err := tx.CreateBucket(b(name))
			must(t, err)
			if name != "plain" {
				_, err := bucket.CreateBucket(b("d"))
				must(t, err)
			}
			for _, key := range []string{"b", "c", "e"} {
				must(t, bucket.Put(b(key), b("v")))
			}
			cursor := bucket.Cursor()
			if k, _ := cursor.Seek(b("z")); k != nil {
				t.Errorf("%q", k)
			}
			if k, _ := cursor.Prev(); string(k) != "e" {
				t.Errorf("%s: %q", name, k)
			}
			cursor.First()
			cursor.Prev()
			if k, _ := cursor.Next(); string(k) != "b" {
				t.Errorf("%s: %q", name, k)
			}
		}
		return nil
	}))
}

// A compacted copy has all buckets, records and sequences, however small its transactions are.
func TestCompact(t *testing.T) {
	src, model := open(t), newNode()
	random := rand.New(rand.NewPCG(1, 2))
	must(t, src.Update(func(tx *bolt.Tx) error {
		for range 1000 {
			change(t, random, tx, model)
		}
		bucket, err := tx.CreateBucketIfNotExists(b("s"))
		must(t, err)
		model.buckets["s"] = newNode()
		return bucket.SetSequence(7)
	}))
	for _, most := range []int64{0, 1, 100} {
		dst := open(t)
		must(t, bolt.Compact(dst, src, most))
		must(t, dst.View(func(tx *bolt.Tx) error {
			compare(t, tx, nil, model)
			if n := tx.Bucket(b("s")).Sequence(); n != 7 {
				t.Error(n)
			}
			return nil
		}))
		info, err := dst.Huon().Info()
		must(t, err)
		if many := info.Commits > 10; many != (most == 1) && most != 100 {
			t.Error(info.Commits, " commits with ", most)
		}
		if err := bolt.Compact(dst, src, most); err != bolt.ErrBucketExists {
			t.Error(err)
		}
		must(t, dst.Update(func(tx *bolt.Tx) error { return nil }))
	}
}

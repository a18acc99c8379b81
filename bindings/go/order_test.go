package huon_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"huon"
)

// Keys without regard to upper and lower case. Each comparison grows the stack now and then, which
// moves it, and collects garbage: what C was shown must stay where it is.
var compared atomic.Uint64

var anyCase = huon.MustOrder("any-case", func(a, b []byte) int {
	if n := compared.Add(1); n%16 == 0 {
		deep(200)
		if n%4096 == 0 {
			runtime.GC()
		}
	}
	return bytes.Compare(bytes.ToLower(a), bytes.ToLower(b))
})

//go:noinline
func deep(n int) int {
	var room [64]int
	if n == 0 {
		return 0
	}
	return deep(n-1) + room[n%64]
}

// falling is the order of bytes, from the highest to the lowest. It panics where a test wants it.
var falls atomic.Bool

var falling = huon.MustOrder("falling", func(a, b []byte) int {
	if falls.Load() {
		panic(fmt.Sprintf("no %s", b))
	}
	return bytes.Compare(b, a)
})

var inAnyCase = huon.TableOptions{Keys: anyCase}

// Every method of a table whose keys a function compares, beside a model.
func TestOrderModel(t *testing.T) {
	db := open(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	model := map[string]string{}
	must(t, db.Update(false, func(tx *huon.Tx) error {
		_, err := tx.CreateTableWith("t", inAnyCase)
		return err
	}))
	for range 10 {
		must(t, db.Update(false, func(tx *huon.Tx) error {
			tb, err := tx.TableWith("t", inAnyCase)
			must(t, err)
			// In a goroutine of its own, whose stack is small.
			done := make(chan bool)
			go func() {
				defer close(done)
				for range 100 {
					changeInAnyCase(t, random, tb, model)
				}
			}()
			<-done
			sameInAnyCase(t, random, tb, model)
			return nil
		}))
		must(t, db.View(func(tx *huon.Tx) error {
			tb, err := tx.TableWith("t", inAnyCase)
			must(t, err)
			sameInAnyCase(t, random, tb, model)
			return nil
		}))
	}
	report, err := db.Check(t.Context())
	must(t, err)
	if len(report.Problems) != 0 {
		t.Error(report.Problems)
	}
	if n, err := db.WriteCompactTo(io.Discard); n == 0 || err != nil {
		t.Error(n, err)
	}
}

// inSomeCase is a key on the stack, in a case that is not that of the model.
func inSomeCase(random *rand.Rand, room *[4]byte, k string) []byte {
	for i := range k {
		room[i] = k[i]
		if random.IntN(2) == 0 {
			room[i] = strings.ToUpper(k[i : i+1])[0]
		}
	}
	return room[:len(k)]
}

func someWord(random *rand.Rand) string {
	return string([]byte{byte('a' + random.IntN(8)), byte('a' + random.IntN(26))})
}

func changeInAnyCase(t *testing.T, random *rand.Rand, tb *huon.Table, model map[string]string) {
	var room [4]byte
	k := someWord(random)
	shown, old, is := inSomeCase(random, &room, k), model[k], false
	_, is = model[k]
	v := fmt.Sprint(random.IntN(1000))
	var was []byte
	var did bool
	var err error
	want := is
	switch random.IntN(9) {
	case 0:
		did, err = tb.Delete(shown)
		delete(model, k)
	case 1:
		was, err = tb.Take(shown)
		did, want = string(was) == old, true
		delete(model, k)
	case 2:
		was, err = tb.Replace(shown, []byte(v))
		did, want = string(was) == old, true
		model[k] = v
	case 3:
		did, err = tb.Insert(shown, []byte(v))
		want = !is
		if !is {
			model[k] = v
		}
	case 4:
		did, err = tb.Update(shown, []byte(v))
		if is {
			model[k] = v
		}
	case 5:
		did, err = tb.CompareAndSet(shown, []byte(old), []byte(v))
		if is {
			model[k] = v
		}
	case 6:
		err = tb.PutMany(huon.Pairs(huon.Pair{Key: shown, Value: []byte(v)}))
		did, model[k] = is, v
	default:
		err = tb.Put(shown, []byte(v))
		did, model[k] = is, v
	}
	if err != nil || did != want {
		t.Errorf("%s: %v instead of %v, %v", shown, did, want, err)
	}
}

func sameInAnyCase(t *testing.T, random *rand.Rand, tb *huon.Table, model map[string]string) {
	t.Helper()
	var sorted []string
	for k, v := range model {
		sorted = append(sorted, k+"="+v)
	}
	slices.Sort(sorted)
	lower := func(scan *huon.Scan) (found []string) {
		for k, v := range scan.All() {
			found = append(found, strings.ToLower(string(k))+"="+string(v))
		}
		must(t, scan.Err())
		return found
	}
	if found := lower(tb.Scan()); !slices.Equal(found, sorted) {
		t.Fatal(found, sorted)
	}
	from, to := someWord(random), someWord(random)
	within := slices.DeleteFunc(slices.Clone(sorted), func(pair string) bool {
		return pair[:2] < from || pair[:2] >= to
	})
	if n, err := tb.CountRange([]byte(from), []byte(to)); int(n) != len(within) || err != nil {
		t.Fatal(n, len(within), err)
	}
	slices.Reverse(within)
	found := lower(tb.Range([]byte(strings.ToUpper(from)), []byte(to)).Reverse().Raw())
	if !slices.Equal(found, within) {
		t.Fatal(found, within)
	}
	var keys [][]byte
	for range 40 {
		var room [4]byte
		k := someWord(random)
		shown := inSomeCase(random, &room, k)
		want, is := model[k]
		v, err := tb.Get(shown)
		must(t, err)
		has, err := tb.Has(shown)
		must(t, err)
		if string(v) != want || (v != nil) != is || has != is {
			t.Fatalf("%s: %s, %v instead of %s", shown, v, has, want)
		}
		keys = append(keys, bytes.Clone(shown))
	}
	values, err := tb.GetMany(keys)
	must(t, err)
	for i, k := range keys {
		want, is := model[strings.ToLower(string(k))]
		if string(values[i]) != want || (values[i] != nil) != is {
			t.Fatalf("%s: %s instead of %s", k, values[i], want)
		}
	}
	c := tb.Cursor()
	k, _ := c.Seek([]byte(strings.ToUpper(from)))
	at, _ := slices.BinarySearch(sorted, from)
	for ; k != nil; k, _ = c.Next() {
		if !strings.HasPrefix(sorted[at], strings.ToLower(string(k))) {
			t.Fatal(string(k), sorted[at])
		}
		at++
	}
	if must(t, c.Err()); at != len(sorted) {
		t.Fatal(at, len(sorted))
	}
	k, _, err = tb.AtOrBelow([]byte(from))
	must(t, err)
	if at, is := slices.BinarySearchFunc(sorted, from, func(pair, from string) int {
		return strings.Compare(pair[:2], from)
	}); is != (k != nil && strings.EqualFold(string(k), from)) || !is && at == 0 && k != nil {
		t.Fatal(string(k), from)
	}
}

// A panic of the function is an error; a transaction that writes is rolled back, one that reads
// goes on.
func TestOrderPanics(t *testing.T) {
	db := open(t, nil)
	with := huon.TableOptions{Keys: falling}
	must(t, db.Update(false, func(tx *huon.Tx) error {
		tb, err := tx.CreateTableWith("t", with)
		must(t, err)
		for n := range 2000 {
			must(t, tb.Put(key(n), value(n)))
		}
		return nil
	}))
	defer falls.Store(false)
	changes := []func(tb *huon.Table) error{
		func(tb *huon.Table) error { return tb.Put(key(1), nil) },
		func(tb *huon.Table) error { return second(tb.Delete(key(1))) },
		func(tb *huon.Table) error { return second(tb.Take(key(1))) },
		func(tb *huon.Table) error { return second(tb.CompareAndSet(key(1), nil, nil)) },
		func(tb *huon.Table) error { return second(tb.DeleteRange(key(5), key(1))) },
		func(tb *huon.Table) error { return tb.PutMany(huon.Pairs(huon.Pair{Key: key(3)})) },
		func(tb *huon.Table) error { return tb.BulkAppend(huon.Pairs(huon.Pair{Key: []byte("a")})) },
	}
	for at, change := range changes {
		err := db.Update(false, func(tx *huon.Tx) error {
			tb, err := tx.TableWith("t", with)
			must(t, err)
			must(t, tb.Put([]byte("new"), nil))
			falls.Store(true)
			defer falls.Store(false)
			err = change(tb)
			refused(t, err, huon.ErrStopped)
			if !strings.Contains(err.Error(), "has panicked: no ") || !tx.Ended() {
				t.Error(at, err, tx.Ended())
			}
			return nil // Nothing is committed all the same.
		})
		refused(t, err, huon.ErrClosed)
	}
	must(t, db.View(func(tx *huon.Tx) error {
		tb, err := tx.TableWith("t", with)
		must(t, err)
		looks := []func() error{
			func() error { return second(tb.Get(key(7))) },
			func() error { return second(tb.Has(key(7))) },
			func() error { return second(tb.GetMany([][]byte{key(7)})) },
			func() error { return second(tb.CountRange(key(7), key(3))) },
			func() error { scan := tb.Range(key(7), nil); all := scan.All(); all(pass); return scan.Err() },
			func() error { c := tb.Cursor(); c.Seek(key(7)); return c.Err() },
		}
		for _, look := range looks {
			falls.Store(true)
			refused(t, look(), huon.ErrStopped)
			falls.Store(false)
			must(t, look())
		}
		if n, err := tb.Count(); n != 2000 || err != nil {
			t.Error(n, err)
		}
		return nil
	}))
	falls.Store(true)
	_, err := db.Check(t.Context())
	refused(t, err, huon.ErrStopped)
	falls.Store(false)
	report, err := db.Check(t.Context())
	must(t, err)
	if len(report.Problems) != 0 {
		t.Error(report.Problems)
	}
}

func pass(_, _ []byte) bool { return true }

// A panic in a nested transaction ends the one around it, too.
func TestOrderPanicsNested(t *testing.T) {
	db := open(t, nil)
	defer falls.Store(false)
	err := db.Update(false, func(tx *huon.Tx) error {
		tb, err := tx.CreateTableWith("t", huon.TableOptions{Keys: falling})
		must(t, err)
		must(t, tb.Put(key(1), nil))
		err = tx.Nested(func(tx *huon.Tx) error {
			tb, err := tx.TableWith("t", huon.TableOptions{Keys: falling})
			must(t, err)
			falls.Store(true)
			defer falls.Store(false)
			return tb.Put(key(2), nil)
		})
		refused(t, err, huon.ErrStopped)
		return nil
	})
	refused(t, err, huon.ErrClosed)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		if is, err := tx.HasTable("t"); is || err != nil {
			t.Error(is, err)
		}
		return nil
	}))
}

// Values of a multimap are in the order of a function, and its cursor goes by it.
func TestOrderOfValues(t *testing.T) {
	db := open(t, nil)
	with := huon.TableOptions{Values: falling}
	must(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.CreateMulti("m", with)
		must(t, err)
		var pairs []huon.Pair
		for n := range 600 {
			pairs = append(pairs, huon.Pair{Key: []byte("k"), Value: fmt.Appendf(nil, "%03d", n)})
		}
		must(t, m.PutMany(huon.Pairs(pairs...)))
		isNew, err := m.Put([]byte("k"), []byte("600"))
		must(t, err)
		changed, err := m.Update([]byte("k"), []byte("600"), []byte("601"))
		must(t, err)
		deleted, err := m.Delete([]byte("k"), []byte("000"))
		must(t, err)
		if !isNew || !changed || !deleted {
			t.Error(isNew, changed, deleted)
		}
		return nil
	}))
	must(t, db.View(func(tx *huon.Tx) error {
		m, err := tx.MultiWith("m", with)
		must(t, err)
		first, err := m.Get([]byte("k"))
		must(t, err)
		has, err := m.Has([]byte("k"), []byte("300"))
		must(t, err)
		count, err := m.CountValues([]byte("k"))
		must(t, err)
		if string(first) != "601" || !has || count != 600 {
			t.Error(string(first), has, count)
		}
		c, left := m.Cursor(), 0
		for _, v := c.SeekPair([]byte("k"), []byte("300x")); v != nil; v = c.NextValue() {
			if want := fmt.Sprintf("%03d", 300-left); string(v) != want {
				t.Fatal(string(v), want)
			}
			left++
		}
		values := 0
		for range m.Values([]byte("k")).All() {
			values++
		}
		if left != 300 || values != 600 {
			t.Error(left, values)
		}
		return c.Err()
	}))
	must(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.MultiWith("m", with)
		must(t, err)
		had, err := m.Set([]byte("k"), []byte("one"))
		must(t, err)
		gone, err := m.DeleteAll([]byte("k"))
		if had != 600 || gone != 1 {
			t.Error(had, gone)
		}
		return err
	}))
}

// What is no order, and tables that are opened by another one, or by none.
func TestWrongOrders(t *testing.T) {
	compare := bytes.Compare
	for _, name := range []string{"", strings.Repeat("n", 256), "\xff", "a\x00b"} {
		refused(t, second(huon.NewOrder(name, compare)), huon.ErrBadArgument)
	}
	refused(t, second(huon.NewOrder("none", nil)), huon.ErrBadArgument)
	refused(t, second(huon.NewOrder("falling", compare)), huon.ErrNameTaken)
	func() {
		defer func() {
			if err, is := recover().(error); !is || !errors.Is(err, huon.ErrNameTaken) {
				t.Error(err)
			}
		}()
		huon.MustOrder("any-case", compare)
	}()
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		refused(t, second(tx.CreateTableWith("t", huon.TableOptions{Keys: 1 << 20})),
			huon.ErrBadArgument)
		tb, err := tx.CreateTableWith("t", inAnyCase)
		must(t, err)
		return errors.Join(tb.Put([]byte("B"), []byte("2")), tb.Put([]byte("a"), []byte("1")))
	}))
	must(t, db.Update(false, func(tx *huon.Tx) error {
		refused(t, second(tx.TableWith("t", huon.TableOptions{Keys: falling})), huon.ErrWrongOrder)
		refused(t, second(tx.TableWith("t", huon.TableOptions{})), huon.ErrTableKind)
		refused(t, second(tx.TableWith("t", huon.TableOptions{Keys: 7})), huon.ErrBadArgument)
		refused(t, second(tx.MultiWith("t", inAnyCase)), huon.ErrTableKind)
		refused(t, second(tx.TableWith("none", inAnyCase)), huon.ErrTableNotFound)
		tb, err := tx.Table("t")
		must(t, err)
		refused(t, second(tb.Get([]byte("A"))), huon.ErrOrderUnknown)
		refused(t, tb.Put([]byte("c"), nil), huon.ErrOrderUnknown)
		if k, _, err := tb.First(); string(k) != "a" || err != nil {
			t.Error(string(k), err)
		}
		known, err := tx.TableWith("t", inAnyCase)
		must(t, err)
		scan := known.Prefix([]byte("a"))
		for range scan.All() {
			t.Error("keys with a prefix do not lie together")
		}
		refused(t, scan.Err(), huon.ErrPrefixOrder)
		is, err := tx.DropTable("t")
		if !is {
			t.Error("it is there")
		}
		return err
	}))
}

// Many goroutines read by one function at the same time.
func TestOrderInManyGoroutines(t *testing.T) {
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		tb, err := tx.CreateTableWith("t", inAnyCase)
		must(t, err)
		return tb.PutMany(func(yield func(k, v []byte) bool) {
			for n := range 500 {
				if !yield(key(n), value(n)) {
					return
				}
			}
		})
	}))
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for n := range 100 {
				err := db.View(func(tx *huon.Tx) error {
					tb, err := tx.TableWith("t", inAnyCase)
					if err != nil {
						return err
					}
					var room [16]byte
					k := append(room[:0], "KEY 000"...)
					k = fmt.Appendf(k, "%03d", (n*7+g)%500)
					v, err := tb.Get(k)
					if string(v) != string(value((n*7+g)%500)) {
						t.Errorf("%s: %s", k, v)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wait.Wait()
}

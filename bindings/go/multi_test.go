package huon_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"huon"
)

// Values of one key that come together take few crossings to C, and all pairs arrive.
func TestPutManyOfAMultimap(t *testing.T) {
	db := open(t, nil)
	var pairs []huon.Pair
	for k := range 3 {
		for v := range 1000 {
			pairs = append(pairs, huon.Pair{Key: key(k), Value: fmt.Appendf(nil, "%03d", v)})
		}
	}
	// One value that stands alone, a long one, one that is there already, and an empty one.
	for _, pair := range []string{"alone", string(make([]byte, 1000)), "alone", ""} {
		pairs = append(pairs, huon.Pair{Key: []byte("other"), Value: []byte(pair)})
	}
	must(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.CreateMulti("m", huon.TableOptions{})
		must(t, err)
		before := runtime.NumCgoCall()
		// The slices are used anew for each pair.
		var k, v []byte
		must(t, m.PutMany(func(yield func(k, v []byte) bool) {
			for _, pair := range pairs {
				k, v = append(k[:0], pair.Key...), append(v[:0], pair.Value...)
				if !yield(k, v) {
					return
				}
			}
		}))
		if n := runtime.NumCgoCall() - before; n > 20 {
			t.Error(n, " crossings")
		}
		return nil
	}))
	must(t, db.View(func(tx *huon.Tx) error {
		m, err := tx.Multi("m")
		must(t, err)
		var all, want []string
		for k, v := range m.Scan().All() {
			all = append(all, string(k)+" "+string(v))
		}
		for _, pair := range pairs {
			want = append(want, string(pair.Key)+" "+string(pair.Value))
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if !slices.Equal(all, want) {
			t.Error(len(all), len(want))
		}
		return nil
	}))
	refused(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.Multi("m")
		must(t, err)
		return m.PutMany(huon.Pairs(huon.Pair{Key: key(1), Value: make([]byte, 1<<20)}))
	}), huon.ErrSortedValueTooLong)
}

// The ends of a multimap, and a value that is put in the place of another one.
func TestEndsOfAMultimap(t *testing.T) {
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.CreateMulti("m", huon.TableOptions{})
		must(t, err)
		is := func(k, v []byte, err error) string {
			t.Helper()
			must(t, err)
			if k == nil {
				return "none"
			}
			return string(k) + string(v)
		}
		want := func(got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s instead of %s", got, want)
			}
		}
		want(is(m.First()), "none")
		want(is(m.PopLast()), "none")
		for _, pair := range []string{"a1", "a2", "b1", "b2"} {
			must(t, second(m.Put([]byte(pair[:1]), []byte(pair[1:]))))
		}
		want(is(m.First()), "a1")
		want(is(m.Last()), "b2")
		want(is(m.PopFirst()), "a1")
		want(is(m.PopLast()), "b2")
		want(is(m.First()), "a2")
		for _, old := range []string{"2", "1"} {
			was, err := m.Update([]byte("a"), []byte(old), []byte("9"))
			must(t, err)
			if was != (old == "2") {
				t.Error(old, was)
			}
		}
		want(is(m.First()), "a9")
		return nil
	}))
}

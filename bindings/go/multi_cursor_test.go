package huon_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"huon"
)

// A pair of a model of a multimap, and a place beside one: before the pair at that index.
type pairs []string

func pairOf(k, v string) string { return k + "=" + v }

func keyOf(pair string) string { return pair[:2] }

// modelCursor goes about in sorted pairs. It is at a pair, or between two.
type modelCursor struct {
	all  *pairs
	at   string // the pair that it is at or beside
	is   bool   // it is at it
	side int    // else: 0: nowhere, -1: before it, 1: behind it
}

func (c *modelCursor) index() (int, bool) { return slices.BinarySearch(*c.all, c.at) }

func (c *modelCursor) to(i int) string {
	if i < 0 || i >= len(*c.all) {
		return ""
	}
	c.at, c.is = (*c.all)[i], true
	return c.at
}

func (c *modelCursor) next() string {
	i, is := c.index()
	switch {
	case !c.is && c.side == 0:
		return c.to(0)
	case is && (c.is || c.side > 0):
		i++
	}
	if found := c.to(i); found != "" {
		return found
	}
	// At an end it has passed all values of the key that it was beside.
	if len(c.at) == 2 {
		c.at += "~"
	}
	c.is, c.side = false, 1
	return ""
}

func (c *modelCursor) prev() string {
	i, is := c.index()
	switch {
	case !c.is && c.side == 0:
		return c.to(len(*c.all) - 1)
	case is && !c.is && c.side > 0:
		i++
	}
	if found := c.to(i - 1); found != "" {
		return found
	}
	c.at = strings.TrimSuffix(c.at, "~")
	c.is, c.side = false, -1
	return ""
}

// beside goes before all values of a key, or behind them.
func (c *modelCursor) beside(key string, side int) {
	c.at, c.is, c.side = key, false, -1
	if side > 0 {
		c.at = key + "~"
	}
}

// A cursor goes about in a multimap and in its model, and both show the same, beside changes and
// without.
func TestMultiCursorModel(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		db := open(t, nil)
		var model pairs
		must(t, db.Update(false, func(tx *huon.Tx) error {
			m, err := tx.CreateMulti("m", huon.TableOptions{})
			must(t, err)
			for range random.IntN(200) {
				changePair(t, random, m, &model)
			}
			walkPairs(t, random, m, &model, true)
			return nil
		}))
		must(t, db.View(func(tx *huon.Tx) error {
			m, err := tx.Multi("m")
			must(t, err)
			walkPairs(t, random, m, &model, false)
			return nil
		}))
	}
}

func somePair(random *rand.Rand) (k, v string) {
	return fmt.Sprintf("%02d", random.IntN(12)), fmt.Sprintf("%02d", random.IntN(30))
}

func changePair(t *testing.T, random *rand.Rand, m *huon.Multi, model *pairs) {
	t.Helper()
	k, v := somePair(random)
	i, is := slices.BinarySearch(*model, pairOf(k, v))
	if random.IntN(3) == 0 {
		_, err := m.Delete([]byte(k), []byte(v))
		must(t, err)
		if is {
			*model = slices.Delete(*model, i, i+1)
		}
		return
	}
	_, err := m.Put([]byte(k), []byte(v))
	must(t, err)
	if !is {
		*model = slices.Insert(*model, i, pairOf(k, v))
	}
}

func walkPairs(t *testing.T, random *rand.Rand, m *huon.Multi, model *pairs, changes bool) {
	t.Helper()
	c, want := m.Cursor(), &modelCursor{all: model}
	if random.IntN(2) == 0 {
		c.Raw()
	}
	for range 600 {
		found, wanted, what := stepPair(t, random, c, want)
		if found != wanted {
			t.Fatalf("%s: %q instead of %q", what, found, wanted)
		}
		must(t, c.Err())
		if at := shownPair(c.Key(), c.Value()); want.is != (at != "") || want.is && at != want.at {
			t.Fatalf("%s: at %q instead of %q", what, at, want.at)
		}
		if !changes {
			continue
		}
		switch random.IntN(9) {
		case 0:
			deletePair(t, c, want)
		case 1:
			deleteKey(t, c, want)
		case 2, 3:
			changePair(t, random, m, model)
		}
	}
}

func shownPair(k, v []byte) string {
	if k == nil {
		return ""
	}
	return pairOf(string(k), string(v))
}

func stepPair(
	t *testing.T, random *rand.Rand, c *huon.MultiCursor, want *modelCursor,
) (found, wanted, what string) {
	t.Helper()
	pair := shownPair
	k, v := somePair(random)
	switch random.IntN(14) {
	case 0:
		want.is, want.side, want.at = false, 0, ""
		return pair(c.First()), want.next(), "First"
	case 1:
		want.is, want.side, want.at = false, 0, ""
		return pair(c.Last()), want.prev(), "Last"
	case 2:
		want.beside(k, -1)
		return pair(c.Seek([]byte(k))), want.next(), "Seek " + k
	case 3:
		want.at, want.is, want.side = pairOf(k, v), false, -1
		return pair(c.SeekPair([]byte(k), []byte(v))), want.next(), "SeekPair " + k + v
	case 4, 5:
		if want.is {
			want.beside(keyOf(want.at), 1)
		}
		return pair(c.NextKey()), want.next(), "NextKey"
	case 6:
		if want.is {
			want.beside(keyOf(want.at), -1)
		}
		return pair(c.PrevKey()), want.prev(), "PrevKey"
	case 7, 8:
		return stepValue(c.NextValue, want, want.next, "NextValue")
	case 9:
		return stepValue(c.PrevValue, want, want.prev, "PrevValue")
	case 10:
		return pair(c.Prev()), want.prev(), "Prev"
	default:
		return pair(c.Next()), want.next(), "Next"
	}
}

// stepValue makes a step among the values of a key, where the cursor is at one.
func stepValue(
	step func() []byte, want *modelCursor, wants func() string, what string,
) (found, wanted, _ string) {
	if !want.is {
		return "", "", what
	}
	before := *want
	if wanted = wants(); wanted == "" || keyOf(wanted) != keyOf(before.at) {
		*want, wanted = before, ""
	}
	if v := step(); v != nil {
		found = pairOf(keyOf(before.at), string(v))
	}
	return found, wanted, what
}

func deletePair(t *testing.T, c *huon.MultiCursor, want *modelCursor) {
	t.Helper()
	err := c.Delete()
	if !want.is {
		refused(t, err, huon.ErrBadArgument)
		return
	}
	must(t, err)
	i, is := want.index()
	if is {
		*want.all = slices.Delete(*want.all, i, i+1)
	}
	want.is, want.side = false, -1
	// What else follows would depend on whether the cursor has deleted a value or found none.
	if v := c.NextValue(); v != nil {
		wanted := want.next()
		if pairOf(keyOf(wanted), string(v)) != wanted {
			t.Fatalf("NextValue: %q instead of %q", v, wanted)
		}
		return
	}
	want.at, want.is, want.side = keyOf(want.at)+"~", false, -1
	if found, wanted := shownPair(c.NextKey()), want.next(); found != wanted {
		t.Fatalf("NextKey: %q instead of %q", found, wanted)
	}
}

func deleteKey(t *testing.T, c *huon.MultiCursor, want *modelCursor) {
	t.Helper()
	if !want.is {
		_, err := c.CountValues()
		refused(t, err, huon.ErrBadArgument)
		_, err = c.DeleteAll()
		refused(t, err, huon.ErrBadArgument)
		return
	}
	key, before := keyOf(want.at), len(*want.all)
	*want.all = slices.DeleteFunc(*want.all, func(pair string) bool { return keyOf(pair) == key })
	values, err := c.CountValues()
	must(t, err)
	count, err := c.DeleteAll()
	must(t, err)
	if int(count) != before-len(*want.all) || values != count {
		t.Fatal(values, count, before-len(*want.all))
	}
	want.beside(key, -1)
}

// A loop over keys and, within them, values, as the documentation of MultiCursor has it.
func TestMultiCursorKeysAndValues(t *testing.T) {
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.CreateMulti("m", huon.TableOptions{})
		must(t, err)
		for k := range 5 {
			for v := range 300 {
				_, err := m.Put(key(k), fmt.Appendf(nil, "%03d", v))
				must(t, err)
			}
		}
		return nil
	}))
	must(t, db.View(func(tx *huon.Tx) error {
		m, err := tx.Multi("m")
		must(t, err)
		c, keys, values := m.Cursor(), 0, 0
		for k, v := c.First(); k != nil; k, v = c.NextKey() {
			keys++
			for ; v != nil; v = c.NextValue() {
				if want := fmt.Sprintf("%03d", values%300); string(v) != want {
					t.Fatal(string(v), want)
				}
				values++
			}
		}
		if keys != 5 || values != 1500 {
			t.Error(keys, values)
		}
		c.Seek(key(2))
		if first, last := c.FirstValue(), c.LastValue(); string(first) != "000" || string(last) != "299" {
			t.Error(string(first), string(last))
		}
		if k, v := c.PrevKey(); string(k) != string(key(1)) || string(v) != "299" {
			t.Error(string(k), string(v))
		}
		if k, v := c.SeekPair(key(2), []byte("1000")); string(k) != string(key(2)) || string(v) != "101" {
			t.Error(string(k), string(v))
		}
		refused(t, c.Delete(), huon.ErrBadTx)
		_, err = c.DeleteAll()
		refused(t, err, huon.ErrBadTx)
		return c.Err()
	}))
}

// Orders of values other than that of bytes are those of the cursor, too.
func TestMultiCursorOfNumbers(t *testing.T) {
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.CreateMulti("m", huon.TableOptions{Values: huon.Uint32, ValueBytes: 4})
		must(t, err)
		for n := range 400 {
			_, err := m.Put([]byte("k"), []byte{byte(n), byte(n >> 8), 0, 0})
			must(t, err)
		}
		c := m.Cursor()
		_, v := c.SeekPair([]byte("k"), []byte{0xff, 0, 0, 0})
		for n := 255; v != nil; n++ {
			if int(v[0])|int(v[1])<<8 != n {
				t.Fatal(n, v)
			}
			if n == 300 {
				must(t, c.Delete())
			}
			v = c.NextValue()
		}
		if k, _ := c.Seek([]byte("kk")); k != nil {
			t.Error(string(k))
		}
		return c.Err()
	}))
}

// A pair whose value has a length that no value has is not sought.
func TestMultiCursorOfAnotherLength(t *testing.T) {
	db := open(t, nil)
	k, four := []byte("k"), []byte{4, 0, 0, 0}
	ofFour := []huon.TableOptions{{ValueBytes: 4}, {Values: huon.Uint32}}
	seek := func(tx *huon.Tx, name string) error {
		m, err := tx.Multi(name)
		must(t, err)
		c := m.Cursor()
		for _, wrong := range [][]byte{nil, {4, 0, 0}, {4, 0, 0, 0, 0}} {
			if k, v := c.SeekPair(k, wrong); k != nil || v != nil || c.Key() != nil {
				t.Error(name, k, v)
			}
			refused(t, c.Err(), huon.ErrValueLength)
		}
		if found, v := c.SeekPair(k, four); string(found) != "k" || string(v) != string(four) {
			t.Error(name, found, v)
		}
		return c.Err()
	}
	must(t, db.Update(false, func(tx *huon.Tx) error {
		for n, with := range ofFour {
			m, err := tx.CreateMulti(fmt.Sprint("m", n), with)
			must(t, err)
			_, err = m.Put(k, []byte{4, 0, 0})
			refused(t, err, huon.ErrValueLength)
			must(t, second(m.Put(k, four)))
			must(t, second(m.Put(k, []byte{5, 0, 0, 0})))
			must(t, seek(tx, fmt.Sprint("m", n)))
		}
		// Where values have any length, a shorter one has its place.
		m, err := tx.CreateMulti("any", huon.TableOptions{})
		must(t, err)
		must(t, second(m.Put(k, four)))
		c := m.Cursor()
		if _, v := c.SeekPair(k, []byte{4, 0, 0}); string(v) != string(four) {
			t.Error(v)
		}
		must(t, c.Err())
		must(t, m.Rename("other"))
		c.SeekPair(k, four)
		refused(t, c.Err(), huon.ErrTableNotFound)
		return nil
	}))
	must(t, db.View(func(tx *huon.Tx) error {
		return errors.Join(seek(tx, "m0"), seek(tx, "m1"))
	}))
	// One that nobody asks for is what View returns.
	refused(t, db.View(func(tx *huon.Tx) error {
		m, err := tx.Multi("m0")
		must(t, err)
		m.Cursor().SeekPair(k, nil)
		return nil
	}), huon.ErrValueLength)
}

// After the end of its transaction, or a turn of it, a cursor shows nothing, and says why.
func TestMultiCursorAfterTheEnd(t *testing.T) {
	db := open(t, nil)
	must(t, db.Update(false, func(tx *huon.Tx) error {
		m, err := tx.CreateMulti("m", huon.TableOptions{})
		must(t, err)
		return m.PutMany(huon.Pairs(huon.Pair{Key: []byte("a"), Value: []byte("1")},
			huon.Pair{Key: []byte("a"), Value: []byte("2")}))
	}))
	tx, err := db.BeginRead()
	must(t, err)
	m, err := tx.Multi("m")
	must(t, err)
	c := m.Cursor()
	c.First()
	must(t, tx.Renew())
	if c.Key() != nil || c.Value() != nil || c.NextValue() != nil {
		t.Error("it shows what may be gone")
	}
	c.Next()
	refused(t, c.Err(), huon.ErrBadTx)
	if k, v := c.Seek([]byte("a")); string(k) != "a" || string(v) != "1" {
		t.Error(string(k), string(v))
	}
	must(t, tx.Rollback())
	moves := []func() ([]byte, []byte){c.First, c.Last, c.Next, c.Prev, c.NextKey, c.PrevKey}
	for _, move := range moves {
		if k, _ := move(); k != nil {
			t.Error(string(k))
		}
		refused(t, c.Err(), huon.ErrClosed)
	}
	if k, _ := c.SeekPair([]byte("a"), nil); k != nil {
		t.Error(string(k))
	}
	refused(t, c.Err(), huon.ErrClosed)
	if c.FirstValue() != nil || c.Key() != nil {
		t.Error("it shows what is gone")
	}
	if err := c.Delete(); !errors.Is(err, huon.ErrBadTx) && !errors.Is(err, huon.ErrBadArgument) {
		t.Error(err)
	}
}

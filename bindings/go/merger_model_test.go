package huon_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"huon"
)

// Random changes of a merged table and of a model: both show the same, by every way to look, in the
// transaction and after it, with many runs and with one.
func TestMergerModel(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 11))
		db := open(t, nil)
		lsm, counts := merged(t, db, "counts", adds)
		model := map[string]int{}
		for round := range 12 {
			update(t, db, func(tx *huon.Tx) error {
				// In a goroutine of its own, whose stack is small.
				done := make(chan bool)
				go func() {
					defer close(done)
					for range 1 + random.IntN(120) {
						changeCounts(t, random, tx, counts, model)
					}
				}()
				<-done
				sameCounts(t, random, tx, counts, model)
				return nil
			})
			if round%5 == 4 {
				_, err := lsm.Compact(t.Context(), huon.LSMCompactOptions{Work: huon.MergeAll})
				must(t, err)
			}
			view(t, db, func(tx *huon.Tx) error {
				sameCounts(t, random, tx, counts, model)
				problems, err := counts.Check(tx)
				if len(problems) != 0 {
					t.Error(problems)
				}
				return err
			})
		}
	}
}

func changeCounts(
	t *testing.T, random *rand.Rand, tx *huon.Tx, counts *huon.LSMTable, model map[string]int,
) {
	k, n := someWord(random), random.IntN(1000)
	var room [4]byte
	shown := append(room[:0], k...)
	var err error
	switch random.IntN(12) {
	case 0:
		err = counts.Delete(tx, shown)
		delete(model, k)
	case 1:
		err = counts.Put(tx, shown, digits(n))
		model[k] = n
	case 2:
		err = counts.PutUntil(tx, shown, digits(n), time.Now().Add(time.Hour))
		model[k] = n
	case 3:
		to := []byte{k[0], 'g'}
		err = counts.DeleteRange(tx, shown, to)
		maps.DeleteFunc(model, func(key string, _ int) bool { return key >= k && key < string(to) })
	case 4:
		var b huon.LSMBatch
		for range 3 {
			b.Merge(counts, shown, digits(n))
			model[k] += n
		}
		err = b.Apply(tx)
	case 5:
		_, was := model[k]
		is, failed := counts.Insert(tx, shown, digits(n))
		if err = failed; is == was {
			t.Errorf("%s: %v", k, is)
		}
		if !was {
			model[k] = n
		}
	default:
		err = counts.Merge(tx, shown, digits(n))
		model[k] += n
	}
	if err != nil {
		t.Error(err)
	}
}

func sameCounts(
	t *testing.T, random *rand.Rand, tx *huon.Tx, counts *huon.LSMTable, model map[string]int,
) {
	t.Helper()
	var sorted []string
	for _, k := range slices.Sorted(maps.Keys(model)) {
		sorted = append(sorted, fmt.Sprintf("%s=%d", k, model[k]))
	}
	if found := all(t, counts.Scan(tx)); !slices.Equal(found, sorted) {
		t.Fatalf("%q instead of %q", found, sorted)
	}
	from := someWord(random)
	sorted = slices.DeleteFunc(sorted, func(pair string) bool { return pair < from })
	c := counts.Cursor(tx)
	c.Seek([]byte(from))
	for _, pair := range sorted {
		if found := shownPair(c.Key(), nil); !strings.HasPrefix(pair, found) || found == "" {
			t.Fatalf("%q instead of %q", found, pair)
		}
		c.Next()
	}
	must(t, c.Err())
	slices.Reverse(sorted)
	found := all(t, counts.Range(tx, []byte(from), nil).Reverse().Raw())
	if !slices.Equal(found, sorted) {
		t.Fatalf("%q instead of %q", found, sorted)
	}
	var keys [][]byte
	for range 40 {
		keys = append(keys, []byte(someWord(random)))
	}
	values, err := counts.GetMany(tx, keys)
	must(t, err)
	for i, k := range keys {
		n, is := model[string(k)]
		v, err := counts.Get(tx, k)
		must(t, err)
		raw, err := counts.GetRaw(tx, k)
		must(t, err)
		has, err := counts.Has(tx, k)
		must(t, err)
		same := bytes.Equal(v, raw) && bytes.Equal(v, values[i]) && has == is
		if !same || is && string(v) != string(digits(n)) || is != (v != nil) {
			t.Fatalf("%s: %s, %s, %s, %v instead of %d", k, v, raw, values[i], has, n)
		}
	}
}

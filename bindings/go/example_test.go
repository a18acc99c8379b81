package huon_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"huon"
	bolt "huon/bolt"
)

func people(path string) error {
	db, err := huon.Open(path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	mustSync := true // Wait until no power loss can take it away.
	err = db.Update(mustSync, func(tx *huon.Tx) error {
		ages, err := tx.CreateTable("ages")
		if err != nil {
			return err
		}
		if err := ages.Put([]byte("ada"), []byte("36")); err != nil {
			return err
		}
		return ages.Put([]byte("alan"), []byte("41"))
	})
	if err != nil {
		return err
	}
	return db.View(func(tx *huon.Tx) error {
		ages, err := tx.Table("ages")
		if err != nil {
			return err
		}
		people := ages.Prefix([]byte("a")).Reverse()
		for name, age := range people.All() {
			fmt.Printf("%s is %s\n", name, age)
		}
		return people.Err()
	})
}

func Example() {
	dir, err := os.MkdirTemp("", "huon")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := people(filepath.Join(dir, "people.huon")); err != nil {
		panic(err)
	}
	// Output:
	// alan is 41
	// ada is 36
}

func commit(ctx context.Context, tx *huon.Tx) error {
	ticket, err := tx.CommitTicket() // Visible at once ..
	if err != nil {
		return err
	}
	if err := ticket.Wait(ctx); err != nil { // .. and durable here, or elsewhere.
		return err
	}
	return nil
}

func ExampleTicket() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	tx, err := db.BeginWrite(context.Background())
	if err != nil {
		panic(err)
	}
	if _, err := tx.CreateTable("t"); err != nil {
		panic(err)
	}
	fmt.Println(commit(context.Background(), tx))
	// Output: <nil>
}

func mistakes(db *huon.DB, path string) {
	_, err := huon.Open(path, &huon.Options{MustExist: true})
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Println("there is none")
	}
	err = db.View(func(tx *huon.Tx) error {
		_, err := tx.Table("none")
		return err
	})
	if errors.Is(err, huon.ErrTableNotFound) {
		fmt.Println("no table")
	}
}

func ExampleError() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	mistakes(db, "no/such/file")
	// Output:
	// there is none
	// no table
}

func visits(ctx context.Context, db *huon.DB, pages []string) error {
	lsm, err := db.LSM(nil)
	if err != nil {
		return err
	}
	defer lsm.Close()
	visits, err := lsm.Table("visits") // For all transactions and goroutines.
	if err != nil {
		return err
	}
	var batch huon.LSMBatch // Collected without the writer's place.
	for at, page := range pages {
		batch.Put(visits, fmt.Appendf(nil, "%s %08d", page, at), nil)
	}
	if err := lsm.Write(ctx, huon.Lazy, &batch); err != nil {
		return err
	}
	if _, err := lsm.Compact(ctx, huon.LSMCompactOptions{Work: huon.MergeAll}); err != nil {
		return err
	}
	return db.View(func(tx *huon.Tx) error {
		about := visits.Prefix(tx, []byte("/about ")).Reverse()
		for key := range about.Keys() {
			fmt.Printf("%s\n", key)
		}
		return about.Err()
	})
}

func ExampleLSM() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	pages := []string{"/news", "/about", "/", "/about", "/news"}
	if err := visits(context.Background(), db, pages); err != nil {
		panic(err)
	}
	// Output:
	// /about 00000003
	// /about 00000001
}

func ExampleMultiCursor() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	err := db.Update(false, func(tx *huon.Tx) error {
		tags, err := tx.CreateMulti("tags", huon.TableOptions{})
		if err != nil {
			return err
		}
		for _, pair := range []string{"blue sky", "blue sea", "red rose", "blue whale"} {
			color, thing, _ := strings.Cut(pair, " ")
			if _, err := tags.Put([]byte(color), []byte(thing)); err != nil {
				return err
			}
		}
		c := tags.Cursor()
		for color, thing := c.First(); color != nil; color, thing = c.NextKey() {
			for ; thing != nil; thing = c.NextValue() {
				fmt.Printf("%s %s\n", color, thing)
				if string(thing) == "sky" {
					if err := c.Delete(); err != nil {
						return err
					}
				}
			}
			count, err := c.CountValues()
			if err != nil {
				return err
			}
			fmt.Println(count)
		}
		return c.Err()
	})
	fmt.Println(err)
	// Output:
	// blue sea
	// blue sky
	// blue whale
	// 2
	// red rose
	// 1
	// <nil>
}

var byLength = huon.MustOrder("by-length", func(a, b []byte) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), bytes.Compare(a, b))
})

func words(tx *huon.Tx) error {
	words, err := tx.CreateTableWith("words", huon.TableOptions{Keys: byLength})
	if err != nil {
		return err
	}
	for _, word := range []string{"platypus", "quoll", "bilby", "emu"} {
		if err := words.Put([]byte(word), nil); err != nil {
			return err
		}
	}
	all := words.Scan()
	for word := range all.Keys() {
		fmt.Printf("%s\n", word)
	}
	return all.Err()
}

func ExampleMustOrder() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	fmt.Println(db.Update(false, words))
	// Output:
	// emu
	// bilby
	// quoll
	// platypus
	// <nil>
}

func ExampleTx_TableWith() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	with := huon.TableOptions{Keys: byLength}
	err := db.Update(false, func(tx *huon.Tx) error {
		words, err := tx.CreateTableWith("words", with)
		if err != nil {
			return err
		}
		return errors.Join(words.Put([]byte("emu"), nil), words.Put([]byte("ox"), nil))
	})
	if err != nil {
		panic(err)
	}
	err = db.View(func(tx *huon.Tx) error {
		words, err := tx.TableWith("words", with)
		if err != nil {
			return err
		}
		word, _, err := words.AtOrAbove([]byte("aaa"))
		fmt.Printf("%s\n", word)
		return err
	})
	fmt.Println(err)
	// Output:
	// emu
	// <nil>
}

func ExampleLSMTable_Put() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	lsm, err := db.LSM(nil)
	if err != nil {
		panic(err)
	}
	events, err := lsm.Table("events")
	if err != nil {
		panic(err)
	}
	err = db.Update(false, func(tx *huon.Tx) error { // Beside an ordinary table.
		totals, err := tx.CreateTable("totals")
		if err != nil {
			return err
		}
		return errors.Join(
			events.Put(tx, []byte("17:00 ada"), []byte("came")),
			events.PutUntil(tx, []byte("17:01 bob"), []byte("waits"), time.Now().Add(time.Hour)),
			totals.Put([]byte("events"), []byte("2")))
	})
	if err != nil {
		panic(err)
	}
	err = db.View(func(tx *huon.Tx) error {
		c := events.Cursor(tx)
		for k, v := c.Last(); k != nil; k, v = c.Prev() {
			fmt.Printf("%s %s\n", k, v)
		}
		stat, err := events.Stat(tx)
		fmt.Println(stat.Runs, "run")
		return errors.Join(err, c.Err())
	})
	fmt.Println(err)
	// Output:
	// 17:01 bob waits
	// 17:00 ada came
	// 1 run
	// <nil>
}

var sum = huon.MustMerger("sum", func(older, newer []byte) ([]byte, error) {
	a, err := strconv.Atoi(string(older))
	b, other := strconv.Atoi(string(newer))
	return strconv.AppendInt(nil, int64(a+b), 10), errors.Join(err, other)
})

func hits(db *huon.DB, lsm *huon.LSM, pages []string) error {
	hits, err := lsm.MergedTable("hits", sum)
	if err != nil {
		return err
	}
	return db.Update(false, func(tx *huon.Tx) error {
		for _, page := range pages {
			if err := hits.Merge(tx, []byte(page), []byte("1")); err != nil {
				return err
			}
		}
		count, err := hits.Get(tx, []byte("/about"))
		fmt.Printf("%s\n", count)
		return err
	})
}

func ExampleLSM_MergedTable() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	lsm, err := db.LSM(nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(hits(db, lsm, []string{"/news", "/about", "/", "/about", "/news"}))
	// Output:
	// 2
	// <nil>
}

func ExampleLSM_StartCompactor() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	lsm, err := db.LSM(nil)
	if err != nil {
		panic(err)
	}
	compactor, err := lsm.StartCompactor() // Or `huon lsm compact` in another process.
	if err != nil {
		panic(err)
	}
	defer compactor.Stop()
	fmt.Println(lsm.DB() == db)
	// Output: true
}

// What the page about all languages shows.
func ages() error {
	db, err := huon.Open("people.huon", nil)
	if err != nil {
		return err
	}
	defer db.Close()
	mustSync := true
	err = db.Update(mustSync, func(tx *huon.Tx) error {
		ages, err := tx.CreateTable("ages")
		if err != nil {
			return err
		}
		return errors.Join(ages.Put([]byte("ada"), []byte("36")), ages.Put([]byte("alan"), []byte("41")))
	})
	if err != nil {
		return err
	}
	return db.View(func(tx *huon.Tx) error {
		ages, err := tx.Table("ages")
		if err != nil {
			return err
		}
		people := ages.Prefix([]byte("a"))
		for name, age := range people.All() {
			fmt.Printf("%s is %s\n", name, age)
		}
		return people.Err()
	})
}

func TestAges(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, ages())
}

// The README shows what runs here: each of its pieces of Go is a piece of these files.
func TestReadme(t *testing.T) {
	var sources string
	for _, path := range []string{"example_test.go", "voiddb_test.go", "examples/people/main.go"} {
		text, err := os.ReadFile(path)
		must(t, err)
		sources += trimmed(string(text))
	}
	readme, err := os.ReadFile("README.md")
	must(t, err)
	languages, err := os.ReadFile("../../docs/LANGUAGES.md")
	must(t, err)
	pieces := strings.Split(string(readme)+string(languages), "```go\n")[1:]
	for _, piece := range pieces {
		piece, _, _ = strings.Cut(piece, "```")
		if !strings.Contains(sources, strings.TrimPrefix(trimmed(piece), "import ")) {
			t.Errorf("no test runs this:\n%s", piece)
		}
	}
	if len(pieces) != 11 {
		t.Error(len(pieces))
	}
	var _ *bolt.DB
}

// trimmed is a text without indents.
func trimmed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line)+"\n")
	}
	return strings.Join(lines, "")
}

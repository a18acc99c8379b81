package huon_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	for _, path := range []string{"example_test.go", "voiddb_test.go"} {
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
	if len(pieces) != 6 {
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

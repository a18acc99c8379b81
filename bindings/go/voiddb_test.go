package huon_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"huon"
)

// What the README of voidDB shows, a design that Huon goes back to, as it is written here.

// A database is made where there is none, and opened where there is one; it need not be told how
// large it may become.
func TestVoidOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "void")
	for _, isThere := range []bool{false, true} {
		_, err := huon.Open(path, &huon.Options{MustExist: true})
		if isThere != !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(isThere, err)
		}
		db, err := huon.Open(path, &huon.Options{MaxBytes: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A greeting is put in the keyspace without a name, with mustSync.
func ExampleDB_Update_greeting() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	mustSync := true
	err := db.Update(mustSync, func(tx *huon.Tx) error {
		main, err := tx.Main()
		if err != nil {
			return err
		}
		return main.Put([]byte("greeting"), []byte("Good morning!"))
	})
	if err != nil {
		panic(err)
	}
	err = db.View(func(tx *huon.Tx) error {
		main, err := tx.Main()
		if err != nil {
			return err
		}
		greeting, err := main.Get([]byte("greeting"))
		fmt.Printf("%s\n", greeting)
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output: Good morning!
}

// One key has different values in different keyspaces, which cursors stand in.
func ExampleTx_CreateTable_keyspaces() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	err := db.Update(false, func(tx *huon.Tx) error {
		for name, text := range map[string]string{
			"arrival": "Good day.", "parting": "\u3055\u3088\u3046\u306a\u3089\u3002",
		} {
			table, err := tx.CreateTable(name)
			if err != nil {
				return err
			}
			if err := table.Put([]byte("greeting"), []byte(text)); err != nil {
				return err
			}
		}
		for _, name := range []string{"arrival", "parting"} {
			table, err := tx.Table(name)
			if err != nil {
				return err
			}
			value, err := table.Cursor().Get([]byte("greeting"))
			if err != nil {
				return err
			}
			fmt.Printf("%s: %+q\n", name, value)
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// arrival: "Good day."
	// parting: "\u3055\u3088\u3046\u306a\u3089\u3002"
}

// A keyspace is gone through by a cursor that has not begun, from a key, and backwards.
func ExampleTable_Cursor_iterate() {
	db, _ := huon.OpenInMemory(nil)
	defer db.Close()
	err := db.Update(false, func(tx *huon.Tx) error {
		stock, err := tx.CreateTable("stock")
		if err != nil {
			return err
		}
		for _, name := range []string{"pear", "apple", "plum", "fig"} {
			if err := stock.Put([]byte(name), []byte{byte(len(name))}); err != nil {
				return err
			}
		}
		cur := stock.Cursor()
		for {
			key, val := cur.Next()
			if key == nil {
				break
			}
			fmt.Printf("%s -> %d\n", key, val[0])
		}
		if err := cur.Err(); err != nil {
			return err
		}
		if _, err := cur.Get([]byte("pear")); err != nil {
			return err
		}
		after, _ := cur.Next()
		first, _ := cur.First()
		last, _ := cur.Last()
		before, _ := cur.Prev()
		fmt.Printf("%s %s %s %s\n", after, first, last, before)
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// apple -> 5
	// fig -> 3
	// pear -> 4
	// plum -> 4
	// plum apple plum pear
}

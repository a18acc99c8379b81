// Stores two ages, durably and both or neither, and lists those whose names begin with "a".
package main

import (
	"fmt"
	"log"

	"huon"
)

func main() {
	if err := people("people.huon"); err != nil {
		log.Fatal(err)
	}
}

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

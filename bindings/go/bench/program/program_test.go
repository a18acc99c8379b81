package program_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	over "huon/bench/program"
	"huon/bolt/program"
)

// The program differs in its import alone, and prints the same over both; HUON_WRITE=1 keeps what
// it prints over bbolt for the test in huon/bolt.
func TestProgram(t *testing.T) {
	source := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before, after := source("program.go"), source("../../bolt/program/program.go")
	if strings.Replace(before, `bolt "go.etcd.io/bbolt"`, `bolt "huon/bolt"`, 1) != after {
		t.Error("the programs differ in more than their import")
	}
	var bbolt, huon bytes.Buffer
	if err := over.Run(t.TempDir(), &bbolt); err != nil {
		t.Fatal(err)
	}
	if err := program.Run(t.TempDir(), &huon); err != nil {
		t.Fatal(err)
	}
	if bbolt.String() != huon.String() {
		t.Errorf("over bbolt:\n%s\nover Huon:\n%s", &bbolt, &huon)
	}
	const golden = "../../bolt/testdata/program.txt"
	if os.Getenv("HUON_WRITE") != "" {
		if err := os.WriteFile(golden, bbolt.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if source(golden) != bbolt.String() {
		t.Error(golden, "is stale")
	}
}

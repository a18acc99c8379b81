package bolt_test

import (
	"bytes"
	"os"
	"testing"

	"huon/bolt/program"
)

// What the program printed over bbolt, see bench/program.
const golden = "testdata/program.txt"

func TestProgram(t *testing.T) {
	wanted, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := program.Run(t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), wanted) {
		t.Errorf("it printed:\n%s", &out)
	}
}

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestRecords compares with what src/data.rs makes.
func TestRecords(t *testing.T) {
	wanted, err := os.ReadFile("testdata/records.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, kind := range []struct {
		name string
		keys keyKind
	}{{"Random16", random16}, {"Text40", text40}} {
		d := newData(kind.keys, 1000, 100)
		for _, number := range []uint32{0, 1, 999} {
			fmt.Fprintf(&got, "%s key %d %x\n", kind.name, number, d.key(number))
		}
		for _, o := range []struct {
			name string
			*order
		}{
			{"shuffled", d.shuffled(1)}, {"sorted", d.sorted()}, {"picks", d.picks(2, 1000)},
			{"absent", d.absent(4, 1000)},
		} {
			fmt.Fprintf(&got, "%s %s %v\n", kind.name, o.name, o.numbers[:8])
		}
		for round := range uint32(3) {
			fmt.Fprintf(&got, "%s value 7 of round %d %x\n", kind.name, round, d.value(7, round)[:16])
			fmt.Fprintf(&got, "%s sum of round %d %d\n", kind.name, round, d.sum(d.numbers(), round))
		}
	}
	if got.String() != string(wanted) {
		t.Errorf("the records differ:\n%s", got.String())
	}
}

package main

// The records, keys and orders of src/data.rs, made in the same way: testdata/records.txt has some
// of both, and a test on either side compares.

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sort"
)

type keyKind int

const (
	random16 keyKind = iota
	text40
)

const (
	poolPlaces = 1 << 20
	roundStep  = 0x9E3B1
)

// mix is the last step of SplitMix64.
func mix(number uint64) uint64 {
	number += 0x9E3779B97F4A7C15
	number = (number ^ number>>30) * 0xBF58476D1CE4E5B9
	number = (number ^ number>>27) * 0x94D049BB133111EB
	return number ^ number>>31
}

// rng is WyRand as the crate fastrand has it.
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x2d358dccaa6c78a5
	high, low := bits.Mul64(r.state, r.state^0x8bb84b93962eacc9)
	return low ^ high
}

// below answers a number below n, by the method of Lemire, in 64 bits.
func (r *rng) below(n uint64) uint64 {
	high, low := bits.Mul64(r.next(), n)
	if low < n {
		for t := -n % n; low < t; {
			high, low = bits.Mul64(r.next(), n)
		}
	}
	return high
}

// below32 is the same in 32 bits, which takes other numbers.
func (r *rng) below32(n uint32) uint32 {
	product := uint64(uint32(r.next())) * uint64(n)
	if uint32(product) < n {
		for t := -n % n; uint32(product) < t; {
			product = uint64(uint32(r.next())) * uint64(n)
		}
	}
	return uint32(product >> 32)
}

func (r *rng) fill(to []byte) {
	for len(to) >= 8 {
		binary.LittleEndian.PutUint64(to, r.next())
		to = to[8:]
	}
	if len(to) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], r.next())
		copy(to, last[:])
	}
}

// data is so many records of one shape.
type data struct {
	keys       keyKind
	count      uint32
	valueBytes int
	pool       []byte
}

func newData(keys keyKind, count uint32, valueBytes int) *data {
	pool := make([]byte, poolPlaces+valueBytes)
	(&rng{7}).fill(pool)
	return &data{keys, count, valueBytes, pool}
}

func (d *data) keyBytes() int {
	if d.keys == text40 {
		return 40
	}
	return 16
}

func (d *data) key(number uint32) []byte {
	state := uint64(number)
	if d.keys == text40 {
		invoice := state * 0x9E3779B97F4B & (1<<48 - 1)
		return fmt.Appendf(nil, "account/%08d/invoice/%015d", mix(state)%1000, invoice)
	}
	first := mix(state)
	key := binary.BigEndian.AppendUint64(nil, first)
	return binary.BigEndian.AppendUint64(key, mix(first))
}

// value is that of a record in a round.
func (d *data) value(number, round uint32) []byte {
	place := (mix(uint64(number)) + uint64(round)*roundStep) % poolPlaces
	return d.pool[place : place+uint64(d.valueBytes)]
}

// order is records in the order in which they are used, with their keys.
type order struct {
	numbers []uint32
	keys    [][]byte
}

func (d *data) order(numbers []uint32) *order {
	keys := make([][]byte, len(numbers))
	for i, number := range numbers {
		keys[i] = d.key(number)
	}
	return &order{numbers, keys}
}

func (d *data) numbers() []uint32 {
	numbers := make([]uint32, d.count)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	return numbers
}

func (d *data) all() *order { return d.order(d.numbers()) }

func (d *data) shuffled(seed uint64) *order {
	numbers, r := d.numbers(), rng{seed}
	for i := 1; i < len(numbers); i++ {
		j := r.below(uint64(i) + 1)
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
	return d.order(numbers)
}

func (d *data) sorted() *order {
	o := d.all()
	sort.Sort(byKey{o})
	return o
}

type byKey struct{ *order }

func (o byKey) Len() int           { return len(o.keys) }
func (o byKey) Less(i, j int) bool { return string(o.keys[i]) < string(o.keys[j]) }
func (o byKey) Swap(i, j int) {
	o.keys[i], o.keys[j] = o.keys[j], o.keys[i]
	o.numbers[i], o.numbers[j] = o.numbers[j], o.numbers[i]
}

func (d *data) picks(seed uint64, count uint32) *order {
	numbers, r := make([]uint32, count), rng{seed}
	for i := range numbers {
		numbers[i] = r.below32(d.count)
	}
	return d.order(numbers)
}

// absent is records that are not among them.
func (d *data) absent(seed uint64, count uint32) *order {
	numbers, r := make([]uint32, count), rng{seed}
	beyond := d.count
	if beyond > math.MaxUint32-d.count {
		beyond = math.MaxUint32 - d.count
	}
	for i := range numbers {
		numbers[i] = d.count + r.below32(beyond)
	}
	return d.order(numbers)
}

func (d *data) sum(numbers []uint32, round uint32) (sum uint64) {
	for _, number := range numbers {
		sum += touched(d.value(number, round))
	}
	return sum
}

// touched is what every reader takes from a value: its first and its last byte.
func touched(value []byte) uint64 {
	if len(value) < 2 {
		return 0
	}
	return uint64(value[0]) + uint64(value[len(value)-1])
}

// Bench compares Huon with lmdb-go and bbolt, in one process and in turns: records of 16 + 100
// bytes in hashed order. It prints nanoseconds, and how many times as fast as each Huon is.
//
//	go run . [-records 1000000] [-rounds 3] [-durable 200] [-only get,scan]
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/PowerDNS/lmdb-go/lmdb"
	bbolt "go.etcd.io/bbolt"

	"huon"
	"huon/bolt"
)

var (
	records = flag.Int("records", 1_000_000, "how many records there are")
	rounds  = flag.Int("rounds", 3, "how often each is measured; the best counts")
	durable = flag.Int("durable", 200, "how many durable puts are measured")
	only    = flag.String("only", "", "names of measures, with commas between them; empty: all")
	among   = flag.String("engines", "huon,lmdb-go,bbolt", "what is measured")
	profile = flag.String("profile", "", "a file for a profile of the processor")
	cpu     = flag.Bool("cpu", false, "measure the processor's time, not the clock's")
	dir     = flag.String("dir", "", "where the files are made; empty: in the temporary folder")
)

// key is the key of a number: in hashed order, none twice.
func key(n int, room *[16]byte) []byte {
	x := uint64(n) * 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 32
	binary.BigEndian.PutUint64(room[:8], x)
	binary.BigEndian.PutUint64(room[8:], uint64(n))
	return room[:]
}

var (
	value = make([]byte, 100)
	// fresh is another value with each call: a put of what is there already may cost nothing.
	count uint64
	other = make([]byte, 100)
)

func fresh() []byte {
	count++
	binary.BigEndian.PutUint64(other, count)
	return other
}

// engine is a store under measure, and what it can do.
type engine struct {
	name     string
	measures map[string]func() int // returns how many were done
	close    func()
}

func must[T any](it T, err error) T {
	check(err)
	return it
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// load puts all records, 1000 a transaction.
func load(update func(first, last int)) int {
	for first := 0; first < *records; first += 1000 {
		update(first, min(first+1000, *records))
	}
	return *records
}

// some calls for numbers from all over.
func some(each func(n int)) int {
	for i := range *records {
		each(int(uint64(i) * 7919 % uint64(*records)))
	}
	return *records
}

// touch reads a record, which scans are for.
func touch(key, value []byte) int { return int(key[0]) + int(value[len(value)-1]) }

func openHuon(dir string, durability huon.Durability) (*huon.DB, func()) {
	db := must(huon.Open(filepath.Join(dir, "huon"), &huon.Options{Durability: durability}))
	return db, func() { db.Close() }
}

func ofHuon(dir string) *engine {
	db, closeAll := openHuon(dir, huon.Lazy)
	measures := map[string]func() int{}
	e := &engine{"huon", measures, closeAll}
	measures["put1000"] = func() int {
		check(db.Update(false, func(tx *huon.Tx) error {
			_, err := tx.DropTable("t")
			return err
		}))
		return load(func(first, last int) {
			check(db.Update(false, func(tx *huon.Tx) error {
				t := must(tx.CreateTable("t"))
				var room [16]byte
				for n := first; n < last; n++ {
					check(t.Put(key(n, &room), value))
				}
				return nil
			}))
		})
	}
	view := func(fn func(*huon.Table)) {
		check(db.View(func(tx *huon.Tx) error {
			fn(must(tx.Table("t")))
			return nil
		}))
	}
	get := func(get func(*huon.Table, []byte) ([]byte, error)) func() int {
		return func() (done int) {
			view(func(t *huon.Table) {
				var room [16]byte
				done = some(func(n int) {
					if len(must(get(t, key(n, &room)))) != 100 {
						log.Fatal("a value is missing")
					}
				})
			})
			return done
		}
	}
	measures["get"] = get((*huon.Table).Get)
	measures["get raw"] = get((*huon.Table).GetRaw)
	measures["get many"] = func() (done int) {
		view(func(t *huon.Table) {
			var rooms [64][16]byte
			var keys [][]byte
			done = some(func(n int) {
				keys = append(keys, key(n, &rooms[len(keys)]))
				if len(keys) == len(rooms) {
					must(t.GetMany(keys))
					keys = keys[:0]
				}
			})
		})
		return done
	}
	scan := func(isRaw bool) func() int {
		return func() (done int) {
			view(func(t *huon.Table) {
				s := t.Scan()
				if isRaw {
					s.Raw()
				}
				for k, v := range s.All() {
					done += touch(k, v)
				}
				check(s.Err())
			})
			return *records
		}
	}
	measures["scan"], measures["scan raw"] = scan(false), scan(true)
	measures["cursor raw"] = func() (done int) {
		view(func(t *huon.Table) {
			c := t.Cursor().Raw()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				done += touch(k, v)
			}
		})
		return *records
	}
	measures["durable put"] = func() int {
		for n := range *durable {
			check(db.Update(true, func(tx *huon.Tx) error {
				var room [16]byte
				return must(tx.CreateTable("t")).Put(key(n, &room), fresh())
			}))
		}
		return *durable
	}
	measures["view"] = func() int {
		for range *records {
			check(db.View(func(*huon.Tx) error { return nil }))
		}
		return *records
	}
	return e
}

func ofLMDB(dir string) *engine {
	env := must(lmdb.NewEnv())
	check(env.SetMapSize(4 << 30))
	check(env.SetMaxDBs(2))
	check(env.Open(filepath.Join(dir, "lmdb"), lmdb.NoSync|lmdb.NoSubdir, 0o600))
	var dbi lmdb.DBI
	measures := map[string]func() int{}
	measures["put1000"] = func() int {
		check(env.Update(func(txn *lmdb.Txn) (err error) {
			dbi = must(txn.OpenDBI("t", lmdb.Create))
			return txn.Drop(dbi, false)
		}))
		return load(func(first, last int) {
			check(env.Update(func(txn *lmdb.Txn) error {
				var room [16]byte
				for n := first; n < last; n++ {
					check(txn.Put(dbi, key(n, &room), value, 0))
				}
				return nil
			}))
		})
	}
	get := func(isRaw bool) func() int {
		return func() (done int) {
			check(env.View(func(txn *lmdb.Txn) error {
				txn.RawRead = isRaw
				var room [16]byte
				done = some(func(n int) {
					if len(must(txn.Get(dbi, key(n, &room)))) != 100 {
						log.Fatal("a value is missing")
					}
				})
				return nil
			}))
			return done
		}
	}
	scan := func(isRaw bool) func() int {
		return func() (done int) {
			check(env.View(func(txn *lmdb.Txn) error {
				txn.RawRead = isRaw
				cursor := must(txn.OpenCursor(dbi))
				defer cursor.Close()
				for {
					k, v, err := cursor.Get(nil, nil, lmdb.Next)
					if lmdb.IsNotFound(err) {
						return nil
					}
					check(err)
					done += touch(k, v)
				}
			}))
			return *records
		}
	}
	measures["get"], measures["get raw"] = get(false), get(true)
	measures["get many"] = measures["get"]
	measures["scan"], measures["scan raw"] = scan(false), scan(true)
	measures["cursor raw"] = measures["scan raw"]
	measures["durable put"] = func() int {
		check(env.UnsetFlags(lmdb.NoSync))
		defer env.SetFlags(lmdb.NoSync)
		for n := range *durable {
			check(env.Update(func(txn *lmdb.Txn) error {
				var room [16]byte
				return txn.Put(dbi, key(n, &room), fresh(), 0)
			}))
		}
		return *durable
	}
	measures["view"] = func() int {
		for range *records {
			check(env.View(func(*lmdb.Txn) error { return nil }))
		}
		return *records
	}
	return &engine{"lmdb-go", measures, func() { env.Close() }}
}

func ofBbolt(dir string) *engine {
	db := must(bbolt.Open(filepath.Join(dir, "bbolt"), 0o600, &bbolt.Options{NoSync: true}))
	name := []byte("t")
	measures := map[string]func() int{}
	measures["put1000"] = func() int {
		check(db.Update(func(tx *bbolt.Tx) error {
			if tx.Bucket(name) != nil {
				check(tx.DeleteBucket(name))
			}
			_, err := tx.CreateBucket(name)
			return err
		}))
		return load(func(first, last int) {
			check(db.Update(func(tx *bbolt.Tx) error {
				b := tx.Bucket(name)
				for n := first; n < last; n++ {
					var room [16]byte // bbolt keeps keys until the commit
					check(b.Put(key(n, &room), value))
				}
				return nil
			}))
		})
	}
	measures["get raw"] = func() (done int) {
		check(db.View(func(tx *bbolt.Tx) error {
			b := tx.Bucket(name)
			var room [16]byte
			done = some(func(n int) {
				if len(b.Get(key(n, &room))) != 100 {
					log.Fatal("a value is missing")
				}
			})
			return nil
		}))
		return done
	}
	measures["get"], measures["get many"] = measures["get raw"], measures["get raw"]
	measures["scan raw"] = func() (done int) {
		check(db.View(func(tx *bbolt.Tx) error {
			c := tx.Bucket(name).Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				done += touch(k, v)
			}
			return nil
		}))
		return *records
	}
	measures["scan"], measures["cursor raw"] = measures["scan raw"], measures["scan raw"]
	measures["bolt scan"], measures["bolt get"] = measures["scan raw"], measures["get raw"]
	measures["durable put"] = func() int {
		db.NoSync = false
		defer func() { db.NoSync = true }()
		for n := range *durable {
			check(db.Update(func(tx *bbolt.Tx) error {
				var room [16]byte
				return tx.Bucket(name).Put(key(n, &room), fresh())
			}))
		}
		return *durable
	}
	measures["view"] = func() int {
		for range *records {
			check(db.View(func(*bbolt.Tx) error { return nil }))
		}
		return *records
	}
	return &engine{"bbolt", measures, func() { db.Close() }}
}

// ofBolt adds what huon/bolt does with the same file.
func ofBolt(e *engine, dir string) {
	db := must(bolt.Open(filepath.Join(dir, "huon"), 0o600, nil))
	closeHuon := e.close
	e.close = func() { db.Close(); closeHuon() }
	name := []byte("t")
	e.measures["bolt get"] = func() (done int) {
		check(db.View(func(tx *bolt.Tx) error {
			b := tx.Bucket(name)
			var room [16]byte
			done = some(func(n int) {
				if len(b.Get(key(n, &room))) != 100 {
					log.Fatal("a value is missing")
				}
			})
			return nil
		}))
		return done
	}
	e.measures["bolt scan"] = func() (done int) {
		check(db.View(func(tx *bolt.Tx) error {
			c := tx.Bucket(name).Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				done += touch(k, v)
			}
			return nil
		}))
		return *records
	}
}

func main() {
	flag.Parse()
	if *profile != "" {
		check(pprof.StartCPUProfile(must(os.Create(*profile))))
		defer pprof.StopCPUProfile()
	}
	if *dir == "" {
		*dir = must(os.MkdirTemp("", "huon-bench"))
		defer os.RemoveAll(*dir)
	}
	for i := range value {
		value[i] = byte(i)
	}
	var engines []*engine
	for _, name := range strings.Split(*among, ",") {
		switch name {
		case "huon":
			engines = append(engines, ofHuon(*dir))
			ofBolt(engines[0], *dir)
		case "lmdb-go":
			engines = append(engines, ofLMDB(*dir))
		case "bbolt":
			engines = append(engines, ofBbolt(*dir))
		default:
			log.Fatal("no such engine: ", name)
		}
	}
	names := []string{"put1000", "view", "get", "get raw", "bolt get", "get many", "scan", "scan raw",
		"cursor raw", "bolt scan", "durable put"}
	fmt.Printf("%-12s", "ns")
	for _, e := range engines {
		fmt.Printf("%10s", e.name)
	}
	fmt.Println("   huon is so many times as fast as")
	for _, name := range names {
		isAsked := *only == "" || strings.Contains(","+*only+",", ","+name+",")
		switch {
		case isAsked:
			row(name, engines, *rounds)
		case name == "put1000":
			row(name, engines, 1) // It fills the files.
		}
	}
	for _, e := range engines {
		e.close()
	}
}

// now is the time, or that of the processor that this process has used.
func now() time.Duration {
	if !*cpu {
		return time.Duration(time.Now().UnixNano())
	}
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// row measures all engines in turns, and prints the best of each.
func row(name string, engines []*engine, count int) {
	best := make([]float64, len(engines))
	for range count {
		for i, e := range engines {
			work := e.measures[name]
			if work == nil {
				continue
			}
			runtime.GC()
			begun := now()
			done := work()
			each := float64((now() - begun).Nanoseconds()) / float64(done)
			if best[i] == 0 || each < best[i] {
				best[i] = each
			}
		}
	}
	fmt.Printf("%-12s", name)
	for _, each := range best {
		fmt.Printf("%10.0f", each)
	}
	for i, e := range engines[1:] {
		if best[i+1] != 0 {
			fmt.Printf("   %s: %.2f", e.name, best[i+1]/best[0])
		}
	}
	fmt.Println()
}

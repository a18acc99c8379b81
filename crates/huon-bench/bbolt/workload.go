package main

// The workloads, cell by cell as in src/workload.

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	valueBytes      = 100
	records         = 1_000_000
	batch           = 1000
	sequentialBatch = 100_000
	lookups         = 1_000_000
	rangeRecords    = 100
	ranges          = 100_000
)

var errMissing = errors.New("a key is missing")

// putAll puts the records, so many a transaction, with the values of a round.
func putAll(db *bolt.DB, d *data, o *order, round uint32, size int, fill float64) (uint64, error) {
	for at := 0; at < len(o.keys); at += size {
		end := min(at+size, len(o.keys))
		err := db.Update(func(txn *bolt.Tx) error {
			b := txn.Bucket(bucket)
			b.FillPercent = fill
			for i := at; i < end; i++ {
				if err := b.Put(o.keys[i], d.value(o.numbers[i], round)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return uint64(len(o.keys)), nil
}

func loaded(s *session, d *data) (*bolt.DB, error) {
	s.describe(d)
	db, err := s.open("loaded")
	if err != nil {
		return nil, err
	}
	if _, err = putAll(db, d, d.shuffled(1), 0, batch, bolt.DefaultFillPercent); err != nil {
		return nil, err
	}
	return db, db.Sync()
}

// filled is what loaded gives, opened anew.
func filled(s *session, d *data) (*bolt.DB, error) {
	db, err := loaded(s, d)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return s.open("loaded")
}

func check(got, expected uint64) error {
	if got != expected {
		return fmt.Errorf("wrong answers: %d instead of %d", got, expected)
	}
	return nil
}

// checkAll fails unless the whole database is so many records whose values add up to sum.
func checkAll(db *bolt.DB, count, sum uint64) error {
	return db.View(func(txn *bolt.Tx) error {
		var found, got uint64
		var last []byte
		c := txn.Bucket(bucket).Cursor()
		for key, value := c.First(); key != nil; key, value = c.Next() {
			if last != nil && bytes.Compare(last, key) >= 0 {
				return errors.New("keys are out of order")
			}
			last = key
			found++
			got += touched(value)
		}
		return errors.Join(check(found, count), check(got, sum))
	})
}

func getAll(b *bolt.Bucket, o *order) (sum uint64, err error) {
	for _, key := range o.keys {
		value := b.Get(key)
		if value == nil {
			return 0, errMissing
		}
		sum += touched(value)
	}
	return sum, nil
}

// lookup is a cell of gets in one transaction, whose sum is known.
func lookup(
	s *session, db *bolt.DB, cell string, o *order, expected uint64,
	work func(*probe, *bolt.Bucket) (uint64, error),
) error {
	return s.measure(cell, "get", func(p *probe) (uint64, error) {
		err := db.View(func(txn *bolt.Tx) error {
			sum, err := work(p, txn.Bucket(bucket))
			return errors.Join(err, check(sum, expected))
		})
		return uint64(len(o.keys)), err
	})
}

func reads(s *session, d *data) error {
	db, err := filled(s, d)
	if err != nil {
		return err
	}
	for _, part := range []func(*session, *bolt.DB, *data) error{
		gets, getsInThreads, getsApart, getsDifferently, scansOf(""), rangesOf,
	} {
		if err := part(s, db, d); err != nil {
			return err
		}
	}
	return db.Close()
}

func readsText(s *session) error {
	d := newData(text40, s.scaled(records), valueBytes)
	db, err := filled(s, d)
	if err != nil {
		return err
	}
	return errors.Join(gets(s, db, d), absent(s, db, d), scansOf("")(s, db, d), rangesOf(s, db, d),
		db.Close())
}

func gets(s *session, db *bolt.DB, d *data) error {
	o := d.picks(2, s.scaled(lookups))
	expected := d.sum(o.numbers, 0)
	for _, cell := range []string{"get, first pass", "get, 1 thread"} {
		err := lookup(s, db, cell, o, expected, func(_ *probe, b *bolt.Bucket) (uint64, error) {
			return getAll(b, o)
		})
		if err != nil {
			return err
		}
	}
	timed := func(p *probe, b *bolt.Bucket) (sum uint64, err error) {
		p.latencies = make([]uint64, 0, len(o.keys))
		for _, key := range o.keys {
			err := p.timed(func() error {
				value := b.Get(key)
				if value == nil {
					return errMissing
				}
				sum += touched(value)
				return nil
			})
			if err != nil {
				return 0, err
			}
		}
		return sum, nil
	}
	return lookup(s, db, "get, each timed", o, expected, timed)
}

// inThreads runs work in so many goroutines.
func inThreads(p *probe, threads int, work func(int) error) error {
	p.threads = threads
	var group sync.WaitGroup
	errs := make([]error, threads)
	for at := range threads {
		group.Go(func() { errs[at] = work(at) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func getsInThreads(s *session, db *bolt.DB, d *data) error {
	count := s.scaled(lookups)
	for _, threads := range []int{2, 4, 8} {
		orders := make([]*order, threads)
		for at := range orders {
			orders[at] = d.picks(10+uint64(at), count)
		}
		cell := fmt.Sprintf("get, %d threads", threads)
		err := s.measure(cell, "get", func(p *probe) (uint64, error) {
			err := inThreads(p, threads, func(at int) error {
				return db.View(func(txn *bolt.Tx) error {
					sum, err := getAll(txn.Bucket(bucket), orders[at])
					return errors.Join(err, check(sum, d.sum(orders[at].numbers, 0)))
				})
			})
			return uint64(count) * uint64(threads), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func getsApart(s *session, db *bolt.DB, d *data) error {
	o := d.picks(3, s.scaled(lookups))
	err := s.measure("get, a transaction each", "get", func(*probe) (uint64, error) {
		var sum uint64
		for _, key := range o.keys {
			err := db.View(func(txn *bolt.Tx) error {
				value := txn.Bucket(bucket).Get(key)
				if value == nil {
					return errMissing
				}
				sum += touched(value)
				return nil
			})
			if err != nil {
				return 0, err
			}
		}
		return uint64(len(o.keys)), check(sum, d.sum(o.numbers, 0))
	})
	return errors.Join(err, s.leftOut("get, renewed each", "a read transaction cannot be renewed"))
}

func absent(s *session, db *bolt.DB, d *data) error {
	o := d.absent(4, s.scaled(lookups))
	return lookup(s, db, "get absent", o, 0, func(_ *probe, b *bolt.Bucket) (found uint64, _ error) {
		for _, key := range o.keys {
			if b.Get(key) != nil {
				found++
			}
		}
		return found, nil
	})
}

func getsDifferently(s *session, db *bolt.DB, d *data) error {
	if err := absent(s, db, d); err != nil {
		return err
	}
	o := d.picks(5, s.scaled(lookups))
	next := func(at int, seen uint64) int { return (at + 1 + int(seen&1)) % len(o.keys) }
	expected := 0
	for range o.keys {
		expected = next(expected, touched(d.value(o.numbers[expected], 0)))
	}
	dependent := func(_ *probe, b *bolt.Bucket) (uint64, error) {
		at := 0
		for range o.keys {
			value := b.Get(o.keys[at])
			if value == nil {
				return 0, errMissing
			}
			at = next(at, touched(value))
		}
		return uint64(at), nil
	}
	if err := lookup(s, db, "get dependent", o, uint64(expected), dependent); err != nil {
		return err
	}
	return s.leftOut("get_many, 64 keys", "there is no lookup of many keys at once")
}

// scansOf scans everything, both ways; what tells the cells from those of another database.
func scansOf(what string) func(*session, *bolt.DB, *data) error {
	return func(s *session, db *bolt.DB, d *data) error {
		expected := d.sum(d.numbers(), 0)
		for _, way := range []string{"scan", "scan reverse"} {
			err := s.measure(way+what, "record", func(*probe) (count uint64, err error) {
				err = db.View(func(txn *bolt.Tx) error {
					var sum uint64
					c := txn.Bucket(bucket).Cursor()
					start, step := c.First, c.Next
					if way == "scan reverse" {
						start, step = c.Last, c.Prev
					}
					for key, value := start(); key != nil; key, value = step() {
						sum += touched(value)
						count++
					}
					return errors.Join(check(count, uint64(d.count)), check(sum, expected))
				})
				return count, err
			})
			if err != nil {
				return err
			}
		}
		return s.leftOut("scan by pages"+what, "there is no scan by pages")
	}
}

func rangesOf(s *session, db *bolt.DB, d *data) error {
	sorted := d.sorted()
	last := max(len(sorted.keys)-rangeRecords, 0)
	r := rng{6}
	starts := make([]int, s.scaled(ranges))
	var expected uint64
	for i := range starts {
		starts[i] = int(r.below(uint64(last) + 1))
		end := min(starts[i]+rangeRecords, len(sorted.keys))
		expected += d.sum(sorted.numbers[starts[i]:end], 0)
	}
	return s.measure("ranges of 100", "range", func(*probe) (uint64, error) {
		err := db.View(func(txn *bolt.Tx) error {
			var sum uint64
			c := txn.Bucket(bucket).Cursor()
			for _, start := range starts {
				key, value := c.Seek(sorted.keys[start])
				for count := 0; key != nil && count < rangeRecords; count++ {
					sum += touched(value)
					if count+1 < rangeRecords {
						key, value = c.Next()
					}
				}
			}
			return check(sum, expected)
		})
		return uint64(len(starts)), err
	})
}

func load(s *session) error {
	d := newData(random16, s.scaled(records), valueBytes)
	s.describe(d)
	sorted := d.sorted()
	db, err := s.open("in order")
	if err != nil {
		return err
	}
	err = s.measure("load sequential", "put", func(*probe) (uint64, error) {
		return putAll(db, d, sorted, 0, sequentialBatch, 1)
	})
	if err != nil {
		return err
	}
	if err := scansOf(", packed")(s, db, d); err != nil {
		return err
	}
	all := uint64(d.count)
	if err := finish(s, db, "sync after a sequential load", all, d.sum(d.numbers(), 0)); err != nil {
		return err
	}
	if err := s.leftOut("load in bulk", "there is no bulk build"); err != nil {
		return err
	}
	return loadAtRandom(s, d)
}

func loadAtRandom(s *session, d *data) error {
	o := d.shuffled(1)
	db, err := s.open("at random")
	if err != nil {
		return err
	}
	for round, cell := range []string{"load random", "overwrite random"} {
		err := s.measure(cell, "put", func(*probe) (uint64, error) {
			return putAll(db, d, o, uint32(round), batch, bolt.DefaultFillPercent)
		})
		if err != nil {
			return err
		}
		if err := checkAll(db, uint64(d.count), d.sum(d.numbers(), uint32(round))); err != nil {
			return err
		}
		o = d.shuffled(2 + uint64(round))
	}
	err = s.measure("delete random", "delete", func(*probe) (uint64, error) {
		for at := 0; at < len(o.keys); at += batch {
			err := db.Update(func(txn *bolt.Tx) error {
				b := txn.Bucket(bucket)
				for _, key := range o.keys[at:min(at+batch, len(o.keys))] {
					if err := b.Delete(key); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return 0, err
			}
		}
		return uint64(len(o.keys)), nil
	})
	if err != nil {
		return err
	}
	return finish(s, db, "sync after deletes", 0, 0)
}

// finish measures the sync that a lazy load owes, and checks what is there.
func finish(s *session, db *bolt.DB, cell string, count, sum uint64) error {
	err := s.measure(cell, "sync", func(*probe) (uint64, error) { return 1, db.Sync() })
	return errors.Join(err, checkAll(db, count, sum), db.Close())
}

func commits(s *session) error {
	d := newData(random16, s.scaled(100_000), valueBytes)
	s.describe(d)
	db, err := s.open("commits")
	if err != nil {
		return err
	}
	o := d.shuffled(1)
	if _, err := putAll(db, d, o, 0, batch, bolt.DefaultFillPercent); err != nil {
		return err
	}
	if err := db.Sync(); err != nil {
		return err
	}
	var done atomic.Uint32
	next := func() error {
		at := done.Add(1) - 1
		round, place := at/d.count+1, at%d.count
		return db.Update(func(txn *bolt.Tx) error {
			return txn.Bucket(bucket).Put(o.keys[place], d.value(o.numbers[place], round))
		})
	}
	if s.mode == "durable" {
		err = commitDurably(s, next)
	} else {
		err = commitLazily(s, next)
	}
	if err != nil {
		return err
	}
	round, place := done.Load()/d.count+1, done.Load()%d.count
	sum := d.sum(o.numbers[:place], round) + d.sum(o.numbers[place:], round-1)
	return errors.Join(checkAll(db, uint64(d.count), sum), db.Close())
}

func commitDurably(s *session, next func() error) error {
	count := s.scaledGently(2000)
	for _, threads := range []int{1, 2, 8} {
		each, cell := max(count/2, 1), fmt.Sprintf("put, %d threads", threads)
		if threads == 1 {
			each, cell = count, "put, 1 thread"
		}
		err := s.measure(cell, "transaction", func(p *probe) (uint64, error) {
			probes := make([]probe, threads)
			err := inThreads(p, threads, func(at int) error {
				for range each {
					if err := probes[at].timed(next); err != nil {
						return err
					}
				}
				return nil
			})
			for _, one := range probes {
				p.latencies = append(p.latencies, one.latencies...)
			}
			return uint64(each) * uint64(threads), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func commitLazily(s *session, next func() error) error {
	count := s.scaled(200_000)
	err := s.measure("put, 1 thread", "transaction", func(*probe) (uint64, error) {
		for range count {
			if err := next(); err != nil {
				return 0, err
			}
		}
		return uint64(count), nil
	})
	if err != nil {
		return err
	}
	count = (count + 9) / 10
	return s.measure("put, each timed", "transaction", func(p *probe) (uint64, error) {
		for range count {
			if err := p.timed(next); err != nil {
				return 0, err
			}
		}
		return uint64(count), nil
	})
}

func crud(s *session) error {
	count := s.scaled(200_000)
	if s.mode == "durable" {
		count = s.scaledGently(2000)
	}
	d := newData(random16, 2*count, valueBytes)
	s.describe(d)
	db, err := s.open("crud")
	if err != nil {
		return err
	}
	o := d.all()
	var expected, sum uint64
	for at := range count {
		expected += touched(d.value(2*at, 0))
	}
	transact := func(at uint32) error {
		a, b := 2*at, 2*at+1
		return db.Update(func(txn *bolt.Tx) error {
			t := txn.Bucket(bucket)
			err := errors.Join(t.Put(o.keys[b], d.value(b, 0)), t.Put(o.keys[a], d.value(a, 0)),
				t.Delete(o.keys[b]))
			sum += touched(t.Get(o.keys[a]))
			return err
		})
	}
	err = s.measure("crud", "transaction", func(p *probe) (uint64, error) {
		for at := range count {
			work := func() error { return transact(at) }
			err := error(nil)
			if s.mode == "durable" {
				err = p.timed(work)
			} else {
				err = work()
			}
			if err != nil {
				return 0, err
			}
		}
		return uint64(count), check(sum, expected)
	})
	return errors.Join(err, checkAll(db, uint64(count), expected), db.Close())
}

func fixed(s *session) error {
	d := newData(random16, s.scaled(records), valueBytes)
	db, err := loaded(s, d)
	if err != nil {
		return err
	}
	txns := func(cell string, count uint32, writable bool) error {
		return s.measure(cell, "transaction", func(*probe) (uint64, error) {
			for range count {
				txn, err := db.Begin(writable)
				if err == nil {
					err = txn.Rollback()
				}
				if err != nil {
					return 0, err
				}
			}
			return uint64(count), nil
		})
	}
	err = errors.Join(
		txns("begin and end a read transaction", s.scaled(1_000_000), false),
		s.leftOut("renew a read transaction", "a read transaction cannot be renewed"),
		txns("begin and abort a write transaction", s.scaled(100_000), true),
		db.Close(),
	)
	if err != nil {
		return err
	}
	return openAndClose(s)
}

func openAndClose(s *session) error {
	const opens = 20
	var opening, closing time.Duration
	for range opens {
		started := time.Now()
		db, err := s.open("loaded")
		if err != nil {
			return err
		}
		opening += time.Since(started)
		started = time.Now()
		if err := db.Close(); err != nil {
			return err
		}
		closing += time.Since(started)
	}
	cell := func(name string, spent time.Duration) error {
		return s.measure(name, name, func(p *probe) (uint64, error) {
			p.spent = spent
			return opens, nil
		})
	}
	return errors.Join(cell("open", opening), cell("close", closing))
}

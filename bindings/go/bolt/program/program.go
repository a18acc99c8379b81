// Package program is a small program that uses bbolt, moved over to Huon by its import. The folder
// bench/program has it as it was; what both print must be the same.
package program

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	bolt "huon/bolt"
)

// Task is a thing to be done.
type Task struct {
	ID    uint64
	Title string
	Due   time.Time
	Done  bool
}

// Store keeps the tasks of people: bucket "tasks", in it one for each person, in that a record for
// each task and a bucket "due" with their keys in the order of time.
type Store struct {
	db  *bolt.DB
	out io.Writer
}

var (
	tasks = []byte("tasks")
	due   = []byte("due")
	log   = []byte("log")
)

func id(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Run does all that the program does in a folder, and tells about it.
func Run(dir string, out io.Writer) error {
	path := filepath.Join(dir, "tasks.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, NoSync: true})
	if err != nil {
		return err
	}
	store := &Store{db, out}
	for _, step := range []func() error{
		store.setUp, store.fill, store.list, store.finish, store.mistakes, store.batches,
		store.cursors, store.move, store.backUp,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := db.Close(); err != nil {
		return err
	}
	fmt.Fprintln(out, "closed:", db.View(func(*bolt.Tx) error { return nil }))
	return reopen(path, out)
}

func (s *Store) setUp() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{tasks, log} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		tx.OnCommit(func() { fmt.Fprintln(s.out, "set up") })
		return nil
	})
}

// add adds a task of a person, whose buckets are made if need be.
func (s *Store) add(tx *bolt.Tx, who, title string, at time.Time) error {
	person, err := tx.Bucket(tasks).CreateBucketIfNotExists([]byte(who))
	if err != nil {
		return err
	}
	index, err := person.CreateBucketIfNotExists(due)
	if err != nil {
		return err
	}
	n, err := person.NextSequence()
	if err != nil {
		return err
	}
	text, err := json.Marshal(Task{ID: n, Title: title, Due: at})
	if err != nil {
		return err
	}
	if err := person.Put(id(n), text); err != nil {
		return err
	}
	return index.Put([]byte(at.Format(time.RFC3339)), id(n))
}

func (s *Store) fill() error {
	day := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	return s.db.Update(func(tx *bolt.Tx) error {
		for n := range 300 {
			who := []string{"ada", "bob/2", "c%d"}[n%3]
			at := day.Add(time.Duration(n*7919%1000) * time.Hour)
			if err := s.add(tx, who, fmt.Sprintf("task %d", n), at); err != nil {
				return err
			}
		}
		return tx.Bucket(log).Put([]byte("filled"), nil)
	})
}

// list lists what is due in a week, and how much each person has.
func (s *Store) list() error {
	return s.db.View(func(tx *bolt.Tx) error {
		err := tx.Bucket(tasks).ForEach(func(name, value []byte) error {
			person := tx.Bucket(tasks).Bucket(name)
			fmt.Fprintf(s.out, "%s (%v): %d keys, sequence %d\n",
				name, value == nil, person.Stats().KeyN, person.Sequence())
			from, to := []byte("2024-05-10"), []byte("2024-05-12")
			c := person.Bucket(due).Cursor()
			for at, key := c.Seek(from); at != nil && bytes.Compare(at, to) < 0; at, key = c.Next() {
				var task Task
				if err := json.Unmarshal(person.Get(key), &task); err != nil {
					return err
				}
				fmt.Fprintf(s.out, "  %s %s\n", at, task.Title)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			_, err := fmt.Fprintf(s.out, "bucket %s, writable %v\n", name, b.Writable())
			return err
		})
	})
}

// finish marks tasks as done, and deletes those that are due latest.
func (s *Store) finish() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		person := tx.Bucket(tasks).Bucket([]byte("ada"))
		c := person.Bucket(due).Cursor()
		count := 0
		for at, key := c.Last(); at != nil && count < 5; at, key = c.Prev() {
			if err := person.Delete(key); err != nil {
				return err
			}
			if err := c.Delete(); err != nil {
				return err
			}
			count++
		}
		for n := uint64(1); n <= 3; n++ {
			var task Task
			if err := json.Unmarshal(person.Get(id(n)), &task); err != nil {
				return err
			}
			task.Done = true
			text, err := json.Marshal(task)
			if err != nil {
				return err
			}
			if err := person.Put(id(n), text); err != nil {
				return err
			}
		}
		last, _ := person.Bucket(due).Cursor().Last()
		fmt.Fprintf(s.out, "the last one is due %s\n", last)
		return nil
	})
}

// mistakes are refused, each by its error.
func (s *Store) mistakes() error {
	stop := errors.New("stop")
	err := s.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(tasks)
		_, exists := tx.CreateBucket(tasks)
		_, unnamed := tx.CreateBucket(nil)
		for what, err := range []error{
			exists, unnamed, tx.DeleteBucket([]byte("none")), b.Put([]byte("ada"), nil),
			b.Put(nil, []byte("x")), b.Delete([]byte("ada")), tx.Bucket(log).DeleteBucket([]byte("filled")),
			b.Put([]byte("plain"), []byte("x")), b.Delete([]byte("none")),
		} {
			fmt.Fprintln(s.out, "mistake", what, err)
		}
		_, both := b.CreateBucket([]byte("plain"))
		fmt.Fprintln(s.out, both, b.Get([]byte("ada")) == nil, b.Bucket([]byte("plain")) == nil)
		if _, err := tx.CreateBucket([]byte("undone")); err != nil {
			return err
		}
		return stop
	})
	fmt.Fprintln(s.out, "it stopped:", err == stop)
	err = s.db.View(func(tx *bolt.Tx) error {
		undone, plain := tx.Bucket([]byte("undone")), tx.Bucket(tasks).Get([]byte("plain"))
		fmt.Fprintln(s.out, undone == nil, plain == nil)
		return tx.Bucket(log).Put([]byte("k"), nil)
	})
	fmt.Fprintln(s.out, err)
	tx, err := s.db.Begin(false)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, tx.Commit(), tx.Rollback(), tx.Rollback())
	return nil
}

func (s *Store) batches() error {
	var all sync.WaitGroup
	failures := make(chan error, 50)
	for n := range 50 {
		all.Add(1)
		go func() {
			defer all.Done()
			failures <- s.db.Batch(func(tx *bolt.Tx) error {
				return tx.Bucket(log).Put(fmt.Appendf(nil, "batch %02d", n), []byte("x"))
			})
		}()
	}
	all.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			return err
		}
	}
	return s.db.View(func(tx *bolt.Tx) error {
		fmt.Fprintln(s.out, tx.Bucket(log).Stats().KeyN, "records in the log")
		return nil
	})
}

// cursors go about between records and buckets.
func (s *Store) cursors() error {
	return s.db.View(func(tx *bolt.Tx) error {
		person := tx.Bucket(tasks).Bucket([]byte("c%d"))
		c := person.Cursor()
		show := func(what string, k, v []byte) {
			fmt.Fprintf(s.out, "%s: %x %v\n", what, k, v == nil)
		}
		k, v := c.First()
		show("first", k, v)
		k, v = c.Last()
		show("last", k, v)
		k, v = c.Prev()
		show("before", k, v)
		k, v = c.Next()
		show("again", k, v)
		k, v = c.Seek([]byte("dud"))
		show("sought", k, v)
		k, v = c.Prev()
		show("before", k, v)
		k, v = c.Seek([]byte("e"))
		show("none", k, v)
		count := 0
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			count++
		}
		for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
			count++
		}
		root := tx.Cursor()
		name, value := root.Seek([]byte("m"))
		fmt.Fprintf(s.out, "%d both ways; %s %v\n", count, name, value == nil)
		return nil
	})
}

// move copies a bucket with all that is in it, and deletes it.
func (s *Store) move() error {
	var copyAll func(from, to *bolt.Bucket) error
	copyAll = func(from, to *bolt.Bucket) error {
		if err := to.SetSequence(from.Sequence()); err != nil {
			return err
		}
		return from.ForEach(func(k, v []byte) error {
			if v != nil {
				return to.Put(k, v)
			}
			within, err := to.CreateBucket(k)
			if err != nil {
				return err
			}
			return copyAll(from.Bucket(k), within)
		})
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		from := tx.Bucket(tasks)
		to, err := from.CreateBucket([]byte("copy"))
		if err != nil {
			return err
		}
		if err := copyAll(from.Bucket([]byte("bob/2")), to); err != nil {
			return err
		}
		if err := from.DeleteBucket([]byte("bob/2")); err != nil {
			return err
		}
		n, err := to.NextSequence()
		fmt.Fprintln(s.out, "moved, next is", n, from.Bucket([]byte("bob/2")) == nil)
		return err
	})
}

// backUp writes a copy while the program goes on.
func (s *Store) backUp() error {
	return s.db.View(func(tx *bolt.Tx) error {
		var copied bytes.Buffer
		n, err := tx.WriteTo(&copied)
		fmt.Fprintln(s.out, "as long as it said:", n == tx.Size(), n == int64(copied.Len()))
		return err
	})
}

func reopen(path string, out io.Writer) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	fmt.Fprintln(out, "read-only:", db.IsReadOnly(), db.Update(func(*bolt.Tx) error { return nil }))
	return db.View(func(tx *bolt.Tx) error {
		sum := 0
		var count func(b *bolt.Bucket) error
		count = func(b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				sum += len(k) + len(v)
				if v == nil {
					return count(b.Bucket(k))
				}
				return nil
			})
		}
		err := count(tx.Bucket(tasks))
		fmt.Fprintln(out, sum, "bytes in all buckets")
		for err := range tx.Check() {
			fmt.Fprintln(out, "damage:", err)
		}
		return err
	})
}

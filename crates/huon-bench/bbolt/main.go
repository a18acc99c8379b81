// Runs the workloads of huon-bench on bbolt, one a process: the same arguments as those of its
// command run, the same records, the same lines of JSON. A workload that is not here is left out
// by name.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bbolt:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "run" {
		return errors.New("usage: run --workload NAME --mode MODE --dir DIR [--scale N] [--repeat N]")
	}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	engine := flags.String("engine", "bbolt", "")
	workload := flags.String("workload", "", "")
	mode := flags.String("mode", "", "")
	scale := flags.Float64("scale", 1, "")
	repeat := flags.Uint("repeat", 0, "")
	dir := flags.String("dir", "", "")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	s := &session{dir: *dir, home: *dir, mode: *mode, scale: *scale}
	s.last.Engine, s.last.Version, s.last.Options = *engine, version(), options(*mode)
	s.last.Workload, s.last.Mode, s.last.Repeat = *workload, *mode, uint32(*repeat)
	if *mode != "durable" && *mode != "lazy" {
		return s.leftOut("", "this engine has no such mode")
	}
	switch *workload {
	case "reads":
		return reads(s, newData(random16, s.scaled(records), valueBytes))
	case "reads-10m":
		return reads(s, newData(random16, s.scaled(10*records), valueBytes))
	case "reads-text":
		return readsText(s)
	case "load":
		return load(s)
	case "commits":
		return commits(s)
	case "crud":
		return crud(s)
	case "fixed":
		return fixed(s)
	}
	return s.leftOut("", "its program does not have this workload")
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, module := range info.Deps {
			if module.Path == "go.etcd.io/bbolt" {
				return module.Version
			}
		}
	}
	return "unknown"
}

func options(mode string) string {
	text := "NoFreelistSync, free list as a map, pages filled where keys are appended"
	if mode == "durable" {
		return text
	}
	return text + "; NoSync (a crash of the system may break the file)"
}

var bucket = []byte("bench")

// open opens the database of this name, or creates it.
func (s *session) open(name string) (*bolt.DB, error) {
	s.home = filepath.Join(s.dir, name)
	if err := os.MkdirAll(s.home, 0o700); err != nil {
		return nil, err
	}
	db, err := bolt.Open(filepath.Join(s.home, "bench.bolt"), 0o600, &bolt.Options{
		NoFreelistSync: true,
		FreelistType:   bolt.FreelistMapType,
		NoSync:         s.mode != "durable",
	})
	if err != nil {
		return nil, err
	}
	// What is there already is left as it is, so that to open changes nothing.
	exists := false
	err = db.View(func(txn *bolt.Tx) error {
		exists = txn.Bucket(bucket) != nil
		return nil
	})
	if err == nil && !exists {
		err = db.Update(func(txn *bolt.Tx) error {
			_, err := txn.CreateBucket(bucket)
			return err
		})
	}
	return db, err
}

package huon_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"huon"
)

// What every language's binding does alike: see ../conformance/README.md.

type caseFile struct {
	Format int
	Cases  []struct {
		Name  string
		Steps []map[string]any
	}
}

// runner is one case.
type runner struct {
	path    string
	options huon.Options
	db      *huon.DB
	txs     map[string]*huon.Tx
	steps   int
}

type step map[string]any

func (s step) text(name string) string {
	text, is := s[name].(string)
	if !is {
		panic(fmt.Sprintf("%q is no text: %v", name, s[name]))
	}
	return text
}

func (s step) number(name string) uint64 { return uint64(s[name].(float64)) }

func (s step) flag(name string) bool {
	flag, _ := s[name].(bool)
	return flag
}

// someBytes are bytes in either form; nil for null.
func someBytes(form any) []byte {
	switch form := form.(type) {
	case nil:
		return nil
	case string:
		made, err := hex.DecodeString(form)
		if err != nil {
			panic(err)
		}
		return append([]byte{}, made...)
	case map[string]any:
		if len(form) != 2 {
			panic(fmt.Sprintf("an unknown form of bytes: %v", form))
		}
		return bytes.Repeat(someBytes(form["repeat"]), int(form["times"].(float64)))
	}
	panic(fmt.Sprintf("an unknown form of bytes: %v", form))
}

func (s step) bytes(name string) []byte { return someBytes(s[name]) }

// plain has bytes of an answer in one form.
func plain(answer any) any {
	switch answer := answer.(type) {
	case map[string]any:
		return hex.EncodeToString(someBytes(answer))
	case []any:
		all := make([]any, len(answer))
		for i := range answer {
			all[i] = plain(answer[i])
		}
		return all
	}
	return answer
}

func hexed(bytes []byte) any {
	if bytes == nil {
		return nil
	}
	return hex.EncodeToString(bytes)
}

func pair(key, value []byte) any {
	if key == nil {
		return nil
	}
	return []any{hexed(key), hexed(value)}
}

// What each operation takes beside op, txn, table, is, error and part.
var arguments = map[string]string{
	"read": "", "write": "", "try_write": "", "begin_nested": "parent", "commit": "", "abort": "",
	"reopen": "read_only", "create": "kind", "has_table": "", "tables": "", "drop": "", "clear": "",
	"count": "", "put": "key value", "insert": "key value", "get": "key", "has": "key",
	"delete": "key", "put_many": "pairs", "get_many": "keys", "delete_range": "from to",
	"scan":     "from to prefix reverse limit",
	"scan_put": "value from to prefix reverse limit", "scan_delete": "from to prefix reverse limit",
	"first": "", "last": "", "sequence": "by", "multi_put": "key value",
	"multi_values": "key reverse", "multi_delete": "key value", "multi_delete_all": "key",
	"multi_scan": "from to prefix reverse limit",
}

func check(s step) {
	known, is := arguments[s.text("op")]
	if !is {
		panic("an unknown operation: " + s.text("op"))
	}
	for name := range s {
		if !contains(strings.Fields("op txn table is error part "+known), name) {
			panic("an unknown argument: " + name)
		}
	}
}

func contains(all []string, one string) bool {
	for _, it := range all {
		if it == one {
			return true
		}
	}
	return false
}

func (r *runner) open() error {
	db, err := huon.Open(r.path, &r.options)
	r.db, r.txs = db, map[string]*huon.Tx{}
	return err
}

func (r *runner) close() error {
	for _, tx := range r.txs {
		tx.Rollback()
	}
	return r.db.Close()
}

func (r *runner) run(s step) (any, error) {
	check(s)
	r.steps++
	ctx := context.Background()
	switch s.text("op") {
	case "read":
		return r.begin(s, r.db.BeginRead)
	case "write":
		return r.begin(s, func() (*huon.Tx, error) { return r.db.BeginWrite(ctx) })
	case "try_write":
		return r.begin(s, r.db.TryWrite)
	case "begin_nested":
		return r.begin(s, r.txs[s.text("parent")].BeginNested)
	case "commit":
		return nil, r.txs[s.text("txn")].Commit()
	case "abort":
		return nil, r.txs[s.text("txn")].Rollback()
	case "reopen":
		if err := r.close(); err != nil {
			return nil, err
		}
		r.options.ReadOnly = s.flag("read_only")
		return nil, r.open()
	}
	return r.inside(r.txs[s.text("txn")], s)
}

func (r *runner) begin(s step, begin func() (*huon.Tx, error)) (any, error) {
	tx, err := begin()
	if err == nil {
		r.txs[s.text("txn")] = tx
	}
	return nil, err
}

func (r *runner) inside(tx *huon.Tx, s step) (any, error) {
	if s.text("op") == "tables" {
		names, err := tx.Tables()
		all := make([]any, len(names))
		for i := range names {
			all[i] = names[i]
		}
		return all, err
	}
	name := s.text("table")
	switch s.text("op") {
	case "create":
		switch s["kind"] {
		case nil, "bytes":
			_, err := tx.CreateTable(name)
			return nil, err
		case "multi":
			_, err := tx.CreateMulti(name, huon.TableOptions{})
			return nil, err
		}
		panic(fmt.Sprintf("an unknown kind: %v", s["kind"]))
	case "has_table":
		return tx.HasTable(name)
	case "drop":
		was, err := tx.DropTable(name)
		if err == nil && !was {
			err = huon.ErrTableNotFound
		}
		return nil, err
	case "clear", "count":
		stat, err := tx.TableStat(name)
		if err != nil {
			return nil, err
		}
		var either interface {
			Clear() error
			Count() (uint64, error)
		}
		if stat.IsMulti {
			either, err = tx.Multi(name)
		} else {
			either, err = tx.Table(name)
		}
		if err != nil {
			return nil, err
		}
		if s.text("op") == "clear" {
			return nil, either.Clear()
		}
		return counted(either.Count())
	}
	if strings.HasPrefix(s.text("op"), "multi_") {
		multi, err := tx.Multi(name)
		if err != nil {
			return nil, err
		}
		return inMulti(multi, s)
	}
	table, err := tx.Table(name)
	if err != nil {
		return nil, err
	}
	return inTable(table, s)
}

func counted(n uint64, err error) (any, error) { return float64(n), err }

func inTable(t *huon.Table, s step) (any, error) {
	key, value := s.bytes("key"), s.bytes("value")
	switch s.text("op") {
	case "put":
		return nil, t.Put(key, value)
	case "insert":
		return t.Insert(key, value)
	case "get":
		found, err := t.Get(key)
		return hexed(found), err
	case "has":
		return t.Has(key)
	case "delete":
		return t.Delete(key)
	case "put_many":
		var pairs []huon.Pair
		for _, it := range s["pairs"].([]any) {
			both := it.([]any)
			pairs = append(pairs, huon.Pair{Key: someBytes(both[0]), Value: someBytes(both[1])})
		}
		return nil, t.PutMany(huon.Pairs(pairs...))
	case "get_many":
		var keys [][]byte
		for _, key := range s["keys"].([]any) {
			keys = append(keys, someBytes(key))
		}
		values, err := t.GetMany(keys)
		all := []any{}
		for _, value := range values {
			all = append(all, hexed(value))
		}
		return all, err
	case "delete_range":
		return counted(t.DeleteRange(s.bytes("from"), s.bytes("to")))
	case "scan":
		return shown(ranged(t, s))
	case "scan_put", "scan_delete":
		scan, count := ranged(t, s), uint64(0)
		for key := range scan.All() {
			count++
			var err error
			if s.text("op") == "scan_put" {
				err = t.Put(key, value)
			} else {
				_, err = t.Delete(key)
			}
			if err != nil {
				return nil, err
			}
		}
		return counted(count, scan.Err())
	case "first":
		key, value, err := t.First()
		return pair(key, value), err
	case "last":
		key, value, err := t.Last()
		return pair(key, value), err
	case "sequence":
		return counted(t.Sequence(s.number("by")))
	}
	panic(s.text("op"))
}

func inMulti(m *huon.Multi, s step) (any, error) {
	key, value := s.bytes("key"), s.bytes("value")
	switch s.text("op") {
	case "multi_put":
		return m.Put(key, value)
	case "multi_values":
		scan := m.Values(key)
		if s.flag("reverse") {
			scan.Reverse()
		}
		all := []any{}
		for _, value := range scan.All() {
			all = append(all, hexed(value))
		}
		return all, scan.Err()
	case "multi_delete":
		return m.Delete(key, value)
	case "multi_delete_all":
		return counted(m.DeleteAll(key))
	case "multi_scan":
		return shown(ranged(m, s))
	}
	panic(s.text("op"))
}

type rangeable interface {
	Range(from, to []byte) *huon.Scan
	Prefix(prefix []byte) *huon.Scan
}

func ranged(t rangeable, s step) *huon.Scan {
	scan := t.Range(s.bytes("from"), s.bytes("to"))
	if s["prefix"] != nil {
		scan = t.Prefix(s.bytes("prefix"))
	}
	if s.flag("reverse") {
		scan.Reverse()
	}
	if s["limit"] != nil {
		scan.Limit(int(s.number("limit")))
	}
	return scan
}

func shown(scan *huon.Scan) (any, error) {
	all := []any{}
	for key, value := range scan.All() {
		all = append(all, pair(key, value))
	}
	return all, scan.Err()
}

var errorNames = map[string][]huon.Code{
	"KeyTooLong": {huon.ErrKeyTooLong}, "KeyLength": {huon.ErrKeyLength},
	"ValueTooLong": {huon.ErrValueTooLong}, "SortedValueTooLong": {huon.ErrSortedValueTooLong},
	"TableNotFound": {huon.ErrTableNotFound}, "TableKind": {huon.ErrTableKind},
	"ReadOnly": {huon.ErrReadOnly}, "Busy": {huon.ErrBusy},
	"Misuse": {huon.ErrClosed, huon.ErrBadTx, huon.ErrInUse},
}

// verify runs a step, and compares what comes of it.
func (r *runner) verify(t *testing.T, what string, s step) {
	t.Helper()
	answer, err := r.run(s)
	if name, is := s["error"]; is {
		for _, code := range errorNames[name.(string)] {
			if errors.Is(err, code) {
				return
			}
		}
		t.Fatalf("%s: %v: %v instead of %v", what, s, err, name)
	}
	if err != nil {
		t.Fatalf("%s: %v: %v", what, s, err)
	}
	if wanted, is := s["is"]; is && !reflect.DeepEqual(answer, plain(wanted)) {
		t.Fatalf("%s: %v: %v", what, s, answer)
	}
}

func casesOf(t *testing.T, path string) caseFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file caseFile
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(path, err)
	}
	if file.Format != 1 {
		t.Fatal(path, "has another format")
	}
	return file
}

func TestConformance(t *testing.T) {
	files, _ := filepath.Glob("../conformance/cases*.json")
	if len(files) == 0 {
		t.Skip("there are no cases in ../conformance")
	}
	cases, steps := 0, 0
	for _, path := range files {
		for _, c := range casesOf(t, path).Cases {
			cases++
			r := &runner{path: filepath.Join(t.TempDir(), "case.huon")}
			r.options.Durability = huon.Lazy
			if err := r.open(); err != nil {
				t.Fatal(err)
			}
			for i, s := range c.Steps {
				r.verify(t, fmt.Sprintf("%s, %q, step %d", path, c.Name, i+1), s)
			}
			r.close()
			steps += r.steps
		}
	}
	fmt.Printf("conformance: %d cases, %d steps\n", cases, steps)
}

func TestExchange(t *testing.T) {
	const path = "../conformance/exchange.json"
	if _, err := os.Stat(path); err != nil {
		t.Skip("there is no " + path)
	}
	part := func(file, which string) {
		r := &runner{path: file}
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
		for _, c := range casesOf(t, path).Cases {
			for i, s := range c.Steps {
				if s["part"] == which {
					r.verify(t, fmt.Sprintf("%s, step %d", file, i+1), s)
				}
			}
		}
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
	}
	write, read := os.Getenv("HUON_EXCHANGE_WRITE"), os.Getenv("HUON_EXCHANGE_READ")
	if write == "" && read == "" {
		write = filepath.Join(t.TempDir(), "x.huon")
		read = write
	}
	if write != "" {
		part(write, "write")
	}
	if read != "" {
		for _, file := range strings.Split(read, ":") {
			part(file, "read")
		}
	}
}

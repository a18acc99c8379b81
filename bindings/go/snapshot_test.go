package huon_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"huon"
)

func putKey(t *testing.T, db *huon.DB, value string) {
	t.Helper()
	err := db.Update(true, func(tx *huon.Tx) error {
		table, err := tx.CreateTable("t")
		if err != nil {
			return err
		}
		return table.Put([]byte("key"), []byte(value))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func showsKey(want string) func(*huon.Tx) error {
	return func(tx *huon.Tx) error {
		table, err := tx.Table("t")
		if err != nil {
			return err
		}
		value, err := table.Get([]byte("key"))
		if err == nil && string(value) != want {
			err = errors.New(string(value) + " and not " + want)
		}
		return err
	}
}

func TestNamedSnapshots(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "a.huon")
	db, err := huon.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	putKey(t, db, "old")
	before, err := db.NameSnapshot(ctx, "before\n")
	if err != nil {
		t.Fatal(err)
	}
	putKey(t, db, "new")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = huon.Open(path, nil); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.ViewSnapshot("before\n", showsKey("old")); err != nil {
		t.Error(err)
	}
	if err := db.View(showsKey("new")); err != nil {
		t.Error(err)
	}
	all, err := db.Snapshots()
	if err != nil || len(all) != 1 || all[0].Name != "before\n" || all[0].Snapshot != before {
		t.Errorf("%v, %v", all, err)
	}
	if err := db.ViewSnapshot("other", showsKey("")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := db.NameSnapshot(ctx, ""); !errors.Is(err, huon.ErrInvalid) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := db.NameSnapshot(ended, "n"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, want := range []bool{true, false} {
		if had, err := db.DropSnapshot(ctx, "before\n"); had != want || err != nil {
			t.Error(had, err)
		}
	}
}

func TestBackups(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	db, err := huon.Open(at("a.huon"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	putKey(t, db, "old")
	if _, err := db.NameSnapshot(ctx, "monday"); err != nil {
		t.Fatal(err)
	}
	putKey(t, db, "new")
	save := func(name string, options huon.BackupOptions) huon.BackupReport {
		var out bytes.Buffer
		report, err := db.Backup(&out, options)
		if err != nil || report.Bytes != uint64(out.Len()) {
			t.Fatal(report, err)
		}
		if err := os.WriteFile(at(name), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return report
	}
	one := save("one", huon.BackupOptions{Snapshot: "monday"})
	two := save("two", huon.BackupOptions{Since: one.Snapshot})
	if one.Since.ID != 0 || two.Since != one.Snapshot || two.Pages == 0 {
		t.Error(one, two)
	}
	_, err = db.Backup(&bytes.Buffer{}, huon.BackupOptions{Snapshot: "other"})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if restored, err := huon.Restore(at("b.huon"), at("one"), at("two")); err != nil ||
		restored != two.Snapshot {
		t.Fatal(restored, err)
	}
	if _, err := huon.Restore(at("b.huon"), at("one")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := huon.Restore(at("c.huon"), at("two")); !errors.Is(err, huon.ErrDiverged) {
		t.Error(err)
	}
	if _, err := huon.Restore(at("c.huon"), at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	restored, err := huon.Open(at("b.huon"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if err := restored.View(showsKey("new")); err != nil {
		t.Error(err)
	}
}

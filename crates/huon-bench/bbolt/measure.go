package main

// What a run measures and writes, as src/measure.rs does it.

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type latency struct {
	P50  uint64 `json:"p50"`
	P99  uint64 `json:"p99"`
	P999 uint64 `json:"p999"`
	Max  uint64 `json:"max"`
}

// measurement has the fields of the struct of this name in src/record.rs.
type measurement struct {
	Engine        string   `json:"engine"`
	Version       string   `json:"version"`
	Options       string   `json:"options"`
	Workload      string   `json:"workload"`
	Cell          string   `json:"cell"`
	Mode          string   `json:"mode"`
	Records       uint64   `json:"records"`
	KeyBytes      uint64   `json:"key_bytes"`
	ValueBytes    uint64   `json:"value_bytes"`
	Threads       uint64   `json:"threads"`
	Repeat        uint32   `json:"repeat"`
	Operations    uint64   `json:"operations"`
	Unit          string   `json:"unit"`
	Seconds       float64  `json:"seconds"`
	Latency       *latency `json:"latency_ns,omitempty"`
	UserSeconds   float64  `json:"user_seconds"`
	SystemSeconds float64  `json:"system_seconds"`
	WrittenBytes  uint64   `json:"written_bytes"`
	DirtiedBytes  uint64   `json:"dirtied_bytes"`
	DiskFlushes   *uint64  `json:"disk_flushes,omitempty"`
	FileBytes     uint64   `json:"file_bytes"`
	PeakRSSBytes  uint64   `json:"peak_rss_bytes"`
}

type leftOut struct {
	Engine   string `json:"engine"`
	Workload string `json:"workload"`
	Cell     string `json:"cell"`
	Mode     string `json:"mode"`
	LeftOut  string `json:"left_out"`
}

// session is one run of one workload.
type session struct {
	dir, mode string
	home      string
	scale     float64
	last      measurement
}

func (s *session) scaled(full uint32) uint32 { return atLeastOne(float64(full) * s.scale) }

// scaledGently is for what takes long each time.
func (s *session) scaledGently(full uint32) uint32 {
	return atLeastOne(float64(full) * math.Sqrt(s.scale))
}

func atLeastOne(number float64) uint32 { return max(uint32(number), 1) }

func (s *session) describe(d *data) {
	s.last.Records = uint64(d.count)
	s.last.KeyBytes = uint64(d.keyBytes())
	s.last.ValueBytes = uint64(d.valueBytes)
}

// probe is what work under the clock may say about itself.
type probe struct {
	threads   int
	latencies []uint64
	spent     time.Duration
}

// timed runs one operation and keeps how long it took.
func (p *probe) timed(work func() error) error {
	started := time.Now()
	err := work()
	p.latencies = append(p.latencies, uint64(time.Since(started)))
	return err
}

// measure runs work with the clock on and writes down what it took; work answers how many
// operations it did.
func (s *session) measure(cell, unit string, work func(*probe) (uint64, error)) error {
	var p probe
	// Where the system can, the highest memory use begins anew.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	before, err := usedNow(s.home)
	if err != nil {
		return err
	}
	started := time.Now()
	operations, err := work(&p)
	elapsed := time.Since(started)
	if err != nil {
		return fmt.Errorf("%s: %w", cell, err)
	}
	if p.spent > 0 {
		elapsed = p.spent
	}
	after, err := usedNow(s.home)
	if err != nil {
		return err
	}
	m := &s.last
	m.Cell, m.Unit, m.Operations, m.Seconds = cell, unit, operations, elapsed.Seconds()
	m.Threads = uint64(max(p.threads, 1))
	m.Latency = quantiles(p.latencies)
	m.UserSeconds = after.user - before.user
	m.SystemSeconds = after.system - before.system
	m.WrittenBytes = after.written - before.written
	m.DirtiedBytes = after.dirtied - before.dirtied
	m.DiskFlushes = nil
	if before.flushes != nil && after.flushes != nil {
		flushes := *after.flushes - *before.flushes
		m.DiskFlushes = &flushes
	}
	if m.FileBytes, err = diskBytes(s.home); err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	m.PeakRSSBytes = field(string(status), "VmHWM:") * 1024
	return printLine(m)
}

func (s *session) leftOut(cell, reason string) error {
	return printLine(leftOut{s.last.Engine, s.last.Workload, cell, s.mode, reason})
}

func printLine(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(text))
	return err
}

func quantiles(latencies []uint64) *latency {
	if len(latencies) == 0 {
		return nil
	}
	slices.Sort(latencies)
	at := func(share float64) uint64 {
		place := int(math.Ceil(share*float64(len(latencies)))) - 1
		return latencies[max(place, 0)]
	}
	return &latency{at(0.5), at(0.99), at(0.999), latencies[len(latencies)-1]}
}

// used is what the process has used so far.
type used struct {
	user, system     float64
	written, dirtied uint64
	flushes          *uint64
}

func usedNow(dir string) (used, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return used{}, err
	}
	io, _ := os.ReadFile("/proc/self/io")
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return used{
		seconds(usage.Utime), seconds(usage.Stime),
		field(string(io), "wchar:"), field(string(io), "write_bytes:"),
		diskFlushes(dir),
	}, nil
}

// field is the number behind a name at the begin of a line; 0 if there is none.
func field(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				number, _ := strconv.ParseUint(fields[0], 10, 64)
				return number
			}
		}
	}
	return 0
}

// diskFlushes counts the flushes that the disk has done, which dir lies on.
func diskFlushes(dir string) *uint64 {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	device := info.Sys().(*syscall.Stat_t).Dev
	major := device>>8&0xfff | device>>32&0xfffff000
	minor := device&0xff | device>>12&0xffffff00
	disk := fmt.Sprintf("/sys/dev/block/%d:%d", major, minor)
	if _, err := os.Stat(filepath.Join(disk, "partition")); err == nil {
		if disk, err = filepath.EvalSymlinks(disk); err != nil {
			return nil
		}
		disk = filepath.Dir(disk)
	}
	stat, err := os.ReadFile(filepath.Join(disk, "stat"))
	if err != nil {
		return nil
	}
	fields := strings.Fields(string(stat))
	if len(fields) < 16 {
		return nil
	}
	flushes, err := strconv.ParseUint(fields[15], 10, 64)
	if err != nil {
		return nil
	}
	return &flushes
}

// diskBytes adds up the blocks of all files under dir.
func diskBytes(dir string) (bytes uint64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += uint64(info.Sys().(*syscall.Stat_t).Blocks) * 512
		}
		return err
	})
	return bytes, err
}

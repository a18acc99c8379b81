package bolt

import "huon"

// Stats are counts of a database, as far as Huon has what bbolt counts.
type Stats struct {
	FreePageN     int // pages that the next transaction may use
	PendingPageN  int // pages that some snapshot still sees
	FreeAlloc     int // bytes of both
	FreelistInuse int // bytes of the free list
	OpenTxN       int // transactions that read, of all processes
}

// Stats tells them.
func (db *DB) Stats() Stats {
	stat, err := db.huon.Stat()
	if err != nil {
		return Stats{}
	}
	info, _ := db.huon.Info()
	return Stats{
		FreePageN:     int(stat.ReusablePages),
		PendingPageN:  int(stat.RetainedPages),
		FreeAlloc:     int(stat.ReusablePages+stat.RetainedPages) * int(stat.PageBytes),
		FreelistInuse: int(stat.FreeListPages) * int(stat.PageBytes),
		OpenTxN:       int(info.Readers),
	}
}

// BucketStats are the size of a bucket, with all that are in it.
type BucketStats struct {
	BranchPageN   int
	LeafPageN     int
	LeafOverflowN int // pages of large values
	KeyN          int // records, and buckets within
	Depth         int // levels of pages, those of the deepest bucket within added
	BranchAlloc   int
	LeafAlloc     int
	BucketN       int
}

// Add adds the size of another bucket.
func (s *BucketStats) Add(other BucketStats) {
	s.BranchPageN += other.BranchPageN
	s.LeafPageN += other.LeafPageN
	s.LeafOverflowN += other.LeafOverflowN
	s.KeyN += other.KeyN
	s.Depth = max(s.Depth, other.Depth)
	s.BranchAlloc += other.BranchAlloc
	s.LeafAlloc += other.LeafAlloc
	s.BucketN += other.BucketN
}

// Stats tells the size of the bucket.
func (b *Bucket) Stats() BucketStats {
	s := b.tx.size(b.path)
	s.BucketN = 1
	names, err := b.listed()
	if err != nil {
		b.tx.note(err)
	}
	if names == nil {
		return s
	}
	index, within := b.tx.size(b.path+"/"), BucketStats{}
	index.Depth = 0
	s.Add(index)
	for name := range names.Scan().Keys() {
		if bucket := b.Bucket(name); bucket != nil {
			within.Add(bucket.Stats())
		}
	}
	s.Depth += within.Depth
	s.Add(within)
	return s
}

// size is the size of a table.
func (tx *Tx) size(path string) BucketStats {
	stat, err := tx.huon.TableStat(path)
	if err != nil {
		tx.note(err)
		return BucketStats{}
	}
	info, _ := tx.db.huon.Info()
	page := int(info.PageBytes)
	return BucketStats{
		BranchPageN: int(stat.BranchPages), LeafPageN: int(stat.LeafPages),
		LeafOverflowN: int(stat.OverflowPages), KeyN: int(stat.Entries), Depth: int(stat.Depth),
		BranchAlloc: int(stat.BranchPages) * page,
		LeafAlloc:   int(stat.LeafPages+stat.OverflowPages) * page,
	}
}

// TxStats are what a transaction has cost, in bytes.
type TxStats = huon.TxInfo

// Stats tells it.
func (tx *Tx) Stats() TxStats {
	info, _ := tx.huon.Info()
	return info
}

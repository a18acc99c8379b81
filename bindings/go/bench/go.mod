module huon/bench

go 1.25.0

require (
	github.com/PowerDNS/lmdb-go v1.9.3
	go.etcd.io/bbolt v1.5.0
	huon v0.0.0
)

require golang.org/x/sys v0.45.0 // indirect

replace huon => ../

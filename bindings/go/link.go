//go:build !huon_system

package huon

// #cgo CFLAGS: -I${SRCDIR}/lib
// #cgo LDFLAGS: ${SRCDIR}/lib/libhuon.a -ldl -lpthread -lm
import "C"

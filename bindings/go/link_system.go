//go:build huon_system

package huon

// #cgo pkg-config: huon
import "C"

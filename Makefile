# The door. Everything behind it is `cargo xtask`; see `cargo xtask --help`.

XTASK = cargo xtask
DIR ?=
PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
FORCE ?=
SECONDS ?= 600

.PHONY: help demo test proof crash torture fuzz lint bench bench-full bench-deps loom shuttle miri \
	asan planted elsewhere test-pylmdb bindings go java node python test-cpp test-go \
	test-java test-node test-python install install-capi install-lmdb install-mdbx \
	fmt clean

# Every target has a line like this one, which begins with two of these marks, and a row in
# CONTRIBUTING.md; `make lint` looks for both.
## make help: this list
help:
	@awk '/^## make / { at = index($$0, ": "); \
		printf "%-34s %s\n", substr($$0, 4, at - 4), substr($$0, at + 2) }' \
		$(firstword $(MAKEFILE_LIST))
	@echo
	@echo "ARGS='..' is passed on by demo, test, test-pylmdb, fuzz, bench, loom, shuttle, miri,"
	@echo "planted and elsewhere."

## make demo [DIR=/usr]: build a database of a directory tree, kill its writer, finish it
demo:
	@test -e "$${CARGO_TARGET_DIR:-target}/release/huon-demo" \
		|| echo "The first run builds the demo, which takes about a minute." >&2
	@$(XTASK) demo $(if $(DIR),--dir "$(DIR)") -- $(ARGS)

## make test: build and run every test, with a summary by kind
test:
	@$(XTASK) test -- $(ARGS)

## make lint: formatting, clippy, rustdoc, layers, house rules
lint:
	@$(XTASK) lint

## make proof: all tests at full size, and the figures file (about an hour)
proof:
	@$(XTASK) proof

## make crash [SECONDS=600]: crash images of new seeds
## make torture [SECONDS=600]: kills of processes that share a file, with new seeds
crash torture:
	@$(XTASK) $@ $(SECONDS)

## make fuzz [SECONDS=600]: inputs that libFuzzer makes up, where cargo-fuzz is installed
fuzz:
	@$(XTASK) fuzz --seconds $(SECONDS) -- $(ARGS)

## make bench: Huon beside other engines, 15 minutes at most (ARGS=list)
bench:
	@$(XTASK) bench -- $(ARGS)

## make bench-full: all of it at full scale (hours)
bench-full:
	@$(XTASK) bench -- suite --full $(ARGS)

## make bench-deps: install the engines that Debian has (needs root)
bench-deps:
	@$(XTASK) bench-deps

## make loom: models of the lock-free parts (takes minutes)
## make shuttle: the whole engine under 200,000 random schedules
loom shuttle:
	@$(XTASK) $@ -- $(ARGS)

## make miri: chosen tests under Miri, as if on three machines
miri:
	@$(XTASK) miri $(ARGS)

## make asan: tests under the address sanitizer
asan:
	@$(XTASK) $@

## make planted: do the tests notice planted bugs? (hours; ARGS=101: that one)
planted:
	@$(XTASK) planted $(ARGS)

## make elsewhere: check for other systems; run what runs here (ARGS=freebsd: those)
elsewhere:
	@$(XTASK) elsewhere $(ARGS)

## make test-pylmdb: the tests of py-lmdb, with Huon's liblmdb (needs the network)
test-pylmdb:
	@$(XTASK) pylmdb $(ARGS)

## make bindings: build what other languages have, as far as their tools are here
bindings:
	@$(XTASK) bindings

## make go: build the binding for Go (needs Go 1.24)
## make java: the same for Java (JDK 25, Maven)
## make node: the same for Node (Node 20, npm)
## make python: the same for Python (Python 3.11)
go java node python:
	@$(XTASK) bindings $@

## make test-cpp: the tests of C and C++
## make test-go: build the binding for Go, and run its tests
## make test-java: the same for Java
## make test-node: the same for Node
## make test-python: the same for Python
test-cpp test-go test-java test-node test-python:
	@$(XTASK) bindings $(subst test-,,$@) --test

## make install [PREFIX=] [DESTDIR=]: the huon command and its like, below /usr/local
## make install-capi: libhuon with its header huon.h
## make install-lmdb [FORCE=1]: a liblmdb with its header; over a foreign one with FORCE=1 only
## make install-mdbx [FORCE=1]: the same for libmdbx
install install-capi install-lmdb install-mdbx:
	@$(XTASK) install --prefix "$(PREFIX)" $(if $(DESTDIR),--destdir "$(DESTDIR)") \
		$(LIBRARY) $(if $(LIBRARY),$(if $(FORCE),--force))

install-capi: LIBRARY = --library huon
install-lmdb: LIBRARY = --library lmdb
install-mdbx: LIBRARY = --library huon_mdbx

## make fmt: format all sources
fmt:
	@$(XTASK) fmt

## make clean: remove build products
clean:
	@$(XTASK) clean

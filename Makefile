# The door. Everything behind it is `cargo xtask`; see `cargo xtask --help`.

XTASK = cargo xtask
DIR ?=
PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
FORCE ?=
SECONDS ?= 600

.PHONY: help demo test proof crash torture fuzz lint bench bench-full bench-deps loom shuttle miri \
	asan planted elsewhere test-pylmdb install install-lmdb install-mdbx \
	fmt clean

help:
	@echo "make demo [DIR=/usr]   build a database of a directory tree, kill its writer, finish it"
	@echo "make test              build and run every test, with a summary by kind"
	@echo "make proof             all of it at full size, and the figures file (about an hour)"
	@echo "make crash [SECONDS=]  crash images of new seeds; make torture: kills"
	@echo "make fuzz [SECONDS=]   inputs that libFuzzer makes up, where cargo-fuzz is installed"
	@echo "make lint              formatting, clippy, rustdoc, layers, house rules"
	@echo "make bench             Huon beside other engines, 15 minutes at most (ARGS='list')"
	@echo "make bench-full        all of it at full scale (hours)"
	@echo "make bench-deps        install the engines that Debian has (needs root)"
	@echo "make loom              models of the lock-free parts (takes minutes)"
	@echo "make shuttle           the whole engine under 200,000 random schedules"
	@echo "make miri              chosen tests under Miri, as if on three machines"
	@echo "make asan              tests under the address sanitizer"
	@echo "make planted           do the tests notice planted bugs? (hours; ARGS=101: that one)"
	@echo "make test-pylmdb       the tests of py-lmdb, with Huon's liblmdb (needs the network)"
	@echo "make elsewhere         check for other systems; run what runs here (i686, emulated ones)"
	@echo "make install [PREFIX=/usr/local] [DESTDIR=]   the huon command and its like"
	@echo "make install-lmdb, make install-mdbx          a C library with its header; in the place"
	@echo "                       of one that is not Huon's with FORCE=1 only"
	@echo "make fmt               format all sources"
	@echo "make clean             remove build products"
	@echo
	@echo "ARGS='..' is passed on by demo, test, test-pylmdb, fuzz, bench, loom, shuttle and miri."

demo:
	@$(XTASK) demo $(if $(DIR),--dir "$(DIR)") -- $(ARGS)

test:
	@$(XTASK) test -- $(ARGS)

proof:
	@$(XTASK) proof

crash torture:
	@$(XTASK) $@ $(SECONDS)

fuzz:
	@$(XTASK) fuzz --seconds $(SECONDS) -- $(ARGS)

lint:
	@$(XTASK) lint

bench:
	@$(XTASK) bench -- $(ARGS)

bench-full:
	@$(XTASK) bench -- suite --full $(ARGS)

bench-deps:
	@$(XTASK) bench-deps

loom shuttle:
	@$(XTASK) $@ -- $(ARGS)

miri:
	@$(XTASK) miri $(ARGS)

asan:
	@$(XTASK) $@

planted:
	@$(XTASK) planted $(ARGS)

test-pylmdb:
	@$(XTASK) pylmdb $(ARGS)

elsewhere:
	@$(XTASK) elsewhere $(ARGS)

install install-lmdb install-mdbx:
	@$(XTASK) install --prefix "$(PREFIX)" $(if $(DESTDIR),--destdir "$(DESTDIR)") \
		$(LIBRARY) $(if $(LIBRARY),$(if $(FORCE),--force))

install-lmdb: LIBRARY = --library lmdb
install-mdbx: LIBRARY = --library huon_mdbx

fmt:
	@$(XTASK) fmt

clean:
	@$(XTASK) clean

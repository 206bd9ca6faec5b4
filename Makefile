# make run      boot Tamaprobe in QEMU, with its console on this terminal
# make test     all tests, on the host and on bare metal
# make bench    what probes cost, and booting
# make stdtest  tests of Go's standard library while everything is probed (long)
# make fuzz     random probes with random handlers
# make debug    boot it halted, for gdb
# make lint     gofmt, go vet, staticcheck
#
# QEMU=, MACHINE=, CPU=, SMP=, MEM=, APPEND= choose the machine and the kernel
# command line, see scripts/qemu.sh.

SHELL := /bin/bash

QEMU ?= qemu-system-x86_64
MACHINE ?= q35
SMP ?= 2
export QEMU MACHINE SMP
export CPU MEM APPEND INITRD QEMUFLAGS

KERNEL := build/tamaprobe

# Packages that are tested on the host; what they need is bytes, or a machine seen
# from outside. The latter are run anew each time: go test does not see what the machine is made of.
HOST := ./arch/amd64/inst ./bench/budget ./boot/overlay ./boot/pvhnote ./cmd/tamadump ./dump ./kernel/shell \
	./kprobes/aggregate ./kprobes/event ./kprobes/govars ./kprobes/ring ./stdtest ./symtab
OUTSIDE := ./boot/archive ./test
# Packages that are tested on bare metal, and those of them that are mostly tested on the host.
METAL := ./arch/amd64 ./boot/board ./kprobes ./kprobes/tracer ./trap
METAL_SHORT := ./dump ./kprobes/aggregate ./kprobes/ring ./symtab

.PHONY: run debug kernel test test-host test-metal test-metal-1 test-metal-4 stdtest stdtest-quick fuzz lint bench clean qemu objdump

run: qemu kernel
	@INITRD=$${INITRD:-$(KERNEL)} REBOOT=1 scripts/qemu.sh $(KERNEL)

debug: qemu kernel
	@echo 'gdb -ex "target remote :1234" -ex "hbreak main.main" $(KERNEL)'
	@QEMUFLAGS="$(QEMUFLAGS) -s -S" INITRD=$${INITRD:-$(KERNEL)} REBOOT=1 scripts/qemu.sh $(KERNEL)

# The go command knows whether there is anything to do. The image is its own boot module, for
# its debugging information, which is read faster if it is not compressed.
kernel:
	@LDFLAGS=-compressdwarf=false scripts/metal.sh build -o $(KERNEL) ./kernel

# What uses one processor or little runs side by side; what metal.sh makes for all is there before.
test: lint
	@scripts/metal.sh list unsafe >/dev/null
	@$(MAKE) --no-print-directory -j2 test-host test-metal-1 stdtest-quick
	@$(MAKE) --no-print-directory test-metal-4

test-host: qemu objdump
	go test $(HOST)
	go test -run ^$$ -fuzz FuzzDecode -fuzztime 5s ./arch/amd64/inst
	go test -count=1 $(OUTSIDE)

test-metal: test-metal-1 test-metal-4

test-metal-1: qemu
	SMP=1 scripts/metal.sh test -count=1 -short $(METAL)

test-metal-4: qemu
	SMP=4 scripts/metal.sh test -count=1 -short $(METAL_SHORT)
	SMP=4 scripts/metal.sh test -count=1 $(METAL)

# Random probes with random handlers, by themselves; make test has them, too.
fuzz: qemu
	SMP=4 scripts/metal.sh test -count=1 -v -run TestFuzz ./kprobes

# What has passed is not run again while it is the same: interrupt it as you like.
stdtest: qemu
	go run ./stdtest

stdtest-quick: qemu
	go run ./stdtest -quick

lint:
	scripts/lint.sh

# The bench looks up Go variables in itself, as the kernel does.
bench: qemu kernel
	@LDFLAGS=-compressdwarf=false scripts/metal.sh build -o build/bench ./bench
	@go run ./bench/run

qemu:
	@command -v $(QEMU) >/dev/null || scripts/install.sh qemu-system-x86

objdump: qemu # one installation at a time
	@command -v objdump >/dev/null || scripts/install.sh binutils

clean:
	rm -rf build

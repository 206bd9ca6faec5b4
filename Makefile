# make run      boot Tamaprobe in QEMU, with its console on this terminal
# make test     all tests, on the host and on bare metal
# make bench    what a probe costs
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
# from outside.
HOST := ./arch/amd64/inst ./boot/overlay ./boot/pvhnote ./symtab
# Packages that are tested on bare metal.
METAL := ./arch/amd64 ./boot/board ./kprobes ./symtab ./trap

.PHONY: run debug kernel test test-host test-metal lint bench clean qemu objdump

run: qemu kernel
	@INITRD=$${INITRD:-$(KERNEL)} REBOOT=1 scripts/qemu.sh $(KERNEL)

debug: qemu kernel
	@echo 'gdb -ex "target remote :1234" -ex "hbreak main.main" $(KERNEL)'
	@QEMUFLAGS="$(QEMUFLAGS) -s -S" INITRD=$${INITRD:-$(KERNEL)} REBOOT=1 scripts/qemu.sh $(KERNEL)

# The go command knows whether there is anything to do. The image is its own boot module, for
# its debugging information, which is read faster if it is not compressed.
kernel:
	@LDFLAGS=-compressdwarf=false scripts/metal.sh build -o $(KERNEL) ./kernel

test: lint test-host test-metal

test-host: qemu objdump
	go test $(HOST)
	go test -run ^$$ -fuzz FuzzDecode -fuzztime 10s ./arch/amd64/inst
	go test -count=1 ./test

test-metal: qemu
	SMP=1 scripts/metal.sh test -count=1 -short $(METAL)
	SMP=4 scripts/metal.sh test -count=1 $(METAL)

lint:
	scripts/lint.sh

# With -icount an instruction takes a nanosecond.
bench: qemu
	@scripts/metal.sh build -o build/bench ./bench
	@SMP=1 QEMUFLAGS="-icount shift=0" scripts/qemu.sh build/bench </dev/null

qemu:
	@command -v $(QEMU) >/dev/null || scripts/install.sh qemu-system-x86

objdump:
	@command -v objdump >/dev/null || scripts/install.sh binutils

clean:
	rm -rf build

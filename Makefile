# make run      boot Tamaprobe in QEMU, with its console on this terminal
# make test     all tests, on the host and on bare metal
# make bench    what a probe costs
# make debug    boot it halted, for gdb
# make lint     formatting, vet, staticcheck
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

.PHONY: run debug kernel clean qemu

run: qemu kernel
	@REBOOT=1 scripts/qemu.sh $(KERNEL)

debug: qemu kernel
	@echo 'gdb -ex "target remote :1234" -ex "hbreak main.main" $(KERNEL)'
	@QEMUFLAGS="$(QEMUFLAGS) -s -S" REBOOT=1 scripts/qemu.sh $(KERNEL)

# The go command knows whether there is anything to do.
kernel:
	@scripts/metal.sh build -o $(KERNEL) ./kernel

qemu:
	@command -v $(QEMU) >/dev/null || scripts/install.sh qemu-system-x86

clean:
	rm -rf build

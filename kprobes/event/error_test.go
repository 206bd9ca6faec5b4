package event

import (
	"errors"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// badLine is a line with a ^ before the column of its error.
type badLine struct {
	line    string
	message string
	errno   syscall.Errno
}

// check compares an error with what the line must give.
func (b badLine) check(t *testing.T, err error) {
	t.Helper()
	i := strings.IndexByte(b.line, '^')
	line := b.line[:i] + b.line[i+1:]
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%q: error %v, want %q", line, err, b.message)
		return
	}
	if e.Message != b.message || e.Column != i+1 || !errors.Is(err, b.errno) || e.Line != line {
		t.Errorf("%q:\n got column %d, %v, %q\nwant column %d, %v, %q", line, e.Column, e.Errno, e.Message, i+1, b.errno, b.message)
	}
}

func TestParseErrors(t *testing.T) {
	for _, bad := range badLines() {
		target := newTarget()
		d, err := Parse(strings.Replace(bad.line, "^", "", 1), target)
		bad.check(t, err)
		if d != nil {
			t.Errorf("%q: there is an error and a definition", bad.line)
		}
		if !reflect.DeepEqual(target, newTarget()) {
			t.Errorf("%q: the target has changed", bad.line)
		}
	}
}

func badLines() []badLine {
	return []badLine{
		{`^x vfs_read`, `Unknown command: it starts with p, r or -, and then a blank or a colon`, syscall.EINVAL},
		{`^pq vfs_read`, `Unknown command: it starts with p, r or -, and then a blank or a colon`, syscall.EINVAL},
		{`^rx vfs_read`, `Unknown command: it starts with p, r or -, and then a blank or a colon`, syscall.EINVAL},
		{`^-foo`, `Unknown command: it starts with p, r or -, and then a blank or a colon`, syscall.EINVAL},
		{`^hist vfs_read`, `Unknown command: it starts with p, r or -, and then a blank or a colon`, syscall.EINVAL},
		{`^:foo vfs_read`, `Unknown command: it starts with p, r or -, and then a blank or a colon`, syscall.EINVAL},
		{`-^`, `Event name is not specified: a removal is -:[GRP/]EVENT`, syscall.EINVAL},
		{`-^ foo`, `Event name is not specified: a removal is -:[GRP/]EVENT`, syscall.EINVAL},
		{`-:^`, `Event name is not specified`, syscall.EINVAL},
		{`-:^/foo`, `Group name is not specified`, syscall.EINVAL},
		{`-:^1a/foo`, `Group name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`-:foo/^1`, `Event name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`-:foo ^vfs_read`, `A removal takes an event's name only: -:[GRP/]EVENT`, syscall.EINVAL},
		{`^-5:foo`, `Unknown command: it starts with p, r or -, and then a blank or a colon`, syscall.EINVAL},
		{`p^100 vfs_read`, `Maxactive is not for kprobe: it belongs to r`, syscall.EINVAL},
		{`p^1:foo vfs_read%return`, `Maxactive is not for kprobe: it belongs to r`, syscall.EINVAL},
		{`r^1a111 vfs_read`, `Invalid maxactive number`, syscall.EINVAL},
		{`r^08 vfs_read`, `Invalid maxactive number`, syscall.EINVAL},
		{`r^0x vfs_read`, `Invalid maxactive number`, syscall.EINVAL},
		{`r^4097 vfs_read`, `Maxactive is too big: at most 4096 are allowed`, syscall.E2BIG},
		{`r^100000 vfs_read`, `Maxactive is too big: at most 4096 are allowed`, syscall.E2BIG},
		{`r^99999999999999999999 vfs_read`, `Invalid maxactive number`, syscall.EINVAL},
		{`p:^ vfs_read`, `Event name is not specified`, syscall.EINVAL},
		{`p:^`, `Event name is not specified`, syscall.EINVAL},
		{`p:^/ vfs_read`, `Group name is not specified`, syscall.EINVAL},
		{`p:^/bar vfs_read`, `Group name is not specified`, syscall.EINVAL},
		{`p:^.bar vfs_read`, `Group name is not specified`, syscall.EINVAL},
		{`p:^1234567890123456789012345678901234567890123456789012345678901234/bar vfs_read`, `Group name is too long: it has 64 characters, at most 63 are allowed`, syscall.E2BIG},
		{`p:^foo-1/bar vfs_read`, `Group name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p:^1foo/bar vfs_read`, `Group name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p:^é/bar vfs_read`, `Group name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p:foo/^1234567890123456789012345678901234567890123456789012345678901234 vfs_read`, `Event name is too long: it has 64 characters, at most 63 are allowed`, syscall.E2BIG},
		{`p:foo/^bar.1 vfs_read`, `Event name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p:foo/^bar/baz vfs_read`, `Event name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p:foo.^bar.baz vfs_read`, `Event name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p:^bar-1 vfs_read`, `Event name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p:^1bar vfs_read`, `Event name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p:^foo:bar vfs_read`, `Event name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p^`, `Probe point is not specified`, syscall.EINVAL},
		{`r^`, `Probe point is not specified`, syscall.EINVAL},
		{`p:foo^`, `Probe point is not specified`, syscall.EINVAL},
		{`p^   `, `Probe point is not specified`, syscall.EINVAL},
		{`p -inline^`, `Probe point is not specified`, syscall.EINVAL},
		{`p ^-inlined vfs_read`, `Unknown option -inlined: there is -inline`, syscall.EINVAL},
		{`p ^-4 vfs_read`, `Unknown option -4: there is -inline`, syscall.EINVAL},
		{`r ^-inline vfs_read`, `-inline is not for return probes: an inlined copy does not return`, syscall.EINVAL},
		{`p -inline vfs_read^%return`, `-inline is not for return probes: an inlined copy does not return`, syscall.EINVAL},
		{`p -inline ^0x1000000`, `-inline takes a function: inlined copies are known by its name`, syscall.EINVAL},
		{`p -inline ^main.go:12`, `-inline takes a function: inlined copies are known by its name`, syscall.EINVAL},
		{`p ^non_exist_func`, `Invalid probed address or symbol: there is no function non_exist_func`, syscall.ENOENT},
		{`p ^hoge-fuga`, `Invalid probed address or symbol: there is no function hoge-fuga`, syscall.ENOENT},
		{`p ^hoge+1000-1000`, `Invalid probed address or symbol: there is no function hoge`, syscall.ENOENT},
		{`p ^main.Handle`, `Invalid probed address or symbol: there is no function main.Handle`, syscall.ENOENT},
		{`p ^jiffies`, `Invalid probed address or symbol: jiffies is data, not a function`, syscall.EINVAL},
		{`p ^ext4:ext4_read`, `Invalid probed address or symbol: there is no function ext4:ext4_read; nor are there modules, one image holds all code`, syscall.ENOENT},
		{`p ^main.handle:12`, `Invalid probed address or symbol: there is no function main.handle:12; nor are there modules, one image holds all code`, syscall.ENOENT},
		{`p vfs_read^+1000-1000`, `Invalid probed address or symbol: +1000-1000 is not an offset, that is + and a number`, syscall.EINVAL},
		{`p vfs_read^-10`, `Invalid probed address or symbol: the offset is not in the function`, syscall.EINVAL},
		{`p vfs_read^+`, `Invalid probed address or symbol: + is not an offset, that is + and a number`, syscall.EINVAL},
		{`p vfs_read^+x`, `Invalid probed address or symbol: +x is not an offset, that is + and a number`, syscall.EINVAL},
		{`p vfs_read^+0x`, `Invalid probed address or symbol: +0x is not an offset, that is + and a number`, syscall.EINVAL},
		{`p vfs_read+1^%e`, `Invalid probed address suffix: there is %return`, syscall.EINVAL},
		{`p vfs_read^+0x100000000`, `Invalid probed address or symbol: the offset is not in the function`, syscall.EINVAL},
		{`p vfs_read^+99999999999999999999`, `Invalid probed address or symbol: +99999999999999999999 is not an offset, that is + and a number`, syscall.EINVAL},
		{`p vfs_read^%ret`, `Invalid probed address suffix: there is %return`, syscall.EINVAL},
		{`p vfs_read+4^%`, `Invalid probed address suffix: there is %return`, syscall.EINVAL},
		{`p vfs_read^%return%return`, `Invalid probed address suffix: there is %return`, syscall.EINVAL},
		{`p hoge^%fuga`, `Invalid probed address suffix: there is %return`, syscall.EINVAL},
		{`r ^vfs_read+10`, `Retprobe address must be a function entry: give the function alone`, syscall.EINVAL},
		{`p ^vfs_read+10%return`, `Retprobe address must be a function entry: give the function alone`, syscall.EINVAL},
		{`r ^0x1000004`, `Retprobe address must be a function entry: give the function alone`, syscall.EINVAL},
		{`r ^0x5`, `Retprobe address must be a function entry: give the function alone`, syscall.EINVAL},
		{`r ^server.go:12`, `Retprobe address must be a function entry: give the function alone`, syscall.EINVAL},
		{`p ^0x`, `Invalid probed address or symbol: 0x is not a number of 64 bits`, syscall.EINVAL},
		{`p ^0xfg`, `Invalid probed address or symbol: 0xfg is not a number of 64 bits`, syscall.EINVAL},
		{`p ^18446744073709551616`, `Invalid probed address or symbol: 18446744073709551616 is not a number of 64 bits`, syscall.EINVAL},
		{`p ^12abc`, `Invalid probed address or symbol: 12abc is not a number of 64 bits`, syscall.EINVAL},
		{`p 0x1000000^%foo`, `Invalid probed address suffix: there is %return`, syscall.EINVAL},
		{`p main.go:^`, `Invalid line number: a place in a file is FILE.go:LINE, lines count from 1`, syscall.EINVAL},
		{`p main.go:^0`, `Invalid line number: a place in a file is FILE.go:LINE, lines count from 1`, syscall.EINVAL},
		{`p main.go:^x12`, `Invalid line number: a place in a file is FILE.go:LINE, lines count from 1`, syscall.EINVAL},
		{`p main.go:^-4`, `Invalid line number: a place in a file is FILE.go:LINE, lines count from 1`, syscall.EINVAL},
		{`p main.go:^12%return`, `Invalid line number: a place in a file is FILE.go:LINE, lines count from 1`, syscall.EINVAL},
		{`p "my file.go":^zero`, `Invalid line number: a place in a file is FILE.go:LINE, lines count from 1`, syscall.EINVAL},
		{`p ^"main.main`, `Invalid probed address or symbol: the name is not closed with '"', or holds an unknown escape`, syscall.EINVAL},
		{`p ^"main.\qmain"`, `Invalid probed address or symbol: the name is not closed with '"', or holds an unknown escape`, syscall.EINVAL},
		{`p ^"no such"`, `Invalid probed address or symbol: there is no function "no such"`, syscall.ENOENT},
		{`p "main.main"^x`, `Invalid probed address or symbol: x is not an offset, that is + and a number`, syscall.EINVAL},
		{`p ^""`, `Invalid probed address or symbol: there is no function ""`, syscall.ENOENT},
		{`p ^sort.no`, `Invalid probed address or symbol: there is no function sort.no`, syscall.ENOENT},
		{`p vfs_read ^$retval`, `$retval is not available on probe: define a return probe, with r`, syscall.EINVAL},
		{`p vfs_read ^$ret0`, `$ret0 is not available on probe: define a return probe, with r`, syscall.EINVAL},
		{`p vfs_read ^$dur`, `$dur is not available on probe: define a return probe, with r`, syscall.EINVAL},
		{`p vfs_read ^$stack10000`, `Invalid stack number: the last word is $stack2048`, syscall.EINVAL},
		{`p vfs_read ^$stack2049`, `Invalid stack number: the last word is $stack2048`, syscall.EINVAL},
		{`p vfs_read ^$stack99999999999999999999`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read ^$stackx`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read ^$stack1x`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read ^$arg0`, `Invalid argument number: registers hold $arg1 to $arg9`, syscall.EINVAL},
		{`p vfs_read ^$arg10`, `Invalid argument number: registers hold $arg1 to $arg9`, syscall.EINVAL},
		{`p vfs_read ^$arg10000`, `Invalid argument number: registers hold $arg1 to $arg9`, syscall.EINVAL},
		{`p vfs_read ^$argx`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read ^$arg`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read+4 ^$arg1`, `$arg1 can be used only on function entry: use a register, or a Go variable`, syscall.EINVAL},
		{`p 0x1000004 ^$arg1`, `$arg1 can be used only on function entry: use a register, or a Go variable`, syscall.EINVAL},
		{`p main.go:12 ^$arg1`, `$arg1 can be used only on function entry: use a register, or a Go variable`, syscall.EINVAL},
		{`p vfs_read ^$none_var`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read ^$`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read ^$retval2`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read ^$args`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`r vfs_read ^$ret`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`r vfs_read ^$ret99999999999`, `Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur`, syscall.EINVAL},
		{`p vfs_read ^%none_reg`, `Invalid register name: %none_reg`, syscall.EINVAL},
		{`p vfs_read ^%`, `Invalid register name: %`, syscall.EINVAL},
		{`p vfs_read ^%ax+1`, `Invalid register name: %ax+1`, syscall.EINVAL},
		{`p vfs_read ^@`, `Invalid memory address: @ needs an address or a symbol`, syscall.EINVAL},
		{`p vfs_read ^@12345678abcde`, `Invalid memory address: 12345678abcde is not a number of 64 bits`, syscall.EINVAL},
		{`p vfs_read ^@0x1ffffffffffffffff`, `Invalid memory address: 0x1ffffffffffffffff is not a number of 64 bits`, syscall.EINVAL},
		{`p vfs_read ^@+10`, `File offset is not available with kprobe`, syscall.EINVAL},
		{`p vfs_read ^@nosuch`, `Invalid memory address: there is no symbol nosuch`, syscall.ENOENT},
		{`p vfs_read ^@nosuch+8`, `Invalid memory address: there is no symbol nosuch+8`, syscall.ENOENT},
		{`p vfs_read @jiffies^+x`, `Invalid memory address: +x is not an offset`, syscall.EINVAL},
		{`p vfs_read @jiffies^+`, `Invalid memory address: + is not an offset`, syscall.EINVAL},
		{`p vfs_read @jiffies^+-8`, `Invalid memory address: +-8 is not an offset`, syscall.EINVAL},
		{`p vfs_read @jiffies^+99999999999999999999`, `Invalid memory address: +99999999999999999999 is not an offset`, syscall.EINVAL},
		{`p vfs_read ^@"jiffies`, `Invalid memory address: the symbol is not closed with '"', or holds an unknown escape`, syscall.EINVAL},
		{`p vfs_read ^@"no such"`, `Invalid memory address: there is no symbol no such`, syscall.ENOENT},
		{`p vfs_read @"jiffies"^x`, `Invalid memory address: x is not an offset`, syscall.EINVAL},
		{`p vfs_read \^1a`, `Invalid immediate value: it is a number, or a string in quotes`, syscall.EINVAL},
		{`p vfs_read \^`, `Invalid immediate value: it is a number, or a string in quotes`, syscall.EINVAL},
		{`p vfs_read \^x`, `Invalid immediate value: it is a number, or a string in quotes`, syscall.EINVAL},
		{`p vfs_read \^+-1`, `Invalid immediate value: it is a number, or a string in quotes`, syscall.EINVAL},
		{`p vfs_read \^99999999999999999999`, `Invalid immediate value: it is a number, or a string in quotes`, syscall.EINVAL},
		{`p vfs_read \"abc^`, `String is not closed with '"'`, syscall.EINVAL},
		{`p vfs_read \"abc"^d`, `Invalid immediate value: d follows the string`, syscall.EINVAL},
		{`p vfs_read \^"a\q"`, `Invalid immediate value: the string holds an unknown escape`, syscall.EINVAL},
		{`p vfs_read ^+0@0)`, `Dereference needs a brace: +OFFSET(FETCH)`, syscall.EINVAL},
		{`p vfs_read ^+8`, `Dereference needs a brace: +OFFSET(FETCH)`, syscall.EINVAL},
		{`p vfs_read ^+0ab1(@0)`, `Invalid dereference offset: +0ab1`, syscall.EINVAL},
		{`p vfs_read ^+(@0)`, `Invalid dereference offset: +`, syscall.EINVAL},
		{`p vfs_read ^+-8(@0)`, `Invalid dereference offset: +-8`, syscall.EINVAL},
		{`p vfs_read ^--8(@0)`, `Invalid dereference offset: --8`, syscall.EINVAL},
		{`p vfs_read ^+99999999999999999999(@0)`, `Invalid dereference offset: +99999999999999999999`, syscall.EINVAL},
		{`p vfs_read ^+u(@0)`, `Invalid dereference offset: +u`, syscall.EINVAL},
		{`p vfs_read +0(^)`, `No argument expression`, syscall.EINVAL},
		{`p vfs_read +0(+0(@0^)`, `Dereference brace is not closed`, syscall.EINVAL},
		{`p vfs_read +0(@0)^x`, `Invalid fetch argument: the type goes behind the brace, as :TYPE`, syscall.EINVAL},
		{`p vfs_read +0(^$comm)`, `$comm can not be dereferenced`, syscall.EINVAL},
		{`p vfs_read +0(^\"abc")`, `An immediate string can not be dereferenced`, syscall.EINVAL},
		{`p vfs_read +0(^%nope)`, `Invalid register name: %nope`, syscall.EINVAL},
		{`p vfs_read +0(+0(^$retval))`, `$retval is not available on probe: define a return probe, with r`, syscall.EINVAL},
		{`p vfs_read +0(^&1)`, `Invalid fetch argument: it is none of %REG, @MEMORY, $NAME, +OFFSET(FETCH), \VALUE, and no Go variable`, syscall.EINVAL},
		{`p vfs_read ^&1`, `Invalid fetch argument: it is none of %REG, @MEMORY, $NAME, +OFFSET(FETCH), \VALUE, and no Go variable`, syscall.EINVAL},
		{`p vfs_read ^1`, `Invalid fetch argument: it is none of %REG, @MEMORY, $NAME, +OFFSET(FETCH), \VALUE, and no Go variable`, syscall.EINVAL},
		{`p vfs_read ^)`, `Invalid fetch argument: it is none of %REG, @MEMORY, $NAME, +OFFSET(FETCH), \VALUE, and no Go variable`, syscall.EINVAL},
		{`p vfs_read ^~`, `Invalid fetch argument: it is none of %REG, @MEMORY, $NAME, +OFFSET(FETCH), \VALUE, and no Go variable`, syscall.EINVAL},
		{`p vfs_read +0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(^+0(%ax)))))))))))))))`, `Dereference is too much nested: at most 14 are allowed`, syscall.E2BIG},
		{`p vfs_read ^+1234567(+1234567(+1234567(+1234567(+1234567(+1234567(@1234))))))`, `Argument expression is too long: it has 65 bytes, at most 63 are allowed`, syscall.E2BIG},
		{`p vfs_read +0($arg1):u8[10^`, `Array is not closed`, syscall.EINVAL},
		{`p vfs_read +0($arg1):u8[10]^a`, `Array has wrong suffix: a`, syscall.EINVAL},
		{`p vfs_read +0($arg1):u8[^10a]`, `Invalid array size`, syscall.EINVAL},
		{`p vfs_read +0($arg1):u8[^]`, `Invalid array size`, syscall.EINVAL},
		{`p vfs_read +0($arg1):u8[^0]`, `Invalid array size`, syscall.EINVAL},
		{`p vfs_read +0($arg1):u8[^65]`, `Array number is too big: at most 64 are allowed`, syscall.E2BIG},
		{`p vfs_read +0($arg1):u8[^256]`, `Array number is too big: at most 64 are allowed`, syscall.E2BIG},
		{`p vfs_read @0:^unknown_type`, `Unknown type is specified: there are u8 to u64, s8 to s64, x8 to x64, char, string, ustring, symbol, symstr, bW@O/S`, syscall.EINVAL},
		{`p vfs_read @0:^`, `Unknown type is specified: there are u8 to u64, s8 to s64, x8 to x64, char, string, ustring, symbol, symstr, bW@O/S`, syscall.EINVAL},
		{`p vfs_read @0:^u7`, `Unknown type is specified: there are u8 to u64, s8 to s64, x8 to x64, char, string, ustring, symbol, symstr, bW@O/S`, syscall.EINVAL},
		{`p vfs_read @0:^U8`, `Unknown type is specified: there are u8 to u64, s8 to s64, x8 to x64, char, string, ustring, symbol, symstr, bW@O/S`, syscall.EINVAL},
		{`p vfs_read @0:^u8:u8`, `Unknown type is specified: there are u8 to u64, s8 to s64, x8 to x64, char, string, ustring, symbol, symstr, bW@O/S`, syscall.EINVAL},
		{`p vfs_read $comm:^u64`, `Unknown type is specified: $comm and immediate strings have the type string`, syscall.EINVAL},
		{`p vfs_read $comm:^string[2]`, `Unknown type is specified: $comm and immediate strings have the type string`, syscall.EINVAL},
		{`p vfs_read \"a":^x8`, `Unknown type is specified: $comm and immediate strings have the type string`, syscall.EINVAL},
		{`p vfs_read $arg1:^string`, `String accepts only memory argument: +0(...) reads the string at an address`, syscall.EINVAL},
		{`p vfs_read %ax:^ustring`, `String accepts only memory argument: +0(...) reads the string at an address`, syscall.EINVAL},
		{`p vfs_read n:^string`, `String accepts only memory argument: +0(...) reads the string at an address`, syscall.EINVAL},
		{`p vfs_read \1:^string[2]`, `String accepts only memory argument: +0(...) reads the string at an address`, syscall.EINVAL},
		{`p vfs_read $arg1:^u8[4]`, `Array accepts only memory argument: +0(...) reads the array at an address`, syscall.EINVAL},
		{`p vfs_read \5:^symstr`, `Symbol String doesn't accept data/userdata`, syscall.EINVAL},
		{`p vfs_read +u0(%di):^symstr`, `Symbol String doesn't accept data/userdata`, syscall.EINVAL},
		{`p vfs_read +0(%di):^symstr[2]`, `Symbol String doesn't accept arrays: use symbol`, syscall.EINVAL},
		{`p vfs_read %di:^b10@a/16`, `Invalid bitfield: it is bWIDTH@OFFSET/SIZE`, syscall.EINVAL},
		{`p vfs_read %di:^b1@0/7`, `Invalid bitfield: its container has 8, 16, 32 or 64 bits, not 7`, syscall.EINVAL},
		{`p vfs_read %di:^b0@0/8`, `Invalid bitfield: it has no bits`, syscall.EINVAL},
		{`p vfs_read %di:^b9@0/8`, `Invalid bitfield: 9 bits at 0 do not fit into 8`, syscall.EINVAL},
		{`p vfs_read %di:^b4@5/8`, `Invalid bitfield: 4 bits at 5 do not fit into 8`, syscall.EINVAL},
		{`p vfs_read %di:^b4@18446744073709551615/8`, `Invalid bitfield: 4 bits at 18446744073709551615 do not fit into 8`, syscall.EINVAL},
		{`p vfs_read %di:^b1@0`, `Invalid bitfield: it is bWIDTH@OFFSET/SIZE`, syscall.EINVAL},
		{`p vfs_read %di:^b`, `Invalid bitfield: it is bWIDTH@OFFSET/SIZE`, syscall.EINVAL},
		{`p vfs_read +0(%di):^b1@0/8[2]`, `Invalid bitfield: there are no arrays of bitfields`, syscall.EINVAL},
		{`p vfs_read ^arg123456789012345678901234567890=@0`, `Argument name is too long: it has 33 characters, at most 32 are allowed`, syscall.E2BIG},
		{`p vfs_read ^=@0`, `Argument name is not specified`, syscall.EINVAL},
		{`p vfs_read ^var.1=@0`, `Argument name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p vfs_read ^1var=@0`, `Argument name must follow the same rules as C identifiers`, syscall.EINVAL},
		{`p vfs_read ^common_pid=@0`, `This argument name is already used: every event has common_pid`, syscall.EINVAL},
		{`p vfs_read ^__probe_ip=@0`, `This argument name is already used: every event has __probe_ip`, syscall.EINVAL},
		{`p vfs_read var1=@0 ^var1=@0`, `This argument name is already used: var1`, syscall.EINVAL},
		{`p vfs_read arg2=@0 ^@0`, `This argument name is already used: arg2`, syscall.EINVAL},
		{`p main.handle n ^n`, `This argument name is already used: n`, syscall.EINVAL},
		{`p main.handle $goid ^goid=%ax`, `This argument name is already used: goid`, syscall.EINVAL},
		{`p vfs_read arg1=^`, `No argument expression`, syscall.EINVAL},
		{`p vfs_read arg1=^:u8`, `No argument expression`, syscall.EINVAL},
		{`p vfs_read arg1=^=@0`, `Invalid fetch argument: it is none of %REG, @MEMORY, $NAME, +OFFSET(FETCH), \VALUE, and no Go variable`, syscall.EINVAL},
		{`p main.handle n if^`, `No filter expression: if needs a condition`, syscall.EINVAL},
		{`p main.handle n if ^&&`, `Field is not specified: a condition begins with an argument's name`, syscall.EINVAL},
		{`p main.handle n if ^== 3`, `Field is not specified: a condition begins with an argument's name`, syscall.EINVAL},
		{`p main.handle n if n^`, `Operator is not specified: there are == != < <= > >= & ~`, syscall.EINVAL},
		{`p main.handle n if n ^3`, `Operator is not specified: there are == != < <= > >= & ~`, syscall.EINVAL},
		{`p main.handle n if n ^= 3`, `Operator is not specified: there are == != < <= > >= & ~`, syscall.EINVAL},
		{`p main.handle n if n ^&& n`, `Operator is not specified: there are == != < <= > >= & ~`, syscall.EINVAL},
		{`p main.handle n if n ==^`, `Value is not specified`, syscall.EINVAL},
		{`p main.handle n if n == ^)`, `Value is not specified`, syscall.EINVAL},
		{`p main.handle n if n == 3 ^n`, `Invalid filter: && or || joins conditions`, syscall.EINVAL},
		{`p main.handle n if n == 3 ^& 4`, `Invalid filter: && or || joins conditions`, syscall.EINVAL},
		{`p main.handle n if n == 3^)`, `Parenthesis is not opened`, syscall.EINVAL},
		{`p main.handle n if (n == 3^`, `Parenthesis is not closed`, syscall.EINVAL},
		{`p main.handle n if ((n == 3)^`, `Parenthesis is not closed`, syscall.EINVAL},
		{`p main.handle n if !^`, `Field is not specified: the filter ends where a condition is expected`, syscall.EINVAL},
		{`p main.handle n if ^common_tgid == 3`, `Field not found: common_tgid is no argument of this event, and none of common_pid, common_cpu, comm, dur`, syscall.ENOENT},
		{`p main.handle n if ^dur > 3`, `dur is not available on probe: define a return probe, with r`, syscall.EINVAL},
		{`p main.handle %ax:u8 if arg1 == ^256`, `Value is out of range: the field has 8 bits`, syscall.EINVAL},
		{`p main.handle %ax:s16 if arg1 == ^32768`, `Value is out of range: the field has 16 bits`, syscall.EINVAL},
		{`p main.handle %ax if arg1 < ^-1`, `Value is negative, the field is unsigned: an argument may be given a type like s64`, syscall.EINVAL},
		{`p main.handle %ax:char if arg1 == ^'ab'`, `Value of another type: an integer is compared with a number`, syscall.EINVAL},
		{`p main.handle %ax:char if arg1 == 'a^`, `String is not closed with '\''`, syscall.EINVAL},
		{`p main.handle %ax:char if arg1 == ^'\q'`, `Invalid string: it holds an unknown escape`, syscall.EINVAL},
		{`p main.handle req.Method if req.Method == "GET^`, `String is not closed with '"'`, syscall.EINVAL},
		{`p main.handle +0(%ax):string if arg1 == ^5`, `Value of another type: a string is in quotes`, syscall.EINVAL},
		{`p main.handle if ^%nx == 1`, `Invalid register name: %nx`, syscall.EINVAL},
		{`p main.handle if ^$dur > 1`, `$dur is not available on probe: define a return probe, with r`, syscall.EINVAL},
		{`p main.handle if n == 1 && ^3 == n`, `Invalid fetch argument: it is none of %REG, @MEMORY, $NAME, +OFFSET(FETCH), \VALUE, and no Go variable`, syscall.EINVAL},
		{`p main.handle +0(%ax):u8[4] if ^arg1 == 1`, `Field can not be compared: record one of its parts as an argument`, syscall.EINVAL},
		{`p main.handle if comm == ^main`, `Value of another type: a string is in quotes`, syscall.EINVAL},
		{`p main.handle if comm ^> "main.main"`, `Operator > is not for strings: there are == != ~`, syscall.EINVAL},
		{`r main.handle if dur > ^10parsecs`, `Value of another type: 10parsecs is no duration, like 150us or 10ms or a number of nanoseconds`, syscall.EINVAL},
		{`r main.handle if dur > ^-3`, `Value of another type: -3 is no duration, like 150us or 10ms or a number of nanoseconds`, syscall.EINVAL},
		{`p main.handle if common_cpu < ^-1`, `Value is negative, the field is unsigned: an argument may be given a type like s64`, syscall.EINVAL},

		{`p sort.*^+4`, `Invalid probed address or symbol: a pattern takes no offset, it probes entries`, syscall.EINVAL},
		{`p main.handle n if n == 1 &&^ `, `Field is not specified: the filter ends where a condition is expected`, syscall.EINVAL},

		{`p ^main.(*T).Missing`, `Invalid probed address or symbol: there is no function main.(*T).Missing, and none matches it as a pattern`, syscall.ENOENT},
		{`p ^"no such*"%return`, `Invalid probed address or symbol: there is no function "no such*", and none matches it as a pattern`, syscall.ENOENT},

		// Limits.
		{"p vfs_read" + strings.Repeat(" %ax", 128) + " ^%ax", "Too many arguments are specified: at most 128 are allowed", syscall.E2BIG},
		{"p vfs_read if " + strings.Repeat("comm == \"main.main\" || ", 64) + "^comm == \"main.main\"",
			"Filter is too long: at most 64 comparisons are allowed", syscall.E2BIG},
		{"p vfs_read if " + strings.Repeat("(", 8) + "^(comm == \"main.main\"", "Filter is too much nested: at most 8 deep", syscall.E2BIG},
		{"p vfs_read if " + strings.Repeat("!", 8) + "^!comm == \"main.main\"", "Filter is too much nested: at most 8 deep", syscall.E2BIG},
		{"p vfs_read " + strings.Repeat(" ", 4084) + "^x", "Command is too long: it has 4096 bytes, at most 4095 are allowed", syscall.E2BIG},
		{"p vfs_read ^" + strings.Repeat("x", 256), "Argument expression is too long: it has 256 bytes, at most 255 are allowed", syscall.E2BIG},
		{"p vfs_read s=+0(%ax):string if s == ^\"" + strings.Repeat("x", 256) + "\"", "String is too long: the first 255 bytes are recorded", syscall.EINVAL},
		{"p vfs_read^\np vfs_read", "A line holds one command: this one holds a line break", syscall.EINVAL},
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []badLine{
		{`p main.handle ^x`, `Invalid fetch argument: no such variable: no such file or directory`, syscall.ENOENT},
		{`p main.handle +0(^x)`, `Invalid fetch argument: no such variable: no such file or directory`, syscall.ENOENT},
		{`p main.handle ^req.method:x8`, `Invalid fetch argument: no such variable: no such file or directory`, syscall.ENOENT},
		{`p main.handle ^body:x8`, `Unknown type is specified: only integers and pointers can be given one, this is a []int`, syscall.EINVAL},
		{`p main.handle +0(^pair)`, `Invalid fetch argument: only integers and pointers can be given one, this is a `, syscall.EINVAL},
		{`p main.handle ^odd`, `Invalid fetch argument: a value of type "string" can not be recorded`, syscall.EINVAL},
		{`p main.handle ^huge`, `Too many arguments are specified: 600 values of 4875 bytes, at most 1024 values and 4096 bytes are recorded`, syscall.E2BIG},
		{`p main.handle ^err:u64`, `Unknown type is specified: only integers and pointers can be given one, this is a error`, syscall.EINVAL},
		{`r main.handle ^$ret2`, `Invalid fetch argument: there are 2 results`, syscall.EINVAL},
		{`p main.handle n if n == ^x`, `Value of another type: x is no number of 64 bits`, syscall.EINVAL},
		{`p main.handle n if n == ^3x`, `Value of another type: 3x is no number of 64 bits`, syscall.EINVAL},
		{`p main.handle n if n == ^"3"`, `Value of another type: an integer is compared with a number`, syscall.EINVAL},
		{`p main.handle n if n == ^99999999999999999999`, `Value of another type: 99999999999999999999 is no number of 64 bits`, syscall.EINVAL},
		{`p main.handle n if n ^~ "3"`, `Operator ~ is for strings only`, syscall.EINVAL},
		{`p main.handle n8 if n8 == ^128`, `Value is out of range: the field has 8 bits`, syscall.EINVAL},
		{`p main.handle n8 if n8 == ^-129`, `Value is out of range: the field has 8 bits`, syscall.EINVAL},
		{`p main.handle req.Method if req.Method == ^GET`, `Value of another type: a string is in quotes`, syscall.EINVAL},
		{`p main.handle req.Method if req.Method == ^3`, `Value of another type: a string is in quotes`, syscall.EINVAL},
		{`p main.handle req.Method if req.Method ^< "GET"`, `Operator < is not for strings: there are == != ~`, syscall.EINVAL},
		{`p main.handle n if ^x == 3`, `Invalid fetch argument: no such variable: no such file or directory`, syscall.ENOENT},
		{`p main.handle req.Method if ^req == "GET"`, `Invalid fetch argument: no such variable: no such file or directory`, syscall.ENOENT},
		{`p main.handle if ^body == 3`, `Field can not be compared: record one of its parts as an argument`, syscall.EINVAL},
		{`p main.handle if n > 3 && n8 == ^128`, `Value is out of range: the field has 8 bits`, syscall.EINVAL},
		{`p main.handle ok if ok == ^1`, `Value of another type: a bool is true or false`, syscall.EINVAL},
		{`p main.handle ok if ok ^< true`, `Operator < is not for bools: there are == and !=`, syscall.EINVAL},
		{`p main.handle f64 if f64 == ^x`, `Value of another type: x is no decimal number`, syscall.EINVAL},
		{`p main.handle f64 if f64 ^& 1`, `Operator & is for integers only`, syscall.EINVAL},
		{`p main.handle f64 if f64 == ^"1"`, `Value of another type: "1" is no decimal number`, syscall.EINVAL},
		{`p main.handle p if p ^< nil`, `Operator < is not for nil: there are == and !=`, syscall.EINVAL},
		{`p main.handle p if p == ^"x"`, `Value of another type: an integer is compared with a number`, syscall.EINVAL},
		{`p main.handle err if err ^< nil`, `Operator < is not for nil: there are == and !=`, syscall.EINVAL},
		{`p main.handle err if err == ^3`, `Value of another type: an interface is compared with nil or a string in quotes`, syscall.EINVAL},
		{`p main.handle pair if ^pair == 3`, `Field can not be compared: record one of its parts as an argument`, syscall.EINVAL},
		{`p main.handle body if ^body == nil`, `Field can not be compared: record one of its parts as an argument`, syscall.EINVAL},
		{`p main.handle long if ^long == 1`, `Field can not be compared: record one of its parts as an argument`, syscall.EINVAL},
		{`p main.handle if comm == ^"main.nosuch"`, `Value is no function: comm is the function that a goroutine starts with, there is no main.nosuch`, syscall.ENOENT},
		{`p main.handle if comm ~ ^"nosuch*"`, `Value matches no function: comm is the function that a goroutine starts with`, syscall.ENOENT},
	}
	for _, bad := range tests {
		target := newTarget()
		d, err := Parse(strings.Replace(bad.line, "^", "", 1), target)
		if err != nil {
			t.Errorf("Parse(%q): %v", bad.line, err)
			continue
		}
		_, err = Compile(d, target)
		bad.check(t, err)
	}
	for _, line := range []string{"p sort.*", "-:foo"} {
		d, err := Parse(line, newTarget())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(d, newTarget()); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Compile(%q): %v", line, err)
		}
	}
}

func TestErrorCaret(t *testing.T) {
	_, err := Parse("p\tvfs_read é=%ax", newTarget())
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	want := "error: Argument name must follow the same rules as C identifiers\n  Command: p\tvfs_read é=%ax\n            \t         ^"
	if got := e.Caret(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := e.Error(), "Argument name must follow the same rules as C identifiers (column 12)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorLog(t *testing.T) {
	var l ErrorLog
	if l.String() != "" {
		t.Errorf("an empty log prints %q", l.String())
	}
	l.Add(0, nil)
	l.Add(0, errors.New("of another kind"))
	for i, line := range strings.Fields("a b c d e f g h i j") {
		_, err := Parse(line, newTarget())
		l.Add(time.Duration(i)*1500*time.Millisecond, err)
	}
	got := l.String()
	if n := strings.Count(got, "error: "); n != 8 {
		t.Errorf("the log holds %d errors", n)
	}
	want := "[    3.000000] trace_kprobe: error: Unknown command: it starts with p, r or -, and then a blank or a colon\n" +
		"  Command: c\n           ^\n[    4.500000] "
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
	}
	l.Clear()
	if l.String() != "" {
		t.Error("a cleared log is not empty")
	}
}

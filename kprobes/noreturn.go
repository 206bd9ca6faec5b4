package kprobes

import (
	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/symtab"
)

// noReturnProbe says why the returns of fn cannot be probed, "" if they can. mu is held.
func noReturnProbe(fn symtab.Func) string {
	switch {
	case fn.IsTop():
		return "the function is the first on its stack: nothing called it"
	case fn.WritesSP():
		return "the function switches stacks"
	case !returns(fn):
		return "the function never returns by RET"
	case readsReturnAddress(fn):
		return "the function reads its own return address"
	}
	return ""
}

// returnsMemo remembers by entry whether functions return. mu is held.
var returnsMemo = make(map[uintptr]bool)

// returns reports whether a RET of fn can be reached: not by way of a call of a function
// that does not return itself, like the scheduler, which ends by switching stacks.
func returns(fn symtab.Func) bool {
	if r, ok := returnsMemo[fn.Entry()]; ok {
		return r
	}
	returnsMemo[fn.Entry()] = true // while it is looked at: recursion returns
	r := reachesRet(fn)
	returnsMemo[fn.Entry()] = r
	return r
}

func reachesRet(fn symtab.Func) bool {
	if fn.Name() == "gogo" { // ends with a jump to where another goroutine was
		return false
	}
	seen := make(map[uintptr]bool)
	todo := []uintptr{fn.Entry()}
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for fn.Entry() <= pc && pc < fn.End() && !seen[pc] {
			seen[pc] = true
			i, err := inst.Decode(amd64.OriginalText(pc))
			if err != nil {
				break
			}
			switch i.Flow {
			case inst.FlowRet, inst.FlowJmpInd: // a table may lead anywhere
				return true
			case inst.FlowJmp, inst.FlowJcc, inst.FlowLoop, inst.FlowCall:
				to := i.Target(pc)
				if fn.Entry() <= to && to < fn.End() {
					if i.Flow != inst.FlowCall {
						todo = append(todo, to)
					}
					break
				}
				callee, ok := symtab.Find(to)
				back := !ok || returns(callee)
				if back && i.Flow != inst.FlowCall {
					return true // a jump that ends this function like a call
				}
				if !back && i.Flow == inst.FlowCall {
					pc = fn.End()
				}
			}
			if !i.FallsThrough() {
				break
			}
			pc += uintptr(i.Len)
		}
	}
	return false
}

// readsReturnAddress reports whether fn loads its own return address, as the runtime does to
// know its caller: it lies above the frame.
func readsReturnAddress(fn symtab.Func) bool {
	const regSP = 4
	frame := int32(0)
	var loads []int32
	for pc := fn.Entry(); pc < fn.End(); {
		i, err := inst.Decode(amd64.OriginalText(pc))
		if err != nil {
			break
		}
		if i.Flow == inst.FlowCall && growsStack(i.Target(pc)) {
			break // the rest runs without a frame
		}
		if i.Encoding == inst.Legacy && i.Map == inst.MapOneByte {
			reg := i.ModRM >> 3 & 7
			switch {
			case frame == 0 && i.Opcode == 0x55: // PUSHQ BP
				frame = 8
			case frame == 8 && (i.Opcode == 0x83 || i.Opcode == 0x81) && i.ModRM == 0xec: // SUBQ $n, SP
				frame += int32(i.Imm)
			case frame == 8 && (i.Opcode == 0x83 || i.Opcode == 0x81) && i.ModRM == 0xc4 && i.Imm < 0: // ADDQ $-n, SP
				frame -= int32(i.Imm)
			case i.Opcode == 0x8b && i.HasSIB && i.SIB&7 == regSP && i.SIB>>3&7 == regSP && i.Rex&(inst.RexB|inst.RexX) == 0 && reg != regSP:
				loads = append(loads, i.Disp)
			}
		}
		pc += uintptr(i.Len)
	}
	for _, disp := range loads {
		if disp == frame && !fn.IsAssembly() {
			return true
		}
	}
	return false
}

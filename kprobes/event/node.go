package event

// A show is how a recorded value is printed.
type show uint8

const (
	showUnsigned  show = iota // 12
	showSigned                // -12
	showHex                   // 0xc
	showChar                  // 'a'
	showSymbol                // main.main+0x4
	showSymstr                // "main.main+0x4"
	showComm                  // "main.main"
	showFunc                  // main.main
	showBool                  // true
	showFloat                 // 1.5
	showPointer               // 0xc000012345, nil
	showMap                   // map[string]int(0xc000012345): maps, channels
	showString                // "text"
	showConst                 // "text", which is not recorded
	showInterface             // (*errors.errorString)("text")
	showSlice                 // [1 2 3]
	showComplex               // (1+2i)
	showStruct                // {Name:"x" Port:80}
	showArray                 // [1 2 3]
	showFlat                  // {1,2,3}: TYPE[N] in one slot
	showList                  // {1,2,3}: TYPE[N] of strings
	showOpaque                // the type
)

// A node is how a part of a record is printed: a tree, whose leaves are slots.
type node struct {
	show show
	name string // of an argument or a field
	typ  Type
	text string // of showConst
	slot int    // in its frame, of a leaf
	kids []node
	elem *node // of a slice
	more bool  // of an array of which not all elements are recorded
}

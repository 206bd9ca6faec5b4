package govars

import (
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// TestDictionary assigns parameters behind a dictionary, also when no register is left for it.
func TestDictionary(t *testing.T) {
	word := &godwarf.PtrType{CommonType: godwarf.CommonType{ByteSize: wordSize}}
	for _, test := range []struct {
		params, dictionary int
		last               string
	}{
		{1, noDictionary, "ax"},
		{1, 0, "bx"},
		{2, 1, "cx"},
		{9, noDictionary, "r11"},
		{9, 0, "stack+8"},
		{10, 9, "stack+16"},
	} {
		params := make([]parameter, test.params)
		for i := range params {
			params[i].typ = word
		}
		assigned := abi{dictionary: test.dictionary}.assign(params, nil).params
		f, ok := assigned[test.params-1].fetch(0, wordSize)
		if !ok || describe(f) != test.last {
			t.Errorf("%d parameters, dictionary at %d: the last is in %s, want %s", test.params, test.dictionary, describe(f), test.last)
		}
	}
}

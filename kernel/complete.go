package main

import "sync"

// What the tab key completes.

var allFunctions = sync.OnceValue(functionNames)

func completeSymbols(_ *console, words []string, _ string) []string {
	if len(words) != 1 {
		return nil
	}
	return allFunctions()
}

// completeDefinition completes the place of a definition, which options may precede.
func completeDefinition(_ *console, words []string, _ string) []string {
	for _, w := range words[1:] {
		if w[0] != '-' && w[0] != ':' {
			return nil
		}
	}
	return allFunctions()
}

func completeEvents(c *console, _ []string, _ string) []string {
	var names []string
	for _, e := range c.tracer.Events() {
		names = append(names, e.Definition.Event, e.Name(), "-:"+e.Name())
	}
	return names
}

func completeWorkloads(_ *console, words []string, _ string) []string {
	if len(words) != 1 {
		return nil
	}
	var names []string
	for _, w := range workloads {
		names = append(names, w.name)
	}
	return names
}

func completeMirrors(*console, []string, string) []string {
	var names []string
	for _, m := range mirrors {
		names = append(names, m.symbol)
	}
	return names
}

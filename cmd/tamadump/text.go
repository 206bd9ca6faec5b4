package main

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// clip returns as much of text as has room, escaped; nothing if that would say nothing.
func clip(text string, room float64) string {
	fit := int(room / charWidth)
	if utf8.RuneCountInString(text) <= fit {
		return escape(text)
	}
	if fit < 3 {
		return ""
	}
	return escape(string([]rune(text)[:fit-1])) + "…"
}

func escape(text string) string {
	var b strings.Builder
	// A strings.Builder does not fail.
	xml.EscapeText(&b, []byte(text))
	return b.String()
}

// formatTime formats microseconds as a person reads a duration.
func formatTime(us float64) string {
	unit, n := "ns", us*1e3
	switch {
	case us == 0:
		return "0"
	case us >= 1e6:
		unit, n = "s", us/1e6
	case us >= 1e3:
		unit, n = "ms", us/1e3
	case us >= 1:
		unit, n = "µs", us
	}
	if n >= 1000 {
		return strconv.FormatFloat(n, 'f', 0, 64) + " " + unit
	}
	// Four digits tell neighbours apart.
	return strconv.FormatFloat(n, 'g', 4, 64) + " " + unit
}

// formatSince formats microseconds since boot.
func formatSince(us float64) string { return fmt.Sprintf("%.6f s", us/1e6) }

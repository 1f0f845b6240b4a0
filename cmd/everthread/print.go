package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everthread/everthread/adapters/terminal"
)

// show writes v as JSON if that was asked for, else what human writes.
func (c *console) show(v any, human func(w io.Writer)) error {
	if !c.json {
		human(c.out)
		return nil
	}
	e := json.NewEncoder(c.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table writes rows under a header, or a sentence if there are none.
func (c *console) table(v any, header string, rows [][]string, none string) error {
	return c.show(v, func(w io.Writer) {
		if len(rows) == 0 {
			fmt.Fprintln(w, none)
			return
		}
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintln(t, header)
		for _, r := range rows {
			fmt.Fprintln(t, strings.Join(r, "\t"))
		}
		_ = t.Flush() // writing to a terminal that went away
	})
}

// list is never null in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// short is the beginning of a text, on one line.
func short(text string, n int) string {
	text = strings.Join(strings.Fields(terminal.Clean(text)), " ")
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// dash is a value or, if it is empty, a dash.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// clockTime is a moment in a zone, to the minute.
func clockTime(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(zone).Format("2006-01-02 15:04")
}

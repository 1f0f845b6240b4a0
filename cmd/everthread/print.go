package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust"
)

// show writes v as JSON if that was asked for, else what human writes.
func (c *console) show(v any, human func(w io.Writer)) error {
	if !c.json {
		human(c.out)
		return nil
	}
	return encode(c.out, v)
}

// said is show of one line.
func (c *console) said(v any, format string, args ...any) error {
	return c.show(v, func(w io.Writer) { fmt.Fprintf(w, format+"\n", args...) })
}

func encode(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(trust.Escaped(b.Bytes()))
	return err
}

// table writes a row for each of views under a header, or a sentence if there are none.
func table[V any](c *console, views []V, header, none string, row func(V) []any) error {
	return c.show(list(views), func(w io.Writer) {
		if len(views) == 0 {
			fmt.Fprintln(w, none)
			return
		}
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintln(t, header)
		for _, v := range views {
			var cells []string
			for _, value := range row(v) {
				cells = append(cells, trust.Line(cell(value)))
			}
			fmt.Fprintln(t, strings.Join(cells, "\t"))
		}
		_ = t.Flush() // writing to a terminal that went away
	})
}

// cell is a value as it stands in a table.
func cell(value any) string {
	if t, ok := value.(time.Time); ok {
		return clockTime(t, time.Local)
	}
	return fmt.Sprint(value)
}

// views are things as commands show them.
func views[T, V any](all []T, view func(T) V) []V {
	var out []V
	for _, x := range all {
		out = append(out, view(x))
	}
	return out
}

// list is never null in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// short is the beginning of a text, on one line.
func short(s string, n int) string { return text.Within(trust.Line(s), n) }

// howMany is a number of rows that is asked for.
type howMany int

// Validate is how the command line finds a wrong one.
func (n howMany) Validate() error {
	if n < 1 {
		return errors.New("it has to be 1 or more")
	}
	return nil
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

package recall

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// Write writes the report as a table.
func (r Report) Write(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "CATEGORY\tQUESTIONS\tRECALL@5\t@10\t@20\tMRR\tANY@10\tDAY@10\tPEOPLE@10\t")
	line := func(name string, s Score) {
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", name, s.Questions, s.Recall5, s.Recall10,
			s.Recall20, s.MRR, s.Found10, s.Day10, s.People10)
	}
	for _, c := range slices.Sorted(maps.Keys(r.Categories)) {
		line(fmt.Sprint(c), r.Categories[c])
	}
	line("all", r.All)
	line("older than 90 days", r.Old)
	line("newest 30 days", r.New)
	_ = t.Flush() // writing to a terminal that went away
	fmt.Fprintf(w, "Old against new: %.2f. %d questions have no evidence and are left out.\n", r.Ratio, r.Skipped)
	for _, m := range r.Missed {
		fmt.Fprintf(w, "missed in %s: %s (evidence %v)\n", m.Sample, m.Question, m.Evidence)
	}
}

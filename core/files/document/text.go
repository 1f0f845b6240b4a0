package document

import (
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func readText(data []byte, s *sink) error { return s.flow("", s.decoded(data, "text/plain")) }

// readMarkdown reads Markdown unchanged, as many sections on a page as fit. The title of a page is its first heading.
func readMarkdown(data []byte, s *sink) error {
	var page strings.Builder
	title, next := "", ""
	flush := func() error {
		err := s.flow(title, page.String())
		page.Reset()
		title = next
		return err
	}
	fenced := false
	for line := range strings.Lines(s.decoded(data, "text/plain")) {
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
		}
		if !fenced && strings.HasPrefix(line, "#") {
			next = strings.TrimSpace(strings.TrimLeft(line, "#"))
			if page.Len() > pageSize/3 {
				if err := flush(); err != nil {
					return err
				}
			}
			if page.Len() == 0 {
				title = next
			}
		}
		page.WriteString(line)
	}
	return flush()
}

// separators are the signs between the cells of a row. Of those that fit equally well, the first counts: rows with
// decimal commas fit both.
const separators = "\t;,|"

// csvOf returns a reader of a table with a separator.
func csvOf(text string, separator rune) *csv.Reader {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = separator, -1, true, true
	return r
}

// separated returns the separator of a table: that which gives most of the first rows the same number of cells.
func separated(text string) rune {
	const enough, rows = 64 << 10, 200
	if len(text) > enough {
		text = text[:enough]
	}
	best, most := ',', 0
	for _, separator := range separators {
		r, counts := csvOf(text, separator), map[int]int{}
		for range rows {
			cells, err := r.Read()
			if err != nil {
				break
			}
			if n := len(cells); n > 1 {
				if counts[n]++; counts[n] > most {
					best, most = separator, counts[n]
				}
			}
		}
	}
	return best
}

// readCSV reads a table, with its header at the top of each page.
func readCSV(data []byte, s *sink) error {
	text := s.decoded(data, "text/plain")
	separator := separated(text)
	if first, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(first,
		"sep=") && len(strings.TrimSpace(first)) <= 5 {
		separator, text = rune(cmp.Or(strings.TrimPrefix(strings.TrimRight(first, "\r"), "sep="), ",")[0]),
			rest // as Excel writes
	}
	t := table{sink: s}
	r := csvOf(text, separator)
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t.end()
		}
		if err != nil { // it is no table
			if t.rows == 0 {
				return readText(data, s)
			}
			return errors.Join(t.end(), err)
		}
		if err = t.add(cells); err != nil {
			return err
		}
	}
}

// table puts the rows of a sheet on pages, each below the first row of several cells.
type table struct {
	*sink
	title string
	head  string
	wide  bool // the head has several cells
	body  strings.Builder
	rows  int // in all
}

func (t *table) add(cells []string) error {
	line := row(cells)
	if line == "" {
		return nil
	}
	wide := strings.Contains(line, " | ")
	if t.rows++; t.rows == 1 || wide && !t.wide {
		t.head, t.wide = clip(line, pageSize/4), wide
	}
	if t.body.Len() > 0 && t.body.Len()+len(line) > pageSize {
		if err := t.flush(); err != nil {
			return err
		}
		t.body.WriteString(t.head + "\n")
	}
	t.body.WriteString(line + "\n")
	return nil
}

func (t *table) flush() error {
	err := t.flow(t.title, t.body.String())
	t.body.Reset()
	return err
}

// end passes on the last page. A sheet without rows is an empty page.
func (t *table) end() error {
	if t.rows == 0 && t.title != "" {
		return t.page(Page{Title: t.title})
	}
	return t.flush()
}

// unligated writes out the ligatures in the text of a PDF, whose fonts have them as characters; those of old TeX fonts
// are control characters. A hyphen between the halves of a word at the end of a line is dropped.
var unligated = strings.NewReplacer("\x00", "", "\x02", "", "\x10", "“", "\x11", "”", "\x15", "–", "\x16", "—",
	"\x1B", "ff", "\x1C", "fi", "\x1D", "fl", "\x1E", "ffi", "\x1F", "ffl",
	"ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl")

// escapes matches the control sequences of terminals, such as colours in logs.
var escapes = regexp.MustCompile(`\x1B(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1B]*(?:\x07|\x1B\\))`)

// tidy removes invisible parts of a text: control characters and marks of direction,
// white space at the ends of lines, and repeated empty lines.
func tidy(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	b.Grow(len(text))
	empty := 0
	for line := range strings.Lines(escapes.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")) {
		line = tidyLine(line)
		if line == "" {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
			if empty > 0 {
				b.WriteByte('\n')
			}
		}
		empty = 0
		b.WriteString(line)
	}
	return b.String()
}

func tidyLine(line string) string {
	var b strings.Builder
	for _, r := range line {
		switch {
		case r == '\t':
			b.WriteByte('\t')
		case r == '\u00AD' || r == '\uFEFF' || unicode.Is(unicode.Cf, r) && r != '\u200D' && r != '\u200C':
		case unicode.IsControl(r) || unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimRight(b.String(), " \t")
}

// row joins the cells of a row; empty ones at the end are left out. It changes cells.
func row(cells []string) string {
	for i, c := range cells {
		cells[i] = strings.Join(strings.Fields(strings.ReplaceAll(c, "|", "¦")), " ")
	}
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	return strings.Join(cells, " | ")
}

// comment returns a comment with its author; empty: it has no text.
func comment(author, text string) string {
	text = strings.TrimSpace(text)
	if author = strings.TrimSpace(author); author != "" && text != "" {
		return author + ": " + text
	}
	return text
}

// listed returns those of lines that are not empty below a title, each beginning with a dash; empty: there is none.
func listed(title string, lines []string) string {
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	if len(lines) == 0 {
		return ""
	}
	return title + ":\n- " + strings.Join(lines, "\n- ") + "\n"
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust"
)

// show writes v as JSON if --json was given, else what human writes.
func (c *console) show(v any, human func(w io.Writer)) error {
	if !c.json {
		human(c.out)
		return nil
	}
	return encode(c.out, v)
}

// said is show with a single line for people.
func (c *console) said(v any, format string, args ...any) error {
	return c.show(v, func(w io.Writer) { fmt.Fprintf(w, format+"\n", args...) })
}

// lines is show with whole lines for people.
func (c *console) lines(v any, lines ...string) error {
	return c.show(v, func(w io.Writer) { fmt.Fprintln(w, strings.Join(lines, "\n")) })
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

// object is a JSON object with its keys in order: "key", value, "key", value. A key that
// ends in ",omitempty" is left out if its value is zero.
type object []any

// MarshalJSON encodes the object.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i := 0; i < len(o); i += 2 {
		key, optional := strings.CutSuffix(o[i].(string), ",omitempty")
		if v := reflect.ValueOf(o[i+1]); optional && (!v.IsValid() || v.IsZero()) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		if err := errors.Join(e.Encode(key), b.WriteByte(':'), e.Encode(o[i+1])); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// moment is a time in JSON: null if it is zero.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// table writes a list: as JSON, or as rows under a header, or as the sentence none if it is
// empty. view returns an item's JSON and its row.
func table[T any](c *console, all []T, header, none string, view func(T) (any, []any)) error {
	objects, rows := []any{}, []string{header}
	for _, x := range all {
		shown, row := view(x)
		cells := views(row, func(value any) string { return trust.Line(cell(value)) })
		objects, rows = append(objects, shown), append(rows, strings.Join(cells, "\t"))
	}
	return c.show(objects, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(w, none)
			return
		}
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintln(t, strings.Join(rows, "\n"))
		_ = t.Flush() // writing to a terminal that went away
	})
}

func cell(value any) string {
	if t, ok := value.(time.Time); ok {
		return clockTime(t, time.Local)
	}
	return fmt.Sprint(value)
}

// views applies view to each element; nil for none.
func views[T, V any](all []T, view func(T) V) []V {
	var out []V
	for _, x := range all {
		out = append(out, view(x))
	}
	return out
}

// list is never null in JSON.
func list[T any](s []T) []T { return append([]T{}, s...) }

// short returns at most n characters of a text, on one line.
func short(s string, n int) string { return text.Within(trust.Line(s), n) }

// howMany is a flag for a number of rows.
type howMany int

// Validate refuses numbers below 1; kong calls it.
func (n howMany) Validate() error {
	if n < 1 {
		return errors.New("it has to be 1 or more")
	}
	return nil
}

// clockTime formats a time in a zone, to the minute.
func clockTime(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(zone).Format("2006-01-02 15:04")
}

// texts are what commands say in one language. What a command is called, its help and
// what went wrong with it is English.
type texts struct {
	Hint, DaysHeader, DaysNone, TurnsHeader, TurnsNone, DeliveriesHeader, DeliveriesNone, JobsHeader, JobsNone,
	UsersHeader, UsersNone, AgentsHeader, AgentsNone, CodesHeader, CodesNone, GroupsHeader, GroupsNone, GroupIn, GroupOut, AuditHeader, AuditNone, EmbeddingsHeader,
	EmbeddingsNone, KeysHeader, KeysNone, Retried, Redone, SummaryWriting, SummaryFailed, SummaryNone, SummaryHidden,
	SummaryVersion, DayTitle, Removed, SearchSummary, SearchFile, SearchNothing, KeyMade, KeyRevoked, UserNumbered,
	AgentAdded, AgentAsk, AgentGone, LetIn, Denied, UserAdded, Confirm, Yes, No, DeleteAsk, DeleteCount, DeleteRows,
	DeleteFiles, DeleteClean, DeleteLook, Gone, GoneWhole, GoneLeft, LinkAsk, Linked, ConfigRight, ConfigNothing, SchemaGood, SchemaWent,
	SchemaOld, BackupMade, BackupRemoved, BackupReadable, BackupSent, BackupSentPlain,
	BackupRemovedThere, BackupsHeader, BackupsNone, DrillFile, DrillServer, DrillSealed, BytesRead, BytesSent, BytesUnpacked, Restored, RestoredAside,
	RestoredKey, RestoredTwice, ExportUnnoted, Exported, ExportDays, ExportSoFar, Forgotten, TracesNone, SecretNew,
	SecretNext, SecretHow, ChatHello, ChatOwner, ChatRetry, ChatUnlinked, ImportReading, ImportDry, ImportProgress,
	ImportDone, ImportPaused, ImportProposed, ImportNowhere string
	ImportBack, ImportMissing, ImportUnsummarized, ImportSummaries, ImportSearch, ContentDigest string
	Messages, Tokens, Attachments, People, WebLink, Traces, Resealed, Unembedded, Reembedding, ImportDays,
	ImportFiles, ImportLeftOut i18n.Counted
}

var say = i18n.In[texts]("cli")

// turnTexts are what is said of a turn and of a score in one language.
type turnTexts struct {
	Title, Task, Error, Unanswered, WentOn, Began, Strategy, Parts, Total, Tools, Messages, Included, History, OfUser,
	Summaries, Usage, Reduced, Times, Trace, Calls, Yes, No, Searched, Read string
	Lexical, Semantic, Neighbours, Day, Named, Date, Covered string // of a score
	Epochs                                                   map[string]string
}

var sayOfTurns = i18n.In[turnTexts]("turn")

func (c *console) words() *texts { return say(c.language()) }

// drawn returns what is behind a screen, for what moves the cursor or has colours itself.
func drawn(w io.Writer) io.Writer {
	if s, ok := w.(*trust.Screen); ok {
		return s.W
	}
	return w
}

// widthOf returns the columns of a terminal; 80 if it does not say.
func widthOf(w io.Writer) int {
	if f, ok := drawn(w).(interface{ Fd() uintptr }); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// isTerminal reports whether somebody sees immediately what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := drawn(w).(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// progress shows how far long work is: on a terminal in one line a step, else in a line now
// and then. With --json it shows nothing.
type progress struct {
	*console
	screen bool
	step   string
	at     time.Time // of the last line
	last   string    // not shown yet
	open   bool      // the cursor is behind a line
}

// progress begins work. end ends it.
func (c *console) progress() *progress {
	return &progress{console: c, screen: isTerminal(c.err), at: time.Now()}
}

// line shows how far a step is, unless it showed that a moment ago. The first line of a
// step that has a name is always shown.
func (p *progress) line(step, text string) {
	every := 10 * time.Second
	if p.screen {
		every = 200 * time.Millisecond
	}
	if p.json {
		return
	}
	if step != p.step {
		p.end()
	} else if time.Since(p.at) < every {
		p.last = text
		return
	}
	p.step = step
	p.write(text)
}

func (p *progress) mebibytes(format string) func(done int64) {
	return func(done int64) { p.line("", fmt.Sprintf(format, done>>20)) }
}

func (p *progress) write(text string) {
	p.at, p.last, p.open = time.Now(), "", p.screen
	if p.screen {
		fmt.Fprintf(drawn(p.err), "\r%-78s", trust.Line(text))
		return
	}
	fmt.Fprintln(p.err, text)
}

func (p *progress) end() {
	if p.screen && p.last != "" {
		p.write(p.last)
	}
	if p.open {
		fmt.Fprintln(p.err)
	}
	p.last, p.open = "", false
}

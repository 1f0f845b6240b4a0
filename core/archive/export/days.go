package export

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
)

// days writes the days, oldest first, and their summaries.
func (x *export) days() error {
	segments, err := x.segments()
	if err != nil {
		return err
	}
	var summaries []archive.ExportedSummary
	for _, g := range segments {
		x.labels[g.ID] = g.Day.Label
		versions, err := x.Store.Summaries(x.ctx, x.user.ID, g.ID, all)
		if err != nil {
			return err
		}
		for _, s := range slices.Backward(versions) {
			summaries = append(summaries, archive.ExportedSummary{Day: g.Day.Label, Version: s.Version, Markdown: s.Markdown,
				Covers: s.Covers, Model: s.Model, Final: s.Final, Ungrounded: s.Ungrounded, CreatedAt: s.CreatedAt})
		}
		if err := x.day(g, versions); err != nil {
			return fmt.Errorf("day %s: %w", g.Day.Label, err)
		}
	}
	return lines(x, "summaries.jsonl", summaries)
}

func (x *export) segments() ([]core.Segment, error) {
	var out []core.Segment
	for before := ""; ; before = out[len(out)-1].Day.Label {
		got, err := x.Store.Days(x.ctx, x.user.ID, before, page)
		out = append(out, got...)
		if err != nil || len(got) < page {
			slices.Reverse(out)
			return out, err
		}
	}
}

func (x *export) day(g core.Segment, versions []core.Summary) error {
	f, err := x.file("days/" + g.Day.Label + ".md")
	if err != nil {
		return err
	}
	zone := core.Settings{Zone: g.Day.Zone}.Location(x.zone)
	w := say(x.language)
	fmt.Fprintf(f, "# %s\n\n"+w.Zone+"\n", day.Name(g.Day.Label, "", x.language), g.Day.Zone)
	if len(versions) > 0 && !g.Hidden {
		fmt.Fprintf(f, "\n%s\n", strings.ReplaceAll("\n"+versions[0].Markdown, "\n## ", "\n### ")[1:])
	}
	fmt.Fprintf(f, "\n## %s\n\n", w.Conversation)
	for after := core.MessageID(0); ; {
		ms, err := x.Store.DayMessages(x.ctx, x.user.ID, g.ID, after, page)
		if err != nil {
			return err
		}
		for _, m := range ms {
			after = max(after, m.ID)
		}
		core.InTime(ms)
		for _, m := range ms {
			if err := x.say(f, m, zone); err != nil {
				return err
			}
		}
		if len(ms) < page {
			return nil
		}
	}
}

// heading matches what would look like the heading of another message in a text.
var heading = regexp.MustCompile(`(?m)^([ \t]*)\*\*(\d\d:\d\d)`)

// say writes a message as Markdown.
func (x *export) say(w io.Writer, m core.Message, zone *time.Location) error {
	text := strings.TrimSpace(m.Text)
	switch {
	case m.Redacted:
		text = "*(" + say(x.language).Deleted + ")*"
	case m.Role == core.RoleTool || text == "" && len(m.Attachments) == 0:
		return nil
	}
	who := map[core.Role]string{core.RoleUser: x.user.Name, core.RoleAssistant: say(x.language).Assistant,
		core.RoleSystem: "Everthread"}[m.Role]
	if m.Speaker != nil {
		who = markup.Escape(m.Speaker.Beside(say(x.language).Assistant, "Everthread"))
	}
	if m.Task != nil && m.Role == core.RoleUser {
		who = fmt.Sprintf(say(x.language).Task, who)
	}
	_, err := fmt.Fprintf(w, "**%s, %s** (#%d)\n\n", m.SentAt.In(zone).Format("15:04"), who, m.ID)
	if m.Quote != nil {
		_, err = fmt.Fprintf(w, "> %s\n\n", strings.ReplaceAll(m.Quote.Text, "\n", "\n> "))
	}
	if text != "" {
		_, err = fmt.Fprintf(w, "%s\n\n", heading.ReplaceAllString(text, `$1\**$2`))
	}
	if m.Unfinished != "" && !m.Redacted {
		_, err = fmt.Fprintf(w, "*%s*\n\n", i18n.Unfinished(x.language, m.Unfinished).Why)
	}
	for _, a := range m.Attachments {
		if a.Path != "" {
			_, err = fmt.Fprintf(w, "[%s](<../media/%s>)\n\n", strings.NewReplacer("[", "(", "]", ")").Replace(a.Name), a.Path)
		}
	}
	return err
}

// threads writes the plain threads, and then every message of all threads.
func (x *export) threads() error {
	threads, err := x.Store.Threads(x.ctx, x.user.ID, all)
	if err != nil {
		return err
	}
	for _, t := range threads {
		if err := x.thread(t); err != nil {
			return fmt.Errorf("thread %d: %w", t.ID, err)
		}
	}
	out, err := x.jsonLines("messages.jsonl")
	if err != nil {
		return err
	}
	for _, t := range append([]core.Thread{{}}, threads...) {
		err = errors.Join(err, x.each(t.ID, func(m core.Message) error {
			line, err := x.line(m)
			if err != nil {
				return err
			}
			return out.Encode(line)
		}))
	}
	return err
}

func (x *export) thread(t core.Thread) error {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == ' ' || r == '-' {
			return r
		}
		return -1
	}, t.Title)
	f, err := x.file(strings.TrimSpace(fmt.Sprintf("threads/%d %.60s", t.ID, name)) + ".md")
	if err != nil {
		return err
	}
	fmt.Fprintf(f, "# %s\n\n", t.Title)
	return x.each(t.ID, func(m core.Message) error {
		if m.Kind != core.KindChat {
			return nil
		}
		return x.say(f, m, x.zone)
	})
}

// each passes every message of a thread to f, in the order of display.
func (x *export) each(thread core.ThreadID, f func(core.Message) error) error {
	q := store.TimelineQuery{User: x.user.ID, Thread: thread, Oldest: true, Answers: true, Limit: page}
	for {
		ms, more, err := x.Store.Timeline(x.ctx, q)
		if err != nil {
			return err
		}
		for _, m := range ms {
			if err := f(m); err != nil {
				return err
			}
		}
		if x.progress != nil {
			x.progress(x.messages)
		}
		if !more {
			return nil
		}
		q.Oldest, q.After = false, ms[len(ms)-1].ID
	}
}

func (x *export) line(m core.Message) (messageLine, error) {
	l := messageLine{Thread: m.Thread, ID: m.ID, Day: x.labels[m.Segment], Role: m.Role, Speaker: m.Speaker, Kind: m.Kind,
		Channel: m.Channel, SentAt: m.SentAt, Text: m.Text, Redacted: m.Redacted, Quote: m.Quote, Forwarded: m.ForwardedFrom,
		ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, ToolName: m.ToolName, Task: m.Task, Unfinished: m.Unfinished}
	for _, a := range m.Attachments {
		l.Attachments = append(l.Attachments, fileLine{a.Kind, a.Name, a.MIME, a.Size, a.Path, a.Transcript})
		if a.Path != "" {
			x.paths = append(x.paths, a.Path)
		}
		if a.Document != nil && !a.Document.Unread() {
			x.documents = append(x.documents, store.FileRef{Message: m.ID, Part: len(l.Attachments) - 1})
		}
	}
	if m.Revision > 0 {
		old, err := x.Store.Revisions(x.ctx, x.user.ID, m.ID)
		if err != nil {
			return l, err
		}
		for _, r := range old {
			l.Revisions = append(l.Revisions, revisionLine{r.Text, r.ReplacedAt})
		}
	}
	x.messages++
	return l, nil
}

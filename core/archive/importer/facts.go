package importer

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
)

// Bounds of imported memory.
const (
	maxFacts = 2000
	maxFact  = 2000 // characters
)

// tooManyFacts is why facts are left out.
const tooManyFacts = "the memory takes %d facts of an archive"

// factFilter passes facts on, each once and within bounds.
type factFilter struct {
	take func(Fact)
	left func(place, why string)
	seen map[string]bool
	n    int
}

func (f *factFilter) pass(fact Fact) {
	fact.Text = strings.TrimSpace(strings.ToValidUTF8(text.Clean(fact.Text), "\ufffd"))
	digest := text.Digest(fact.Text)
	if fact.Text == "" || f.seen[digest] {
		return
	}
	if f.n == maxFacts {
		f.left("", fmt.Sprintf(tooManyFacts, maxFacts))
		return
	}
	f.seen[digest] = true
	f.n++
	f.take(fact)
}

func (o output) facts(markdown string, like Fact) {
	for _, s := range statements(markdown) {
		like.Text = s
		o.fact(like)
	}
}

var (
	comment  = text.Pattern(`(?s)<!--.*?-->`)
	fence    = text.Pattern("(?ms)^```.*?^```[^\n]*$")
	title    = text.Pattern(`^#\s`)
	heading  = text.Pattern(`^(?:#{1,6}\s+(.+?)\s*#*|\*\*([^*]+)\*\*:?)$`)
	listItem = text.Pattern(`^\s{0,3}(?:[-*+•]|\d{1,3}[.)])\s+(.*)$`)
)

// statements returns the list items and paragraphs of a Markdown text, with their headings.
func statements(markdown string) []string {
	var out []string
	var above, open string
	end := func() {
		empty := strings.HasSuffix(strings.TrimRight(open, "*_ "), ":") // an empty field of a form
		if open != "" && above != "" {
			open = above + ": " + open
		}
		if !empty {
			out = append(out, pieces(open)...)
		}
		open = ""
	}
	for line := range strings.Lines(fence().ReplaceAllString(comment().ReplaceAllString(markdown, ""), "")) {
		line = strings.TrimRight(line, " \t\r\n")
		bare := strings.TrimSpace(line)
		switch m := listItem().FindStringSubmatch(line); {
		case bare == "" || bare == "---" || bare == "***":
			end()
		case heading().MatchString(bare):
			end()
			parts := heading().FindStringSubmatch(bare)
			if above = strings.TrimSuffix(parts[1]+parts[2], ":"); title().MatchString(bare) {
				above = "" // the title of the file
			}
		case m != nil:
			end()
			open = m[1]
		default:
			open = strings.TrimSpace(open + " " + bare)
		}
	}
	end()
	return out
}

var (
	observed  = text.Pattern(`<!--\s*observed:`)
	directive = text.Pattern(`(?m)^<!--\s*observed:\s*(\d{4}-\d\d-\d\d)\s*\|\s*status:\s*active\s*-->\s*\n\s*[-*]\s+(.*(?:\n[ \t]+\S.*)*)`)
)

// directives passes on the active statements of a text whose statements have a date and
// a status; false: it is no such text.
func (o output) directives(markdown string, like Fact) bool {
	if !observed().MatchString(markdown) {
		return false
	}
	for _, m := range directive().FindAllStringSubmatch(markdown, -1) {
		like.Text = strings.Join(strings.Fields(m[2]), " ")
		like.At, _ = time.Parse(time.DateOnly, m[1]) // zero, unknown, if invalid
		o.fact(like)
	}
	return true
}

// pieces cuts a statement between words into pieces that fit into an item.
func pieces(s string) (out []string) {
	for utf8.RuneCountInString(s) > maxFact {
		at := len(string([]rune(s)[:maxFact]))
		if space := strings.LastIndexByte(s[:at], ' '); space > 0 {
			at = space
		}
		out = append(out, strings.TrimSpace(s[:at]))
		s = strings.TrimSpace(s[at:])
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

// remember imports the facts of an archive into memory, under their own theme. Existing
// items, in any wording and archived ones too, stay as they are.
func (r *run) remember(ctx context.Context) error {
	if len(r.facts) == 0 {
		return nil
	}
	here := map[string]bool{}
	items, err := r.Store.Items(ctx, store.ItemQuery{User: r.User.ID, Limit: 1_000_000})
	if err != nil {
		return err
	}
	for _, i := range items {
		here[text.Digest(i.Content)] = true
		for _, w := range i.History {
			here[text.Digest(w.Content)] = true
		}
	}
	now := r.Now()
	theme := core.Theme{User: r.User.ID, Slug: r.format, Name: formats()[r.format].program, CreatedAt: now, UpdatedAt: now}
	for _, f := range r.facts {
		digest := text.Digest(f.Text)
		if here[digest] {
			continue
		}
		here[digest] = true
		if f.At.IsZero() || f.At.After(now) || f.At.Year() < earliest {
			f.At = now
		}
		item := core.Item{User: r.User.ID, Theme: theme.Slug, Type: core.ItemFact, Content: f.Text, Tags: []string{f.From},
			Status: core.ItemActive, Noted: f.Noted, CreatedAt: f.At.UTC().Truncate(time.Millisecond)}
		err := r.note(ctx, effect.Taint(effect.AddItem{Item: item, Digest: digest, Theme: theme, Embed: r.Embedding, At: now}))
		if err != nil {
			return err
		}
		r.result.Items++
	}
	return nil
}

func (r *run) note(ctx context.Context, e core.Effect) error {
	_, err := r.Store.Note(ctx, store.Note{User: r.User.ID, Now: r.Now(), Effects: []core.Effect{e}})
	return err
}

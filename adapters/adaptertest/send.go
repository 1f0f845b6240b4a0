package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

// part returns a part with its text as key.
func part(text string) core.Part { return core.Part{Text: text, Key: text} }

func sendsInOrder(t *testing.T, h Harness) {
	p := run(t, h, newStore())
	defer p.end(t)
	var want []string
	ids := map[string]bool{}
	for i := range 5 {
		text := fmt.Sprintf("part %d", i)
		want = append(want, text)
		r, err := p.ch.Send(t.Context(), h.To, part(text))
		if err != nil {
			t.Fatalf("send: %v", err)
		}
		if r.NativeID == "" || ids[r.NativeID] {
			t.Errorf("native id %q is empty or not unique", r.NativeID)
		}
		ids[r.NativeID] = true
	}
	if got := h.Sent(); !slices.Equal(got, want) {
		t.Errorf("the service has %q, want %q", got, want)
	}
}

// retracts lets a core.Retractor delete one of three messages, and repeats it as after a lost answer.
func retracts(t *testing.T, h Harness) {
	p := run(t, h, newStore())
	defer p.end(t)
	r, ok := p.ch.(core.Retractor)
	if !ok {
		return
	}
	var ids []string
	for _, text := range []string{"one", "two", "three"} {
		sent, err := p.ch.Send(t.Context(), h.To, part(text))
		if err != nil {
			t.Fatalf("send: %v", err)
		}
		ids = append(ids, sent.NativeID)
	}
	for range 2 {
		if err := r.Retract(t.Context(), h.To, ids[1]); err != nil {
			t.Errorf("retract: %v", err)
		}
	}
	if got := h.Sent(); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("the service has %q, want no two", got)
	}
	if err := r.Retract(t.Context(), core.Address{Channel: h.To.Channel, External: "?"}, ids[0]); err == nil {
		t.Error("a message was deleted in a chat that there is not")
	}
}

func classifiesErrors(t *testing.T, h Harness) {
	p := run(t, h, newStore())
	defer p.end(t)
	if _, err := p.ch.Send(t.Context(), h.To, part("warm up")); err != nil {
		t.Fatalf("send: %v", err)
	}
	for _, f := range []Fault{Refused, Unreachable, Wait, Lost, Broken, Away} {
		if !h.Fail(f) {
			continue
		}
		before := len(h.Sent())
		_, err := p.ch.Send(t.Context(), h.To, part("with fault "+string(f)))
		if got, want := class(err), classOf(f); got != want {
			t.Errorf("%s: %s, want %s (%v)", f, got, want, err)
		}
		if n := len(h.Sent()); n > before && f != Lost {
			t.Errorf("%s: the service has the message", f)
		}
	}
}

func classOf(f Fault) string {
	switch f {
	case Refused:
		return "permanent"
	case Unreachable:
		return "unreachable"
	case Wait:
		return "retry after"
	case Away:
		return "temporary"
	}
	return "unknown"
}

func class(err error) string {
	var (
		permanent   *core.Permanent
		unreachable *core.Unreachable
		retry       *core.RetryAfter
		unknown     *core.Unknown
	)
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &permanent):
		return "permanent"
	case errors.As(err, &unreachable):
		return "unreachable"
	case errors.As(err, &retry):
		if retry.After <= 0 {
			return "retry without a pause"
		}
		return "retry after"
	case errors.As(err, &unknown):
		return "unknown"
	}
	return "temporary"
}

func givesUpWithCaller(t *testing.T, h Harness) {
	p := run(t, h, newStore())
	defer p.end(t)
	if !h.Fail(Hangs) {
		return // the service does not support the fault
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := p.ch.Send(ctx, h.To, part("slow"))
	if got := class(err); got != "unknown" {
		t.Errorf("%s, want unknown (%v)", got, err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("gave up after %s", d)
	}
	if _, err := p.ch.Send(t.Context(), h.To, part("next")); err != nil {
		t.Errorf("the next message: %v", err)
	}
}

func sendsLongestText(t *testing.T, h Harness) {
	p := run(t, h, newStore())
	defer p.end(t)
	d, ok := p.ch.(core.Describer)
	if !ok || d.Capabilities().MaxText == 0 {
		return // the channel has no limit
	}
	c := d.Capabilities()
	length := c.Length
	if length == nil {
		length = func(s string) int { return len(s) }
	}
	text := strings.Repeat("🙂", c.MaxText/length("🙂"))
	if _, err := p.ch.Send(t.Context(), h.To, part(text)); err != nil {
		t.Fatalf("send %d units: %v", length(text), err)
	}
	if got := h.Sent(); len(got) != 1 || got[0] != text {
		t.Errorf("the service has %d messages", len(got))
	}
}

// splitsLongAnswers sends an answer of three parts, with a code block that must be closed
// and opened again.
func splitsLongAnswers(t *testing.T, h Harness) {
	p := run(t, h, newStore())
	defer p.end(t)
	limit, length := 4000, markup.UTF16Len
	if d, ok := p.ch.(core.Describer); ok {
		if c := d.Capabilities(); c.MaxText > 0 {
			limit = c.MaxText
			if c.Length != nil {
				length = c.Length
			}
		}
	}
	var answer strings.Builder
	for n := 0; length(answer.String()) < 5*limit/2; n++ {
		fmt.Fprintf(&answer, "Paragraph w%dw with **bold words** and _others_, as people write them.\n\n", n)
		if n == 3 {
			fmt.Fprintf(&answer, "```go\n%s```\n\n", strings.Repeat("line of code // with words\n", limit/40))
		}
	}
	whole := markup.Parse(answer.String())
	for n, piece := range markup.Split(whole, limit, length) {
		one := core.Part{Text: piece.Text, Spans: piece.Spans, Key: fmt.Sprint("piece ", n)}
		if _, err := p.ch.Send(t.Context(), h.To, one); err != nil {
			t.Fatalf("send piece %d of %d units: %v", n, length(piece.Text), err)
		}
	}
	if got := h.Sent(); len(got) < 3 {
		t.Errorf("%d parts", len(got))
	}
	wantWords(t, whole.Text, strings.Join(h.Sent(), "\n"))
}

// keepsWordsInMarkup sends every kind of markup.
func keepsWordsInMarkup(t *testing.T, h Harness) {
	p := run(t, h, newStore())
	defer p.end(t)
	text := markup.Parse(
		"# Heading one\n\nPlain **bold _both_** ~~gone~~ `code2` [link](https://example.org/a_b) 2\\*3\\*4 snake_case_word <tag> & more\n\n" +
			"> quoted words\n\n- first\n- second\n\n1. one\n2. two\n\n```go\nfunc main() {}\n```\n\nend")
	if _, err := p.ch.Send(t.Context(), h.To, core.Part{Text: text.Text, Spans: text.Spans, Key: "markup"}); err != nil {
		t.Fatalf("send: %v", err)
	}
	wantWords(t, text.Text, strings.Join(h.Sent(), "\n"))
}

// wantWords checks that a text contains the words of another in order, with anything in
// between.
func wantWords(t *testing.T, want, got string) {
	t.Helper()
	letters := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	rest := strings.FieldsFunc(got, letters)
	for _, word := range strings.FieldsFunc(want, letters) {
		i := slices.Index(rest, word)
		if i < 0 {
			t.Errorf("the word %q is missing, or not in its place", word)
			return
		}
		rest = rest[i+1:]
	}
}

func settlesLostParts(t *testing.T, h Harness) {
	s := newStore()
	p := run(t, h, s)
	defer p.end(t)
	d, ok := p.ch.(core.Describer)
	if !ok || !d.Capabilities().Settles || !h.Fail(Lost) {
		return // no guarantee
	}
	lost := part("lost")
	if _, err := p.ch.Send(t.Context(), h.To, lost); class(err) != "unknown" {
		t.Fatalf("%s, want unknown (%v)", class(err), err)
	}
	s.wait(t, "a receipt with the key of the part", func() bool {
		return slices.ContainsFunc(s.offers(), func(in core.Inbound) bool {
			return in.Kind == core.InReceipt && in.Status != nil && in.Status.Key == lost.Key &&
				in.Target != "" && in.Address == h.To
		})
	})
}

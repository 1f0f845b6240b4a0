package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

func part(markdown string) core.Part { return markup.Parse(markdown).Part() }

// paper records printed text.
type paper struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

func open(t *testing.T, o Options) *Channel {
	t.Helper()
	o.Person, o.Name, o.Now = "ada", "Ada", time.Now
	if o.Rand == nil {
		o.Rand = strings.NewReader("12345678")
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSend_streamed(t *testing.T) {
	t.Parallel()
	type step struct{ preview, send string }
	cases := []struct {
		name  string
		steps []step
		want  string
	}{
		{"not streamed", []step{{send: "Hello **you**."}}, "Hello you.\n"},
		{"only the rest is printed", []step{{preview: "Hello the"}, {preview: "Hello there, how are"},
			{send: "Hello there, how are you?"}}, "Hello there, how are you?\n"},
		{"all of it was printed", []step{{preview: "One. Two. "}, {send: "One. Two."}}, "One. Two.\n"},
		{"markup that was not closed yet", []step{{preview: "It is **ve"}, {preview: "It is **very** nice "},
			{send: "It is **very** nice *indeed*"}}, "It is very nice indeed\n"},
		{"a list", []step{{preview: "Two things:\n\n- on"}, {preview: "Two things:\n\n- one\n- tw"},
			{send: "Two things:\n\n- one\n- two"}}, markup.Plain("Two things:\n\n- one\n- two") + "\n"},
		{"a table appears when it is whole", []step{{preview: "See:\n\n| a | b |\n| --"},
			{send: "See:\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"}}, markup.Plain("See:\n\n| a | b |\n| --- | --- |\n| 1 | 2 |") +
			"\n"},
		{"it began again", []step{{preview: "First try is "}, {preview: "Second try "}, {send: "Second try works"}},
			"First try \nSecond try works\n"},
		{"a notice in between", []step{{preview: "I was saying that "}, {send: "Stopped."}, {send: "I was saying that it"}},
			"I was saying \nStopped.\nI was saying that it\n"},
		{"a notice after whole lines", []step{{preview: "One.\n\nTwo and three "}, {send: "Stopped."},
			{send: "One.\n\nTwo and three. Stopped."}}, "One.\n\nTwo and \nStopped.\nTwo and three. Stopped.\n"},
		{"a link keeps its target", []step{{send: "See [the page](https://x.example/a)."}},
			"See the page <https://x.example/a>.\n"},
		{"control characters are taken out", []step{{preview: "a\x1b[2J b "}, {send: "a\x1b[2J b \u202ec\a"}}, "a[2J b c\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out paper
			ch := open(t, Options{Out: &out})
			for _, s := range c.steps {
				var err error
				if s.preview != "" {
					err = ch.Preview(t.Context(), ch.Address(), "turn-1-1", s.preview)
				} else {
					_, err = ch.Send(t.Context(), ch.Address(), part(s.send))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if got := out.String(); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestSend_styles(t *testing.T) {
	t.Parallel()
	var out paper
	ch := open(t, Options{Out: &out, Style: true})
	for _, text := range []string{"So **very good** and ", "So **very good** and *so* on "} {
		if err := ch.Preview(t.Context(), ch.Address(), "k", text); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "So \x1b[1mvery good\x1b[22m and \x1b[3mso\x1b[23m "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSend_streamingLosesNothing checks that all of an answer is printed, however it arrives, and that a
// plain one is printed exactly once.
func TestSend_streamingLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"one ", "two\n", "**", "*", "- ", "\n\n", "`", "```\n", "1. ",
			"# ", "| ", "[x](http://y) ", "_z_ ", "é🙂 "}), 1, 40).Draw(t, "words")
		full := strings.Join(words, "")
		want := (&screen{}).render(markup.Parse(full))
		var out bytes.Buffer
		s := &screen{out: &out}
		for at := 0; at < len(words); at += rapid.IntRange(1, 5).Draw(t, "step") {
			if err := s.preview("k", strings.Join(words[:at], "")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.final(part(full)); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if !strings.HasSuffix(got, want+"\n") {
			t.Fatalf("printed %q, want it to end with %q", got, want)
		}
		if !strings.ContainsAny(full, "*-`#|_1") && got != want+"\n" {
			t.Fatalf("printed %q, want %q once", got, want)
		}
	})
}

func TestSend_fileShowsWhereItLies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ folder, path, caption, want string }{
		"in a folder":     {"/data/media", "7/turn-1-0-0-0", "", "[photo a b.png: /data/media/7/turn-1-0-0-0]\n"},
		"with a caption":  {"/data/media", "7/x", "our **boat**", "[photo a b.png: /data/media/7/x]\nour boat\n"},
		"folder untold":   {"", "7/x", "", "[photo a b.png]\n"},
		"not on the disk": {"/data/media", "", "", "[photo a b.png]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out paper
			ch := open(t, Options{Out: &out, Files: c.folder})
			p := part(c.caption)
			p.Attachment, p.Data = &core.Attachment{Kind: "photo", Name: "a b\x1b.png", Path: c.path}, []byte("picture")
			if _, err := ch.Send(t.Context(), ch.Address(), p); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSend_brokenScreenIsNotSilent(t *testing.T) {
	t.Parallel()
	ch := open(t, Options{Out: failing{}})
	_, err := ch.Send(t.Context(), ch.Address(), part("x"))
	var unknown *core.Unknown
	if !errors.As(err, &unknown) {
		t.Errorf("got %v, want *core.Unknown", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// receiver records the received texts.
type receiver struct {
	texts []string
	ids   map[string]bool
}

func (r *receiver) Receive(_ context.Context, in ...core.Inbound) error {
	for _, i := range in {
		r.texts = append(r.texts, i.Text)
		if r.ids == nil {
			r.ids = map[string]bool{}
		}
		r.ids[i.EventID] = true
	}
	return nil
}

func TestLines_eachAnsweredBeforeTheNext(t *testing.T) {
	t.Parallel()
	var r receiver
	var at []int
	ch := open(t, Options{Lines: Plain(strings.NewReader("one\r\n\n  \ntwo\nthree")), Out: io.Discard,
		Answered: func(context.Context) error { at = append(at, len(r.texts)); return nil }})
	if err := ch.Run(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.texts, "|"); got != "one|two|three" {
		t.Errorf("got %q", got)
	}
	if len(r.ids) != 3 || len(at) != 3 || at[0] != 1 || at[1] != 2 {
		t.Errorf("ids %v, answered after %v", r.ids, at)
	}
}

func TestLines_idsOfTheirProcess(t *testing.T) {
	t.Parallel()
	var r receiver
	for _, seed := range []string{"12345678", "87654321"} {
		ch := open(t, Options{Lines: Plain(strings.NewReader("hi\n")), Out: io.Discard, Rand: strings.NewReader(seed)})
		if err := ch.Run(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.ids) != 2 {
		t.Errorf("ids %v", r.ids)
	}
}

func TestLines_errorsOfReadingAreTold(t *testing.T) {
	t.Parallel()
	ch := open(t, Options{Lines: Plain(iotest.ErrReader(errors.New("unplugged"))), Out: io.Discard})
	if err := ch.Run(t.Context(), &receiver{}); err == nil || !strings.Contains(err.Error(), "unplugged") {
		t.Errorf("got %v", err)
	}
}

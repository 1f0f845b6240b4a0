package core

import (
	"strings"
	"testing"
	"time"
)

func TestHeard(t *testing.T) {
	t.Parallel()
	voice := func(change func(a *Attachment)) Attachment {
		a := Attachment{Kind: "voice"}
		change(&a)
		return a
	}
	words := voice(func(a *Attachment) { a.Transcript = "buy milk" })
	later := voice(func(a *Attachment) { a.Unheard = time.Unix(1, 0) })
	for _, c := range []struct {
		a          Attachment
		text, want string
	}{
		{words, "[voice 0:12]", "[voice 0:12: buy milk]"},
		{words, "[voice 0:12: not written down, today's tokens are used up]", "[voice 0:12: buy milk]"},
		{words, "[voice 0:12: see [this](https://x.org)]", "[voice 0:12: see [this](https://x.org): buy milk]"},
		{words, "no placeholder", "no placeholder\n[voice: buy milk]"},
		{words, "[voice 0:12", "[voice 0:12\n[voice: buy milk]"},
		{later, "[voice 0:12]", "[voice 0:12: not written down, today's tokens are used up]"},
		{voice(func(a *Attachment) { a.Long = true }), "[voice 9:59]", "[voice 9:59: not written down, it is too long]"},
		{voice(func(a *Attachment) { a.Speech = SpeechNone }), "[voice 0:03]", "[voice 0:03: no words were heard in it]"},
		{voice(func(a *Attachment) { a.Speech = SpeechFailed }), "[voice 0:03]", "[voice 0:03: not written down, that failed]"},
		{voice(func(*Attachment) {}), "[voice 0:03]", "[voice 0:03]"},
		{Attachment{Kind: "photo"}, "[photo: look]", "[photo: look]"},
	} {
		got := c.a.Heard(c.text)
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    Attachment
		want FileProblem
		note string
	}{
		{Attachment{Ref: "r", Path: "1/2"}, "", ""},
		{Attachment{Kind: "photo"}, "", ""},
		{Attachment{Ref: "r"}, FileComing, "not arrived"},
		{Attachment{Ref: "r", Error: "HTTP 400"}, FileFailed, "could not be fetched"},
		{Attachment{Ref: "r", Error: "HTTP 400", Problem: FileLarge}, FileLarge, "too large"},
		{Attachment{Ref: "r", Error: "HTTP 404", Problem: FileGone}, FileGone, "did not hand it over"},
		{Attachment{Ref: "r", Error: "full", Problem: FileRoom}, FileRoom, "no room"},
		{Attachment{Ref: "r", Path: "1/2", MIME: "image/heic"}, "", "cannot be shown"},
		{Attachment{Ref: "r", Path: "1/2", MIME: "image/png"}, "", ""},
	} {
		if got := c.a.Missing(); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.a, got, c.want)
		}
		if got := c.a.Note(); !strings.Contains(got, c.note) || c.note == "" && got != "" {
			t.Errorf("%+v: the model is told %q, want %q", c.a, got, c.note)
		}
	}
}

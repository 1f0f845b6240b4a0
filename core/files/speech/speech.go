// Package speech speaks answers, once each, after their text was stored and independently of its delivery. A failure
// costs the recording and never the text; the log, doctor and /voice report it.
package speech

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/files/media"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

// Store is the part of a store that a Worker uses.
type Store interface {
	store.SpeechStore
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
}

// Files stores recordings.
type Files interface {
	KeepSpeech(ctx context.Context, user core.UserID, m core.MessageID, s media.Speech) (core.Attachment, error)
	Remove(names []string) error
}

// Speaker speaks a text. After a *core.Permanent error a retry is useless.
type Speaker interface {
	Speak(ctx context.Context, s core.Speech) ([]byte, error)
}

// Worker runs the jobs of core.QueueSpeak. All fields are required. It is safe for concurrent use.
type Worker struct {
	Store         Store
	Users         core.Users
	Jobs          *job.Worker
	Files         Files
	Speaker       Speaker
	MaxCharacters int    // that are spoken of an answer
	Language      string // of users who chose none
	Meter         core.Counter
	Crash         core.Crash
	Log           *zap.Logger
	Now           func() time.Time
}

const (
	attempts = 3                // calls of a failing service for one answer
	pause    = 2 * time.Second  // before the second attempt; it doubles
	fresh    = 10 * time.Minute // age of an answer after which nobody waits for its sound
)

// errLate is the error of an answer that is too old to be spoken.
var errLate = errors.New("speak: it was too late, nobody waits for an answer of that time")

// Take claims the job of an answer and speaks it.
func (w *Worker) Take(ctx context.Context, ref store.JobRef) { w.Jobs.Take(ctx, ref, w.speak) }

// speak speaks one answer, and stores the recording with its delivery.
func (w *Worker) speak(ctx context.Context, j *store.Job) error {
	var to core.Address
	if err := json.Unmarshal(j.Payload, &to); err != nil {
		return w.giveUp(ctx, j, fmt.Errorf("payload: %w", err))
	}
	ms, err := w.Store.Messages(ctx, j.User, []core.MessageID{core.MessageID(j.Ref)})
	if err != nil {
		return err
	}
	if len(ms) == 0 || ms[0].Redacted || ms[0].Kind != core.KindChat {
		return w.Jobs.Finish(ctx, j)
	}
	if w.Now().Sub(j.Since) > fresh {
		return w.giveUp(ctx, j, errLate)
	}
	u, err := w.Users.User(ctx, j.User)
	if err != nil {
		return err
	}
	text := Text(ms[0].Text, cmp.Or(u.Settings.Language, w.Language), w.MaxCharacters)
	if text == "" {
		return w.Jobs.Finish(ctx, j)
	}
	began := w.Now()
	sound, err := Record(ctx, w.Speaker, core.Speech{User: j.User, Text: text})
	if err != nil {
		return w.failed(ctx, j, err)
	}
	w.Crash.At("spoken")
	if err := w.keep(ctx, j, to, sound); err != nil {
		return err
	}
	w.Crash.At("voiced")
	w.Meter.Count("everthread_speech_total", 1, "spoken")
	w.Log.Debug("answer spoken", zap.Int64("user", int64(j.User)), zap.Int64("message", j.Ref),
		zap.Int("bytes", len(sound.Data)), zap.Duration("took", w.Now().Sub(began)))
	return nil
}

// keep stores a recording, with its delivery to the address of the answer.
func (w *Worker) keep(ctx context.Context, j *store.Job, to core.Address, sound media.Speech) error {
	a, err := w.Files.KeepSpeech(ctx, j.User, core.MessageID(j.Ref), sound)
	if err != nil {
		return w.failed(ctx, j, err)
	}
	now := w.Now()
	err = w.Store.Spoken(ctx, store.Spoken{User: j.User, Message: core.MessageID(j.Ref), Attachment: a, Lease: j.Lease,
		Now: now, Delivery: core.NewDelivery{To: to, Kind: core.DeliverVoice, Expires: now.Add(fresh),
			Parts: []core.Part{{Attachment: &a, Quiet: true}}}})
	if errors.Is(err, core.ErrNotFound) { // it was redacted while it was spoken
		return w.Files.Remove([]string{a.Path})
	}
	return err
}

// failed retries temporary errors, and gives up after others.
func (w *Worker) failed(ctx context.Context, j *store.Job, err error) error {
	var permanent *core.Permanent
	var over *trust.OverCap
	switch {
	case ctx.Err() != nil:
		return err // the process stops, or the lease is lost
	case !errors.As(err, &permanent) && !errors.As(err, &over) && j.Failures+1 < attempts:
		return &job.Later{At: w.Now().Add(w.Jobs.Jitter(pause << j.Failures)), Err: err}
	}
	return w.giveUp(ctx, j, err)
}

// giveUp records that an answer is not spoken. Its text was sent.
func (w *Worker) giveUp(ctx context.Context, j *store.Job, cause error) error {
	w.Meter.Count("everthread_speech_total", 1, "failed")
	w.Log.Warn("answer not spoken; its text was sent", zap.Int64("user", int64(j.User)), zap.Int64("message", j.Ref),
		zap.Error(cause))
	return w.Store.Unspoken(ctx, j.User, j.Lease, cause.Error())
}

// Record speaks a text, and checks that the result is sound, not a page or silence.
func Record(ctx context.Context, s Speaker, x core.Speech) (media.Speech, error) {
	data, err := s.Speak(ctx, x)
	if err != nil {
		return media.Speech{}, err
	}
	seen := http.DetectContentType(data)
	switch {
	case len(data) == 0:
		return media.Speech{}, errors.New("speak: the server answered with nothing")
	case seen == "audio/mpeg" || len(data) > 1 && data[0] == 0xFF && data[1]&0xE0 == 0xE0: // frames without a head
		return media.Speech{MIME: "audio/mpeg", Data: data}, nil
	case seen != "application/ogg":
		return media.Speech{}, fmt.Errorf("speak: the server answered with %s, and not with sound in OGG/Opus or MP3; "+
			"check speech.base_url", strings.SplitN(seen, ";", 2)[0])
	}
	o, err := media.ReadOpus(data)
	switch {
	case err != nil:
		return media.Speech{}, fmt.Errorf("speak: the recording cannot be used: %w", err)
	case o.Silent:
		return media.Speech{}, errors.New("speak: the recording is silent; check speech.model and speech.voice")
	}
	return media.Speech{MIME: "audio/ogg", Duration: o.Duration, Data: data}, nil
}

// say returns the spoken replacements in a language.
var say = i18n.In[texts]("speech")

// texts replace content that cannot be spoken.
type texts struct {
	Code, Link string // replace a block of code or a table, and an address
	Formula    string // replaces one
	Rest       string // ends a shortened text
}

var (
	address = regexp.MustCompile(`(?i)\b(?:https?|ftp|mailto|tel|tg|xmpp|matrix):\S+`)
	letters = regexp.MustCompile(`[\p{L}\p{N}]`)
	// references matches several in a row, with a word such as "and" between them.
	references = regexp.MustCompile(`\s*\[#[\d, #]+\](?:[,;]?\s*\p{L}{0,4}\s*\[#[\d, #]+\])+`)
	// formula matches LaTeX. Amounts of money are none.
	formula = regexp.MustCompile(`(?s) ?(?:\$\$.{1,500}?\$\$|\\\[.{1,500}?\\\]|\\\(.{1,500}?\\\)|` +
		`\$(?:[A-Za-z]|[^\s$](?:[^$\n]{0,200}[^\s$])?[\\^_={][^$\n]{0,200}|\\[^$\n]{1,200})\$) ?`)
	tag = regexp.MustCompile(`(?i)</?(?:a|b|big|br|center|code|details|div|em|font|h[1-6]|hr|i|img|kbd|li|mark|ol|p|s|small|span|` +
		`strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]*)?/?>`)
)

// Text returns an answer in Markdown as it is spoken: words without markup, one or more
// sentences a line, blocks of code and addresses mentioned but not read out. It has at most
// most characters, and says so if it was cut. It is empty if there is nothing to say.
func Text(markdown, language string, most int) string {
	w := say(language)
	markdown = references.ReplaceAllString(markdown, " [#1]")
	t := markup.Parse(formula.ReplaceAllString(markup.StripRefs(markdown), " "+w.Formula+" "))
	var lines []string
	before, spoken := 0, false
	for _, s := range append(t.Spans, core.Span{Kind: core.SpanPre, Start: len(t.Text), End: len(t.Text)}) {
		if s.Kind != core.SpanPre || s.Start < before {
			continue
		}
		prose := sentences(t.Text[before:s.Start], w)
		spoken = spoken || len(prose) > 0
		lines = append(lines, prose...)
		if s.End > s.Start {
			lines = append(lines, w.Code)
		}
		before = s.End
	}
	if !spoken {
		return ""
	}
	return bounded(strings.Join(lines, "\n"), w.Rest, most)
}

// sentences returns the lines of a text that have words, each with a final mark.
func sentences(text string, w *texts) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.Map(spoken, tag.ReplaceAllString(address.ReplaceAllString(line, w.Link), " "))
		if !letters.MatchString(line) {
			continue
		}
		line = beforeMark.ReplaceAllString(strings.Join(strings.Fields(line), " "), "$1$2")
		if last, _ := utf8.DecodeLastRuneInString(line); unicode.IsLetter(last) || unicode.IsDigit(last) {
			line += "."
		}
		out = append(out, line)
	}
	return out
}

// beforeMark matches a blank before a mark, left by what is not spoken.
var beforeMark = regexp.MustCompile(`\s([.,;])(\s|$)`)

// unspoken are emoji and what is drawn: arrows, lines, boxes, bullets, signs.
var unspoken = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x200D, Hi: 0x200D, Stride: 1}, {Lo: 0x2022, Hi: 0x2023, Stride: 1},
		{Lo: 0x20E3, Hi: 0x20E3, Stride: 1}, {Lo: 0x2190, Hi: 0x21FF, Stride: 1}, {Lo: 0x2300, Hi: 0x23FF, Stride: 1},
		{Lo: 0x2500, Hi: 0x27BF, Stride: 1}, {Lo: 0x2900, Hi: 0x297F, Stride: 1}, {Lo: 0x2B00, Hi: 0x2BFF, Stride: 1},
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1F000, Hi: 0x1FAFF, Stride: 1}, {Lo: 0xE0020, Hi: 0xE007F, Stride: 1}},
}

// spoken replaces a sign that has no sound by a blank, and drops one that only changes the sign before it.
func spoken(r rune) rune {
	switch {
	case r == 0x200D || r == 0x20E3 || r >= 0xFE00 && r <= 0xFE0F:
		return -1
	case unicode.Is(unspoken, r):
		return ' '
	}
	return r
}

// bounded returns at most most characters of a text, with rest at the end if it was cut.
func bounded(text, rest string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	room := most - utf8.RuneCountInString(rest) - 1
	if room <= 0 {
		return rest
	}
	return markup.Split(markup.Text{Text: text}, room, utf8.RuneCountInString)[0].Text + "\n" + rest
}

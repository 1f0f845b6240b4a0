package speech_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/files/media"
	"github.com/everthread/everthread/core/files/speech"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

// desk is a store with one answer to be spoken, and records what happens to it.
type desk struct {
	answer core.Message
	job    store.Job
	spoken []store.Spoken
	gave   []string    // causes of giving up
	later  []time.Time // retries
	ended  int
	gone   bool
	left   []string // kept files
}

func (d *desk) Claim(context.Context, store.JobRef, store.Claim) (*store.Job, error) {
	return &d.job, nil
}
func (d *desk) Extend(context.Context, core.UserID, core.Lease, time.Time) error            { return nil }
func (d *desk) Finish(context.Context, core.UserID, core.Lease, string) error               { d.ended++; return nil }
func (d *desk) User(context.Context, core.UserID) (core.User, error)                        { return core.User{}, nil }
func (d *desk) SpeechTrouble(context.Context, core.UserID) (s string, t time.Time, e error) { return }

func (d *desk) RetryJob(_ context.Context, _ core.UserID, _ core.Lease, at time.Time, _ string) error {
	d.later = append(d.later, at)
	return nil
}

func (d *desk) Messages(context.Context, core.UserID, []core.MessageID) ([]core.Message, error) {
	return []core.Message{d.answer}, nil
}

func (d *desk) Spoken(_ context.Context, s store.Spoken) error {
	if d.gone {
		return core.ErrNotFound
	}
	d.spoken = append(d.spoken, s)
	return nil
}

func (d *desk) Unspoken(_ context.Context, _ core.UserID, _ core.Lease, cause string) error {
	d.gave = append(d.gave, cause)
	return nil
}

func (d *desk) KeepSpeech(_ context.Context, _ core.UserID, _ core.MessageID,
	s media.Speech) (core.Attachment, error) {
	d.left = append(d.left, "speech")
	return core.Attachment{Kind: "voice", Path: "speech", Duration: s.Duration}, nil
}

func (d *desk) Remove(names []string) error { d.left = nil; return nil }

func TestWorker_speaksOrGivesUp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	sound, err := os.ReadFile("../media/testdata/speech.ogg")
	if err != nil {
		t.Fatal(err)
	}
	works := says{data: sound}
	for name, c := range map[string]struct {
		speaker                              says
		change                               func(d *desk)
		spoken, gave, later, ended, filesLft int
		cause                                string
	}{
		"it works":      {speaker: works, spoken: 1, filesLft: 1},
		"it fails once": {speaker: says{err: errors.New("down")}, later: 1},
		"it fails again": {speaker: says{err: errors.New("down")}, change: func(d *desk) { d.job.Failures = 2 },
			gave: 1, cause: "down"},
		"it never will": {speaker: says{err: &core.Permanent{Err: errors.New("no key")}}, gave: 1, cause: "no key"},
		"it is too late": {speaker: works, change: func(d *desk) { d.job.Since = now.Add(-time.Hour) },
			gave: 1, cause: "too late"},
		"code alone":        {speaker: works, change: func(d *desk) { d.answer.Text = "```\nx\n```" }, ended: 1},
		"it was forgotten":  {speaker: works, change: func(d *desk) { d.answer.Redacted = true }, ended: 1},
		"forgotten then":    {speaker: works, change: func(d *desk) { d.gone = true }},
		"another was taken": {speaker: works, change: func(d *desk) { d.answer.Kind = core.KindAnswer }, ended: 1},
	} {
		d := &desk{answer: core.Message{ID: 5, Kind: core.KindChat, Text: "Hello there"},
			job: store.Job{User: 1, Ref: 5, Since: now, Payload: []byte(`{"Channel":"x"}`)}}
		if c.change != nil {
			c.change(d)
		}
		w := &speech.Worker{Store: d, Users: d, Files: d, Speaker: c.speaker, MaxCharacters: 2000, Language: "en",
			Jobs: &job.Worker{Store: d, Lease: time.Minute, Now: func() time.Time { return now },
				Rand: func() float64 { return 0 }, Log: zap.NewNop()},
			Meter: uncounted{}, Crash: func(string) {}, Log: zap.NewNop(),
			Now: func() time.Time { return now }}
		w.Take(t.Context(), store.JobRef{User: 1})
		if len(d.spoken) != c.spoken || len(d.gave) != c.gave || len(d.later) != c.later || d.ended != c.ended ||
			len(d.left) != c.filesLft || c.gave > 0 && !strings.Contains(d.gave[0], c.cause) {
			t.Errorf("%s: %+v", name, d)
		}
		if c.later > 0 && !d.later[0].Equal(now.Add(2*time.Second)) {
			t.Errorf("%s: retry at %s", name, d.later[0])
		}
	}
}

type uncounted struct{}

func (uncounted) Count(string, float64, ...string) {}

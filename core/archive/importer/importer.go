package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
)

// Store receives the contents of an archive.
type Store interface {
	store.ImportStore
	Note(ctx context.Context, n store.Note) (store.Noted, error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	Items(ctx context.Context, q store.ItemQuery) ([]core.Item, error)
}

// Admitter checks imported plans.
type Admitter interface {
	// Admit returns why an open plan cannot be imported; nil: it can.
	Admit(k core.Plan, now time.Time) error
}

// InstructionImporter checks imported standing instructions.
type InstructionImporter interface {
	// Fitting returns those wishes that could be added now, without those that hold already.
	Fitting(ctx context.Context, user core.UserID, wishes []string) ([]string, error)
}

// Proposer asks a user about what a file brings, as engine.Engine does.
type Proposer interface {
	Propose(ctx context.Context, u core.User, from string, effects ...core.Effect) (asked core.Identity, err error)
}

// Importer imports archives. All fields but Progress are required.
type Importer struct {
	Store     Store
	Tokens    core.Tokenizer
	User      core.User
	Calendar  day.Calendar
	Embedding string // the configuration for embedding memory; empty: none
	Media     *Media
	// Plans checks open plans. At most MaxReminders reminders and MaxTasks tasks are open, existing ones included.
	Plans        Admitter
	MaxReminders int
	MaxTasks     int
	Standing     InstructionImporter
	Proposer     Proposer
	Summaries    bool // imported days are summarised
	Now          func() time.Time
	Wait         func(ctx context.Context, d time.Duration)
	Progress     func(done, fresh int) // after each batch; may be nil
}

// Result counts the imported parts of an archive.
type Result struct {
	Fresh     int      `json:"imported"`
	Known     int      `json:"known"` // imported before
	Days      int      `json:"new_days"`
	Files     int      `json:"files"`
	Missing   []string `json:"files_missing,omitempty"`
	Summaries int      `json:"summaries"`
	Items     int      `json:"memory"`
	Loops     int      `json:"loops"`
	Reminders int      `json:"reminders"`
	Tasks     int      `json:"tasks"` // those that were active are paused until the user resumes them
	// Paused are the texts of the tasks that were paused, Proposed the standing instructions about which the user is
	// asked, and AskedOn is the channel where; empty: nowhere.
	Paused   []string `json:"tasks_paused,omitempty"`
	Proposed []string `json:"standing_proposed,omitempty"`
	AskedOn  string   `json:"asked_on,omitempty"`
	// LeftOut counts the reminders and tasks that were not imported, by the reason.
	LeftOut map[string]int `json:"reminders_left_out,omitempty"`
}

// Bounds of a batch.
const (
	batchSize = 1000     // messages
	maxInline = 32 << 20 // bytes of files within messages
)

// ownGap is the silence after which a reply belongs to the day of its own time.
const ownGap = 3 * time.Hour

// Run imports an archive with its survey. Messages that were imported before stay as
// they are, so an interrupted import can be run again.
func (i *Importer) Run(ctx context.Context, a *Archive, format string, o Options, s *Survey) (Result, error) {
	r := &run{Importer: i, archive: a, format: format, who: s.who, days: map[string]lastSaid{}, last: map[string]int64{},
		numbers: map[core.MessageID]core.MessageID{}, threads: map[core.ThreadID]*store.ImportThread{}, wants: s.Bytes,
		room: a.room(i.Media.Max)}
	i.Media.sweep(i.User.ID, i.Now())
	wanted := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan *batch, 2)
	read := make(chan error, 1)
	r.work.Go(func() {
		defer close(batches)
		read <- r.read(ctx, o, batches)
	})
	err := r.store(ctx, batches)
	cancel()
	for range batches { // until the reader has ended
	}
	r.work.Wait()
	ended := <-read
	if errors.Is(ended, context.Canceled) { // it was told to stop
		ended = nil
	}
	if err = errors.Join(err, ended); err == nil {
		err = wanted.Err()
	}
	switch {
	case err != nil:
	case format == "jsonl":
		err = r.rest(wanted)
	default:
		err = r.remember(wanted)
	}
	return r.result, err
}

// run is one import.
type run struct {
	*Importer
	archive *Archive
	format  string
	who     roles
	result  Result
	done    int
	work    sync.WaitGroup
	days    map[string]lastSaid // of chats
	last    map[string]int64    // place in each chat of an export
	threads map[core.ThreadID]*store.ImportThread
	// Bytes of files: wants of all, room is the limit, copied of the imported ones.
	wants, room, copied int64
	facts               []Fact
	// numbers maps the ids of an export's messages to their new ones.
	numbers map[core.MessageID]core.MessageID
}

// lastSaid is the day and time of the last message of a chat.
type lastSaid struct {
	day core.Day
	at  time.Time
}

// batch holds messages to store, and their files.
type batch struct {
	store.ImportBatch
	files  map[int][]File // by the index of the message
	inline int            // bytes of files within messages
	copied []copied
	ready  chan error // receives one value when the batch can be stored
}

// prepare prepares a batch for storing, concurrently with others.
func (r *run) prepare(ctx context.Context, b *batch) {
	b.User, b.Summaries = r.User.ID, r.Summaries
	b.ready = make(chan error, 1)
	r.work.Go(func() {
		for i := range b.Messages {
			b.Messages[i].Tokens = r.Tokens.Count(b.Messages[i].Text)
		}
		b.ready <- r.Store.PrepareImport(ctx, &b.ImportBatch)
	})
}

// read reads the archive and sends batches, each of one thread.
func (r *run) read(ctx context.Context, o Options, batches chan<- *batch) error {
	b := &batch{files: map[int][]File{}}
	flush := func() error {
		if len(b.Messages) == 0 {
			return nil
		}
		r.prepare(ctx, b)
		select {
		case batches <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		b = &batch{files: map[int][]File{}}
		return nil
	}
	line := func(l Line) error {
		thread := r.thread(l)
		if len(b.Messages) == batchSize || thread != b.Thread || b.inline > maxInline {
			if err := flush(); err != nil {
				return err
			}
		}
		b.Thread = thread
		if len(l.Files) > 0 {
			b.files[len(b.Messages)] = l.Files
		}
		for _, f := range l.Files {
			b.inline += len(f.Data)
		}
		b.Messages = append(b.Messages, r.message(l))
		return nil
	}
	err := Read(r.archive, r.format, o, Taker{Line: line, Left: func(Left) {}, // the survey reported them
		Fact: func(f Fact) { r.facts = append(r.facts, f) }})
	if err != nil {
		return err
	}
	return flush()
}

// thread returns the plain thread of a message; nil: the continuous one.
func (r *run) thread(l Line) *store.ImportThread {
	if l.Own == nil || !l.Own.Plain {
		return nil
	}
	h := r.threads[l.Own.Thread]
	if h == nil {
		h = &store.ImportThread{Name: "import:" + keyOf("thread", l.Chat, l.At.Format(time.RFC3339Nano)),
			Title: cmp.Or(l.Title, clip(l.Text))}
		r.threads[l.Own.Thread] = h
	}
	return h
}

// message returns a line in the form of the store.
func (r *run) message(l Line) store.ImportMessage {
	role, from := r.who.role(l)
	m := store.ImportMessage{NewMessage: core.NewMessage{Kind: core.KindChat}}
	switch {
	case l.Own != nil:
		m = l.Own.ImportMessage
		m.Place = r.next(l)
	case l.Quote != "":
		m.Quote = &core.Quote{Text: l.Quote}
	}
	if m.Was <= 0 { // a message of an export may have no channel
		m.Channel = cmp.Or(m.Channel, r.format)
	}
	m.Key, m.Role, m.ForwardedFrom, m.SentAt = r.key(l), role, from, l.At.UTC().Truncate(time.Millisecond)
	if !m.Redacted {
		m.Text = l.Text
	}
	m.Own = r.who.own(l)
	m.Day = r.day(l, m)
	return m
}

// next returns the place of a message of an export, which keeps its order: at its time, but after the one before.
func (r *run) next(l Line) int64 {
	if l.Own.Was == 0 {
		return 0
	}
	r.last[l.Chat] = max(r.last[l.Chat]+1, l.At.UnixMicro())
	return r.last[l.Chat]
}

// key returns the key that identifies a message in all imports.
func (r *run) key(l Line) string {
	at := fmt.Sprint(l.At.UnixMilli())
	switch {
	case l.Own != nil && l.ID != "":
		return keyOf("everthread", l.ID, at, string(l.Role), string(l.Own.Kind))
	case r.format == "picoclaw": // times are interpolated, and move as a session grows
		return keyOf(r.format, l.Chat, l.ID, l.Text)
	case r.format == "hermes": // continued sessions hold copies
		return keyOf(r.format, l.ID)
	case l.ID != "" && r.format != "whatsapp":
		return keyOf(r.format, l.Chat, l.ID)
	}
	return keyOf(r.format, l.Chat, l.ID, at, l.From, string(l.Role), l.Text)
}

// keyOf returns a digest of parts.
func keyOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

func (r *run) dayOf(t time.Time) core.Day { return r.Calendar.Day(r.User.Settings, t) }

// day returns the day of a message: that in an export, or else that of its time; a
// reply belongs to the day of the message before it.
func (r *run) day(l Line, m store.ImportMessage) core.Day {
	if l.Own != nil && l.Own.Day != "" {
		if noon, err := time.ParseInLocation(time.DateOnly, l.Own.Day, r.dayOf(l.At).Start.Location()); err == nil {
			return r.labelled(noon.Add(12*time.Hour), l.Own.Day)
		}
	}
	if m.Kind != core.KindChat {
		return core.Day{}
	}
	last, ok := r.days[l.Chat]
	day := r.dayOf(l.At)
	if ok && m.Role != core.RoleUser && !l.At.Before(last.at) && l.At.Sub(last.at) < ownGap {
		day = last.day
	}
	r.days[l.Chat] = lastSaid{day, l.At}
	return day
}

// labelled returns the day of a label, near a time of it: zones may be a day apart.
func (r *run) labelled(near time.Time, label string) core.Day {
	for _, shift := range []time.Duration{0, -12 * time.Hour, 12 * time.Hour} {
		if d := r.dayOf(near.Add(shift)); d.Label == label {
			return d
		}
	}
	return r.dayOf(near)
}

// store stores batches as they come.
func (r *run) store(ctx context.Context, batches <-chan *batch) error {
	var before store.ImportBatch
	for b := range batches {
		if err := errors.Join(<-b.ready, ctx.Err()); err != nil {
			return err
		}
		b.Now = r.Now()
		if b.Thread == before.Thread {
			b.Taken = before.Taken
		}
		if err := r.bringFiles(b); err != nil {
			return errors.Join(err, r.forget(ctx, b, store.Imported{}, false))
		}
		out, err := r.patient(ctx, b.ImportBatch)
		if err != nil {
			return errors.Join(fmt.Errorf("import after %d messages: %w", r.done, err), r.forget(ctx, b, out, false))
		}
		if err := r.forget(ctx, b, out, true); err != nil {
			return err
		}
		before = store.ImportBatch{Thread: b.Thread, Taken: out.Taken}
		for n, m := range b.Messages {
			if m.Was > 0 {
				r.numbers[m.Was] = out.Messages[n]
			}
		}
		r.done += len(b.Messages)
		r.result.Fresh += out.Fresh
		r.result.Known += len(b.Messages) - out.Fresh
		r.result.Days += out.Days
		if r.Progress != nil {
			r.Progress(r.done, r.result.Fresh)
		}
	}
	return nil
}

// patience is the delay before a retry.
const patience = 250 * time.Millisecond

// patient stores a batch. It retries while a turn is in the way.
func (r *run) patient(ctx context.Context, b store.ImportBatch) (store.Imported, error) {
	for {
		out, err := r.Store.Import(ctx, b)
		if !errors.Is(err, core.ErrChanged) {
			return out, err
		}
		if r.Wait(ctx, patience); ctx.Err() != nil {
			return out, ctx.Err()
		}
		b.Now = r.Now()
	}
}

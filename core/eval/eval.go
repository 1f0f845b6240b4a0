// Package eval measures whether a gateway remembers a conversation, with scenes of users
// who talk, go away, come back and ask.
package eval

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust"
)

//go:embed scenes.json
var builtinScenes []byte

// Scene is a conversation, an absence, and questions after it.
type Scene struct {
	Name     string   `json:"name"`
	Language string   `json:"language"`
	Talk     []string `json:"talk"`   // on the first day
	Filler   int      `json:"filler"` // messages about other things after it
	Away     string   `json:"away"`   // duration, such as 168h
	Days     int      `json:"days"`   // days of small talk meanwhile
	Channel  string   `json:"channel,omitempty"`
	Ask      string   `json:"ask"`
	// Expect holds groups of words. A right answer has one of each, in any case or accents.
	Expect [][]string `json:"expect"`
}

// Scenes is a file of scenes. Fillers are by language.
type Scenes struct {
	Fillers map[string][]string `json:"fillers"`
	Scenes  []Scene             `json:"scenes"`
}

// ErrNoScene means that no scene has a matching name.
var ErrNoScene = errors.New("no scene has such a name")

// Load reads a file of scenes, or the built-in ones, and keeps those whose names contain only.
func Load(path, only string) (Scenes, error) {
	var out Scenes
	data := builtinScenes
	if path != "" {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return out, err
		}
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("read scenes: %w", err)
	}
	out.Scenes = slices.DeleteFunc(out.Scenes, func(s Scene) bool { return !strings.Contains(s.Name, only) })
	if len(out.Scenes) == 0 {
		return out, ErrNoScene
	}
	return out, nil
}

// Report holds the results of the scenes.
type Report struct {
	Model  string   `json:"model"`
	Score  float64  `json:"score"`
	Scenes []Result `json:"scenes"`
}

// Result is the result of a scene.
type Result struct {
	Name   string `json:"name"`
	Right  bool   `json:"right"`
	Ask    string `json:"ask"`
	Answer string `json:"answer"`
}

// Write writes the report for people.
func (r Report) Write(w io.Writer) {
	right := 0
	for _, s := range r.Scenes {
		mark := "WRONG"
		if s.Right {
			right, mark = right+1, "ok   "
		}
		fmt.Fprintf(w, "%s  %s\n", mark, s.Name)
		if !s.Right {
			fmt.Fprintf(w, "       asked: %s\n       got: %s\n", s.Ask, text.Within(trust.Line(s.Answer), 300))
		}
	}
	fmt.Fprintf(w, "%d of %d callbacks right (%.0f %%) with %s.\n", right, len(r.Scenes), 100*r.Score, r.Model)
}

// Gateway is the gateway under measurement.
type Gateway interface {
	core.Receiver
	// Work answers received messages until ctx ends.
	Work(ctx context.Context, grace time.Duration) error
	// Finalize finalizes the days that are due.
	Finalize(ctx context.Context) error
}

// Store is the part of the gateway's store that scenes need.
type Store interface {
	AddUser(ctx context.Context, u core.User) (core.User, error)
	AddIdentity(ctx context.Context, i core.Identity) (core.Identity, error)
	Identify(ctx context.Context, a core.Address) (core.Identity, core.User, error)
	Deliveries(ctx context.Context, q core.DeliveryQuery) ([]core.Delivery, error)
	DueSegments(ctx context.Context, now time.Time, config string, limit int) ([]core.Segment, error)
	QueueStats(ctx context.Context) ([]core.QueueStat, error)
}

// Player plays scenes. All fields are required.
type Player struct {
	Model string // its name
	Store Store
	// Open makes the gateway, with channels and a clock that the scenes control.
	Open     func(channels []core.Channel, now func() time.Time) (Gateway, error)
	Progress io.Writer
}

// stage is a whole gateway with channels and a clock that the scenes control.
type stage struct {
	Gateway
	store    Store
	channels map[string]*fakeChannel
	start    time.Time
	events   int

	mu     sync.Mutex
	offset time.Duration
}

// fakeChannel is a channel that keeps sent parts.
type fakeChannel struct {
	name string
	sent chan string
}

// Name is the channel's name.
func (p *fakeChannel) Name() string { return p.name }

// Run receives nothing: the stage calls Receive.
func (p *fakeChannel) Run(ctx context.Context, _ core.Receiver) error { <-ctx.Done(); return nil }

// Send keeps a part.
func (p *fakeChannel) Send(ctx context.Context, _ core.Address, part core.Part) (core.Receipt, error) {
	select {
	case p.sent <- part.Text:
		return core.Receipt{}, nil
	case <-ctx.Done():
		return core.Receipt{}, ctx.Err()
	}
}

// clock is the stage's time.
func (s *stage) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start.Add(time.Since(s.start) + s.offset)
}

// Play plays all scenes one after another.
func (p *Player) Play(ctx context.Context, list Scenes) (Report, error) {
	report := Report{Model: p.Model}
	s, err := p.stage()
	if err != nil {
		return report, err
	}
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Work(ctx, time.Second) })
	right := 0
	for _, sc := range list.Scenes {
		fmt.Fprintln(p.Progress, sc.Name)
		answer, err := s.play(ctx, sc, list.Fillers[sc.Language])
		if err != nil {
			stop()
			return report, errors.Join(fmt.Errorf("scene %s: %w", sc.Name, err), group.Wait())
		}
		r := Result{Name: sc.Name, Ask: sc.Ask, Answer: answer, Right: holds(answer, sc.Expect)}
		if r.Right {
			right++
		}
		report.Scenes = append(report.Scenes, r)
	}
	report.Score = float64(right) / float64(len(list.Scenes))
	stop()
	return report, group.Wait()
}

func (p *Player) stage() (*stage, error) {
	s := &stage{store: p.Store, channels: map[string]*fakeChannel{}, start: time.Now()}
	var channels []core.Channel
	for _, name := range []string{"telegram", "whatsapp"} {
		s.channels[name] = &fakeChannel{name, make(chan string, 64)}
		channels = append(channels, s.channels[name])
	}
	var err error
	s.Gateway, err = p.Open(channels, s.clock)
	return s, err
}

// play plays one scene and returns the answer to its question.
func (s *stage) play(ctx context.Context, sc Scene, fillers []string) (string, error) {
	u, err := s.store.AddUser(ctx, core.User{Name: sc.Name, Role: core.RoleMember,
		Settings: core.Settings{Language: sc.Language}, CreatedAt: s.clock()})
	if err != nil {
		return "", err
	}
	at := map[string]core.Address{}
	for name := range s.channels {
		at[name] = core.Address{Channel: name, Account: "eval", External: fmt.Sprint(u.ID)}
		if _, err := s.store.AddIdentity(ctx, core.Identity{User: u.ID, Address: at[name], Name: sc.Name,
			LastUsed: s.clock()}); err != nil {
			return "", err
		}
	}
	away, err := time.ParseDuration(sc.Away)
	if err != nil {
		return "", fmt.Errorf("away: %w", err)
	}
	said := append([]string{}, sc.Talk...)
	for i := range sc.Filler {
		said = append(said, fillers[i%len(fillers)])
	}
	for _, text := range said {
		if _, err := s.say(ctx, at["telegram"], text); err != nil {
			return "", err
		}
	}
	for i := range sc.Days {
		if err := s.advance(ctx, u.ID, away/time.Duration(sc.Days+1)); err != nil {
			return "", err
		}
		if _, err := s.say(ctx, at["telegram"], fillers[(sc.Filler+i)%len(fillers)]); err != nil {
			return "", err
		}
	}
	if err := s.advance(ctx, u.ID, away/time.Duration(sc.Days+1)); err != nil {
		return "", err
	}
	return s.say(ctx, at[cmp.Or(sc.Channel, "telegram")], sc.Ask)
}

// sayFor bounds the wait for an answer.
const sayFor = 3 * time.Minute

// say writes a message and returns the answer.
func (s *stage) say(ctx context.Context, to core.Address, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, sayFor)
	defer cancel()
	s.events++
	in := core.Inbound{Address: to, EventID: fmt.Sprint(s.events), NativeID: fmt.Sprint(s.events), Kind: core.InMessage,
		Text: text, SentAt: s.clock()}
	if err := s.Receive(ctx, in); err != nil {
		return "", err
	}
	var out []string
	for {
		select {
		case part := <-s.channels[to.Channel].sent:
			out = append(out, part)
		case <-ctx.Done():
			return "", fmt.Errorf("no answer within %s", sayFor)
		}
		if idle, err := s.quiet(ctx, to); err != nil || idle {
			return strings.Join(out, "\n"), err
		}
	}
}

// quiet reports whether all parts of an answer were sent.
func (s *stage) quiet(ctx context.Context, to core.Address) (bool, error) {
	i, _, err := s.store.Identify(ctx, to)
	if err != nil {
		return false, err
	}
	for ctx.Err() == nil {
		left, err := s.store.Deliveries(ctx, core.DeliveryQuery{User: i.User,
			States: []core.DeliveryState{core.DeliveryPending, core.DeliverySending}, Limit: 1})
		if err != nil {
			return false, err
		}
		if len(left) == 0 {
			return true, nil
		}
		if len(s.channels[to.Channel].sent) > 0 {
			return false, nil
		}
		job.Wait(ctx, 5*time.Millisecond)
	}
	return false, ctx.Err()
}

// advance moves the clock, and waits for the summaries of the days that ended.
func (s *stage) advance(ctx context.Context, user core.UserID, d time.Duration) error {
	s.mu.Lock()
	s.offset += d
	s.mu.Unlock()
	if err := s.Finalize(ctx); err != nil {
		return err
	}
	for until := time.Now().Add(sayFor); time.Now().Before(until); job.Wait(ctx, 10*time.Millisecond) {
		due, err := s.store.DueSegments(ctx, s.clock(), "", 1)
		if err != nil {
			return err
		}
		busy, err := s.summarizing(ctx)
		if err != nil {
			return err
		}
		if len(due) == 0 && !busy {
			return nil
		}
	}
	return fmt.Errorf("the days of user %d were not summarised within %s", user, sayFor)
}

// summarizing reports whether summaries are being written.
func (s *stage) summarizing(ctx context.Context) (bool, error) {
	stats, err := s.store.QueueStats(ctx)
	return slices.ContainsFunc(stats, func(q core.QueueStat) bool {
		return q.Queue == core.QueueSummarize && q.State != core.JobDead
	}), err
}

// holds reports whether an answer has a word of each group.
func holds(answer string, groups [][]string) bool {
	answer = text.Fold(answer)
	return !slices.ContainsFunc(groups, func(group []string) bool {
		return !slices.ContainsFunc(group, func(word string) bool { return strings.Contains(answer, text.Fold(word)) })
	})
}

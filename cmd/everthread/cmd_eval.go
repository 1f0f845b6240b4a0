package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/recall"
)

type evalCmd struct {
	Recall     evalRecallCmd     `cmd:"" help:"Measure how much of what was said is found again, on conversations in LoCoMo's JSON."`
	Continuity evalContinuityCmd `cmd:"" help:"Play scenes of people who come back, and see whether the configured model still knows."`
}

type evalRecallCmd struct {
	File     string `arg:"" type:"existingfile" help:"Conversations in LoCoMo's JSON."`
	Database string `name:"database-url" placeholder:"URL" help:"A PostgreSQL for trying things out; without one, an embedded database that is thrown away."`
	Missed   bool   `help:"List the questions of which nothing was found."`
}

// Run stores the conversations and asks their questions.
func (e evalRecallCmd) Run(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	f, err := os.Open(e.File)
	if err != nil {
		return err
	}
	defer f.Close()
	samples, err := recall.ReadLoCoMo(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", e.File, err)
	}
	cfg, remove, err := scratch(cfg, e.Database)
	if err != nil {
		return err
	}
	defer remove()
	t, err := newEvalTarget(ctx, cfg)
	if err != nil {
		return err
	}
	defer t.close()
	t.progress = c.err
	report, err := recall.Evaluate(ctx, t, samples)
	if err != nil {
		return err
	}
	if !e.Missed {
		report.Missed = nil
	}
	return c.show(report, func(w io.Writer) { writeReport(w, report) })
}

// scratch is a configuration for a store that is thrown away.
func scratch(c configs.Config, url string) (configs.Config, func(), error) {
	dir, err := os.MkdirTemp("", "everthread-eval-")
	if err != nil {
		return c, nil, fmt.Errorf("make a folder: %w", err)
	}
	c.DataDir, c.DatabaseURL = dir, configs.Secret(url)
	return c, func() { _ = os.RemoveAll(dir) }, nil
}

// evalTarget keeps what is evaluated, each conversation as a user of its own.
type evalTarget struct {
	cfg      configs.Config
	store    store
	search   *recall.Searcher
	users    map[core.UserID]core.Identity
	progress io.Writer
	began    time.Time
}

func newEvalTarget(ctx context.Context, c configs.Config) (*evalTarget, error) {
	st, err := openStore(ctx, c)
	if err != nil {
		return nil, explainStore(c, err)
	}
	if err := st.Migrate(ctx); err != nil {
		st.Close()
		return nil, explainStore(c, err)
	}
	search, err := engine.NewSearcher(c, st, nil, tokens.New(), zap.NewNop())
	if err != nil {
		return nil, err
	}
	return &evalTarget{cfg: c, store: st, search: search, users: map[core.UserID]core.Identity{}, began: time.Now()}, nil
}

// close deletes the users and closes the store.
func (t *evalTarget) close() {
	for u := range t.users {
		_, _ = t.store.DeleteUser(context.Background(), u) // the store is one for trying things out
	}
	t.store.Close()
}

// Begin makes a user for a conversation.
func (t *evalTarget) Begin(ctx context.Context, s recall.Sample) (core.UserID, core.Tool, error) {
	fmt.Fprintf(t.progress, "conversation %s: %d sessions, %d questions\n", s.Name, len(s.Sessions), len(s.Questions))
	a := core.Address{Channel: "terminal", Account: "eval", External: fmt.Sprintf("%s-%d", s.Name, t.began.UnixNano())}
	u, err := t.store.AddUserAt(ctx, core.User{Name: s.Name, Role: core.RoleMember, CreatedAt: t.began}, core.Identity{Name: s.Name, Address: a, LastUsed: t.began})
	if err != nil {
		return 0, nil, err
	}
	i, _, err := t.store.Identify(ctx, a)
	t.users[u.ID] = i
	names := func(context.Context, core.UserID) map[string]core.Role { return s.Names }
	return u.ID, recall.Tools(t.search, names)[0], err
}

// People searches as people do.
func (t *evalTarget) People(ctx context.Context, _ core.UserID, q core.SearchQuery) ([]core.Hit, error) {
	got, err := t.search.Search(ctx, q)
	return got.Hits, err
}

// Load stores a session as the messages of one day, in the transaction that
// stores what people write.
func (t *evalTarget) Load(ctx context.Context, user core.UserID, s recall.Session) ([]core.MessageID, error) {
	cal, err := engine.NewCalendar(t.cfg)
	if err != nil {
		return nil, err
	}
	i := t.users[user]
	a := core.Append{User: user, Identity: i.ID, Paused: true, Now: s.At, RunAt: s.At}
	for n, turn := range s.Turns {
		at := s.At.Add(time.Duration(n) * time.Second)
		a.Events = append(a.Events, core.Inbound{Address: i.Address, EventID: fmt.Sprintf("%d-%s", user, turn.Key), Kind: core.InMessage, Text: turn.Text, SentAt: at})
		a.Messages = append(a.Messages, core.NewMessage{Role: turn.Role, Kind: core.KindChat, Text: turn.Text, Tokens: t.search.Tokens.Count(turn.Text),
			SentAt: at, Day: cal.Day(core.Settings{}, at)})
	}
	out, err := t.store.Append(ctx, a)
	if err != nil {
		return nil, err
	}
	_, err = t.store.Index(ctx, len(t.users))
	return out.Messages, err
}

func writeReport(w io.Writer, r recall.Report) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "CATEGORY\tQUESTIONS\tRECALL@5\t@10\t@20\tMRR\tANY@10\tDAY@10\tPEOPLE@10\t")
	line := func(name string, s recall.Score) {
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", name, s.Questions, s.Recall5, s.Recall10, s.Recall20, s.MRR, s.Found10, s.Day10, s.People10)
	}
	for _, c := range slices.Sorted(maps.Keys(r.Categories)) {
		line(fmt.Sprint(c), r.Categories[c])
	}
	line("all", r.All)
	line("older than 90 days", r.Old)
	line("newest 30 days", r.New)
	_ = t.Flush() // writing to a terminal that went away
	fmt.Fprintf(w, "Old against new: %.2f. %d questions have no evidence and are left out.\n", r.Ratio, r.Skipped)
	for _, m := range r.Missed {
		fmt.Fprintf(w, "missed in %s: %s (evidence %v)\n", m.Sample, m.Question, m.Evidence)
	}
}

type evalContinuityCmd struct {
	Scenes string `type:"existingfile" placeholder:"FILE" help:"Scenes of your own, in the form of docs/evaluation.md."`
	Only   string `placeholder:"NAME" help:"Only scenes whose names contain this."`
}

// errContinuity ends the command with exit code 1.
var errContinuity = errors.New("fewer than nine in ten callbacks were right")

// Run plays the scenes against the configured model.
func (e evalContinuityCmd) Run(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	scenes, err := loadScenes(e.Scenes, e.Only)
	if err != nil {
		return err
	}
	cfg, remove, err := scratch(cfg, "")
	if err != nil {
		return err
	}
	defer remove()
	report, err := playScenes(ctx, cfg, scenes, c.err)
	if err != nil {
		return err
	}
	if err := c.show(report, report.write); err != nil {
		return err
	}
	if report.Score < continuityGoal {
		return errContinuity
	}
	return nil
}

// continuityGoal is how many of the scenes a good model gets right.
const continuityGoal = 0.9

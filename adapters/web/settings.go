package web

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/words"
)

// Settings are what the page of settings needs besides the rest. Those without a
// remark are required.
type Settings struct {
	Store Accounts
	// Capabilities are those of a channel; false: it is not running here.
	Capabilities func(channel string) (core.Capabilities, bool)
	NewCode      func() (string, error) // of /link
	// Apps are where a code of /link can be sent with a link.
	Apps       func(ctx context.Context) []core.App
	Embeddings Embeddings // nil: there is no search by meaning
	Agents     Agents     // nil: there are no personal agents
	// Export writes everything of a user as a ZIP file; nil: it is not offered.
	Export func(ctx context.Context, w io.Writer, user core.UserID) error
	// Delete removes a user with everything that is theirs, tells how far it is, and
	// lists what it found to be left when it looked everywhere; nil: it is not offered.
	// Of a user who is gone already it does what remains to be done.
	Delete func(ctx context.Context, user core.UserID, tell func(people.Deletion)) (left []string, err error)
	// Resume goes on with deletions that a process did not finish; nil: there is no need.
	Resume func(ctx context.Context) error
	// Traces lists where a text still stands among what is a user's, and reports whether
	// it looked through the files of the database, too; nil: it is not offered.
	Traces       func(ctx context.Context, user core.UserID, text string) (found []core.Trace, files bool, err error)
	TokensPerDay int    // budget of a user; 0: none
	Summaries    string // of people who chose none: home, all or off
	Strategy     string // of people who chose none
}

// Accounts is what the page reads and changes of a person, besides what effects do.
type Accounts interface {
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	APIKeys(ctx context.Context, user core.UserID) ([]core.APIKey, error)
	AddAPIKey(ctx context.Context, k core.APIKey) (core.APIKey, error)
	RevokeAPIKey(ctx context.Context, user core.UserID, id int64) error
	UsageDays(ctx context.Context, user core.UserID, from, through string) ([]core.UsageDay, error)
	EmbeddingCounts(ctx context.Context, user core.UserID, config string) (map[string]int, error)
	EmbeddingFaults(ctx context.Context, user core.UserID) ([]core.EmbeddingFault, error)
	Reembed(ctx context.Context, user core.UserID, config string, dry bool, now time.Time) (int, error)
	Enqueue(ctx context.Context, jobs ...core.NewJob) error
}

// Prices are what a million tokens cost; zero: it is not known.
type Prices struct {
	Prompt, Cached, Completion float64
	Currency                   string
}

func (c *Channel) settingsRoutes() []route {
	if c.Settings == nil {
		return nil
	}
	return slices.Concat([]route{
		{Pattern: "GET /settings", Serve: (*visit).settingsPage, Tab: func(w *texts) string { return w.Settings.Title }},
		{Pattern: "GET /settings/{section}", Serve: (*visit).settingsSection},
		{Pattern: "POST /settings/name", Serve: (*visit).setName},
		{Pattern: "POST /settings/zone", Serve: (*visit).setZone},
		{Pattern: "POST /settings/language", Serve: (*visit).setLanguage},
		{Pattern: "POST /settings/assistant", Serve: (*visit).setAssistant},
	}, c.linkRoutes(), c.embeddingRoutes(), c.keyRoutes(), c.dataRoutes())
}

// section is a part of a long page.
type section struct{ ID, Name string }

// problem is what was wrong with a form, and where.
type problem struct {
	Section, Field, Text string
}

// At returns what is wrong with a field; empty: nothing.
func (p *problem) At(field string) string {
	if p == nil || p.Field != field {
		return ""
	}
	return p.Text
}

// settingsView is the page of settings. Problem may be set before it is filled.
type settingsView struct {
	Sections []section
	Problem  *problem

	Name      string
	Zone      zoneView
	Languages []choice
	Summaries []choice
	Strategy  []choice
	Memory    []choice
	Links     linksView
	Meaning   meaningView
	Keys      keysView
	Sessions  []shownSession
	// SessionDays is how long a session lasts after its last use.
	SessionDays int
	Usage       usageView
	Export      exportView
	Traces      bool
	Delete      deleteView
}

func (v *visit) settingsPage() error { return v.showSettings(http.StatusOK, settingsView{}) }

// settingsSection leads to a part of the page: a form that was refused stands at
// its address.
func (v *visit) settingsSection() error {
	for _, s := range v.settingsSections() {
		if s.ID == v.r.PathValue("section") {
			return v.back("/settings#"+s.ID, "")
		}
	}
	return core.ErrNotFound
}

func (v *visit) settingsSections() []section {
	w := v.words.Settings
	all := []section{{"profile", w.Profile}, {"assistant", w.Assistant}, {"channels", w.Channels}}
	if v.Settings.Embeddings != nil {
		all = append(all, section{"embeddings", w.Meaning})
	}
	return append(all, section{"keys", w.Keys}, section{"sessions", w.Sessions}, section{"usage", w.Usage},
		section{"data", w.Data})
}

// wrong shows the settings again with what is wrong with a form.
func (v *visit) wrong(p problem, page settingsView) error {
	page.Problem = &p
	return v.showSettings(http.StatusUnprocessableEntity, page)
}

// showSettings fills what was not filled in before, and shows all.
func (v *visit) showSettings(status int, page settingsView) error {
	page.Sections = v.settingsSections()
	if page.Problem == nil || page.Problem.Field != "name" {
		page.Name = v.user.Name
	}
	for _, fill := range []func(*settingsView) error{v.fillChoices, v.fillLinks, v.fillMeaning, v.fillKeys, v.fillSessions,
		v.fillUsage, v.fillData} {
		if err := fill(&page); err != nil {
			return err
		}
	}
	return v.render(status, "settings", v.words.Settings.Title, page)
}

func (v *visit) fillChoices(page *settingsView) error {
	w, s := v.words.Settings, v.user.Settings
	v.fillZone(page)
	page.Languages = []choice{{Value: "", Name: w.LanguageAuto}}
	for _, l := range words.Languages() {
		page.Languages = append(page.Languages, choice{Value: l, Name: words.Of(l).Name})
	}
	language := s.Language
	if language != "" {
		language = words.Match(language)
	}
	mark(page.Languages, language)
	page.Summaries = []choice{{Value: "home", Name: w.PostsHome, Hint: w.PostsHomeHint},
		{Value: "all", Name: w.PostsAll, Hint: w.PostsAllHint}, {Value: "off", Name: w.PostsOff, Hint: w.PostsOffHint}}
	mark(page.Summaries, cmp.Or(s.Summaries, v.Settings.Summaries, "home"))
	page.Strategy = []choice{{Value: "continuous", Name: w.Continuous, Hint: w.ContinuousHint},
		{Value: "long", Name: w.Long, Hint: w.LongHint}, {Value: "truncate", Name: w.Truncate, Hint: w.TruncateHint}}
	mark(page.Strategy, cmp.Or(s.Strategy, v.Settings.Strategy, "continuous"))
	page.Memory = []choice{{Value: "on", Name: w.MemoryOn, Hint: w.MemoryOnHint},
		{Value: "off", Name: w.MemoryOff, Hint: w.MemoryOffHint}}
	mark(page.Memory, map[bool]string{false: "on", true: "off"}[s.MemoryOff])
	return nil
}

// mark marks the choice that holds.
func mark(all []choice, value string) {
	for i := range all {
		all[i].Here = all[i].Value == value
	}
}

// change makes changes of the visitor's own, and leads back to where they were made.
func (v *visit) change(section, toast string, effects ...core.Effect) error {
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, effects...); err != nil {
		return refusal(fmt.Errorf("change settings: %w", err))
	}
	return v.back("/settings#"+section, toast)
}

package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

func (c *Channel) messageRoutes() []route {
	return []route{
		{Pattern: "GET /m/{id}", Serve: (*visit).jump},
		{Pattern: "GET /m/{id}/why", Serve: (*visit).whyPage},
		{Pattern: "GET /m/{id}/earlier", Serve: (*visit).earlierPage},
		{Pattern: "GET /m/{id}/remember", Serve: (*visit).rememberPage},
		{Pattern: "POST /m/{id}/remember", Serve: (*visit).remember},
		{Pattern: "GET /m/{id}/forget", Serve: (*visit).forgetPage},
		{Pattern: "POST /m/{id}/forget", Serve: (*visit).forget},
	}
}

// asked is the message that a page is about, with where it stands.
func (v *visit) asked() (m core.Message, path string, err error) {
	if m, err = v.message(messageNumber(v.r.PathValue("id"))); err != nil {
		return m, "", err
	}
	path, err = v.pathOf(m)
	return m, path, err
}

// pathOf is the page and place of a message.
func (v *visit) pathOf(m core.Message) (string, error) {
	at := fmt.Sprintf("?at=%d#m%d", m.ID, m.ID)
	if m.Segment != 0 && m.Kind == core.KindChat {
		g, err := v.Store.Segment(v.ctx(), v.user.ID, m.Segment)
		if err != nil {
			return "", fmt.Errorf("read the day: %w", err)
		}
		return "/day/" + g.Day.Label + at, nil
	}
	t, err := v.Store.Thread(v.ctx(), v.user.ID, m.Thread)
	if err != nil {
		return "", fmt.Errorf("read the thread: %w", err)
	}
	if t.Mode == core.ModeThread {
		return place{thread: t}.path() + at, nil
	}
	return "/day/" + v.Calendar.Day(v.user.Settings, shownAt(m)).Label + fmt.Sprintf("#m%d", m.ID), nil
}

// jump leads to a message in place.
func (v *visit) jump() error {
	m, err := v.message(messageNumber(v.r.PathValue("id")))
	if err != nil {
		return err
	}
	path, err := v.pathOf(m)
	if err != nil {
		return err
	}
	return v.back(path, "")
}

// earlier is an earlier text as it is shown.
type earlier struct {
	Until string
	Text  any
}

func (v *visit) earlierPage() error {
	m, path, err := v.asked()
	if err != nil {
		return err
	}
	all, err := v.Store.Revisions(v.ctx(), v.user.ID, m.ID)
	if err != nil {
		return fmt.Errorf("read earlier texts: %w", err)
	}
	var out []earlier
	for _, r := range all {
		out = append(out, earlier{fmt.Sprintf(v.words.EarlierUntil, moment(v.lang, r.ReplacedAt.In(v.zone))),
			v.markdown.message(captions(r.Text, m.Attachments))})
	}
	return v.page("earlier", v.words.EarlierTitle, map[string]any{"Back": path, "All": out})
}

// remembering is the form of what is to be remembered.
type remembering struct {
	Message    core.MessageID
	Back, Text string
	Theme      string
	Themes     []core.Theme
	Type       core.ItemType
	Types      []core.ItemType
}

func itemTypes() []core.ItemType {
	return []core.ItemType{core.ItemFact, core.ItemPreference, core.ItemInstruction, core.ItemSummary, core.ItemOther}
}

func (v *visit) rememberPage() error {
	if v.Memory == nil {
		return because(http.StatusServiceUnavailable, func(w *texts) string { return w.NoMemory })
	}
	m, path, err := v.asked()
	if err != nil {
		return err
	}
	f := remembering{Message: m.ID, Back: path, Text: short(captions(m.Text, m.Attachments), 2000),
		Theme: core.DefaultTheme, Type: core.ItemFact, Types: itemTypes()}
	if f.Themes, err = v.Memory.Themes(v.ctx(), v.user.ID, 50); err != nil {
		return fmt.Errorf("read themes: %w", err)
	}
	if len(f.Themes) == 0 {
		f.Themes = []core.Theme{{Slug: core.DefaultTheme, Name: core.DefaultTheme}}
	}
	return v.page("remember", v.words.RememberTitle, f)
}

func (v *visit) remember() error {
	if v.Memory == nil {
		return because(http.StatusServiceUnavailable, func(w *texts) string { return w.NoMemory })
	}
	m, path, err := v.asked()
	if err != nil {
		return err
	}
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	f := v.r.PostForm
	i := core.Item{User: v.user.ID, Content: f.Get("text"), Theme: f.Get("theme"), Type: core.ItemType(f.Get("type")),
		SourceThread: m.Thread, SourceMessage: m.ID}
	if name := strings.TrimSpace(f.Get("new")); name != "" {
		i.Theme = name
	}
	add, same, err := v.Memory.Keep(v.ctx(), i, v.now)
	if isRefused(err) {
		return because(http.StatusUnprocessableEntity, func(w *texts) string { return w.RememberRefused })
	}
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	if add == nil {
		return v.back(path, fmt.Sprintf(v.words.RememberKnown, words.Number(v.lang, int(same.ID)), same.Theme))
	}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, *add); err != nil {
		return refusal(fmt.Errorf("remember: %w", err))
	}
	return v.back(path, v.words.Remembered)
}

func (v *visit) forgetPage() error {
	m, path, err := v.asked()
	if err != nil {
		return err
	}
	return v.page("forget", v.words.ForgetTitle, map[string]any{"Message": m.ID, "Back": path,
		"HTML": v.markdown.message(short(captions(m.Text, m.Attachments), 2000))})
}

// forget removes a message and everything made from it (SPEC 3.7).
func (v *visit) forget() error {
	m, path, err := v.asked()
	if err != nil {
		return err
	}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, core.Redact{Message: m.ID, At: v.now}); err != nil {
		return refusal(fmt.Errorf("forget: %w", err))
	}
	return v.back(path, v.words.Forgotten)
}

package chat

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/words"
)

func (r *Room) messageRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /m/{id}", Serve: r.jump},
		{Pattern: "GET /m/{id}/why", Serve: r.whyPage},
		{Pattern: "GET /m/{id}/earlier", Serve: r.earlierPage},
		{Pattern: "GET /m/{id}/remember", Serve: r.rememberPage},
		{Pattern: "POST /m/{id}/remember", Serve: r.remember},
		{Pattern: "GET /m/{id}/forget", Serve: r.forgetPage},
		{Pattern: "POST /m/{id}/forget", Serve: r.forget},
	}
}

// asked returns the message in the path, and its pathOf.
func (r *Room) asked(v *web.Visit) (m core.Message, path string, err error) {
	if m, err = r.message(v, messageNumber(v.R.PathValue("id"))); err != nil {
		return m, "", err
	}
	path, err = r.pathOf(v, m)
	return m, path, err
}

// pathOf returns the path of the page that shows a message, at that message.
func (r *Room) pathOf(v *web.Visit, m core.Message) (string, error) {
	at := fmt.Sprintf("?at=%d#m%d", m.ID, m.ID)
	if m.Segment != 0 && m.Kind == core.KindChat {
		g, err := r.Store.Segment(v.Context(), v.User.ID, m.Segment)
		if err != nil {
			return "", fmt.Errorf("read the day: %w", err)
		}
		return "/day/" + g.Day.Label + at, nil
	}
	t, err := r.Store.Thread(v.Context(), v.User.ID, m.Thread)
	if err != nil {
		return "", fmt.Errorf("read the thread: %w", err)
	}
	if t.Mode == core.ModeThread {
		return place{thread: t}.path() + at, nil
	}
	return "/day/" + v.DayAt(shownAt(m)).Label + at, nil
}

// jump redirects to a message in its place.
func (r *Room) jump(v *web.Visit) error {
	_, path, err := r.asked(v)
	if err != nil {
		return err
	}
	return v.Back(path, "")
}

// earlier is a displayed earlier text of a message.
type earlier struct {
	Until string
	Text  any
}

func (r *Room) earlierPage(v *web.Visit) error {
	m, path, err := r.asked(v)
	if err != nil {
		return err
	}
	all, err := r.Store.Revisions(v.Context(), v.User.ID, m.ID)
	if err != nil {
		return fmt.Errorf("read earlier texts: %w", err)
	}
	var out []earlier
	for _, one := range all {
		out = append(out, earlier{fmt.Sprintf(say(v.Lang).EarlierUntil, v.Moment(one.ReplacedAt)),
			r.markdown.message(captions(one.Text, m.Attachments))})
	}
	return v.Page("earlier", say(v.Lang).EarlierTitle, map[string]any{"Back": path, "All": out})
}

// remembering is the form for a new memory item.
type remembering struct {
	Message    core.MessageID
	Back, Text string
	Theme      string
	Themes     []core.Theme
	Type       core.ItemType
	Types      []core.ItemType
}

func (r *Room) rememberPage(v *web.Visit) error {
	if r.Memory == nil {
		return web.Because(http.StatusServiceUnavailable, say(v.Lang).NoMemory)
	}
	m, path, err := r.asked(v)
	if err != nil {
		return err
	}
	f := remembering{Message: m.ID, Back: path, Text: web.Short(captions(m.Text, m.Attachments), 2000),
		Theme: core.DefaultTheme, Type: core.ItemFact, Types: memory.Types()}
	if f.Themes, err = r.Memory.Themes(v.Context(), v.User.ID, 50); err != nil {
		return fmt.Errorf("read themes: %w", err)
	}
	if len(f.Themes) == 0 {
		f.Themes = []core.Theme{{Slug: core.DefaultTheme, Name: core.DefaultTheme}}
	}
	return v.Page("remember", say(v.Lang).RememberTitle, f)
}

func (r *Room) remember(v *web.Visit) error {
	if r.Memory == nil {
		return web.Because(http.StatusServiceUnavailable, say(v.Lang).NoMemory)
	}
	m, path, err := r.asked(v)
	if err != nil {
		return err
	}
	f := v.R.PostForm
	i := core.Item{User: v.User.ID, Content: f.Get("text"), Theme: f.Get("theme"), Type: core.ItemType(f.Get("type")),
		SourceThread: m.Thread, SourceMessage: m.ID}
	if name := strings.TrimSpace(f.Get("new")); name != "" {
		i.Theme = name
	}
	add, same, err := r.Memory.Keep(v.Context(), i, v.Now)
	if web.IsRefused(err) {
		return web.Because(http.StatusUnprocessableEntity, v.Words.RememberRefused)
	}
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	if add == nil {
		return v.Back(path, fmt.Sprintf(v.Words.RememberKnown, words.Number(v.Lang, int(same.ID)), same.Theme))
	}
	return v.Act("remember", path, v.Words.Remembered, *add)
}

func (r *Room) forgetPage(v *web.Visit) error {
	m, path, err := r.asked(v)
	if err != nil {
		return err
	}
	return v.Page("forget", say(v.Lang).ForgetTitle, map[string]any{"Message": m.ID, "Back": path,
		"HTML": r.markdown.message(web.Short(captions(m.Text, m.Attachments), 2000))})
}

// forget redacts a message.
func (r *Room) forget(v *web.Visit) error {
	m, path, err := r.asked(v)
	if err != nil {
		return err
	}
	return v.Act("forget", path, say(v.Lang).Forgotten, core.Redact{Message: m.ID, At: v.Now})
}

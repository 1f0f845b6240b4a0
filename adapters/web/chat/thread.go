package chat

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
)

// mostThreads is the number of threads listed.
const mostThreads = 200

func (r *Room) threadRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /threads", Serve: r.threadsPage, Tab: &web.Tab{
			Name: func(lang string) string { return say(lang).Threads }}},
		{Pattern: "POST /threads", Serve: r.openThread},
		{Pattern: "GET /threads/{id}", Serve: r.threadPage},
	}
}

// shownThread is a thread in the list.
type shownThread struct{ Title, Path, Opened string }

func (r *Room) threadsPage(v *web.Visit) error {
	all, err := r.Store.Threads(v.Context(), v.User.ID, mostThreads)
	if err != nil {
		return fmt.Errorf("read threads: %w", err)
	}
	var out []shownThread
	for _, t := range all {
		opened := fmt.Sprintf(say(v.Lang).Opened, v.Moment(t.CreatedAt))
		out = append(out, shownThread{title(v, t), place{thread: t}.path(), opened})
	}
	return v.Page("threads", say(v.Lang).Threads, out)
}

// title returns a thread's title, or a text that says it has none.
func title(v *web.Visit, t core.Thread) string {
	if strings.TrimSpace(t.Title) == "" {
		return say(v.Lang).Untitled
	}
	return t.Title
}

// openThread opens a thread and redirects there. No chat's current thread changes.
func (r *Room) openThread(v *web.Visit) error {
	title := strings.Join(strings.Fields(strings.ToValidUTF8(v.R.PostForm.Get("title"), "\uFFFD")), " ")
	switch {
	case title == "":
		return web.Because(http.StatusBadRequest, say(v.Lang).ErrNoTitle)
	case utf8.RuneCountInString(title) > 200:
		return web.Because(http.StatusBadRequest, say(v.Lang).ErrTitleLong)
	}
	if _, err := r.Gateway.Act(v.Context(), v.User.ID, core.OpenThread{Title: title, At: v.Now}); err != nil {
		return v.Refusal(fmt.Errorf("open a thread: %w", err))
	}
	newest, err := r.Store.Threads(v.Context(), v.User.ID, 1)
	if err != nil {
		return fmt.Errorf("find the new thread: %w", err)
	}
	if len(newest) == 0 {
		return v.Back("/threads", "")
	}
	return v.Back(place{thread: newest[0]}.path(), "")
}

func (r *Room) threadPage(v *web.Visit) error {
	n, err := v.ID()
	if err != nil {
		return err
	}
	p, err := r.threadPlace(v, core.ThreadID(n))
	if err != nil {
		return err
	}
	c, err := r.conversation(v, p, wanted(v))
	if err != nil {
		return err
	}
	c.Title = title(v, p.thread)
	c.Heading = c.Title
	if len(c.Entries) == 0 {
		c.Empty = &web.Empty{Title: say(v.Lang).ThreadEmpty, Hint: say(v.Lang).ThreadEmptyHint}
	}
	return v.Page("thread", c.Title, c)
}

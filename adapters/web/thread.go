package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/everthread/everthread/core"
)

// mostThreads is how many threads are listed.
const mostThreads = 200

func (c *Channel) threadRoutes() []route {
	return []route{
		{Pattern: "GET /threads", Serve: (*visit).threadsPage, Tab: func(w *texts) string { return w.Threads }},
		{Pattern: "POST /threads", Serve: (*visit).openThread},
		{Pattern: "GET /threads/{id}", Serve: (*visit).threadPage},
	}
}

// shownThread is a thread in the list.
type shownThread struct{ Title, Path, Opened string }

func (v *visit) threadsPage() error {
	all, err := v.Store.Threads(v.ctx(), v.user.ID, mostThreads)
	if err != nil {
		return fmt.Errorf("read threads: %w", err)
	}
	var out []shownThread
	for _, t := range all {
		opened := fmt.Sprintf(v.words.Opened, moment(v.lang, t.CreatedAt.In(v.zone)))
		out = append(out, shownThread{v.title(t), place{thread: t}.path(), opened})
	}
	return v.page("threads", v.words.Threads, out)
}

// title is what a thread is called.
func (v *visit) title(t core.Thread) string {
	if strings.TrimSpace(t.Title) == "" {
		return v.words.Untitled
	}
	return t.Title
}

// openThread opens a thread and leads there. It is current for nobody's chat.
func (v *visit) openThread() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	title := strings.Join(strings.Fields(strings.ToValidUTF8(v.r.PostForm.Get("title"), "\uFFFD")), " ")
	switch {
	case title == "":
		return because(http.StatusBadRequest, func(w *texts) string { return w.ErrNoTitle })
	case utf8.RuneCountInString(title) > 200:
		return because(http.StatusBadRequest, func(w *texts) string { return w.ErrTitleLong })
	}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, core.OpenThread{Title: title, At: v.now}); err != nil {
		return refusal(fmt.Errorf("open a thread: %w", err))
	}
	newest, err := v.Store.Threads(v.ctx(), v.user.ID, 1)
	if err != nil {
		return fmt.Errorf("find the new thread: %w", err)
	}
	if len(newest) == 0 {
		return v.back("/threads", "")
	}
	return v.back(place{thread: newest[0]}.path(), "")
}

func (v *visit) threadPage() error {
	n, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		return core.ErrNotFound
	}
	p, err := v.threadPlace(core.ThreadID(n))
	if err != nil {
		return err
	}
	c, err := v.conversation(p, v.wanted())
	if err != nil {
		return err
	}
	c.Title = v.title(p.thread)
	c.Heading = c.Title
	if len(c.Entries) == 0 {
		c.Empty = &emptiness{Title: v.words.ThreadEmpty, Hint: v.words.ThreadEmptyHint}
	}
	return v.page("thread", c.Title, c)
}

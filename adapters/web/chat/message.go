package chat

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

func (r *Room) messageRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /m/{id}", Serve: r.of(r.jump)},
		{Pattern: "GET /m/{id}/why", Serve: r.of(r.whyPage)},
		{Pattern: "GET /m/{id}/earlier", Serve: r.of(r.earlierPage)},
		{Pattern: "GET /m/{id}/remember", Serve: r.of(r.rememberPage)},
		{Pattern: "POST /m/{id}/remember", Serve: r.of(r.remember)},
		{Pattern: "GET /m/{id}/forget", Serve: r.of(r.forgetPage)},
		{Pattern: "POST /m/{id}/forget", Serve: r.of(r.forget)},
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

// of returns a handler for the message in the path and its pathOf.
func (r *Room) of(serve func(v *web.Visit, m core.Message, path string) error) func(*web.Visit) error {
	return func(v *web.Visit) error {
		m, path, err := r.asked(v)
		if err != nil {
			return err
		}
		return serve(v, m, path)
	}
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

// jump redirects to a message, and in a long one to the words that the URL names.
func (r *Room) jump(v *web.Visit, m core.Message, path string) error {
	if words := v.R.URL.Query().Get("find"); words != "" && isLong(m) {
		path = strings.Replace(path, "#", "&find="+url.QueryEscape(words)+"#", 1)
	}
	return v.Back(path, "")
}

type earlier struct {
	Until string
	Text  any
}

func (r *Room) earlierPage(v *web.Visit, m core.Message, path string) error {
	all, err := r.Store.Revisions(v.Context(), v.User.ID, m.ID)
	if err != nil {
		return fmt.Errorf("read earlier texts: %w", err)
	}
	out := web.Each(all, func(one store.Revision) earlier {
		return earlier{fmt.Sprintf(say(v.Lang).EarlierUntil, v.Moment(one.ReplacedAt)),
			r.markdown.message(captions(one.Text, m.Attachments))}
	})
	return v.Page("earlier", say(v.Lang).EarlierTitle, map[string]any{"Back": path, "All": out})
}

type remembering struct {
	Message           core.MessageID
	Back, Text, Theme string
	Themes            []core.Theme
	Type              core.ItemType
	Types             []core.ItemType
}

func (r *Room) rememberPage(v *web.Visit, m core.Message, path string) (err error) {
	f := remembering{Message: m.ID, Back: path, Text: web.Short(captions(m.Text, m.Attachments), 2000),
		Theme: core.DefaultTheme, Type: core.ItemFact, Types: items.Types()}
	if f.Themes, err = r.Memory.Themes(v.Context(), v.User.ID, 50); err != nil {
		return fmt.Errorf("read themes: %w", err)
	}
	if len(f.Themes) == 0 {
		f.Themes = []core.Theme{{Slug: core.DefaultTheme, Name: core.DefaultTheme}}
	}
	return v.Page("remember", say(v.Lang).RememberTitle, f)
}

func (r *Room) remember(v *web.Visit, m core.Message, path string) error {
	f := v.R.PostForm
	i := core.Item{User: v.User.ID, Content: f.Get("text"), Theme: f.Get("theme"), Type: core.ItemType(f.Get("type")),
		SourceThread: m.Thread, SourceMessage: m.ID}
	if name := strings.TrimSpace(f.Get("new")); name != "" {
		i.Theme = name
	}
	if err := cmp.Or(v.Within(web.MostKept, i.Content), v.Within(web.MostTheme, f.Get("new"))); err != nil {
		return err
	}
	add, same, err := r.Memory.Keep(v.Context(), i, v.Now)
	if web.IsRefused(err) {
		return web.Because(http.StatusUnprocessableEntity, v.Words.RememberRefused)
	}
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	if add == nil {
		return v.Back(path, fmt.Sprintf(v.Words.RememberKnown, i18n.Number(v.Lang, int(same.ID)), same.Theme))
	}
	return v.Act("remember", path, v.Words.Remembered, *add)
}

func (r *Room) forgetPage(v *web.Visit, m core.Message, path string) error {
	return v.Page("forget", say(v.Lang).ForgetTitle, map[string]any{"Message": m.ID, "Back": path,
		"HTML": r.markdown.message(web.Short(captions(m.Text, m.Attachments), 2000))})
}

func (r *Room) forget(v *web.Visit, m core.Message, path string) error {
	return v.Act("forget", path, say(v.Lang).Forgotten, effect.Redact{Message: m.ID, At: v.Now, Retract: true})
}

// shownAs returns the media type with which a page shows a file, or "" if the file can only be downloaded.
func shownAs(media string) string {
	kind, _, err := mime.ParseMediaType(media)
	if err != nil {
		return ""
	}
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp",
		"audio/mpeg", "audio/ogg", "audio/wav", "audio/x-wav", "audio/wave", "audio/mp4", "audio/aac",
		"audio/webm", "audio/flac", "video/mp4", "video/webm", "video/ogg":
		return kind
	case "application/ogg":
		return "audio/ogg"
	}
	return ""
}

// media serves an attachment of one of the visitor's messages. The path of the file is
// the message's; no part of the URL reaches the file system.
func (r *Room) media(v *web.Visit) error {
	n, err := strconv.Atoi(v.R.PathValue("n"))
	if err != nil || n < 0 {
		return core.ErrNotFound
	}
	m, err := r.message(v, messageNumber(v.R.PathValue("message")))
	if err != nil {
		return err
	}
	if n >= len(m.Attachments) || m.Attachments[n].Path == "" {
		return core.ErrNotFound
	}
	a := m.Attachments[n]
	root, err := os.OpenRoot(r.MediaDir)
	if err != nil {
		return fmt.Errorf("open the media folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(filepath.FromSlash(a.Path))
	if errors.Is(err, os.ErrNotExist) {
		return core.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("open an attachment: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return core.ErrNotFound
	}
	mediaHeaders(v, a)
	http.ServeContent(v.W, v.R, "", info.ModTime(), f)
	return nil
}

func mediaHeaders(v *web.Visit, a core.Attachment) {
	h := v.W.Header()
	kind, disposition := shownAs(a.MIME), "inline"
	if kind == "" {
		kind, disposition = "application/octet-stream", "attachment"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": attachmentName(a)}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-store")
}

func attachmentName(a core.Attachment) string {
	name := strings.Trim(web.FileName(a.Name), ".")
	if name == "" {
		return a.Kind
	}
	return name
}

// message returns one of the visitor's messages, or core.ErrNotFound if it is redacted or not theirs.
func (r *Room) message(v *web.Visit, id core.MessageID) (core.Message, error) {
	if id <= 0 {
		return core.Message{}, core.ErrNotFound
	}
	found, err := r.Store.Messages(v.Context(), v.User.ID, []core.MessageID{id})
	if err != nil {
		return core.Message{}, fmt.Errorf("read the message: %w", err)
	}
	if len(found) == 0 || found[0].Redacted {
		return core.Message{}, core.ErrNotFound
	}
	return found[0], nil
}

package chat

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/command"
	"github.com/everthread/everthread/core/markup"
)

func (r *Room) actRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /m/{id}/text", Serve: r.text},
		{Pattern: "GET /m/{id}/reply", Serve: r.reply},
		{Pattern: "GET /m/{id}/edit", Serve: r.of(r.editPage)},
		{Pattern: "POST /m/{id}/edit", Serve: r.edit, Body: 4 * maxText},
		{Pattern: "POST /m/{id}/again", Serve: r.of(r.again)},
		{Pattern: "POST /m/{id}/answer", Serve: r.of(r.choose)},
		{Pattern: "GET /m/{id}/unsend", Serve: r.of(r.unsendPage)},
		{Pattern: "POST /m/{id}/unsend", Serve: r.of(r.unsend)},
		{Pattern: "GET /commands", Serve: r.commandsPage},
	}
}

func (r *Room) text(v *web.Visit) error {
	m, err := r.message(v, messageNumber(v.R.PathValue("id")))
	if err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(v.W, captions(m.Text, m.Attachments)) // an error means the client is gone
	return nil
}

func (r *Room) reply(v *web.Visit) error {
	m, err := r.message(v, messageNumber(v.R.PathValue("id")))
	if err != nil {
		return err
	}
	t, err := r.Store.Thread(v.Context(), v.User.ID, m.Thread)
	if err != nil {
		return fmt.Errorf("read the thread: %w", err)
	}
	path := "/"
	if t.Mode == core.ModeThread {
		path = place{thread: t}.path()
	}
	return v.Back(fmt.Sprintf("%s?reply=%d#text", path, m.ID), "")
}

type replying struct {
	Number      core.MessageID // 0: none
	Title, Text string
}

// longestQuote bounds the quoted part of a message, in bytes.
const longestQuote = 4000

// replying returns the message that the URL names for a reply, or zero.
func (r *Room) replying(v *web.Visit) (replying, error) {
	m, err := r.message(v, messageNumber(v.R.URL.Query().Get("reply")))
	if errors.Is(err, core.ErrNotFound) {
		return replying{}, nil
	}
	title := say(v.Lang).InReply
	if m.Role != core.RoleUser {
		title = say(v.Lang).InReplyMine
	}
	return replying{m.ID, title, web.Short(markup.Parse(captions(m.Text, m.Attachments)).Text, 300)}, err
}

// quote returns the quote of the message numbered reply; nil if reply is empty.
func (r *Room) quote(v *web.Visit, reply string) (*core.Quote, error) {
	if reply == "" {
		return nil, nil
	}
	m, err := r.message(v, messageNumber(reply))
	if errors.Is(err, core.ErrNotFound) {
		return nil, web.Because(http.StatusConflict, say(v.Lang).Act.ReplyGone)
	}
	if err != nil {
		return nil, err
	}
	text := web.Short(captions(m.Text, m.Attachments), longestQuote)
	return &core.Quote{Text: text, Mine: m.Role != core.RoleUser, Message: m.ID}, nil
}

// editing returns the text of a message for editing, without the placeholders of its
// files, and whether the message can be edited.
func editing(m core.Message) (text string, can bool) {
	for _, a := range m.Attachments {
		if !strings.Contains(m.Text, placeholder(a)) {
			return "", false
		}
	}
	return captions(m.Text, m.Attachments), m.Role == core.RoleUser && m.Kind == core.KindChat &&
		m.ForwardedFrom == "" && m.Task == nil
}

func (r *Room) editPage(v *web.Visit, m core.Message, path string) error {
	text, can := editing(m)
	if !can {
		return core.ErrNotFound
	}
	return v.Page("edit", say(v.Lang).Act.EditTitle, map[string]any{"Message": m.ID, "Back": path, "Text": text,
		"Most": maxText})
}

// edit replaces the text of a message and has it answered again.
func (r *Room) edit(v *web.Visit) error {
	if err := v.R.ParseForm(); err != nil {
		return v.BadForm(err)
	}
	m, path, err := r.asked(v)
	if err != nil {
		return err
	}
	if _, can := editing(m); !can {
		return core.ErrNotFound
	}
	var f form
	f.set("text", v.R.PostForm.Get("text"))
	text := strings.ReplaceAll(f.text, "\x00", "")
	if strings.TrimSpace(text) == "" && len(m.Attachments) == 0 {
		return web.Because(http.StatusBadRequest, say(v.Lang).NothingToSend)
	}
	if len(text) > maxText {
		return web.Because(http.StatusRequestEntityTooLarge, v.Words.ErrTooLarge)
	}
	text = withFiles(text, m.Attachments)
	return r.repeat(v, path, core.Regenerate{Message: m.ID, Text: &text, Tokens: r.Tokens.Count(text), At: v.Now})
}

// again has a message answered again.
func (r *Room) again(v *web.Visit, m core.Message, path string) error {
	return r.repeat(v, path, core.Regenerate{Message: m.ID, At: v.Now})
}

func (r *Room) repeat(v *web.Visit, path string, e core.Effect) error {
	_, err := r.Gateway.Act(v.Context(), v.User.ID, e)
	if errors.Is(err, core.ErrRefused) {
		return web.Because(http.StatusConflict, say(v.Lang).Act.Newer)
	}
	if err != nil {
		return fmt.Errorf("answer again: %w", err)
	}
	return v.Back(path, "")
}

// choose shows another of a message's answers in place of the present one.
func (r *Room) choose(v *web.Visit, m core.Message, path string) error {
	turn, err := strconv.ParseInt(v.R.PostForm.Get("turn"), 10, 64)
	if err != nil {
		return core.ErrNotFound
	}
	err = v.Act("choose an answer", path, "", core.ChooseAnswer{Message: m.ID, Turn: core.TurnID(turn), At: v.Now})
	if errors.Is(err, core.ErrRefused) {
		return web.Because(http.StatusConflict, say(v.Lang).Act.Busy)
	}
	return err
}

func (r *Room) unsendPage(v *web.Visit, m core.Message, path string) error {
	said, err := r.answerTo(v, m)
	if err != nil {
		return err
	}
	data := map[string]any{"Message": m.ID, "Back": path,
		"HTML": r.markdown.message(web.Short(captions(m.Text, m.Attachments), 2000))}
	n := slices.IndexFunc(said, func(m core.Message) bool { return m.Text != "" && m.Role == core.RoleAssistant })
	if n >= 0 {
		data["Answer"] = r.markdown.message(web.Short(said[n].Text, 2000))
	}
	return v.Page("unsend", say(v.Lang).Act.UndoTitle, data)
}

func (r *Room) unsend(v *web.Visit, m core.Message, path string) error {
	said, err := r.answerTo(v, m)
	if err != nil {
		return err
	}
	effects := []core.Effect{core.Redact{Message: m.ID, At: v.Now}}
	for _, a := range said {
		effects = append(effects, core.Redact{Message: a.ID, At: v.Now})
	}
	return v.Act("undo", path, say(v.Lang).Act.Undone, effects...)
}

// answerTo returns the replies to one of the visitor's messages from the turn that read it.
func (r *Room) answerTo(v *web.Visit, m core.Message) ([]core.Message, error) {
	if m.Role != core.RoleUser || m.Kind != core.KindChat || m.Task != nil {
		return nil, core.ErrNotFound
	}
	if m.Turn == 0 {
		return nil, nil
	}
	all, _, err := r.Store.Timeline(v.Context(), core.TimelineQuery{User: v.User.ID, Thread: m.Thread, After: m.ID,
		Limit: besides})
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return slices.DeleteFunc(all, func(a core.Message) bool {
		return a.Turn != m.Turn || a.Role == core.RoleUser || a.Redacted || a.Kind != core.KindChat
	}), nil
}

func (r *Room) commandsPage(v *web.Visit) error {
	return v.Page("commands", say(v.Lang).Act.Commands, web.Each(command.Menu(),
		func(e command.Entry) [2]string { return [2]string{"/" + e.Name, e.Descriptions[v.Lang]} }))
}

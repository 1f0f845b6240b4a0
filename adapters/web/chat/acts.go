package chat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
)

func (r *Room) actRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /m/{id}/text", Serve: r.text},
		{Pattern: "GET /m/{id}/reply", Serve: r.reply},
		{Pattern: "GET /m/{id}/edit", Serve: r.of(r.editPage)},
		{Pattern: "POST /m/{id}/edit", Serve: r.edit, Body: r.MediaMax},
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
	q := &core.Quote{Text: web.Short(captions(m.Text, m.Attachments), longestQuote)}
	q.Of(m)
	return q, nil
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
	if err := v.Owned(v.R.PostForm.Get("account")); err != nil {
		return err
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
		return web.Because(http.StatusRequestEntityTooLarge,
			fmt.Sprintf(say(v.Lang).Act.EditLong, web.Size(v.Lang, maxText)))
	}
	text = withFiles(text, m.Attachments)
	return r.repeat(v, path, effect.Regenerate{Message: m.ID, Text: &text, Tokens: r.Tokens.Count(text), At: v.Now})
}

// again has a message answered again.
func (r *Room) again(v *web.Visit, m core.Message, path string) error {
	return r.repeat(v, path, effect.Regenerate{Message: m.ID, At: v.Now})
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
	err = v.Act("choose an answer", path, "", effect.ChooseAnswer{Message: m.ID, Turn: core.TurnID(turn), At: v.Now})
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
	effects := []core.Effect{effect.Redact{Message: m.ID, At: v.Now, Retract: true}}
	for _, a := range said {
		effects = append(effects, effect.Redact{Message: a.ID, At: v.Now, Retract: true})
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
	all, _, err := r.Store.Timeline(v.Context(), store.TimelineQuery{User: v.User.ID, Thread: m.Thread, After: m.ID,
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

// doable holds the actions that only some entries offer.
type doable struct {
	Edit     bool           // the visitor's newest message, if it can be edited
	Unsend   bool           // the visitor's newest message
	Again    core.MessageID // the message that can be answered again; 0: none
	Answered *variants      // nil: the message has at most one answer
}

type variants struct {
	Message        core.MessageID // the message they answer
	Label          string
	Previous, Next core.TurnID // 0: none
	Note           string      // actions of the answers that are not shown
}

// doable sets the actions of the entries of a stretch.
func (r *Room) doable(v *web.Visit, s stretch, all []*entry) error {
	if err := r.newest(v, s, all); err != nil {
		return err
	}
	ids := idsWhere(s.messages, func(m core.Message) bool {
		return m.Role == core.RoleUser && m.Kind == core.KindChat && m.Turn != 0
	})
	if len(ids) > 0 {
		answered, err := r.Store.Answers(v.Context(), v.User.ID, ids)
		if err != nil {
			return fmt.Errorf("read answers: %w", err)
		}
		for _, a := range answered {
			if err := r.variants(v, s, all, a); err != nil {
				return err
			}
		}
	}
	for _, e := range all {
		if e.Edit || e.Unsend || e.Again != 0 || e.Answered != nil {
			e.Version = hashed(e.Version, e.Edit, e.Unsend, e.Again, e.Unfinished,
				*cmp.Or(e.Answered, &variants{}), len(e.Answers))
		}
	}
	return nil
}

// newest sets the actions that only the visitor's newest message and its answer offer.
func (r *Room) newest(v *web.Visit, s stretch, all []*entry) error {
	said := func(m core.Message) bool { return m.Role == core.RoleUser && m.Kind == core.KindChat }
	last := newestOf(s.messages, said)
	if s.later > 0 || last == nil || last.Redacted {
		return nil
	}
	ms, _, err := r.Store.Timeline(v.Context(), store.TimelineQuery{User: v.User.ID, Thread: last.Thread, Limit: liveSize})
	if err != nil {
		return fmt.Errorf("read the newest messages: %w", err)
	}
	if newest := newestOf(ms, said); newest == nil || newest.ID != last.ID {
		return nil
	}
	own := find(all, func(e *entry) bool { return e.Number == last.ID })
	if own == nil {
		return nil
	}
	own.Unsend = true
	if last.Turn == 0 {
		return nil
	}
	t, _, err := r.Store.Turn(v.Context(), v.User.ID, last.Turn)
	if err != nil {
		return fmt.Errorf("read the turn: %w", err)
	}
	if t.State != core.TurnDone && t.State != core.TurnStopped {
		return nil
	}
	_, own.Edit = editing(*last)
	answer := answerOf(all, last.Turn)
	if answer == nil {
		if own.Again = last.ID; t.State == core.TurnStopped {
			own.Unfinished = i18n.Unfinished(v.Lang, core.FinishStopped).Why
		}
		return nil
	}
	if answer.Again = last.ID; answer.Unfinished != "" {
		return continues(v, answer, last)
	}
	return nil
}

// continues adds the button that has the answer to a message continued.
func continues(v *web.Visit, answer *entry, asked *core.Message) error {
	nonce, err := v.Token()
	b := replyButton{Label: i18n.Unfinished(v.Lang, "").Button, Text: core.ContinueCommand, Nonce: nonce}
	if asked.Segment == 0 {
		b.Thread = asked.Thread
	}
	answer.Answers = append(answer.Answers, b)
	return err
}

// newestOf returns the latest message for which meant is true, or nil.
func newestOf(ms []core.Message, meant func(core.Message) bool) *core.Message {
	var last *core.Message
	for i := range ms {
		if meant(ms[i]) && (last == nil || ms[i].ID > last.ID) {
			last = &ms[i]
		}
	}
	return last
}

// find returns the last entry for which meant is true, or nil.
func find(all []*entry, meant func(*entry) bool) *entry {
	for _, e := range slices.Backward(all) {
		if meant(e) {
			return e
		}
	}
	return nil
}

// answerOf returns the entry of a turn's last answer, or nil.
func answerOf(all []*entry, turn core.TurnID) *entry {
	return find(all, func(e *entry) bool { return e.Answer && e.Kind == "said" && e.Turn == turn })
}

// variants links an answer, or a message whose chosen answer has no entry, to the other answers.
func (r *Room) variants(v *web.Visit, s stretch, all []*entry, a effect.Answered) error {
	n := slices.Index(a.Turns, a.Chosen)
	if n < 0 {
		return nil
	}
	at := answerOf(all, a.Chosen)
	if at == nil {
		t, _, err := r.Store.Turn(v.Context(), v.User.ID, a.Chosen)
		if err != nil {
			return fmt.Errorf("read the turn: %w", err)
		}
		at = find(all, func(e *entry) bool { return e.Number == a.Message })
		if at == nil || t.State == core.TurnRunning {
			return nil
		}
	}
	w := say(v.Lang).Act
	one := &variants{Message: a.Message, Label: fmt.Sprintf(w.AnswerOf, n+1, len(a.Turns))}
	if n > 0 {
		one.Previous = a.Turns[n-1]
	}
	if n+1 < len(a.Turns) {
		one.Next = a.Turns[n+1]
	}
	done, err := r.doneBy(v, s, a)
	if len(done) > 0 {
		one.Note = fmt.Sprintf(w.Stays, strings.Join(done, ", "))
	}
	at.Answered = one
	return err
}

// doneBy names the lasting actions of the answers that are not shown.
func (r *Room) doneBy(v *web.Visit, s stretch, a effect.Answered) ([]string, error) {
	n := slices.IndexFunc(s.messages, func(m core.Message) bool { return m.ID == a.Message })
	if n < 0 {
		return nil, nil
	}
	ms, _, err := r.Store.Timeline(v.Context(), store.TimelineQuery{User: v.User.ID, Thread: s.messages[n].Thread,
		After: a.Message, Answers: true, Limit: besides})
	if err != nil {
		return nil, fmt.Errorf("read the other answers: %w", err)
	}
	var done []string
	for _, m := range ms {
		if m.Kind != core.KindAnswer || !slices.Contains(a.Turns, m.Turn) {
			continue
		}
		for _, c := range m.ToolCalls {
			title := call(v, c.Name, c.Arguments, "").Title
			if !slices.Contains(looking(), c.Name) && !slices.Contains(done, title) {
				done = append(done, title)
			}
		}
	}
	return done, nil
}

// looking lists the tools that only read.
func looking() []string {
	return []string{"conversation_get", "conversation_search", "memory_get", "memory_list_themes", "memory_search",
		"reminder_list", "task_list", "time_now", "web_read", "web_search"}
}

package sqlstore

import (
	"encoding/json"
	"time"

	"github.com/everthread/everthread/core"
)

// extra is the part of a message that is stored as JSON, as no query needs it.
type extra struct {
	Calls     []core.ToolCall   `json:"calls,omitempty"`
	CallID    string            `json:"call_id,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	Files     []core.Attachment `json:"files,omitempty"`
	Quote     *core.Quote       `json:"quote,omitempty"`
	Forwarded string            `json:"forwarded,omitempty"`
	Outside   bool              `json:"outside,omitempty"`
	Request   *core.Request     `json:"request,omitempty"`
	Decides   *core.Decision    `json:"decides,omitempty"`
	News      *core.News        `json:"news,omitempty"`
	Tainted   bool              `json:"tainted,omitempty"`
	Task      *core.TaskMark    `json:"task,omitempty"`
	Answers   string            `json:"answers,omitempty"`
	Own       bool              `json:"own,omitempty"`
	Early     core.Finish       `json:"unfinished,omitempty"`
	Quoted    core.MessageID    `json:"quoted,omitempty"` // the message of Quote
	Place     string            `json:"place,omitempty"`
	Speaker   *core.Speaker     `json:"speaker,omitempty"`
}

// quotedBy returns the message that a quote is of; 0: it is not known.
func quotedBy(q *core.Quote) core.MessageID {
	if q == nil {
		return 0
	}
	return q.Message
}

// place is the place of a new message.
type place struct {
	thread   core.ThreadID
	segment  core.SegmentID
	turn     core.TurnID
	identity core.IdentityID
	channel  string
	position int64
	covered  bool
}

const messageColumns = `user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, sent_at, revision, redacted, covered`

const insertMessage = `INSERT INTO messages (user_id, id, thread_id, segment_id, turn_id, identity_id, channel, role, kind, body, tokens, extra, position, shown, sent_at, platform_at, covered, solo)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`

// insert stores a message under the user's next number.
func (t *tx) insert(m core.NewMessage, p place) core.MessageID {
	id := t.nextMessage()
	if m.Speaker != nil {
		m.Speaker = t.speaker(*m.Speaker, id)
	}
	shown := p.position
	if shown == 0 {
		shown = m.SentAt.UnixMicro()
	}
	t.exec(insertMessage, t.user, id, p.thread, p.segment, p.turn, p.identity, p.channel,
		string(m.Role), string(m.Kind), m.Text, m.Tokens, extraText(m), p.position, shown, ms(m.SentAt), ms(m.PlatformAt),
		flag(p.covered), solo(m))
	if m.Rings {
		t.ring(id, m.SentAt)
	}
	return id
}

// extraText returns the stored extra of a new message.
func extraText(m core.NewMessage) string {
	e := extra{m.ToolCalls, m.ToolCallID, m.ToolName, m.Attachments, m.Quote, m.ForwardedFrom, m.Outside, m.Request,
		m.Decides, nil, m.Tainted, m.Task, m.Answers, m.Own, m.Unfinished, quotedBy(m.Quote), m.Place,
		m.Speaker}
	if e.empty() {
		return "{}"
	}
	return text(e)
}

// stored returns a new message as it will be read from the store.
func stored(user core.UserID, id core.MessageID, m core.NewMessage, p place) (core.Message, error) {
	words := []any{m.Text}
	clean(words)
	out := core.Message{User: user, ID: id, Thread: p.thread, Segment: p.segment, Turn: p.turn, Identity: p.identity,
		Channel: p.channel, Role: m.Role, Kind: m.Kind, Text: words[0].(string), Tokens: m.Tokens, Position: p.position,
		SentAt: at(ms(m.SentAt)), Covered: p.covered}
	return out, setExtra(&out, extraText(m))
}

// Reasons why a message is not read in one turn with others, as stored in solo.
const (
	soloAsked = 1 // the sender requested it
	soloTask  = 2 // it is a task
)

func solo(m core.NewMessage) int64 {
	if m.Task != nil && m.Role == core.RoleUser {
		return soloTask
	}
	return flag(m.Solo)
}

// extraOf returns the extra of a stored message.
func extraOf(m core.Message) extra {
	return extra{m.ToolCalls, m.ToolCallID, m.ToolName, m.Attachments, m.Quote, m.ForwardedFrom, m.Outside, m.Request,
		m.Decides, m.News, m.Tainted, m.Task, m.Answers, m.Own, m.Unfinished, quotedBy(m.Quote), m.Place,
		m.Speaker}
}

func (e extra) empty() bool {
	return e.Calls == nil && e.CallID == "" && e.Tool == "" && e.Files == nil && e.Quote == nil && e.Forwarded == "" &&
		e.Request == nil && e.Decides == nil && !e.Tainted && e.Task == nil && e.Answers == "" && !e.Own &&
		e.Early == "" && e.Place == "" && e.Speaker == nil
}

func scanMessage(row scanner) (core.Message, error) {
	var m core.Message
	var x string
	err := row.Scan(&m.User, &m.ID, &m.Thread, &m.Segment, &m.Turn, &m.Identity, &m.Channel, &m.Role, &m.Kind, &m.Text,
		&m.Tokens, &x, &m.Position, asTime(&m.SentAt), &m.Revision, &m.Redacted, &m.Covered)
	if err != nil {
		return m, found(err)
	}
	return m, setExtra(&m, x)
}

// message returns a message of the user, or core.ErrNotFound.
func (t *tx) message(id core.MessageID) core.Message {
	return rowOf(t, scanMessage, `SELECT `+messageColumns+` FROM messages WHERE user_id = $1 AND id = $2`, t.user, id)
}

// putExtra stores the extra of a message that was read.
func (t *tx) putExtra(m core.Message) {
	t.exec(`UPDATE messages SET extra = $3 WHERE user_id = $1 AND id = $2`, t.user, m.ID, text(extraOf(m)))
}

// setExtra decodes the stored extra of a message.
func setExtra(m *core.Message, x string) error {
	if x == "{}" {
		return nil
	}
	var e extra
	if err := json.Unmarshal([]byte(x), &e); err != nil {
		return err
	}
	m.ToolCalls, m.ToolCallID, m.ToolName = e.Calls, e.CallID, e.Tool
	m.Attachments, m.Quote, m.ForwardedFrom, m.Outside, m.Request, m.Decides, m.News, m.Tainted = e.Files, e.Quote,
		e.Forwarded, e.Outside, e.Request, e.Decides, e.News, e.Tainted
	m.Task, m.Answers, m.Own, m.Unfinished, m.Place, m.Speaker = e.Task, e.Answers, e.Own, e.Early, e.Place, e.Speaker
	if m.Quote != nil {
		m.Quote.Message = e.Quoted
	}
	return nil
}

// nextPosition returns the position of now, or the one after last if that is later.
func nextPosition(last int64, now time.Time) int64 { return max(last+1, now.UnixMicro()) }

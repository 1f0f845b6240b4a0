package sqlstore

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
)

// redactAsked is redact for an effect, which says whether the apps delete what it removes.
func (t *tx) redactAsked(e effect.Redact, out *store.Noted) {
	if t.retracts = (time.Time{}); e.Retract {
		t.retracts = e.At
	}
	t.redact(e, out)
}

// redact removes a message's text and every derived copy of it.
func (t *tx) redact(e effect.Redact, out *store.Noted) {
	m := t.message(e.Message)
	if t.err != nil || m.Redacted {
		return
	}
	t.removed(m.Text)
	t.removed(listOf(t, column[string], `SELECT body FROM revisions WHERE user_id = $1 AND message_id = $2`, t.user, m.ID)...)
	for _, f := range m.Attachments {
		t.removed(f.Name, f.Transcript, f.Alt)
		if f.Path != "" {
			out.Files = append(out.Files, f.Path)
		}
	}
	t.redactPlans(m, e.At, out)
	for _, step := range []func(core.Message){t.redactQuotes, t.redactInstructions, t.redactFiles, t.blank, t.invalidate,
		t.redactSummaries, t.redactEpochs, t.redactLoops, t.redactItems, t.redactFound, t.redactDeliveries,
		t.redactApprovals} {
		step(m)
	}
	if m.Turn == 0 {
		return
	}
	if turn := t.turn(m.Turn); slices.Contains(turn.Inputs, m.ID) {
		t.redactAnswers(turn, e.At, out)
	}
	t.stopIfEmpty(m, out)
}

// blank empties the message itself, its revisions and its raw event. The zone of news before it
// stays, as later times are shown in it.
func (t *tx) blank(m core.Message) {
	left := "{}"
	if m.News != nil && m.News.Zone != "" {
		left = text(extra{News: blankNews(m.News)})
	}
	t.exec(`UPDATE messages SET body = '', tokens = 0, extra = $3, redacted = 1, revision = revision + 1 WHERE user_id = $1 AND id = $2`, t.user, m.ID, left)
	t.forget(m.ID, ForgetRows, ForgetWords)
	t.unindex(core.DocMessage, int64(m.ID))
	t.reembedMessage(m)
	if m.Role == core.RoleAssistant || m.Turn == 0 {
		return
	}
	if turn := t.turn(m.Turn); slices.Contains(turn.Inputs, m.ID) {
		t.forgetCalls(m.Turn)
		for _, id := range turn.Inputs {
			t.exec(`DELETE FROM journal WHERE user_id = $1 AND message_id = $2 AND message_id > 0`, t.user, id)
		}
		t.redactTools(m, turn)
	}
}

// forget removes the words of a message from the tables with one of the rules.
func (t *tx) forget(id core.MessageID, rules ...ForgetRule) {
	for _, table := range Tables() {
		const of = ` WHERE user_id = $1 AND message_id = $2 AND message_id > 0`
		query := `DELETE FROM ` + table.Name + of
		switch {
		case !slices.Contains(rules, table.Forget):
			continue
		case table.Forget == ForgetWords:
			query = `UPDATE ` + table.Name + ` SET ` + strings.Join(table.Words, ` = NULL, `) + ` = NULL` + of
		}
		t.exec(query, t.user, id)
	}
}

// deletedResult replaces a tool result that may rest on a redacted message.
const deletedResult = "[deleted]"

// redactTools empties the tool calls and results of the turn that answered the message. The rows
// stay, as every call needs its result.
func (t *tx) redactTools(m core.Message, turn core.Turn) {
	steps := listOf(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > $3 AND turn_id = $4 AND extra <> '{}'`, t.user, m.Thread, m.Position, m.Turn)
	open := map[string]bool{} // calls of a client's tools, whose results come later
	for _, s := range steps {
		if slices.Contains(turn.Inputs, s.ID) {
			continue
		}
		delete(open, s.ToolCallID)
		for _, c := range s.ToolCalls {
			open[c.ID] = true
		}
		t.redactStep(s)
	}
	if len(open) > 0 {
		t.redactResults(m, open)
	}
}

// redactStep empties tool calls or a tool result.
func (t *tx) redactStep(s core.Message) {
	if s.Role == core.RoleTool || s.Task != nil { // the gateway's note about a task
		s.Text, s.Tokens = deletedResult, 1
	}
	for i := range s.ToolCalls {
		s.ToolCalls[i].Arguments = "{}"
	}
	t.exec(`UPDATE messages SET body = $3, tokens = $4, extra = $5 WHERE user_id = $1 AND id = $2`, t.user, s.ID,
		s.Text, s.Tokens, text(extraOf(s)))
	if s.Outside {
		t.unindex(core.DocMessage, int64(s.ID))
	}
}

// redactResults empties the results of calls of a client's tools.
func (t *tx) redactResults(m core.Message, calls map[string]bool) {
	results := listOf(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND id > $2 AND extra <> '{}' AND role = 'tool' AND thread_id = $3`, t.user, m.ID, m.Thread)
	for _, s := range results {
		if calls[s.ToolCallID] {
			t.redactResult(s)
		}
	}
}

// redactResult empties a client's tool result, with its revisions and its raw event.
func (t *tx) redactResult(s core.Message) {
	t.forget(s.ID, ForgetRows, ForgetWords)
	t.redactStep(s)
	t.restart(s.Turn)
}

// redactQuotes removes the message's words, including those of its revisions, from later messages that quote it.
func (t *tx) redactQuotes(m core.Message) {
	quoting := t.quotesAfter(m.ID)
	if len(quoting) == 0 {
		return
	}
	words := listOf(t, column[string], `SELECT body FROM revisions WHERE user_id = $1 AND message_id = $2`, t.user, m.ID)
	words = append(words, m.Text)
	for _, q := range quoting {
		quoted := func(w string) bool { return strings.Contains(w, q.Quote.Text) }
		if q.Quote.Text != "" && (q.Quote.Message == m.ID || slices.ContainsFunc(words, quoted)) {
			q.Quote.Text = "" // also in t.quotes
			t.redactQuote(q)
		}
	}
}

func (t *tx) redactQuote(q core.Message) {
	t.alter(q.ID, func(m *core.Message) { m.Quote = q.Quote })
	t.forget(q.ID, ForgetWords)
	t.exec(`UPDATE messages SET revision = revision + 1 WHERE user_id = $1 AND id = $2`, t.user, q.ID)
	t.exec(`UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND id = $2`, t.user, q.Thread)
}

// quotesAfter returns the messages after one that quote another. A transaction reads them once.
func (t *tx) quotesAfter(id core.MessageID) []core.Message {
	if t.quotes != nil && t.quotesFrom <= id {
		return t.quotes
	}
	got := listOf(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND id > $2 AND extra <> '{}' AND extra LIKE '%"quote":%'`, t.user, id)
	t.quotesFrom, t.quotes = id, slices.DeleteFunc(got, func(m core.Message) bool { return m.Quote == nil })
	if t.quotes == nil {
		t.quotes = []core.Message{}
	}
	return t.quotes
}

// redactSummaries hides a day's summary immediately if one of its versions rests on the message,
// deletes all versions and requests a new summary.
func (t *tx) redactSummaries(m core.Message) {
	if m.Segment == 0 {
		return
	}
	versions := listOf(t, scanSummary,
		`SELECT `+summaryColumns+` FROM summaries WHERE user_id = $1 AND segment_id = $2`, t.user, m.Segment)
	if !slices.ContainsFunc(versions, func(s core.Summary) bool { return s.Covers.Has(m.ID) }) {
		return
	}
	for _, s := range versions {
		t.removed(s.Markdown)
	}
	const posts = ` WHERE user_id = $1 AND delivery_id IN (SELECT d.id FROM deliveries d JOIN messages m ON m.user_id = $1 AND m.id = d.message_id
		WHERE d.user_id = $1 AND m.user_id = $1 AND m.segment_id = $2 AND m.segment_id > 0 AND m.kind = 'day_summary_post' AND d.message_id > 0 AND d.direct = 0)`
	t.execEach([]string{
		`DELETE FROM summaries WHERE user_id = $1 AND segment_id = $2`,
		`UPDATE segments SET hidden = 1, stale = 1, error = '' WHERE user_id = $1 AND id = $2`,
		`UPDATE messages SET covered = 0 WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND covered = 1`,
		`UPDATE messages SET body = '', tokens = 0, redacted = 1 WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND kind IN ('day_summary', 'day_summary_post')`,
		`DELETE FROM delivery_parts` + posts + ` AND state = 'pending'`,
		`UPDATE delivery_parts SET body = '{"text":""}'` + posts,
	}, t.user, m.Segment)
	t.unindex(core.DocSummary, int64(m.Segment))
	t.redactShown(func(body string) bool {
		return mentions(body, "day_segment_id", int64(m.Segment)) && strings.Contains(body, `"summary`)
	}, "conversation_")
	t.summarize(m.Segment, m.SentAt)
}

// redactFound empties results of searches that show a message.
func (t *tx) redactFound(m core.Message) {
	t.redactShown(func(body string) bool { return mentions(body, "message_id", int64(m.ID)) }, "conversation_")
}

// redactShown empties the results of our own tools whose names begin with prefix and whose body
// shows something. A transaction reads the results once.
func (t *tx) redactShown(shows func(body string) bool, prefix string) {
	if t.results == nil {
		t.results = listOf(t, scanMessage, `SELECT `+messageColumns+
			` FROM messages WHERE user_id = $1 AND extra <> '{}' AND role = 'tool' AND body <> $2
			AND (extra LIKE '%"tool":"conversation_%' OR extra LIKE '%"tool":"memory_%' OR extra LIKE '%"tool":"file_%')`, t.user, deletedResult)
		if t.results == nil {
			t.results = []core.Message{}
		}
	}
	for i := range t.results {
		m := &t.results[i]
		if m.Text == deletedResult || !strings.HasPrefix(m.ToolName, prefix) || !shows(m.Text) {
			continue
		}
		m.Text = deletedResult
		t.exec(`UPDATE messages SET body = $3, tokens = 1, revision = revision + 1 WHERE user_id = $1 AND id = $2`, t.user, m.ID,
			m.Text)
		t.exec(`UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND mode = 'continuous'`, t.user)
	}
}

// mentions reports whether JSON has an id under a key.
func mentions(body, key string, id int64) bool {
	return regexp.MustCompile(`"` + key + `": ?` + strconv.FormatInt(id, 10) + `\b`).MatchString(body)
}

// redactEpochs blanks every stored part of a prompt, and all news, that show the day's summary or
// a loop made from the message.
func (t *tx) redactEpochs(m core.Message) {
	loops := t.loopsOf(m.ID)
	if len(loops) == 0 && t.scrubbed[m.Segment] {
		return
	}
	t.redactNews(m, loops)
	if t.scrubbed == nil {
		t.scrubbed = map[core.SegmentID]bool{}
	}
	t.scrubbed[m.Segment] = true
	for _, id := range listOf(t, column[core.TurnID], `SELECT id FROM epochs WHERE user_id = $1 AND thread_id = $2`,
		t.user, m.Thread) {
		t.redactEpoch(id, m, loops)
	}
}

func (t *tx) redactEpoch(id core.TurnID, m core.Message, loops []core.LoopID) {
	e, err := epochByID(t, t.user, id)
	if err != nil {
		t.fail(err)
		return
	}
	changed := false
	for i := range e.Head {
		h := &e.Head[i]
		rests := h.Segment != 0 && h.Segment == m.Segment ||
			slices.ContainsFunc(h.Loops, func(l core.LoopID) bool { return slices.Contains(loops, l) })
		if rests && h.Text != "" {
			h.Text, h.Error, changed = "", "redacted", true
		}
	}
	if changed {
		t.exec(`UPDATE epochs SET data = $3 WHERE user_id = $1 AND id = $2`, t.user, id, text(e))
	}
}

// loopsOf returns the loops made from a message. A transaction reads all loops once.
func (t *tx) loopsOf(m core.MessageID) []core.LoopID {
	if t.sources == nil {
		loops := listOf(t, fields(func(l *core.Loop) []any { return []any{&l.ID, asJSON(&l.Sources)} }),
			`SELECT id, sources FROM loops WHERE user_id = $1`, t.user)
		t.sources = map[core.LoopID][]core.MessageID{}
		for _, l := range loops {
			t.sources[l.ID] = l.Sources
		}
	}
	var out []core.LoopID
	for id, ids := range t.sources {
		if slices.Contains(ids, m) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func (t *tx) redactLoops(m core.Message) {
	for _, id := range t.loopsOf(m.ID) {
		t.removed(listOf(t, column[string], `DELETE FROM loops WHERE user_id = $1 AND id = $2 RETURNING body`, t.user, id)...)
	}
}

// redactDeliveries empties the parts of the message's own deliveries, and removes pending ones.
func (t *tx) redactDeliveries(m core.Message) {
	for _, d := range listOf(t, scanDelivery, t.s.deliveriesOf(), t.user, m.ID, m.ID) {
		t.retract(d)
		t.execEach([]string{
			`DELETE FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2 AND state = 'pending'`,
			`UPDATE delivery_parts SET body = '{"text":""}' WHERE user_id = $1 AND delivery_id = $2`}, t.user, d.ID)
	}
}

// retract stores the delivery that deletes in the app what was or is being delivered of another one.
func (t *tx) retract(d core.Delivery) {
	if t.retracts.IsZero() {
		return
	}
	t.fail(loadParts(t, &d))
	n := core.NewDelivery{To: d.To, Identity: d.Identity, Kind: core.DeliverRetraction, Why: "redacted"}
	for _, p := range d.Parts {
		if p.State != core.DeliveryPending && p.State != core.DeliveryFailed {
			n.Parts = append(n.Parts, core.Part{Retracts: p.Part.Key})
		}
	}
	if len(n.Parts) > 0 {
		t.deliver(d.Message, n, nil, t.retracts)
	}
}

// stopIfEmpty stops a running turn whose inputs are all redacted.
func (t *tx) stopIfEmpty(m core.Message, out *store.Noted) {
	if t.left(t.turn(m.Turn)) == 0 && t.count(`UPDATE turns SET stop = 1 WHERE user_id = $1 AND id = $2 AND state = 'running'`,
		t.user, m.Turn) > 0 {
		t.toldTurn(m.Turn, out)
	}
}

package sqlstore

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// redact removes a message's text and every derived copy of it.
func (t *tx) redact(e core.Redact, out *core.Noted) error {
	m, err := t.message(e.Message)
	if err != nil || m.Redacted {
		return err
	}
	for _, f := range m.Attachments {
		if f.Path != "" {
			out.Files = append(out.Files, f.Path)
		}
	}
	if err := t.redactTasks(m, e.At, out); err != nil {
		return err
	}
	for step := range until(&err, []func(core.Message) error{t.redactQuotes, t.redactInstructions, t.redactFiles, t.blank,
		t.invalidate, t.redactSummaries, t.redactEpochs, t.redactLoops, t.redactItems, t.redactFound, t.redactDeliveries,
		t.redactApprovals}) {
		err = step(m)
	}
	if err != nil || m.Turn == 0 {
		return err
	}
	turn, _, err := turnByID(t, t.user, m.Turn)
	if err == nil && slices.Contains(turn.Inputs, m.ID) {
		err = t.redactAnswers(turn, e.At, out)
	}
	if err != nil {
		return err
	}
	return t.stopIfEmpty(m, out)
}

// blank empties the message itself, its revisions and its raw event. The zone of news before it
// stays, as later times are shown in it.
func (t *tx) blank(m core.Message) error {
	left := "{}"
	if m.News != nil && m.News.Zone != "" {
		left = text(extra{News: blankNews(m.News)})
	}
	err := t.exec(`UPDATE messages SET body = '', tokens = 0, extra = $3, redacted = 1, revision = revision + 1 WHERE user_id = $1 AND id = $2`, t.user, m.ID, left)
	if err != nil {
		return err
	}
	if err := t.forget(m.ID, ForgetRows, ForgetWords); err != nil {
		return err
	}
	if err := t.unindex(core.DocMessage, int64(m.ID)); err != nil {
		return err
	}
	if err := t.reembedMessage(m); err != nil {
		return err
	}
	if m.Role == core.RoleAssistant || m.Turn == 0 {
		return nil
	}
	turn, _, err := turnByID(t, t.user, m.Turn)
	if err != nil || !slices.Contains(turn.Inputs, m.ID) {
		return err
	}
	if err := t.forgetCalls(m.Turn); err != nil {
		return err
	}
	return t.redactTools(m, turn)
}

// forget removes the words of a message from the tables with one of the rules.
func (t *tx) forget(id core.MessageID, rules ...ForgetRule) (err error) {
	for table := range until(&err, Tables()) {
		const of = ` WHERE user_id = $1 AND message_id = $2 AND message_id > 0`
		query := `DELETE FROM ` + table.Name + of
		switch {
		case !slices.Contains(rules, table.Forget):
			continue
		case table.Forget == ForgetWords:
			query = `UPDATE ` + table.Name + ` SET ` + strings.Join(table.Words, ` = NULL, `) + ` = NULL` + of
		}
		err = t.exec(query, t.user, id)
	}
	return err
}

// deletedResult replaces a tool result that may rest on a redacted message.
const deletedResult = "[deleted]"

// redactTools empties the tool calls and results of the turn that answered the message. The rows
// stay, as every call needs its result.
func (t *tx) redactTools(m core.Message, turn core.Turn) error {
	steps, err := list(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND thread_id = $2 AND position > $3 AND turn_id = $4 AND extra <> '{}'`, t.user, m.Thread, m.Position, m.Turn)
	open := map[string]bool{} // calls of a client's tools, whose results come later
	for s := range until(&err, steps) {
		if slices.Contains(turn.Inputs, s.ID) {
			continue
		}
		delete(open, s.ToolCallID)
		for _, c := range s.ToolCalls {
			open[c.ID] = true
		}
		err = t.redactStep(s)
	}
	if err != nil || len(open) == 0 {
		return err
	}
	return t.redactResults(m, open)
}

// redactStep empties tool calls or a tool result.
func (t *tx) redactStep(s core.Message) error {
	if s.Role == core.RoleTool || s.Task != nil { // the gateway's note about a task
		s.Text, s.Tokens = deletedResult, 1
	}
	for i := range s.ToolCalls {
		s.ToolCalls[i].Arguments = "{}"
	}
	err := t.exec(`UPDATE messages SET body = $3, tokens = $4, extra = $5 WHERE user_id = $1 AND id = $2`, t.user, s.ID,
		s.Text, s.Tokens, text(extraOf(s)))
	if err != nil || !s.Outside {
		return err
	}
	return t.unindex(core.DocMessage, int64(s.ID))
}

// redactResults empties the results of calls of a client's tools.
func (t *tx) redactResults(m core.Message, calls map[string]bool) error {
	results, err := list(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND id > $2 AND extra <> '{}' AND role = 'tool' AND thread_id = $3`, t.user, m.ID, m.Thread)
	for s := range until(&err, results) {
		if calls[s.ToolCallID] {
			err = t.redactResult(s)
		}
	}
	return err
}

// redactResult empties a client's tool result, with its revisions and its raw event.
func (t *tx) redactResult(s core.Message) error {
	if err := t.forget(s.ID, ForgetRows, ForgetWords); err != nil {
		return err
	}
	if err := t.redactStep(s); err != nil {
		return err
	}
	return t.restart(s.Turn)
}

// redactQuotes removes the message's words, including those of its revisions, from later
// messages that quote it.
func (t *tx) redactQuotes(m core.Message) error {
	quoting, err := t.quotesAfter(m.ID)
	if err != nil || len(quoting) == 0 {
		return err
	}
	words, err := list(t, column[string], `SELECT body FROM revisions WHERE user_id = $1 AND message_id = $2`, t.user, m.ID)
	words = append(words, m.Text)
	for q := range until(&err, quoting) {
		quoted := func(w string) bool { return strings.Contains(w, q.Quote.Text) }
		if q.Quote.Text != "" && slices.ContainsFunc(words, quoted) {
			q.Quote.Text = "" // also in t.quotes
			err = t.redactQuote(q)
		}
	}
	return err
}

func (t *tx) redactQuote(q core.Message) error {
	if err := t.alter(q.ID, func(m *core.Message) { m.Quote = q.Quote }); err != nil {
		return err
	}
	if err := t.forget(q.ID, ForgetWords); err != nil {
		return err
	}
	return t.execAll(Statement{Query: `UPDATE messages SET revision = revision + 1 WHERE user_id = $1 AND id = $2`, Args: []any{t.user, q.ID}},
		Statement{Query: `UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND id = $2`, Args: []any{t.user, q.Thread}})
}

// quotesAfter returns the messages after one that quote another. A transaction reads them once.
func (t *tx) quotesAfter(id core.MessageID) ([]core.Message, error) {
	if t.quotes != nil && t.quotesFrom <= id {
		return t.quotes, nil
	}
	got, err := list(t, scanMessage, `SELECT `+messageColumns+
		` FROM messages WHERE user_id = $1 AND id > $2 AND extra <> '{}' AND extra LIKE '%"quote":%'`, t.user, id)
	if err != nil {
		return nil, err
	}
	t.quotesFrom, t.quotes = id, slices.DeleteFunc(got, func(m core.Message) bool { return m.Quote == nil })
	if t.quotes == nil {
		t.quotes = []core.Message{}
	}
	return t.quotes, nil
}

// redactSummaries hides a day's summary immediately if one of its versions rests on the message,
// deletes all versions and requests a new summary.
func (t *tx) redactSummaries(m core.Message) error {
	if m.Segment == 0 {
		return nil
	}
	versions, err := list(t, scanSummary,
		`SELECT `+summaryColumns+` FROM summaries WHERE user_id = $1 AND segment_id = $2`, t.user, m.Segment)
	if err != nil || !slices.ContainsFunc(versions, func(s core.Summary) bool { return s.Covers.Has(m.ID) }) {
		return err
	}
	const posts = ` WHERE user_id = $1 AND delivery_id IN (SELECT d.id FROM deliveries d JOIN messages m ON m.user_id = $1 AND m.id = d.message_id
		WHERE d.user_id = $1 AND m.user_id = $1 AND m.segment_id = $2 AND m.segment_id > 0 AND m.kind = 'day_summary_post' AND d.message_id > 0)`
	err = t.execEach([]string{
		`DELETE FROM summaries WHERE user_id = $1 AND segment_id = $2`,
		`UPDATE segments SET hidden = 1, stale = 1, error = '' WHERE user_id = $1 AND id = $2`,
		`UPDATE messages SET covered = 0 WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND covered = 1`,
		`UPDATE messages SET body = '', tokens = 0, redacted = 1 WHERE user_id = $1 AND segment_id = $2 AND segment_id > 0 AND kind IN ('day_summary', 'day_summary_post')`,
		`DELETE FROM delivery_parts` + posts + ` AND state = 'pending'`,
		`UPDATE delivery_parts SET body = '{"text":""}'` + posts,
	}, t.user, m.Segment)
	if err != nil {
		return err
	}
	if err := t.unindex(core.DocSummary, int64(m.Segment)); err != nil {
		return err
	}
	err = t.redactShown(func(body string) bool {
		return mentions(body, "day_segment_id", int64(m.Segment)) && strings.Contains(body, `"summary`)
	}, "conversation_")
	if err != nil {
		return err
	}
	return t.summarize(m.Segment, m.SentAt)
}

// redactFound empties results of searches that show a message.
func (t *tx) redactFound(m core.Message) error {
	return t.redactShown(func(body string) bool { return mentions(body, "message_id", int64(m.ID)) }, "conversation_")
}

// redactShown empties the results of our own tools whose names begin with prefix and whose body
// shows something. A transaction reads the results once.
func (t *tx) redactShown(shows func(body string) bool, prefix string) (err error) {
	if t.results == nil {
		if t.results, err = list(t, scanMessage, `SELECT `+messageColumns+
			` FROM messages WHERE user_id = $1 AND extra <> '{}' AND role = 'tool' AND body <> $2
			AND (extra LIKE '%"tool":"conversation_%' OR extra LIKE '%"tool":"memory_%' OR extra LIKE '%"tool":"file_%')`, t.user, deletedResult); err != nil {
			return err
		}
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
		if err := t.execAll(Statement{Args: []any{t.user, m.ID, m.Text},
			Query: `UPDATE messages SET body = $3, tokens = 1, revision = revision + 1 WHERE user_id = $1 AND id = $2`},
			Statement{Query: `UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND mode = 'continuous'`,
				Args: []any{t.user}}); err != nil {
			return err
		}
	}
	return nil
}

// mentions reports whether JSON has an id under a key.
func mentions(body, key string, id int64) bool {
	return regexp.MustCompile(`"` + key + `": ?` + strconv.FormatInt(id, 10) + `\b`).MatchString(body)
}

// redactEpochs blanks every stored part of a prompt, and all news, that show the day's summary or
// a loop made from the message.
func (t *tx) redactEpochs(m core.Message) error {
	loops, err := t.loopsOf(m.ID)
	if err != nil || len(loops) == 0 && t.scrubbed[m.Segment] {
		return err
	}
	if err := t.redactNews(m, loops); err != nil {
		return err
	}
	if t.scrubbed == nil {
		t.scrubbed = map[core.SegmentID]bool{}
	}
	t.scrubbed[m.Segment] = true
	ids, err := list(t, column[core.TurnID], `SELECT id FROM epochs WHERE user_id = $1 AND thread_id = $2`, t.user,
		m.Thread)
	for id := range until(&err, ids) {
		err = t.redactEpoch(id, m, loops)
	}
	return err
}

func (t *tx) redactEpoch(id core.TurnID, m core.Message, loops []core.LoopID) error {
	e, err := epochByID(t, t.user, id)
	if err != nil {
		return err
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
	if !changed {
		return nil
	}
	if err := t.refresh(m.Thread); err != nil {
		return err
	}
	return t.exec(`UPDATE epochs SET data = $3 WHERE user_id = $1 AND id = $2`, t.user, id, text(e))
}

// loopsOf returns the loops made from a message. A transaction reads all loops once.
func (t *tx) loopsOf(m core.MessageID) ([]core.LoopID, error) {
	if t.sources == nil {
		loops, err := list(t, fields(func(l *core.Loop) []any { return []any{&l.ID, asJSON(&l.Sources)} }),
			`SELECT id, sources FROM loops WHERE user_id = $1`, t.user)
		if err != nil {
			return nil, err
		}
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
	return out, nil
}

func (t *tx) redactLoops(m core.Message) error {
	ids, err := t.loopsOf(m.ID)
	for id := range until(&err, ids) {
		err = t.exec(`DELETE FROM loops WHERE user_id = $1 AND id = $2`, t.user, id)
	}
	return err
}

// redactDeliveries empties the parts of the message's own deliveries, and removes pending ones.
func (t *tx) redactDeliveries(m core.Message) error {
	ids, err := list(t, column[core.DeliveryID],
		`SELECT id FROM deliveries WHERE user_id = $1 AND message_id = $2 AND message_id > 0`, t.user, m.ID)
	for id := range until(&err, ids) {
		err = t.execEach([]string{
			`DELETE FROM delivery_parts WHERE user_id = $1 AND delivery_id = $2 AND state = 'pending'`,
			`UPDATE delivery_parts SET body = '{"text":""}' WHERE user_id = $1 AND delivery_id = $2`}, t.user, id)
	}
	return err
}

// stopIfEmpty stops a running turn whose inputs are all redacted.
func (t *tx) stopIfEmpty(m core.Message, out *core.Noted) error {
	turn, _, err := turnByID(t, t.user, m.Turn)
	if err != nil {
		return err
	}
	if left, err := t.left(turn); err != nil || left > 0 {
		return err
	}
	return t.stopRunning(m.Turn, out)
}

// stopRunning asks a turn to stop, if it is still running.
func (t *tx) stopRunning(id core.TurnID, out *core.Noted) error {
	n, err := t.count(`UPDATE turns SET stop = 1 WHERE user_id = $1 AND id = $2 AND state = 'running'`, t.user, id)
	if err != nil || n == 0 {
		return err
	}
	out.StopTurns = append(out.StopTurns, id)
	t.wake = append(t.wake, core.TurnTopic(t.user, id))
	return nil
}

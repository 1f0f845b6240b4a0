package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

type entry struct {
	ID            string // of the element: m123 is a message, v2 a version of the summary
	Version       string // changes with anything in the entry
	Kind          string // said, tools, version, command, notice, post, reminder
	Who           string // user, agent, system
	Name          string // displayed name of Who
	At            time.Time
	Stamp         string // RFC 3339
	Clock, Moment string
	Follows       bool // the entry before is by the same speaker, shortly before
	Day           string

	Number                   core.MessageID
	Turn                     core.TurnID
	text                     func() template.HTML // nil: no text
	Deleted, Edited, Covered bool
	Answer                   bool // from the model, and not deleted
	Long                     bool // the person's own, and shown folded
	Forwarded                string
	Quote                    *quoted
	Files                    []shownFile
	Calls                    []shownCall
	Channel                  string
	Moved                    bool          // the message before came through another channel
	States                   []shownState  // of deliveries that are not finished, or failed
	Arrived                  []shownState  // of the others
	tainted                  bool          // it derives from words of others
	Unfinished               string        // why the text lacks its end; empty: it is whole
	Writing                  []writing     // answers to this message and those before that are being written
	Answers                  []replyButton // to a question asked on this page, or for the rest of an answer
	doable
}

// HTML returns the text of an entry. It is rendered on demand: open pages check all
// entries, and show most of them already.
func (e *entry) HTML() template.HTML {
	if e.text == nil {
		return ""
	}
	return e.text()
}

type quoted struct{ Title, Text string }

type shownState struct {
	Word, Class string
	Channel     string // empty: the message's channel
	Why         string
}

type shownFile struct {
	Name, Path, Show string // Show: image, audio, video, or empty for a link
	Alt              string // of a picture
	Size             int64
	Error, Said      string
	Unread           string // why not all of its text was read
}

type shownCall struct{ Title, Asked, Found string }

// together is the time within which messages of one speaker share a name.
const together = 5 * time.Minute

func (r *Room) entries(v *web.Visit, s stretch) ([]*entry, error) {
	sent, err := r.sent(v, s.messages)
	if err != nil {
		return nil, err
	}
	results := map[string]core.Message{}
	for _, m := range s.messages {
		if m.Role == core.RoleTool {
			results[m.ToolCallID] = m
		}
	}
	calls := map[string]bool{}
	var out []*entry
	for _, m := range s.messages {
		for _, c := range m.ToolCalls {
			calls[c.ID] = true
		}
		if m.Role == core.RoleTool && calls[m.ToolCallID] {
			continue // shown with its call
		}
		out = append(out, r.entry(v, m, sent[m.ID], results))
	}
	for _, one := range s.versions {
		out = append(out, r.versionEntry(v, one))
	}
	slices.SortStableFunc(out, func(a, b *entry) int { return a.At.Compare(b.At) })
	join(v, out)
	if err := r.buttons(v, out); err != nil {
		return nil, err
	}
	return out, r.doable(v, s, out)
}

type replyButton struct {
	Label, Text, Nonce string
	Thread             core.ThreadID // 0: the continuous one
}

// recentQuestions is the number of the newest questions that may have buttons.
const recentQuestions = 20

// buttons adds buttons to the open questions that were asked on the web page.
func (r *Room) buttons(v *web.Visit, all []*entry) error {
	if len(all) == 0 {
		return nil
	}
	questions, err := r.Store.Approvals(v.Context(), v.User.ID, 0, recentQuestions)
	if err != nil {
		return fmt.Errorf("read questions: %w", err)
	}
	questions = slices.DeleteFunc(questions, func(a effect.Approval) bool { return !a.Open(v.Now) })
	if len(questions) == 0 {
		return nil
	}
	ids, err := r.Store.Identities(v.Context(), v.User.ID)
	if err != nil {
		return fmt.Errorf("read identities: %w", err)
	}
	for _, a := range questions {
		here := slices.ContainsFunc(ids, func(i core.Identity) bool {
			return i.ID == a.Identity && i.Address.Channel == web.Name
		})
		n := slices.IndexFunc(all, func(e *entry) bool { return e.Number == a.Message && a.Message != 0 })
		if !here || n < 0 {
			continue
		}
		for _, b := range answersOf(v.Lang, a, all[n].tainted) {
			nonce := fmt.Sprintf("answer-%d-%s", a.AskedAt.UnixMilli(),
				strings.NewReplacer("/", "", " ", "-").Replace(b.Command))
			all[n].Answers = append(all[n].Answers, replyButton{Label: b.Label, Text: b.Command, Nonce: nonce})
		}
		all[n].Version = hashed(all[n].Version, a.Code)
	}
	return nil
}

// answersOf returns the buttons of a question.
func answersOf(language string, a effect.Approval, tainted bool) []core.Button {
	if a.Kind == effect.ApproveCall {
		return trust.YesNoAlways(language, a.Code, !tainted)
	}
	return trust.YesNo(language, a.Code, a.Word != "")
}

func idsWhere(ms []core.Message, meant func(core.Message) bool) []core.MessageID {
	var ids []core.MessageID
	for _, m := range ms {
		if meant(m) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func (r *Room) sent(v *web.Visit, ms []core.Message) (map[core.MessageID][]core.Delivery, error) {
	ids := idsWhere(ms, func(m core.Message) bool { return m.Role == core.RoleAssistant })
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := r.Store.Sent(v.Context(), v.User.ID, ids)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	out := map[core.MessageID][]core.Delivery{}
	for _, d := range all {
		out[d.Message] = append(out[d.Message], d)
	}
	return out, nil
}

func (r *Room) entry(v *web.Visit, m core.Message, sent []core.Delivery, results map[string]core.Message) *entry {
	e := &entry{ID: "m" + strconv.FormatInt(int64(m.ID), 10), Number: m.ID, Turn: m.Turn, tainted: m.Tainted, At: shownAt(m),
		Deleted: m.Redacted, Edited: m.Revision > 0 && !m.Redacted, Covered: m.Covered, Forwarded: m.ForwardedFrom}
	stamp(v, e, m.SentAt)
	speaker(v, e, m)
	e.text = func() template.HTML { return r.markdown.message(captions(m.Text, m.Attachments)) }
	if m.Kind == core.KindNotice {
		e.text = func() template.HTML { return r.markdown.notice(m.Text) }
	}
	if q := m.Quote; q != nil && q.Text != "" {
		e.Quote = &quoted{say(v.Lang).InReply, web.Short(web.OneLine(markup.Plain(q.Text)), 300)}
		if q.Mine {
			e.Quote.Title = say(v.Lang).InReplyMine
		}
	}
	for i, a := range m.Attachments {
		e.Files = append(e.Files, file(v, m, i, a))
	}
	e.Calls = web.Each(m.ToolCalls, func(c core.ToolCall) shownCall {
		return call(v, c.Name, c.Arguments, results[c.ID].Text)
	})
	if m.Role == core.RoleTool && !m.Redacted {
		e.Calls, e.text = []shownCall{call(v, m.ToolName, "", m.Text)}, nil
	}
	e.Long = m.Role == core.RoleUser && isLong(m) // an answer was asked for, and is shown whole
	e.Answer = m.Role == core.RoleAssistant && m.Kind == core.KindChat && m.Turn > 0 && !m.Redacted
	if m.Unfinished != "" && !m.Redacted {
		e.Unfinished = i18n.Unfinished(v.Lang, m.Unfinished).Why
	}
	e.Channel = v.ChannelName(m.Channel)
	for _, d := range sent {
		if d.Kind == core.DeliverVoice && d.State != core.DeliveryFailed || d.Kind == core.DeliverRetraction {
			continue // the text's delivery shows the state
		}
		one := state(v, d, m.Channel)
		if slices.Contains([]core.DeliveryState{core.DeliverySent, core.DeliveryDelivered, core.DeliveryRead}, d.State) {
			e.Arrived = append(e.Arrived, one)
		} else if !m.Redacted { // nothing is left that could arrive
			e.States = append(e.States, one)
		}
	}
	e.Version = hashed(m.ID, m.Revision, m.Redacted, m.Text, m.Attachments, e.States, e.Arrived, e.Calls)
	return e
}

// isLong reports whether a message takes more than a few screens.
func isLong(m core.Message) bool { return len(m.Text) > 6000 || strings.Count(m.Text, "\n") > 80 }

func speaker(v *web.Visit, e *entry, m core.Message) {
	e.Kind, e.Who, e.Name = "said", "agent", say(v.Lang).Agent
	if m.Role == core.RoleUser {
		e.Who, e.Name = "user", say(v.Lang).You
		if m.Speaker != nil { // of a group
			e.Name = m.Speaker.Name
		}
		if m.Task != nil { // a task's instruction, typed earlier
			e.Name = fmt.Sprintf(say(v.Lang).TaskDue, momentOf(v, m.Task.Due, v.Zone))
		}
	} else if m.Task != nil {
		e.Who, e.Name = "system", say(v.Lang).TaskSaid
	}
	if m.Role == core.RoleTool || m.Role == core.RoleAssistant && m.Text == "" && len(m.ToolCalls) > 0 {
		e.Kind = "tools"
	}
	switch m.Kind {
	case core.KindCommand:
		e.Kind = "command"
	case core.KindNotice:
		e.Kind, e.Who, e.Name = "notice", "system", say(v.Lang).SystemName
	case core.KindDayPost:
		e.Kind, e.Who, e.Name = "post", "system", say(v.Lang).Post
	case core.KindReminder:
		e.Kind, e.Who, e.Name = "reminder", "system", say(v.Lang).Reminder
	case core.KindDaySummary:
		e.Kind, e.Who, e.Name = "version", "system", say(v.Lang).SummaryUpdated
	}
}

func stamp(v *web.Visit, e *entry, t time.Time) {
	local := t.In(v.Zone)
	e.Stamp = local.Format(time.RFC3339)
	e.Clock, e.Moment = local.Format(web.HourMinute), v.Moment(local)
}

// versionEntry returns the entry that reports a new version of a summary.
func (r *Room) versionEntry(v *web.Visit, s core.Summary) *entry {
	e := &entry{ID: "v" + strconv.Itoa(s.Version), Kind: "version", Who: "system", Name: say(v.Lang).SummaryUpdated,
		At: s.CreatedAt, text: func() template.HTML { return r.markdown.summary(i18n.Headings(v.Lang, s.Markdown)) }}
	if s.Final {
		e.Name = say(v.Lang).SummaryFinalized
	}
	stamp(v, e, s.CreatedAt)
	e.Version = hashed(s.Version, s.Final, s.Markdown)
	return e
}

// join marks entries that continue those of the same speaker, that begin another day, and that came through another
// channel than those before. The first are expected from this page.
func join(v *web.Visit, all []*entry) {
	channel := v.ChannelName(web.Name)
	for _, e := range all {
		if e.Moved = e.Channel != "" && e.Channel != channel; e.Moved {
			channel = e.Channel
		}
	}
	for i := 1; i < len(all); i++ {
		before, e := all[i-1], all[i]
		if date := v.DayAt(e.At).Label; date != v.DayAt(before.At).Label {
			e.Day = v.DayName(date)
		}
		e.Follows = e.Day == "" && e.Kind == "said" && before.Kind == "said" && before.Who == e.Who &&
			before.Name == e.Name && e.At.Sub(before.At) < together
	}
}

func state(v *web.Visit, d core.Delivery, channel string) shownState {
	s := shownState{Word: cmp.Or(v.Words.States[string(d.State)], string(d.State)), Class: string(d.State), Why: d.Error}
	if d.To.Channel != channel {
		s.Channel = v.ChannelName(d.To.Channel)
	}
	return s
}

func file(v *web.Visit, m core.Message, n int, a core.Attachment) shownFile {
	f := shownFile{Name: cmp.Or(a.Name, a.Kind), Alt: cmp.Or(a.Alt, a.Name, say(v.Lang).Act.Picture), Size: a.Size,
		Error: a.Error, Said: a.Transcript}
	if a.Path != "" {
		f.Path = fmt.Sprintf("/media/%d/%d", m.ID, n)
	}
	if a.Document != nil {
		f.Unread = say(v.Lang).NotRead[string(a.Document.Problem)]
	}
	if kind := shownAs(a.MIME); kind != "" && f.Path != "" {
		f.Show = strings.SplitN(kind, "/", 2)[0]
	}
	return f
}

// mostShown bounds the displayed arguments and result of a tool call, in bytes.
const mostShown = 4000

func call(v *web.Visit, name, arguments, found string) shownCall {
	title, known := say(v.Lang).Tools[name]
	if !known {
		title = fmt.Sprintf(say(v.Lang).ToolUsed, web.Short(name, 80))
	}
	if strings.Contains(title, "%s") {
		var asked struct {
			Query string `json:"query"`
		}
		_ = json.Unmarshal([]byte(arguments), &asked) // the model may have written invalid JSON
		title = fmt.Sprintf(title, cmp.Or(web.Short(asked.Query, 80), "…"))
	}
	if known && arguments == "{}" {
		arguments = ""
	}
	return shownCall{title, web.Short(arguments, mostShown), web.Short(found, mostShown)}
}

// captions removes the placeholders of attachments from a text, as the files themselves
// are shown. Captions and transcripts within them stay.
func captions(text string, as []core.Attachment) string {
	for _, a := range as {
		start := strings.Index(text, "["+a.Kind)
		if a.Kind == "" || start < 0 {
			continue
		}
		end := strings.IndexByte(text[start:], ']') + start
		if len(as) == 1 && start == 0 && strings.HasSuffix(text, "]") {
			end = len(text) - 1
		}
		if end < start {
			continue
		}
		_, rest, _ := strings.Cut(text[start+1:end], ": ")
		text = strings.TrimSpace(text[:start] + rest + text[end+1:])
	}
	return text
}

func hashed(all ...any) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", all)
	return strconv.FormatUint(h.Sum64(), 36)
}

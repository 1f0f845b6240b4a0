package sqlstore

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// renumbering maps the ids of the source user's rows to those of the target user's.
type renumbering struct {
	message  int64                           // offset of message ids
	id       int64                           // offset of other ids
	segments map[core.SegmentID]day          // exceptions for segments
	threads  map[core.ThreadID]core.ThreadID // exceptions for threads
}

// day is the target of a day segment.
type day struct {
	into     core.SegmentID
	versions int  // number of summaries that it had before
	windows  bool // its windows are kept
}

func (r renumbering) messageID(id core.MessageID) core.MessageID {
	if id == 0 {
		return 0
	}
	return id + core.MessageID(r.message)
}

// other maps the id of anything but a message, a day or a thread.
func (r renumbering) other(id int64) int64 {
	if id == 0 {
		return 0
	}
	return id + r.id
}

func (r renumbering) segment(id core.SegmentID) core.SegmentID {
	if d, ok := r.segments[id]; ok {
		return d.into
	}
	return core.SegmentID(r.other(int64(id)))
}

func (r renumbering) thread(id core.ThreadID) core.ThreadID {
	if into, ok := r.threads[id]; ok {
		return into
	}
	return core.ThreadID(r.other(int64(id)))
}

func (r renumbering) messages(ids []core.MessageID) []core.MessageID {
	out := make([]core.MessageID, len(ids))
	for i, id := range ids {
		out[i] = r.messageID(id)
	}
	return out
}

// References in text: [#12], [#12, #15], [#12–15].
var (
	bracket = regexp.MustCompile(`\[#\d[^\[\]]{0,200}\]`)
	number  = regexp.MustCompile(`\d+`)
)

// text renumbers the references of a text.
func (r renumbering) text(s string) string {
	if r.message == 0 || !strings.Contains(s, "[#") {
		return s
	}
	return bracket.ReplaceAllStringFunc(s, func(b string) string {
		return number.ReplaceAllStringFunc(b, func(n string) string { return plus(n, r.message) })
	})
}

func plus(n string, by int64) string {
	v, err := strconv.ParseInt(n, 10, 64)
	if err != nil || v == 0 {
		return n
	}
	return strconv.FormatInt(v+by, 10)
}

// named matches an id under a JSON key that says what it identifies.
var named = regexp.MustCompile(`"((?:[a-z]+_)*(?:message_id|day_segment_id|thread_id|item_id)|id)": ?(\d+)`)

// ours reports whether a tool is one of our own, whose ids can be renumbered.
func ours(tool string) bool {
	for _, prefix := range []string{"conversation_", "memory_", "loops_", "reminder_", "task_", "file_"} {
		if strings.HasPrefix(tool, prefix) {
			return true
		}
	}
	return false
}

// attached matches the reference to an attachment under its JSON key.
var attached = regexp.MustCompile(`("attachment": ?"?#?)(\d+)`)

// json renumbers the arguments or the result of one of our own tools.
func (r renumbering) json(s string) string {
	s = attached.ReplaceAllStringFunc(s, func(m string) string {
		at := len(m) - len(strings.TrimLeft(m[strings.IndexByte(m, ':'):], `: "#`))
		return m[:at] + plus(m[at:], r.message)
	})
	return r.text(named.ReplaceAllStringFunc(s, func(m string) string {
		at := strings.LastIndexAny(m, ": ") + 1
		head, n := m[:at], m[at:]
		switch {
		case strings.Contains(head, "message_id"):
			return head + plus(n, r.message)
		case strings.Contains(head, "day_segment_id"):
			v, _ := strconv.ParseInt(n, 10, 64)
			return head + strconv.FormatInt(int64(r.segment(core.SegmentID(v))), 10)
		case strings.Contains(head, "thread_id"):
			v, _ := strconv.ParseInt(n, 10, 64)
			return head + strconv.FormatInt(int64(r.thread(core.ThreadID(v))), 10)
		}
		return head + plus(n, r.id)
	}))
}

// row renumbers a message of anybody but the person, and the news before the person's.
func (r renumbering) row(m *core.Message) (changed bool) {
	if m.Role == core.RoleUser {
		if d := m.Decides; d != nil {
			d.Approval = core.ApprovalID(r.other(int64(d.Approval)))
			changed = true
		}
		if q := m.Quote; q != nil && q.Message != 0 {
			q.Message = r.messageID(q.Message)
			changed = true
		}
		return r.news(m.News) || changed
	}
	before := m.Text
	if m.Role == core.RoleTool && ours(m.ToolName) {
		m.Text = r.json(m.Text)
	} else {
		m.Text = r.text(m.Text)
	}
	changed = m.Text != before
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		if !ours(c.Name) {
			continue
		}
		was := c.Arguments
		c.Arguments = r.json(c.Arguments)
		changed = changed || c.Arguments != was
	}
	return changed
}

func (r renumbering) news(n *core.News) bool {
	if n == nil {
		return false
	}
	for i := range n.Loops {
		n.Loops[i] = core.LoopID(r.other(int64(n.Loops[i])))
	}
	if n.Segment != 0 {
		n.Version += r.segments[n.Segment].versions
		n.Segment = r.segment(n.Segment)
	}
	n.Text = r.text(n.Text)
	return true
}

// snapshot renumbers a stored snapshot.
func (r renumbering) snapshot(stored string) string {
	var s store.Snapshot
	if stored == "" || json.Unmarshal([]byte(stored), &s) != nil {
		return stored
	}
	s.Messages = s.Messages.Shift(core.MessageID(r.message))
	s.Epoch = core.TurnID(r.other(int64(s.Epoch)))
	s.Revisions = shiftKeys(s.Revisions, r.message)
	return text(s)
}

// epoch renumbers a stored epoch.
func (r renumbering) epoch(stored string) string {
	var e store.Epoch
	if json.Unmarshal([]byte(stored), &e) != nil {
		return stored
	}
	e.ID = core.TurnID(r.other(int64(e.ID)))
	e.Cuts = shiftKeys(e.Cuts, r.message)
	e.Skip = r.messages(e.Skip)
	e.Opener = r.messageID(e.Opener)
	for i := range e.Head {
		h := &e.Head[i]
		if !h.Shared() {
			h.Text = r.text(h.Text)
		}
		if h.Before > 0 {
			h.Before += core.MessageID(r.message)
		}
		if h.Version > 0 {
			h.Version += r.segments[h.Segment].versions
		}
		h.Segment = r.segment(h.Segment)
		for n := range h.Loops {
			h.Loops[n] = core.LoopID(r.other(int64(h.Loops[n])))
		}
	}
	return text(e)
}

func shiftKeys(m map[core.MessageID]int, by int64) map[core.MessageID]int {
	if m == nil {
		return nil
	}
	out := make(map[core.MessageID]int, len(m))
	for id, v := range m {
		out[id+core.MessageID(by)] = v
	}
	return out
}

// ids renumbers a stored list of message ids.
func (r renumbering) ids(stored string) string {
	var ids []core.MessageID
	if json.Unmarshal([]byte(stored), &ids) != nil {
		return stored
	}
	return text(r.messages(ids))
}

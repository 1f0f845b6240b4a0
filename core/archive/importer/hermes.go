package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// hermesSession is a session of Hermes Agent in its database, or a line of `hermes sessions export` with its messages.
type hermesSession struct {
	ID       string          `json:"id"`
	Source   string          `json:"source"`
	User     string          `json:"user_id"`
	Kind     string          `json:"chat_type"`
	Title    string          `json:"title"`
	Config   json.RawMessage `json:"model_config"`
	System   string          `json:"system_prompt"`
	Hash     string          `json:"system_prompt_hash"`
	Started  moment          `json:"started_at"`
	Messages []hermesMessage `json:"messages"`
	// In a transcript of early versions each line is a message.
	hermesMessage
}

type hermesMessage struct {
	Role      core.Role       `json:"role"`
	Content   json.RawMessage `json:"content"`
	At        moment          `json:"timestamp"`
	Calls     json.RawMessage `json:"tool_calls"`
	Reasoning string          `json:"reasoning"`
	Condensed integer         `json:"_compressed_summary"`
	Active    *integer        `json:"active"`
	Compacted integer         `json:"compacted"`
	Display   string          `json:"display_kind"`
}

// readHermes reads the folder of Hermes Agent: its database, or exports of it, and its memory.
func readHermes(a *Archive, sources []string, o Options, out output) error {
	h := &hermes{archive: a, out: silent(), seen: map[[16]byte]bool{}, people: map[string]int{}}
	read := h.database
	if len(sources) == 0 || a.main != "" && path.Ext(a.main) == ".jsonl" {
		sources = a.find(ending(".jsonl"))
		read = h.lines
	}
	notes := a.find(called("MEMORY.md", "USER.md", "SOUL.md"))
	switch {
	case a.main != "" && path.Ext(a.main) == ".md":
		sources = nil
	case a.main != "":
		notes = nil
	}
	if len(sources)+len(notes) == 0 {
		return fmt.Errorf("there is no state.db in it; give ~/.hermes, or an output of `hermes sessions export`")
	}
	err := each(sources, read)
	if err != nil {
		return err
	}
	if h.mine, err = choose(several(h.people, o.Me), o.Me); err != nil {
		return err
	}
	h.out = out
	if err := each(sources, read); err != nil {
		return err
	}
	for _, name := range notes {
		notesOf(a, name, "\n§\n", out)
	}
	return nil
}

// hermes reads sessions of Hermes Agent, twice: first it only meets their owners.
type hermes struct {
	archive  *Archive
	out      output            // silent at first
	seen     map[[16]byte]bool // messages: a continuation holds copies of the last ones
	people   map[string]int
	mine     func(person string) bool // nil at first
	skipping string                   // why the messages of the present session are left out
	now      *hermesSession           // the present session
}

// several returns people, named channel:id, if one must be chosen: a channel has more
// than one of them. Otherwise those of all channels are the same person.
func several(people map[string]int, me string) map[string]int {
	if me != "" {
		return people
	}
	channels := map[string]int{}
	for p := range people {
		channel, _, _ := strings.Cut(p, ":")
		channels[channel]++
	}
	for _, n := range channels {
		if n > 1 {
			return people
		}
	}
	return nil
}

func (s *hermesSession) person() string {
	if s.User == "" {
		return s.Source
	}
	return s.Source + ":" + s.User
}

// machine reports whether nobody typed in a session.
func (s *hermesSession) machine() bool {
	var config struct {
		Delegate string `json:"_delegate_from"`
	}
	var text string
	raw := s.Config
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	_ = json.Unmarshal(raw, &config) // of another type it has no delegate
	return config.Delegate != "" || slices.Contains([]string{"cron", "batch", "kanban", "tool", "webhook", "subagent"},
		s.Source)
}

func (s *hermesSession) group() bool {
	return s.Kind != "" && s.Kind != "dm" && s.Kind != "direct" && s.Kind != "private"
}

// begin begins to read the messages of a session, or at first counts it for its owner.
func (h *hermes) begin(s *hermesSession) {
	h.now, h.skipping = s, ""
	switch {
	case s.machine():
		h.skipping = notTyped
	case s.group():
		h.skipping = ofGroup
	case h.mine == nil:
		if s.Source != "" && len(h.people) < mostSpeakers {
			h.people[s.person()]++
		}
	case !h.mine(s.person()):
		h.skipping = ofSomebody
	}
}

// prefixOfParts marks contents in the database that are lists of parts.
const prefixOfParts = "\x00json:"

// message reads a message of the present session.
func (h *hermes) message(m hermesMessage) error {
	switch {
	case h.mine == nil:
		return nil
	case h.skipping != "":
		return h.out.skip("", h.skipping)
	case m.Condensed != 0:
		return h.out.skip("", condensed)
	case m.Active != nil && *m.Active == 0 && m.Compacted == 0:
		return h.out.skip("", otherBranch) // it was undone
	case m.Display == "hidden":
		return h.out.skip("", notTyped)
	case m.Role == core.RoleSystem:
		return h.out.skip("", persona)
	case m.Role == "session_meta":
		return nil
	case m.Role != core.RoleUser && m.Role != core.RoleAssistant:
		return h.out.skip("", toolUse)
	}
	var packed string
	if json.Unmarshal(m.Content, &packed) == nil {
		if parts, ok := strings.CutPrefix(packed, prefixOfParts); ok {
			m.Content = json.RawMessage(parts)
		}
	}
	l := Line{Chat: h.now.ID, Title: h.now.Title, At: m.At.Time, Role: m.Role}
	l.Text, l.Files = contents(m.Content, h.out)
	if m.Reasoning != "" {
		h.out.count(reasoning)
	}
	if calls := strings.Trim(string(m.Calls), `"`); calls != "" && calls != "null" {
		h.out.count(toolUse)
	}
	if l.Text == "" && len(l.Files) == 0 {
		return nil
	}
	digest := sha256.Sum256([]byte(fmt.Sprint(l.At.UnixMilli(), "\x00", l.Role, "\x00", l.Text)))
	key := [16]byte(digest[:16])
	if h.seen[key] {
		return nil
	}
	h.seen[key] = true
	l.ID = hex.EncodeToString(key[:])
	return h.out.line(l)
}

// lines reads an output of `hermes sessions export`, one session a line, or a transcript
// of early versions, one message a line.
func (h *hermes) lines(name string) error {
	bare := &hermesSession{ID: strings.TrimSuffix(path.Base(name), ".jsonl")}
	return eachJSON(h.archive, name, h.out, func(_ int, s hermesSession) error {
		if s.Role != "" {
			h.begin(bare)
			return h.message(s.hermesMessage)
		}
		h.begin(&s)
		if s.System != "" {
			h.out.count(persona)
		}
		return each(s.Messages, h.message)
	})
}

// database reads state.db.
func (h *hermes) database(name string) error {
	d, err := openDatabase(h.archive, name)
	if err != nil {
		return err
	}
	defer d.Close()
	sessions := map[string]*hermesSession{}
	err = eachRow(d, "sessions", []string{"id", "source", "user_id", "chat_type", "title", "model_config", "system_prompt",
		"system_prompt_hash"}, "ORDER BY rowid", func(s hermesSession) error {
		sessions[s.ID] = &s
		h.begin(&s)
		if s.System+s.Hash != "" {
			h.out.count(persona)
		}
		return nil
	})
	if err != nil || h.mine == nil {
		return err
	}
	h.now = nil
	return eachRow(d, "messages", []string{"session_id", "role", "content", "tool_calls", "timestamp", "reasoning",
		"_compressed_summary", "active", "compacted", "display_kind"}, "ORDER BY session_id, timestamp, id",
		func(m struct {
			Session string `json:"session_id"`
			hermesMessage
		}) error {
			s := sessions[m.Session]
			if s == nil {
				return h.out.skip("", oddForm) // its session is missing
			}
			if h.now != s {
				h.begin(s)
			}
			return h.message(m.hermesMessage)
		})
}

// notesOf reads a file of an agent's memory; a description of the agent itself is left
// out. divider separates entries; empty: the file is Markdown.
func notesOf(a *Archive, name, divider string, out output) {
	base := path.Base(name)
	if base == "SOUL.md" || base == "IDENTITY.md" || base == "AGENTS.md" || base == "BOOTSTRAP.md" {
		out.left(name, persona)
		return
	}
	if dated().MatchString(base) {
		out.left(name, "it is a note of a day, whose conversations come in themselves")
		return
	}
	data, err := a.whole(name, maxNotes)
	if err != nil {
		out.left(name, unread)
		return
	}
	like := Fact{From: base, Noted: true, At: a.changed(name)}
	if divider != "" && strings.Contains(string(data), divider) {
		for entry := range strings.SplitSeq(string(data), divider) {
			for _, s := range pieces(strings.TrimSpace(entry)) {
				like.Text = s
				out.fact(like)
			}
		}
		return
	}
	if !out.directives(string(data), like) {
		out.facts(string(data), like)
	}
}

// maxNotes bounds a file of an agent's memory, in bytes.
const maxNotes = 4 << 20

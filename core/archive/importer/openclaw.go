package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// openclawEntry is an entry of a session of OpenClaw. Entries form a tree, whose current
// branch is that to the last one; an entry of type leaf goes back to another.
type openclawEntry struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Parent  string `json:"parentId"`
	Target  string `json:"targetId"`
	Mode    string `json:"appendMode"`
	At      moment `json:"timestamp"`
	Message struct {
		Role    core.Role       `json:"role"`
		Content json.RawMessage `json:"content"`
		At      moment          `json:"timestamp"`
	} `json:"message"`
}

// openclaw reads sessions of OpenClaw.
type openclaw struct {
	archive *Archive
	out     output
	people  map[string]int
	mine    func(person string) bool
}

// readOpenClaw reads the folder of OpenClaw: the databases of its agents, or sessions of
// earlier versions, and the memory in its workspaces.
func readOpenClaw(a *Archive, bases []string, o Options, out output) error {
	r := &openclaw{archive: a, out: out, people: map[string]int{}}
	files := a.find(func(base string) bool { return path.Ext(base) == ".jsonl" || archived().MatchString(base) })
	notes := a.find(func(base string) bool { // the workspace's memory, and what describes the agent
		return slices.Contains([]string{"MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md"}, base) || dated().MatchString(base)
	})
	switch {
	case a.main != "" && path.Ext(a.main) == ".sqlite":
		files, notes = nil, nil
	case a.main != "":
		bases, notes = nil, nil
	}
	notes = slices.DeleteFunc(notes, func(name string) bool {
		return dated().MatchString(path.Base(name)) && path.Base(path.Dir(name)) != "memory"
	})
	if len(bases)+len(files)+len(notes) == 0 {
		return fmt.Errorf("there is no session in it; give ~/.openclaw, or one of its .jsonl files")
	}
	keys, err := r.keys(bases)
	if err != nil {
		return err
	}
	if r.mine, err = choose(several(r.people, o.Me), o.Me); err != nil {
		return err
	}
	if err := each(bases, r.database); err != nil {
		return err
	}
	if err := each(files, func(name string) error { return r.file(name, keys) }); err != nil {
		return err
	}
	for _, name := range notes {
		notesOf(a, name, "", out)
	}
	return nil
}

// packedAway is the reason for leaving out a session in OpenClaw's own archive.
const packedAway = "OpenClaw has packed it away; open it there, and copy the folder once more"

var (
	// archived is the name of a session that was deleted or reset.
	archived = text.Pattern(`\.jsonl\.(deleted|reset)\.[^/]*$`)
	dated    = text.Pattern(`^\d{4}-\d\d-\d\d.*\.md$`)
)

// openclawPerson returns the owner of a session by its key, or why it cannot be imported.
func openclawPerson(key string) (person, why string) {
	parts := strings.Split(key, ":")
	switch {
	case key == "":
		return "", ""
	case slices.ContainsFunc(parts, func(p string) bool {
		return slices.Contains([]string{"cron", "subagent", "hook", "heartbeat", "acp"}, p)
	}):
		return "", notTyped
	case slices.Contains(parts, "group") || slices.Contains(parts, "channel") || slices.Contains(parts, "room"):
		return "", ofGroup
	}
	for n, p := range parts {
		if (p == "direct" || p == "dm") && n+1 < len(parts) {
			return parts[n-min(n, 1)] + ":" + parts[n+1], ""
		}
	}
	return "main", ""
}

// keys returns the keys of sessions in files, and counts the owners of all sessions.
func (r *openclaw) keys(bases []string) (map[string]string, error) {
	keys := map[string]string{}
	meet := func(key string) {
		if person, _ := openclawPerson(key); person != "" && len(r.people) < mostSpeakers {
			r.people[person]++
		}
	}
	var lists []string
	if r.archive.main == "" {
		lists = r.archive.find(func(base string) bool { return base == "sessions.json" })
	}
	for _, name := range lists {
		data, err := r.archive.whole(name, maxElement)
		var list map[string]struct {
			ID string `json:"sessionId"`
		}
		if err != nil || json.Unmarshal(data, &list) != nil {
			r.out.left(name, unread)
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(list)) { // of several for one session the last counts
			keys[path.Dir(name)+"/"+list[key].ID] = key
			meet(key)
		}
	}
	for _, name := range bases {
		d, err := openDatabase(r.archive, name)
		if err != nil {
			return nil, err
		}
		err = d.each("session_windows", []string{"session_key"}, "", nil, func(r row) error {
			meet(r["session_key"])
			return nil
		})
		d.Close()
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// skip returns why a session is left out, empty if it is not.
func (r *openclaw) skip(key string) string {
	person, why := openclawPerson(key)
	if why == "" && !r.mine(person) {
		why = ofSomebody
	}
	return why
}

// file reads a session of an earlier version, or a deleted or reset one.
func (r *openclaw) file(name string, keys map[string]string) error {
	chat, _, _ := strings.Cut(path.Base(name), ".jsonl")
	why := r.skip(keys[path.Dir(name)+"/"+chat])
	return r.session(chat, why, func(out output, f eachEntry) error {
		return eachJSON(r.archive, name, out, func(n int, e openclawEntry) error {
			return f(fmt.Sprintf("%s, line %d", name, n), n, e)
		})
	})
}

// database reads the sessions of an agent.
func (r *openclaw) database(name string) error {
	d, err := openDatabase(r.archive, name)
	if err != nil {
		return err
	}
	defer d.Close()
	var sessions []row
	err = d.each("session_windows", []string{"session_id", "session_key"}, "ORDER BY created_at", nil, func(r row) error {
		sessions = append(sessions, r)
		return nil
	})
	if err != nil {
		return err
	}
	err = d.each("session_transcript_cold_archives", []string{"session_id"}, "ORDER BY session_id", nil, func(s row) error {
		return r.out.skip("session "+s["session_id"], packedAway)
	})
	if err != nil {
		return err
	}
	return each(sessions, func(s row) error {
		id := s["session_id"]
		return r.session(id, r.skip(s["session_key"]), func(out output, f eachEntry) error {
			return d.each("transcript_events", []string{"seq", "event_json", "event_zstd"},
				"WHERE session_id = ? ORDER BY seq", []any{id}, func(r row) error {
					n, _ := strconv.Atoi(r["seq"]) // only for places
					place := fmt.Sprintf("session %s, entry %d", id, n)
					var e openclawEntry
					text, err := unpacked(r["event_json"], r["event_zstd"])
					if err != nil || json.Unmarshal(text, &e) != nil {
						return out.skip(place, unread)
					}
					return f(place, n, e)
				})
		})
	})
}

// eachEntry receives an entry of a session, with its place and its number.
type eachEntry = func(place string, n int, e openclawEntry) error

// session reads a session, whose entries read passes on. why is the reason for leaving it out, if any.
func (r *openclaw) session(chat, why string, read func(out output, f eachEntry) error) error {
	parents, last := tree{}, ""
	err := read(silent(), func(_ string, _ int, e openclawEntry) error {
		switch {
		case e.ID == "" || e.Type == "session" || e.Mode == "side":
		case e.Type == "leaf":
			last = e.Target
		default:
			parents[e.ID], last = e.Parent, e.ID
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, shown, _ := parents.path(last)
	return read(r.out, func(place string, n int, e openclawEntry) error {
		return r.entry(chat, place, n, e, shown, why)
	})
}

// unpacked returns the text of an event, which may be compressed.
func unpacked(text, packed string) ([]byte, error) {
	if text != "" || packed == "" {
		return []byte(text), nil
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxCell), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll([]byte(packed), nil)
}

// about matches OpenClaw's header of a message, which tells the model its origin.
var about = text.Pattern("(?s)\\A(?:[^\\n]{1,80} \\(untrusted[^\\n)]{0,80}\\):\\n```json\\n.*?\\n```\\s*)+")

// entry reads an entry of a session. why is the reason for leaving it out, if any.
func (r *openclaw) entry(chat, place string, n int, e openclawEntry, shown map[string]bool, why string) error {
	m := e.Message
	switch {
	case e.Type == "compaction" || e.Type == "branch_summary":
		return r.out.skip("", condensed)
	case e.Type != "message":
		return nil
	case why != "":
		return r.out.skip("", why)
	case e.ID != "" && !shown[e.ID]:
		return r.out.skip("", otherBranch)
	case m.Role == "":
		if contentText(m.Content) != "" {
			r.out.left(place, noSpeaker)
		}
		return nil
	case m.Role == core.RoleSystem:
		return r.out.skip("", persona)
	case m.Role != core.RoleUser && m.Role != core.RoleAssistant:
		return r.out.skip("", toolUse)
	}
	l := Line{Chat: chat, Title: chat, ID: cmp.Or(e.ID, "line "+strconv.Itoa(n)), At: cmp.Or(e.At, m.At).Time,
		Role: m.Role, Place: place}
	l.Text, l.Files = contents(m.Content, r.out)
	if m.Role == core.RoleUser {
		l.Text = strings.TrimSpace(about().ReplaceAllString(l.Text, ""))
	}
	if l.Text == "" && len(l.Files) == 0 {
		return nil // it only called a tool
	}
	if l.Text == "NO_REPLY" || l.Text == "HEARTBEAT_OK" { // it is shown to nobody
		return r.out.skip("", notTyped)
	}
	return r.out.line(l)
}

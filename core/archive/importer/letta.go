package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// lettaFile is an agent file of Letta: several agents and their shared parts, or in the first version one agent.
type lettaFile struct {
	lettaAgent
	Agents []piece[lettaAgent] `json:"agents"`
	Blocks []lettaBlock        `json:"blocks"`
	Files  []struct {
		Name    string `json:"file_name"`
		Other   string `json:"original_file_name"`
		Content string `json:"content"`
	} `json:"files"`
	Created moment `json:"created_at"`
}

type lettaAgent struct {
	Name     string                `json:"name"`
	Kind     string                `json:"agent_type"`
	System   string                `json:"system"`
	Core     []lettaBlock          `json:"core_memory"` // in the first version
	Messages []piece[lettaMessage] `json:"messages"`
}

type lettaBlock struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

type lettaMessage struct {
	Role    core.Role       `json:"role"`
	Content json.RawMessage `json:"content"`
	Created moment          `json:"created_at"`
	Calls   []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func readLetta(a *Archive, names []string, _ Options, out output) error {
	return eachValue(a, names, out, func(name string, f lettaFile) error { return f.read(name, out) })
}

func (f lettaFile) read(name string, out output) error {
	agents := f.Agents
	if len(f.Messages) > 0 || len(f.Core) > 0 {
		agents = append(agents, piece[lettaAgent]{v: f.lettaAgent})
	}
	if len(agents) == 0 {
		out.left(name, "it is no agent")
	}
	for _, b := range f.Blocks {
		b.read(name, out)
	}
	for _, a := range agents {
		if a.odd {
			out.left(name, oddForm)
			continue
		}
		if err := a.v.read(name, f.Created.Time, out); err != nil {
			return err
		}
	}
	return f.documents(name, out)
}

// read passes a block of memory on. The description of the agent itself is left out.
func (b lettaBlock) read(name string, out output) {
	if strings.Contains(strings.ToLower(b.Label), "persona") {
		out.left(name+", block "+b.Label, persona)
		return
	}
	out.facts(b.Value, Fact{From: cmp.Or(b.Label, "block"), Noted: true})
}

// documents passes on the texts of the files of an agent.
func (f lettaFile) documents(name string, out output) error {
	for _, d := range f.Files {
		base := path.Base(cmp.Or(d.Other, d.Name))
		if strings.TrimSpace(d.Content) == "" {
			out.left(name+", file "+base, "its content is not in the archive")
			continue
		}
		file := textFile(base, d.Content)
		digest := sha256.Sum256(file.Data)
		l := Line{Chat: "files", ID: file.Name + " " + hex.EncodeToString(digest[:12]), At: f.Created.Time,
			Role: core.RoleUser, Told: true, Place: name}
		l.attach(file)
		if err := out.line(l); err != nil {
			return err
		}
	}
	return nil
}

// read passes on the conversation with an agent. The ids of messages change with each export, so they identify none.
func (a lettaAgent) read(name string, exported time.Time, out output) error {
	if a.System != "" {
		out.left(name+", agent "+a.Name, persona)
	}
	for _, b := range a.Core {
		b.read(name, out)
	}
	speaks := a.speaks()
	begun := -1 // the start of the agent: the messages before are templates
	var ls []Line
	for n, m := range a.Messages {
		l := Line{Chat: a.Name, Title: a.Name, At: m.v.Created.Time, Place: fmt.Sprintf("%s, message %d", name, n+1)}
		switch {
		case m.odd:
			out.left(l.place(), oddForm)
		case strings.Contains(a.Kind, "sleeptime"):
			out.count(notTyped) // it works for another agent
		case m.v.read(&l, speaks, out):
			ls = append(ls, l)
		case m.v.event().Type == "login" && begun < 0:
			begun = len(ls)
		}
	}
	for range max(begun, 0) {
		out.count(notTyped)
	}
	return out.pass(ls[max(begun, 0):], exported)
}

// speaks reports whether an agent talks to the user with a tool: its other text is reasoning.
func (a lettaAgent) speaks() bool {
	for _, m := range a.Messages {
		for _, c := range m.v.Calls {
			if c.Function.Name == lettaSpeech {
				return true
			}
		}
	}
	return false
}

// lettaSpeech is the tool with which agents of earlier kinds talk.
const lettaSpeech = "send_message"

// lettaEvent is a message of role user that is no plain text.
type lettaEvent struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// event returns the event in a message, without a type if it is plain text.
func (m lettaMessage) event() lettaEvent {
	var e lettaEvent
	text, _ := contents(m.Content, silent())
	if m.Role != core.RoleUser || !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &e) != nil {
		return lettaEvent{}
	}
	return e
}

// read reads a message into l, and reports whether it is one of the conversation.
func (m lettaMessage) read(l *Line, speaks bool, out output) bool {
	l.Role = m.Role
	switch m.Role {
	case core.RoleUser:
		l.Text, l.Files = contents(m.Content, out)
		switch e := m.event(); e.Type {
		case "":
		case "user_message":
			l.Text = strings.TrimSpace(e.Message)
		default:
			out.count(notTyped)
			return false
		}
	case core.RoleAssistant:
		m.answer(l, speaks, out)
	case core.RoleSystem:
		out.count(persona)
		return false
	case core.RoleTool, "approval", "function":
		out.count(toolUse)
		return false
	default:
		out.left(l.place(), noSpeaker)
		return false
	}
	return l.Text != "" || len(l.Files) > 0
}

// answer reads the words of an agent.
func (m lettaMessage) answer(l *Line, speaks bool, out output) {
	text, files := contents(m.Content, out)
	if !speaks {
		l.Text, l.Files = text, files
	} else if text != "" {
		out.count(reasoning)
	}
	for _, c := range m.Calls {
		var said struct {
			Message string `json:"message"`
		}
		if c.Function.Name != lettaSpeech || json.Unmarshal([]byte(c.Function.Arguments), &said) != nil {
			out.count(toolUse)
			continue
		}
		l.Text = strings.TrimSpace(l.Text + "\n" + said.Message)
	}
}

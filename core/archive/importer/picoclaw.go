package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// contentText returns the text of a content, which is a string or a list of parts.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var out []string
	for _, p := range parts {
		if (p.Type == "text" || p.Type == "input_text" || p.Type == "output_text") && p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// picoclawMessage is a message of PicoClaw. Most have no time.
type picoclawMessage struct {
	Role    core.Role       `json:"role"`
	Content json.RawMessage `json:"content"`
	At      moment          `json:"created_at"`
	Other   moment          `json:"timestamp"`
}

// picoclawSession is a session of PicoClaw before it wrote JSON Lines, or the metadata of one since.
type picoclawSession struct {
	Key      string            `json:"key"`
	Messages []picoclawMessage `json:"messages"`
	Created  moment            `json:"created"`
	Updated  moment            `json:"updated"`
	Since    moment            `json:"created_at"`
	Until    moment            `json:"updated_at"`
	Count    int               `json:"count"`
}

// readPicoClaw reads sessions of PicoClaw: workspace/sessions/*.jsonl with their
// .meta.json, or *.json of earlier versions.
func readPicoClaw(a *Archive, names []string, o Options, out output) error {
	return each(names, func(name string) error {
		p := &picoclaw{name: name, out: out}
		if path.Ext(name) == ".json" {
			return p.readWhole(a)
		}
		return p.readLines(a)
	})
}

type picoclaw struct {
	name         string
	chat         string
	out          output
	n            int
	last         time.Time
	since, until time.Time
	count        int
}

func (p *picoclaw) readWhole(a *Archive) error {
	return a.document(p.name, p.out, func(d *document) error {
		return next(d, func(s picoclawSession) error {
			p.begin(s, len(s.Messages))
			return each(s.Messages, p.message)
		})
	})
}

func (p *picoclaw) readLines(a *Archive) error {
	s := picoclawSession{}
	count := 0
	err := eachLine(a, p.name, silent(), func(int, []byte) error { count++; return nil })
	if err != nil {
		return err
	}
	if r, err := a.file(strings.TrimSuffix(p.name, ".jsonl")+".meta.json", 1<<20); err == nil {
		err = json.NewDecoder(r).Decode(&s)
		r.Close()
		if err != nil {
			p.out.left(strings.TrimSuffix(p.name, ".jsonl")+".meta.json", "it cannot be read")
		}
	}
	p.begin(s, max(count, s.Count))
	return eachJSON(a, p.name, p.out, func(_ int, m picoclawMessage) error { return p.message(m) })
}

// begin stores the metadata of a session.
func (p *picoclaw) begin(s picoclawSession, count int) {
	p.chat = cmp.Or(s.Key, strings.TrimSuffix(strings.TrimSuffix(path.Base(p.name), ".jsonl"), ".json"))
	p.count, p.since, p.until = count, cmp.Or(s.Since, s.Created).Time, cmp.Or(s.Until, s.Updated).Time
	if p.until.Before(p.since) {
		p.until = p.since
	}
	if p.since.IsZero() {
		p.out.left(p.name, "it does not say when it was written: messages without a time are left out")
	}
}

// message passes a message on. Without a time it gets one between the beginning and the end of its session, in order.
func (p *picoclaw) message(m picoclawMessage) error {
	p.n++
	text := contentText(m.Content)
	if m.Role == "" && text != "" {
		p.out.left(fmt.Sprintf("%s, message %d", p.name, p.n), noSpeaker)
	}
	if m.Role != core.RoleUser && m.Role != core.RoleAssistant || text == "" {
		return nil
	}
	at := slices.MaxFunc([]time.Time{m.At.Time, m.Other.Time}, time.Time.Compare)
	if at.IsZero() && !p.since.IsZero() {
		at = p.since.Add(time.Duration(float64(p.until.Sub(p.since)) * float64(p.n-1) / float64(max(p.count, 1)))).Truncate(
			time.Millisecond)
	}
	if !at.IsZero() && at.Before(p.last) {
		at = p.last
	}
	p.last = at
	return p.out.line(Line{Chat: p.chat, Title: p.chat, ID: "line " + strconv.Itoa(p.n), At: at, Role: m.Role, Text: text})
}

package matrix

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Supported types of events.
const (
	typeMessage    = "m.room.message"
	typeSticker    = "m.sticker"
	typeEncrypted  = "m.room.encrypted"
	typeReaction   = "m.reaction"
	typeRedaction  = "m.room.redaction"
	typeMember     = "m.room.member"
	typeEncryption = "m.room.encryption"
	typeCreate     = "m.room.create"
	typeTombstone  = "m.room.tombstone"
	typeBridge     = "m.bridge"
	typeHalfShot   = "uk.half-shot.bridge"
	typeHistory    = "m.room.history_visibility"
	typeJoins      = "m.room.join_rules"
	typeService    = "io.element.functional_members"
	typeStatus     = "com.beeper.message_send_status"
	typeReceipt    = "m.receipt"
)

// sentMark is a field of sent messages that distinguishes them from those that somebody
// writes with another client of the account.
const sentMark = "dev.everthread.key"

// event is one event of a room. Fields of the wrong type count as absent.
type event struct {
	Type, ID, Sender string
	TS               int64
	StateKey         *string
	Redacts          string
	Content          json.RawMessage
	Txn              string          // transaction id, in events sent by this device
	Prev             json.RawMessage // the content that this state replaced

	raw    json.RawMessage
	old    bool // from before the account joined the room: not passed on
	opened bool // it was decrypted
}

func readEvent(raw []byte) (e event, ok bool) {
	var f map[string]json.RawMessage
	if json.Unmarshal(raw, &f) != nil {
		return event{raw: raw}, false
	}
	e = event{Type: text(f["type"]), ID: text(f["event_id"]), Sender: text(f["sender"]), Redacts: text(f["redacts"]),
		Content: f["content"], raw: raw}
	_ = json.Unmarshal(f["origin_server_ts"], &e.TS)
	var key string
	if json.Unmarshal(f["state_key"], &key) == nil && len(f["state_key"]) > 0 &&
		!bytes.Equal(f["state_key"], []byte("null")) {
		e.StateKey = &key
	}
	var u map[string]json.RawMessage
	_ = json.Unmarshal(f["unsigned"], &u)
	e.Txn, e.Prev = text(u["transaction_id"]), u["prev_content"]
	if len(e.Prev) == 0 {
		e.Prev = f["prev_content"]
	}
	if e.Type == typeRedaction && e.Redacts == "" {
		e.Redacts = text(e.fields()["redacts"])
	}
	if e.Type == typeSticker && e.StateKey == nil {
		e = e.asMessage()
	}
	return e, e.Type != ""
}

// asMessage returns a sticker as a message, the newer form.
func (e event) asMessage() event {
	f := e.fields()
	if f == nil {
		return e
	}
	f["msgtype"] = json.RawMessage(`"m.sticker"`)
	if raw, err := json.Marshal(f); err == nil {
		e.Type, e.Content = typeMessage, raw
	}
	return e
}

func (e event) fields() map[string]json.RawMessage { return object(e.Content) }

func (e event) is(kind string) bool { return e.StateKey != nil && e.Type == kind }

// time returns the event's time by the server's clock; zero: unknown.
func (e event) time() time.Time {
	if e.TS <= 0 || e.TS > 1<<52 {
		return time.Time{}
	}
	return time.UnixMilli(e.TS).UTC()
}

func object(raw json.RawMessage) map[string]json.RawMessage {
	var f map[string]json.RawMessage
	_ = json.Unmarshal(raw, &f)
	return f
}

// text returns raw as a string without NUL, which PostgreSQL cannot store, or "" if it is not a string.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

func number(raw json.RawMessage) int64 {
	var n float64
	if json.Unmarshal(raw, &n) != nil || !(n > 0 && n < 1<<53) {
		return 0
	}
	return int64(n)
}

type relation struct {
	kind   string // m.replace, m.thread, m.annotation, m.reference or ""
	target string
	reply  string // the event that it replies to
	key    string
}

func (e event) relation() relation {
	f := object(e.fields()["m.relates_to"])
	r := relation{kind: text(f["rel_type"]), target: text(f["event_id"]), key: text(f["key"])}
	reply := text(object(f["m.in_reply_to"])["event_id"])
	fallback := bytes.Equal(bytes.TrimSpace(f["is_falling_back"]), []byte("true"))
	if r.kind != "m.thread" || !fallback {
		r.reply = reply
	}
	return r
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write([]byte(p))
		_, _ = h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// content returns the text of a message, with placeholders for other content, and its
// files. Both are empty if there is nothing to show.
func content(f map[string]json.RawMessage, reply bool, name string) (string, []core.Attachment) {
	body := text(f["body"])
	if reply {
		body = withoutFallback(body)
	}
	msgtype := text(f["msgtype"])
	kind := map[string]string{"m.image": "photo", "m.video": "video", "m.audio": "audio", "m.file": "document",
		"m.sticker": "sticker"}[msgtype]
	switch {
	case msgtype == "m.emote":
		return strings.TrimSpace("* " + cmp.Or(name, "I") + " " + body), nil
	case msgtype == "m.location":
		return location(text(f["geo_uri"]), body), nil
	case kind == "audio" && (f["org.matrix.msc3245.voice"] != nil || f["m.voice"] != nil):
		return file(f, "voice", body)
	case kind != "":
		return file(f, kind, body)
	}
	return body, nil
}

// file returns the placeholder and file of a message. If there is also a file name, the body is a caption.
func file(f map[string]json.RawMessage, kind, body string) (string, []core.Attachment) {
	info := object(f["info"])
	a := core.Attachment{Kind: kind, Ref: reference(f), MIME: text(info["mimetype"]), Size: number(info["size"])}
	caption := ""
	if a.Name = text(f["filename"]); a.Name == "" {
		a.Name = body
	} else if a.Name != body {
		caption = body
	}
	label := kind
	switch kind {
	case "voice", "audio", "video":
		a.Duration = time.Duration(min(number(info["duration"]), 1<<40)) * time.Millisecond
		s := int64(a.Duration / time.Second)
		label = fmt.Sprintf("%s %d:%02d", kind, s/60, s%60)
	case "document":
		label = strings.TrimSpace("document " + a.Name)
	}
	if caption != "" {
		label += ": " + caption
	}
	if a.Ref == "" {
		return "[" + label + "]", nil
	}
	return "[" + label + "]", []core.Attachment{a}
}

// reference returns the reference for Fetch: an mxc address, or the JSON of an encrypted file with its keys.
func reference(f map[string]json.RawMessage) string {
	if u := text(f["url"]); strings.HasPrefix(u, "mxc://") {
		return u
	}
	if strings.HasPrefix(text(object(f["file"])["url"]), "mxc://") {
		compact, _ := json.Marshal(f["file"])
		return string(compact)
	}
	return ""
}

func location(geo, body string) string {
	place, _, _ := strings.Cut(strings.TrimPrefix(geo, "geo:"), ";")
	lat, rest, ok := strings.Cut(place, ",")
	long, _, _ := strings.Cut(rest, ",")
	x, err1 := strconv.ParseFloat(lat, 64)
	y, err2 := strconv.ParseFloat(long, 64)
	if !ok || err1 != nil || err2 != nil {
		return strings.TrimSpace("[location " + body + "]")
	}
	return fmt.Sprintf("[location %.5f,%.5f]", x, y)
}

// withoutFallback removes the quoted lines that old clients put before a reply.
func withoutFallback(body string) string {
	if !strings.HasPrefix(body, "> <@") && !strings.HasPrefix(body, "> * <@") {
		return body
	}
	rest := body
	for strings.HasPrefix(rest, ">") {
		_, after, more := strings.Cut(rest, "\n")
		if !more {
			return body
		}
		rest = after
	}
	return strings.TrimPrefix(rest, "\n")
}

// fallback returns the text that such lines quote.
func fallback(body string) string {
	cut := withoutFallback(body)
	if cut == body {
		return ""
	}
	var lines []string
	for i, line := range strings.Split(strings.TrimSuffix(body, cut), "\n") {
		line = strings.TrimPrefix(strings.TrimPrefix(line, ">"), " ")
		if i == 0 {
			if _, words, ok := strings.Cut(line, "> "); ok {
				line = words
			}
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

package matrix

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
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
	typeName       = "m.room.name"
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
	e = e.asMessage()
	return e, e.Type != ""
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

// fallback returns the text that the lines before a reply quote; see withoutFallback.
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

package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// scene is the context of an event: the room at its time and earlier events.
type scene struct {
	home    household
	room    room
	known   func(id string) (seen, bool) // looks up an earlier event of the room; may be nil
	now     time.Time
	renewal renewal
}

type seen struct {
	Room     string
	Sender   string
	Mine     bool   // sent by the gateway
	Text     string // "" if unknown
	Target   string // the event that an edit or reaction refers to
	Reaction bool   // a reaction, not an edit
}

func (s scene) look(id string) (seen, bool) {
	if s.known == nil || id == "" {
		return seen{}, false
	}
	return s.known(id)
}

// normalise turns an event of a room into an Inbound. ok is false for events to ignore,
// such as the account's own, other state, and messages outside direct chats.
func normalise(s scene, e event) (in core.Inbound, ok bool) {
	in, ok = judge(s, e)
	if ok {
		in.Text = valid(in.Text)
		in.Name = valid(in.Name)
	}
	return in, ok
}

func judge(s scene, e event) (core.Inbound, bool) {
	in := core.Inbound{Kind: core.InUnsupported, EventID: e.ID, SentAt: e.time(), ReceivedAt: s.now, Raw: e.raw}
	if e.ID == "" {
		return in, false
	}
	who := s.room.role(s.home, e.Sender)
	switch s.room.kind(s.home) {
	case kindGroup:
		return group(s, in, e, who)
	case kindBridged:
		p, _ := s.room.portal()
		if _, remote := s.home.ghost(e.Sender); p.roomType == "dm" || sameID(remote, p.receiver) {
			return in, false // a note to self, or what the account's own phone says
		}
		return group(s, in, e, who)
	case kindOpen:
		return silent(s, in, core.SilentOpen), e.Type == typeMessage && who == roleOther
	}
	address, direct := s.room.person(s.home)
	if !direct {
		return in, false
	}
	in.Address = address
	switch {
	case e.is(typeMember):
		return membership(s, in, e)
	case e.is(typeBridge):
		return moved(s, in, e)
	case e.Type == typeStatus && who == roleBot:
		return status(s, in, e)
	case e.Type == typeMessage && who == roleBot:
		return notice(in, e)
	case e.Type == typeRedaction:
		return redaction(s, in, e, who)
	case e.Type == typeMessage && (who == roleSelf || who == roleOwn):
		if !s.room.believes(e) {
			return in, false
		}
		return byHand(s, in, e, who)
	case who != rolePerson:
		return in, false
	case !s.room.believes(e):
		return silent(s, in, core.SilentPlain), true
	case e.Type == typeMessage:
		return message(s, in, e), true
	case e.Type == typeReaction:
		return reaction(s, in, e)
	case e.Type == typeEncrypted:
		in.EventID = "encrypted:" + e.ID // the plain id is for the decrypted event
		in.Name = s.room.members[e.Sender].name
		return in, true
	}
	return in, false
}

func message(s scene, in core.Inbound, e event) core.Inbound {
	in.Name = s.room.members[e.Sender].name
	f := e.fields()
	rel := e.relation()
	if rel.kind == "m.replace" {
		return edit(s, in, e, rel)
	}
	what := said(f, rel.reply != "", in.Name)
	if what.Text == "" || text(f["msgtype"]) == "m.notice" {
		return in
	}
	what.Fill(&in)
	in.Kind, in.NativeID, in.ForwardedFrom = core.InMessage, e.ID, forwarded(f)
	if rel.kind == "m.thread" && in.Address.Channel == Name {
		in.Address.Place = rel.target
	}
	in.EventID = messageID(in.Address, e, in.Text, what.Files)
	in.Quote = quote(s, rel.reply, text(f["body"]))
	return in
}

// messageID returns the event's own id, or for bridged messages one that stays the same
// if the bridge creates the room again.
func messageID(to core.Address, e event, body string, files []core.Attachment) string {
	if to.Channel == Name {
		return e.ID
	}
	parts := []string{body}
	for _, a := range files {
		parts = append(parts, a.Kind, a.Name, a.MIME, decimal(a.Size), a.Duration.String())
	}
	return strings.Join([]string{to.Channel, e.Sender, decimal(e.TS), digest(parts...)}, ":")
}

// edit fills in an edit of the sender's own message.
func edit(s scene, in core.Inbound, e event, rel relation) core.Inbound {
	target := rel.target
	was, known := s.look(target)
	if known && was.Target != "" && !was.Reaction { // an edit of an edit
		target = was.Target
		was, known = s.look(target)
	}
	f := object(e.fields()["m.new_content"])
	what := said(f, false, in.Name)
	if target == "" || what.Text == "" || known && was.Sender != e.Sender || text(f["msgtype"]) == "m.notice" {
		return in
	}
	in.Kind, in.Target, in.NativeID = core.InEdit, target, target
	what.Fill(&in)
	if in.Address.Channel == Name {
		in.Edited = target
	} else {
		in.EventID = messageID(in.Address, e, in.Text, what.Files) + ":edit"
	}
	return in
}

// byHand fills in a message that somebody wrote with another client of the account, or
// with the phone of the bridged account.
func byHand(s scene, in core.Inbound, e event, who role) (core.Inbound, bool) {
	f := e.fields()
	was, known := s.look(e.ID)
	if who == roleSelf && (e.Txn != "" || text(f[sentMark]) != "" || known && was.Mine) {
		return in, false
	}
	rel := e.relation()
	what := said(f, rel.reply != "", "")
	if what.Text == "" || rel.kind == "m.replace" {
		return in, false
	}
	what.Fill(&in)
	in.Kind, in.NativeID = core.InByHand, e.ID
	in.EventID = messageID(in.Address, e, in.Text, what.Files)
	return in, true
}

func reaction(s scene, in core.Inbound, e event) (core.Inbound, bool) {
	rel := e.relation()
	if rel.target == "" || rel.key == "" {
		return in, false
	}
	in.Kind, in.Target, in.Reaction = core.InReaction, rel.target, valid(rel.key)
	in.Name = s.room.members[e.Sender].name
	return in, true
}

// redaction fills in a redaction of a message or reaction by its sender. In a portal the
// bridge's bot redacts for them, for example disappearing messages.
func redaction(s scene, in core.Inbound, e event, who role) (core.Inbound, bool) {
	bridged := in.Address.Channel != Name && who == roleBot
	if e.Redacts == "" || who != rolePerson && !bridged {
		return in, false
	}
	was, known := s.look(e.Redacts)
	if known && was.Sender != e.Sender && !bridged {
		return in, false
	}
	in.Kind, in.Target = core.InRedaction, e.Redacts
	switch {
	case known && was.Reaction:
		in.Kind, in.Target = core.InReaction, was.Target
		return in, was.Target != "" // the server forgets the target of a redacted reaction
	case known && was.Mine: // the gateway's own, redacted with the phone
		return in, false
	}
	return in, true
}

// quote returns the quote of the event that a message replies to. The text of an unknown
// event is that of the fallback, which old clients send.
func quote(s scene, id, body string) *core.Quote {
	if id == "" {
		return nil
	}
	q := &core.Quote{NativeID: id, Text: valid(fallback(body))}
	if was, ok := s.look(id); ok {
		q.Mine = was.Mine
		if was.Target != "" && !was.Reaction {
			q.NativeID = was.Target
		}
		if was.Text != "" {
			q.Text = was.Text
		}
	}
	return q
}

// believes reports whether words are their sender's: in an encrypted room the homeserver could put others in clear.
func (r room) believes(e event) bool { return !r.encrypted || e.opened || e.Type != typeMessage }

// silent fills in that a room gets no answers, which it is told once.
func silent(s scene, in core.Inbound, why core.Silence) core.Inbound {
	in.Address = core.Address{Channel: Name, Account: s.home.self, External: s.room.id}
	in.Kind, in.Silent, in.EventID = core.InGroup, why, string(why)+":"+s.room.id
	return in
}

// membership fills in that the person came back.
func membership(s scene, in core.Inbound, e event) (core.Inbound, bool) {
	now, before := text(e.fields()["membership"]), text(object(e.Prev)["membership"])
	if in.Address.Channel != Name || *e.StateKey != in.Address.External && *e.StateKey != s.home.self {
		return in, false
	}
	in.Name = s.room.members[in.Address.External].name
	if now == "join" && before != "join" {
		in.Kind = core.InUnblocked
		return in, true
	}
	return in, false
}

// gone returns that the person of the room, as it was before e, left it or removed the account.
func gone(s scene, e event) (core.Inbound, bool) {
	in := core.Inbound{Kind: core.InBlocked, EventID: e.ID, SentAt: e.time(), ReceivedAt: s.now, Raw: e.raw}
	now := text(e.fields()["membership"])
	address, direct := s.room.person(s.home)
	if e.ID == "" || !e.is(typeMember) || now != "leave" && now != "ban" || !direct || address.Channel != Name {
		return in, false
	}
	in.Address, in.Name = address, s.room.members[address.External].name
	who := *e.StateKey
	return in, who == address.External || who == s.home.self && e.Sender != s.home.self
}

// moved fills in that the chat of a portal continues under another id.
func moved(s scene, in core.Inbound, e event) (core.Inbound, bool) {
	was, ok := readPortal(s.home, e.Sender, e.Prev)
	is, still := readPortal(s.home, e.Sender, e.Content)
	if !ok || !still || was.remote == is.remote || was.kind() != kindPortal || is.kind() != kindPortal {
		return in, false
	}
	in.Kind, in.Target = core.InMoved, is.remote
	in.Address.Channel, in.Address.External = is.bridge.Network, was.remote
	return in, true
}

func valid(s string) string {
	return string(bytes.ToValidUTF8([]byte(strings.ReplaceAll(s, "\x00", "\uFFFD")), []byte("\uFFFD")))
}

// status fills in a bridge's status event about a sent message.
func status(s scene, in core.Inbound, e event) (core.Inbound, bool) {
	f := e.fields()
	states := map[string]core.DeliveryState{"SUCCESS": core.DeliveryDelivered, "FAIL_RETRIABLE": core.DeliveryPending,
		"FAIL_PERMANENT": core.DeliveryFailed}
	state, ok := states[text(f["status"])]
	rel := e.relation()
	if !ok || rel.target == "" {
		return in, false
	}
	in.Kind, in.Target = core.InReceipt, rel.target
	in.Status = &core.Status{State: state, Key: s.renewal.key(text(f["relates_to_txn_id"]))}
	if state != core.DeliveryDelivered {
		in.Status.Error = strings.TrimSpace(text(f["reason"]) + " " + text(f["message"]))
	}
	return in, true
}

// notice fills in a notice of a bridge's bot that a sent message failed. Other notices are ignored.
func notice(in core.Inbound, e event) (core.Inbound, bool) {
	f := e.fields()
	body := text(f["body"])
	rel := e.relation()
	if rel.reply == "" || rel.kind == "m.replace" || !strings.HasPrefix(body, "\u26a0") ||
		!strings.Contains(body, "bridged") {
		return in, false
	}
	in.Kind, in.Target = core.InReceipt, rel.reply
	in.Status = &core.Status{State: core.DeliveryFailed, Error: valid(strings.TrimLeft(body, "\u26a0\ufe0f "))}
	return in, true
}

// receipts turns the read marks of a room into Inbounds: the person's, and those of a bridge's bot, which mean that a
// message was handed over. latest returns the last sent message that is not after an event, or "".
func receipts(s scene, raw json.RawMessage, latest func(event string) string) []core.Inbound {
	address, direct := s.room.person(s.home)
	if !direct {
		return nil
	}
	var out []core.Inbound
	for id, kinds := range object(raw) {
		for user, mark := range object(object(kinds)["m.read"]) {
			in := core.Inbound{
				Address: address, Kind: core.InReceipt, Target: latest(id),
				Status: &core.Status{State: core.DeliveryRead, Through: true}, EventID: "read:" + id + ":" + user,
				SentAt: event{TS: number(object(mark)["ts"])}.time(), ReceivedAt: s.now,
			}
			switch s.room.role(s.home, user) {
			case roleBot:
				in.Status = &core.Status{State: core.DeliveryDelivered}
			case rolePerson:
			default:
				continue
			}
			if in.Target != "" {
				in.Raw, _ = json.Marshal(map[string]string{"event_id": id, "user_id": user})
				out = append(out, in)
			}
		}
	}
	slices.SortFunc(out, func(a, b core.Inbound) int { return strings.Compare(a.EventID, b.EventID) })
	return out
}

type loginState struct {
	State   string // CONNECTED, BAD_CREDENTIALS, …
	Message string
	At      time.Time
}

// readState parses the login state in a notice of a bridge's bot.
func readState(e event) (loginState, bool) {
	f := object(e.fields()["fi.mau.bridge_state"])
	st := loginState{State: text(f["state_event"]), Message: cmp.Or(text(f["message"]), text(f["error"])), At: e.time()}
	return st, st.State != ""
}

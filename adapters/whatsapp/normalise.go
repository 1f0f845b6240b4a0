package whatsapp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
)

// reading is the content of a webhook's body.
type reading struct {
	in        []core.Inbound
	settled   []string       // wamids of sent messages that were delivered or failed
	delivered bool           // one of them was delivered
	errs      []*graph.Error // errors of messages or of the account
	fields    []string       // fields of changes that are not messages
}

type reader struct {
	account string
	now     time.Time
	reading
}

// read parses the body of a webhook into the events of the number account, in order. It accepts any bytes; unknown
// events are core.InUnsupported. It leaves out other numbers of the same app, and the owner's own messages from another
// client (Coexistence). Event ids are the same for each repeat: the wamid, for statuses with the status.
func read(account string, body []byte, now time.Time) reading {
	r := reader{account: account, now: now}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil || len(e.Entry) == 0 {
		r.keep(body)
		return r.reading
	}
	for _, entry := range e.Entry {
		for _, change := range entry.Changes {
			r.change(change.Field, change.Value)
		}
	}
	return r.reading
}

func (r *reader) change(field string, raw json.RawMessage) {
	switch field {
	case "messages":
		r.value(raw)
	case "smb_message_echoes", "history", "smb_app_state_sync":
		// These are the owner's own chats, which the gateway does not read.
	default:
		r.fields = append(r.fields, clean(field))
		r.keep(raw)
	}
}

func (r *reader) value(raw json.RawMessage) {
	var v value
	if err := json.Unmarshal(raw, &v); err != nil {
		r.keep(raw)
		return
	}
	if v.Metadata.PhoneNumberID != r.account {
		return
	}
	for _, m := range v.Messages {
		r.message(&v, m)
	}
	for _, s := range v.Statuses {
		r.status(s)
	}
	if len(v.Errors) > 0 {
		r.keep(raw)
		r.note(v.Errors)
	}
}

func (r *reader) note(errs []graph.Described) {
	for _, e := range errs {
		r.errs = append(r.errs, &graph.Error{Code: e.Code, Subcode: e.Subcode, Text: clean(e.Text())})
	}
}

// inbound returns an event of which only the bytes are known.
func (r *reader) inbound(raw []byte) core.Inbound { return graph.Unknown(Name, r.account, raw, r.now) }

func (r *reader) keep(raw []byte) { r.in = append(r.in, r.inbound(raw)) }

func (r *reader) message(v *value, raw json.RawMessage) {
	in := r.inbound(raw)
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		m = message{}
		_ = json.Unmarshal(raw, &m.origin)
	}
	if m.ID == "" {
		r.in = append(r.in, in)
		return
	}
	in.EventID, in.NativeID = clean(m.ID), clean(m.ID)
	in.SentAt = m.Timestamp.Time
	r.sender(&in, v, &m)
	switch {
	case in.Address.External == "":
	case m.GroupID != "":
		group(&in, &m)
	case m.System != nil:
		moved(&in, &m)
	default:
		said(&in, v, &m)
	}
	r.in = append(r.in, in)
}

// sender fills in the sender, identified by Meta's id, or else by the number.
func (r *reader) sender(in *core.Inbound, v *value, m *message) {
	user, phone := m.FromUserID, m.From
	for _, c := range v.Contacts {
		switch {
		case user != "" && c.UserID == user, phone != "" && c.WaID == phone, user == "" && phone == "" &&
			len(v.Contacts) == 1:
			user, phone = cmp.Or(user, c.UserID), cmp.Or(phone, c.WaID)
			in.Name = clean(cmp.Or(c.Profile.Name, c.Profile.Username))
		}
	}
	identify(in, user, phone)
}

// identify fills in the address and its aliases.
func identify(in *core.Inbound, user, phone string) {
	user, phone = clean(user), number(phone)
	if strings.HasPrefix(user, "+") || strings.HasPrefix(user, groupPrefix) {
		user = "" // not one of Meta's ids, and must not be taken for a number or group
	}
	in.Address.External = cmp.Or(user, phone)
	in.Aliases = nil
	if user != "" && phone != "" {
		in.Aliases = []string{phone}
	}
}

// number returns a phone number as "+" and digits, or "" if it is invalid.
func number(phone string) string {
	phone = strings.TrimPrefix(phone, "+")
	if !digits.MatchString(phone) {
		return ""
	}
	return "+" + phone
}

// group turns a message of a group into one event for the whole group, which is told
// once that only direct chats are answered. /help repeats that.
func group(in *core.Inbound, m *message) {
	in.Kind = core.InGroup
	in.Address.External, in.Aliases = groupPrefix+clean(m.GroupID), nil
	if m.Text != nil {
		if word, _, _ := strings.Cut(m.Text.Body, " "); word == "/help" {
			in.Text = word
			return
		}
	}
	in.EventID = in.Address.External
}

// moved parses that a person has a new number or id.
func moved(in *core.Inbound, m *message) {
	phone, user := number(m.System.WaID), clean(m.System.UserID)
	switch m.System.Type {
	case "user_changed_number":
		byID := in.Address.External[0] != '+'
		if phone == "" || byID && user == "" {
			user = cmp.Or(user, in.Address.External)
		}
	case "user_changed_user_id":
		phone = cmp.Or(phone, number(m.From))
		if in.Address.External == user {
			in.Address.External = number(m.From)
		}
	default:
		return
	}
	in.Target, in.Aliases = cmp.Or(user, phone), nil
	if user != "" && phone != "" {
		in.Aliases = []string{phone}
	}
	if in.Target != "" && in.Address.External != "" && (in.Target != in.Address.External || len(in.Aliases) > 0) {
		in.Kind = core.InMoved
	}
}

// said parses a message in a direct chat.
func said(in *core.Inbound, v *value, m *message) {
	switch {
	case m.Reaction != nil:
		in.Kind, in.Target, in.Reaction = core.InReaction, clean(m.Reaction.MessageID), clean(m.Reaction.Emoji)
		return
	case m.Revoke != nil:
		in.Kind, in.Target = core.InRedaction, clean(m.Revoke.OriginalMessageID)
		return
	case m.Edit != nil:
		edited(in, m)
		return
	case m.Type == "request_welcome": // the chat was opened without a message
		return
	case unavailable(m):
		in.EventID += ":unavailable" // it is often delivered later under the same id
		return
	}
	if content(m).Fill(in); in.Text == "" {
		return
	}
	in.Kind = core.InMessage
	if payload(m) == waitingPayload {
		in.Kind = core.InAsked
	}
	if c := m.Context; c != nil {
		quote(in, v, m)
		if c.Forwarded || c.FrequentlyForwarded {
			in.ForwardedFrom = "unknown"
		}
	}
}

// quote fills in the message that m replies to. Its text is in the store.
func quote(in *core.Inbound, v *value, m *message) {
	if m.Context.ID == "" {
		return
	}
	in.Quote = &core.Quote{NativeID: clean(m.Context.ID)}
	ours := onlyDigits(v.Metadata.DisplayPhoneNumber)
	in.Quote.Mine = ours != "" && onlyDigits(m.Context.From) == ours
}

func onlyDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// edited parses the new text of an earlier message.
func edited(in *core.Inbound, m *message) {
	var text message
	if json.Unmarshal(m.Edit.Message, &text) != nil {
		return
	}
	content(&text).Fill(in)
	in.Attachments = nil
	if in.Text == "" || m.Edit.OriginalMessageID == "" {
		return
	}
	in.Kind, in.Target = core.InEdit, clean(m.Edit.OriginalMessageID)
	in.Edited = in.Target
}

func (r *reader) status(raw json.RawMessage) {
	in := r.inbound(raw)
	var s status
	if err := json.Unmarshal(raw, &s); err != nil || s.ID == "" {
		r.in = append(r.in, in)
		return
	}
	identify(&in, s.RecipientUserID, s.RecipientID)
	if s.RecipientType == "group" {
		in.Address.External, in.Aliases = groupPrefix+clean(s.RecipientID), nil
	}
	in.EventID = clean(s.ID + ":" + s.Status)
	in.SentAt = s.Timestamp.Time
	if what := outcome(s); what != nil {
		in.Kind, in.Target, in.Status = core.InReceipt, clean(s.ID), what
		if what.State != core.DeliverySent {
			r.settled = append(r.settled, in.Target)
			r.delivered = r.delivered || s.Status != "failed"
		}
	}
	r.note(s.Errors)
	r.in = append(r.in, in)
}

// outcome returns the state of the delivery according to s, or nil.
func outcome(s status) *core.Status {
	out := &core.Status{Key: clean(s.Callback)}
	out.State = map[string]core.DeliveryState{"sent": core.DeliverySent, "delivered": core.DeliveryDelivered,
		"read": core.DeliveryRead, "played": core.DeliveryRead}[s.Status]
	switch {
	case s.Status == "failed":
		out.State, out.Error = fate(s.Errors)
	case out.State == "":
		return nil
	}
	return out
}

// fate returns the state of a failed message with the reason. A failure that the owner
// can fix parks the delivery, so that it is not lost.
func fate(errs []graph.Described) (core.DeliveryState, string) {
	if len(errs) == 0 {
		return core.DeliveryFailed, "whatsapp did not deliver it and does not say why"
	}
	e := &graph.Error{Code: errs[0].Code, Subcode: errs[0].Subcode, Text: clean(errs[0].Text())}
	words := strings.TrimPrefix(explain(e).Error(), "send to ")
	switch classOf(e) {
	case away, trouble:
		return core.DeliveryParked, words
	case unsure, busy, pair, later:
		return core.DeliveryPending, words
	}
	return core.DeliveryFailed, words
}

func clean(s string) string { return graph.Clean(s) }

// unavailable reports whether the service cannot deliver m yet.
func unavailable(m *message) bool {
	return m.Type == "unsupported" && slices.ContainsFunc(m.Errors,
		func(e graph.Described) bool { return e.Code == 131060 })
}

// payload returns the payload of the pressed button, or "".
func payload(m *message) string {
	switch {
	case m.Button != nil:
		return m.Button.Payload
	case m.Interactive != nil && m.Interactive.ButtonReply != nil:
		return m.Interactive.ButtonReply.ID
	}
	return ""
}

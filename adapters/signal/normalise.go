package signal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// event is what the daemon reports.
type event struct {
	Envelope  envelope `json:"envelope"`
	Exception *struct {
		Type string `json:"type"`
	} `json:"exception"`
}

type envelope struct {
	SourceNumber string   `json:"sourceNumber"`
	SourceUUID   string   `json:"sourceUuid"`
	SourceName   string   `json:"sourceName"`
	Timestamp    int64    `json:"timestamp"`
	Data         *data    `json:"dataMessage"`
	Edit         *edit    `json:"editMessage"`
	Receipt      *receipt `json:"receiptMessage"`
	Sync         *struct {
		Sent *copied `json:"sentMessage"`
	} `json:"syncMessage"`
}

// copied is a message that another device of the account sent.
type copied struct {
	DestinationNumber string `json:"destinationNumber"`
	DestinationUUID   string `json:"destinationUuid"`
	Edit              *edit  `json:"editMessage"`
	data
}

type edit struct {
	Target int64 `json:"targetSentTimestamp"`
	Data   data  `json:"dataMessage"`
}

type receipt struct {
	IsDelivery bool    `json:"isDelivery"`
	IsRead     bool    `json:"isRead"`
	IsViewed   bool    `json:"isViewed"`
	Timestamps []int64 `json:"timestamps"`
}

// data is the content of a message.
type data struct {
	Timestamp    int64        `json:"timestamp"`
	Message      string       `json:"message"`
	NewTimer     bool         `json:"isExpirationUpdate"`
	Expires      int64        `json:"expiresInSeconds"`
	ViewOnce     bool         `json:"viewOnce"`
	Group        *groupInfo   `json:"groupInfo"`
	Mentions     []mention    `json:"mentions"`
	Styles       []style      `json:"textStyles"`
	Attachments  []attachment `json:"attachments"`
	Contacts     []card       `json:"contacts"`
	Sticker      *sticker     `json:"sticker"`
	Poll         *poll        `json:"pollCreate"`
	Payment      *payment     `json:"payment"`
	Quote        *quote       `json:"quote"`
	Reaction     *reaction    `json:"reaction"`
	RemoteDelete *struct {
		Timestamp int64 `json:"timestamp"`
	} `json:"remoteDelete"`
}

type mention struct {
	Number string `json:"number"`
	UUID   string `json:"uuid"`
	Start  int    `json:"start"`
	Length int    `json:"length"`
}

type style struct {
	Style  string `json:"style"`
	Start  int    `json:"start"`
	Length int    `json:"length"`
}

type quote struct {
	ID           int64        `json:"id"`
	AuthorNumber string       `json:"authorNumber"`
	AuthorUUID   string       `json:"authorUuid"`
	Text         string       `json:"text"`
	Mentions     []mention    `json:"mentions"`
	Styles       []style      `json:"textStyles"`
	Attachments  []attachment `json:"attachments"`
}

type reaction struct {
	Emoji    string `json:"emoji"`
	Target   int64  `json:"targetSentTimestamp"`
	IsRemove bool   `json:"isRemove"`
}

// reader normalises one event. The functions return what the channel remembers.
type reader struct {
	account string // as configured
	self    string // ACI of the account; "": unknown
	now     time.Time
	name    func(person string) string // "": unknown
	sent    func(timestamp int64) bool // we sent it
	first   func(m message) int64      // the original of a later version of a message
	ignored string                     // why there is nothing to pass on
}

// normalise turns one event into Inbounds: none for what has no use here, several for a receipt of several messages. It
// also returns the decoded event, or nil. It accepts any bytes; what cannot be decoded is core.InUnsupported. The event
// ids of a repeat are the same.
func (r *reader) normalise(raw []byte) ([]core.Inbound, *event) {
	in := core.Inbound{Address: core.Address{Channel: Name, Account: r.account}, Kind: core.InUnsupported,
		ReceivedAt: r.now, Raw: raw}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		sum := sha256.Sum256(raw)
		in.EventID = "raw:" + hex.EncodeToString(sum[:8])
		return []core.Inbound{in}, nil
	}
	from := &e.Envelope
	in.Address.External = from.person()
	in.Name = r.named(from)
	if from.SourceNumber != "" && from.SourceNumber != in.Address.External {
		in.Aliases = []string{from.SourceNumber}
	}
	all := r.envelope(in, from, raw)
	for i := range all {
		withoutNUL(&all[i])
	}
	return all, &e
}

// person returns the id of the sender.
func (e *envelope) person() string { return strings.ToLower(cmp.Or(e.SourceUUID, e.SourceNumber)) }

// timer returns the timer of the chat with a person that a message in it shows, 0 if messages there stay. ok is false for
// other events.
func (e *event) timer() (person string, seconds int64, ok bool) {
	d, person := e.Envelope.Data, e.Envelope.person()
	if d == nil && e.Envelope.Sync != nil && e.Envelope.Sync.Sent != nil {
		sent := e.Envelope.Sync.Sent
		d, person = &sent.data, strings.ToLower(cmp.Or(sent.DestinationUUID, sent.DestinationNumber))
	}
	if d == nil || !d.NewTimer && d.Message == "" && len(d.Attachments) == 0 && d.Sticker == nil {
		return "", 0, false
	}
	if d.inGroup() {
		person = groupPrefix + d.Group.ID
	}
	return person, d.Expires, true
}

func (d *data) inGroup() bool { return d.Group != nil && d.Group.ID != "" }

// named returns how the sender of an event is shown.
func (r *reader) named(from *envelope) string {
	if from.Data == nil && from.Edit == nil {
		return from.SourceName // of no message
	}
	return cmp.Or(strings.TrimSpace(from.SourceName), r.name(from.SourceUUID), from.SourceNumber)
}

// withoutNUL replaces NUL, which JSON can carry and PostgreSQL cannot store.
func withoutNUL(in *core.Inbound) {
	fields := []*string{&in.Text, &in.Name, &in.Reaction, &in.Address.External, &in.EventID}
	if in.Quote != nil {
		fields = append(fields, &in.Quote.Text, &in.Quote.From)
	}
	for i := range in.Attachments {
		a := &in.Attachments[i]
		fields = append(fields, &a.Ref, &a.Name, &a.MIME)
	}
	for i := range in.Aliases {
		fields = append(fields, &in.Aliases[i])
	}
	for _, f := range fields {
		*f = strings.ReplaceAll(*f, "\x00", "\uFFFD")
	}
}

// envelope returns what an envelope says. Messages of another device of the account count as the owner's if they are to
// the account itself, which apps call Note to Self, and else as ours.
func (r *reader) envelope(in core.Inbound, from *envelope, raw []byte) []core.Inbound {
	switch {
	case in.Address.External == "":
		return r.ignore("it has no sender")
	case from.Data != nil:
		return r.message(in, from.Data, raw)
	case from.Edit != nil:
		return r.edited(in, from.Edit, raw)
	case from.Receipt != nil:
		return r.receipts(in, from)
	case from.Sync == nil:
		return r.ignore("it is a call, a story, a typing notice or a reset of a session")
	}
	sent := from.Sync.Sent
	switch {
	case sent == nil:
		return r.ignore("another device of the account read or changed something")
	case sent.DestinationUUID != from.SourceUUID || sent.DestinationUUID == "":
		return r.byHand(in, sent, raw)
	case sent.Edit != nil:
		return r.edited(in, sent.Edit, raw)
	}
	return r.message(in, &sent.data, raw)
}

// byHand returns what another device of the account wrote to a person.
func (r *reader) byHand(in core.Inbound, sent *copied, raw []byte) []core.Inbound {
	in.Address.External = strings.ToLower(cmp.Or(sent.DestinationUUID, sent.DestinationNumber))
	in.Name, in.Aliases = "", nil
	if in.Address.External == "" || sent.Edit != nil || sent.inGroup() {
		return r.ignore("another device of the account wrote to a group, or edited something")
	}
	all := r.message(in, &sent.data, raw)
	if len(all) == 0 || all[0].Kind != core.InMessage {
		return r.ignore(cmp.Or(r.ignored, "another device of the account reacted to something, or deleted it"))
	}
	in = all[0]
	in.Kind, in.EventID = core.InByHand, "hand:"+in.EventID
	return []core.Inbound{in}
}

func (r *reader) ignore(why string) []core.Inbound {
	r.ignored = why
	return nil
}

// message returns what a new message says.
func (r *reader) message(in core.Inbound, d *data, raw []byte) []core.Inbound {
	if d.inGroup() {
		r.group(&in, d)
	}
	who := writer(&in)
	r.identify(&in, d)
	switch {
	case r.sent(d.Timestamp):
		return r.ignore("we sent it")
	case d.RemoteDelete != nil:
		in.Kind = core.InRedaction
		in.Target = r.target(&in, who, d.RemoteDelete.Timestamp)
		in.NativeID = ""
		return []core.Inbound{in}
	case d.Reaction != nil:
		in.Kind = core.InReaction
		in.Target = r.target(&in, who, d.Reaction.Target)
		in.NativeID = ""
		if !d.Reaction.IsRemove {
			in.Reaction = d.Reaction.Emoji
		}
		return []core.Inbound{in}
	case d.NewTimer:
		return r.ignore("the timer of disappearing messages changed")
	}
	said := r.content(in.Address.External, d, raw)
	if in.Group != nil {
		said.Text = r.spoken(d, said.Text)
	}
	if said.Text == "" {
		return r.ignore("it says nothing")
	}
	in.Kind = core.InMessage
	said.Fill(&in)
	in.Quote = r.quote(&in, d.Quote)
	return []core.Inbound{in}
}

// identify fills in the ids and the time of a message.
func (r *reader) identify(in *core.Inbound, d *data) {
	in.NativeID = native(in, d.Timestamp, writer(in))
	in.EventID = in.Address.External + ":" + in.NativeID
	in.SentAt = time.UnixMilli(d.Timestamp).UTC()
}

// target returns the id of the message of an author that is meant by the time of one of its versions.
func (r *reader) target(in *core.Inbound, author string, timestamp int64) string {
	return native(in, r.first(message{author, timestamp}), author)
}

// edited returns the new text of a message.
func (r *reader) edited(in core.Inbound, e *edit, raw []byte) []core.Inbound {
	all := r.message(in, &e.Data, raw)
	if len(all) == 0 || all[0].Kind != core.InMessage {
		return nil
	}
	in = all[0]
	in.Kind = core.InEdit
	in.Target = r.target(&in, writer(&in), e.Target)
	in.NativeID, in.Edited = in.Target, in.Address.External+":"+in.Target
	return []core.Inbound{in}
}

// receipts returns the new states of messages of ours.
func (r *reader) receipts(in core.Inbound, from *envelope) []core.Inbound {
	state := core.DeliveryDelivered
	if from.Receipt.IsRead || from.Receipt.IsViewed {
		state = core.DeliveryRead
	}
	if in.Address.External == r.self {
		return r.ignore("it is a receipt of our own")
	}
	in.Kind, in.Name, in.Aliases = core.InReceipt, "", nil
	in.SentAt = time.UnixMilli(from.Timestamp).UTC()
	var all []core.Inbound
	for _, timestamp := range from.Receipt.Timestamps {
		one := in
		one.Target = strconv.FormatInt(timestamp, 10)
		one.EventID = strings.Join([]string{in.Address.External, string(state), one.Target}, ":")
		one.Status = &core.Status{State: state}
		all = append(all, one)
	}
	return all
}

// quote returns the message that the writer of an event replies to, or nil.
func (r *reader) quote(in *core.Inbound, q *quote) *core.Quote {
	person := writer(in)
	if q == nil || q.ID == 0 {
		return nil
	}
	text := r.marked(q.Text, q.Styles, q.Mentions)
	if text == "" && len(q.Attachments) > 0 {
		label, _ := q.Attachments[0].file("")
		text = "[" + strings.TrimSpace(label) + "]"
	}
	author := person
	if in.Group != nil {
		author = strings.ToLower(cmp.Or(q.AuthorUUID, q.AuthorNumber))
	}
	out := &core.Quote{Text: text, NativeID: r.target(in, author, q.ID),
		Mine: r.isSelf(q.AuthorUUID, q.AuthorNumber) && person != r.self || r.sent(q.ID)}
	if out.Mine { // the ids of our own messages are their times alone
		out.NativeID = strconv.FormatInt(q.ID, 10)
	}
	if !out.Mine && q.AuthorUUID != "" && !strings.EqualFold(q.AuthorUUID, person) {
		out.From = cmp.Or(r.name(q.AuthorUUID), q.AuthorNumber)
	}
	return out
}

// isSelf reports whether an ACI or a number is the account's.
func (r *reader) isSelf(aci, number string) bool {
	return aci != "" && (aci == r.self || aci == r.account) || number != "" && number == r.account
}

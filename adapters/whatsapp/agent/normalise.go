package agent

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Updates is the result of a poll.
type Updates struct {
	In   []core.Inbound
	Next *int64 // cursor of the next poll; nil: missing in the answer
	Last string // wamid of the last message, or ""
}

// envelope is the body. Messages are decoded one by one, so that a malformed one does not hide the others.
type envelope struct {
	Next  *int64 `json:"next_offset"`
	Entry []struct {
		Changes []struct {
			Value struct {
				Contacts []struct {
					WaID    string `json:"wa_id"`
					Profile struct {
						Name string `json:"name"`
					} `json:"profile"`
				} `json:"contacts"`
				Messages []json.RawMessage `json:"messages"`
				Statuses []json.RawMessage `json:"statuses"`
			} `json:"value"`
		} `json:"changes"`
	} `json:"entry"`
}

// origin holds the fields common to all messages.
type origin struct {
	From      string        `json:"from"`
	ID        string        `json:"id"`
	Timestamp graph.Seconds `json:"timestamp"`
	Type      string        `json:"type"`
}

type message struct {
	origin
	graph.Files
	Context *struct {
		ID   string `json:"id"`
		From string `json:"from"`
	} `json:"context"`
	Text     *struct{ Body string } `json:"text"`
	Reaction *struct {
		MessageID string `json:"message_id"`
		Emoji     string `json:"emoji"`
	} `json:"reaction"`
}

type status struct {
	ID        string        `json:"id"`
	Status    string        `json:"status"`
	Recipient string        `json:"recipient_id"`
	Timestamp graph.Seconds `json:"timestamp"`
}

type reader struct {
	key   Key
	now   time.Time
	names map[string]string
	out   Updates
}

// Normalise parses the answer to a poll with key into events, in order. It accepts any bytes; unknown events are
// core.InUnsupported. It leaves out messages from before the key was added, as nobody waits for an answer to them.
// Event ids are the same for each repeat: the wamid, for receipts with the status.
func Normalise(key Key, body []byte, now time.Time) Updates {
	r := reader{key: key, now: now, names: map[string]string{}}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return r.out
	}
	r.out.Next = e.Next
	for _, entry := range e.Entry {
		for _, change := range entry.Changes {
			for _, c := range change.Value.Contacts {
				r.names[c.WaID] = clean(c.Profile.Name)
			}
			for _, m := range change.Value.Messages {
				r.message(m)
			}
			for _, s := range change.Value.Statuses {
				r.status(s)
			}
		}
	}
	return r.out
}

// inbound returns an event of which only the bytes are known.
func (r *reader) inbound(raw []byte) core.Inbound {
	return graph.Unknown(Name, strconv.FormatInt(r.key.ID, 10), raw, r.now)
}

func (r *reader) message(raw json.RawMessage) {
	in := r.inbound(raw)
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		m = message{}
		_ = json.Unmarshal(raw, &m.origin)
	}
	if m.ID == "" || !strings.HasPrefix(m.From, "user:") {
		r.out.In = append(r.out.In, in)
		return
	}
	r.out.Last = clean(m.ID)
	if !m.Timestamp.IsZero() && m.Timestamp.Before(r.key.CreatedAt.Truncate(time.Second)) {
		return
	}
	in.Address.External, in.For, in.Name = clean(m.From), r.key.User, r.names[m.From]
	in.EventID, in.NativeID, in.SentAt = clean(m.ID), clean(m.ID), m.Timestamp.Time
	if m.Reaction != nil {
		in.Kind, in.Target, in.Reaction = core.InReaction, clean(m.Reaction.MessageID), clean(m.Reaction.Emoji)
		r.out.In = append(r.out.In, in)
		return
	}
	said := content(in.Address.Account, &m)
	if said.Fill(&in); in.Text != "" {
		in.Kind = core.InMessage
	}
	if c := m.Context; c != nil && c.ID != "" {
		in.Quote = &core.Quote{NativeID: clean(c.ID), Mine: strings.HasPrefix(c.From, "agent:")}
	}
	r.out.In = append(r.out.In, in)
}

// content returns what m says, with a placeholder for other content. It is empty if there is nothing to answer.
func content(account string, m *message) channel.Content {
	if m.Text != nil {
		return channel.Words(clean(m.Text.Body))
	}
	file := m.Content(func(f *graph.Media) string { return account + "/" + f.ID + "#" + f.SHA256 })
	if file.Text != "" {
		return file
	}
	return channel.Object("unsupported:", clean(cmp.Or(m.Type, "message")))
}

func (r *reader) status(raw json.RawMessage) {
	in := r.inbound(raw)
	var s status
	if err := json.Unmarshal(raw, &s); err == nil && s.ID != "" && strings.HasPrefix(s.Recipient, "user:") {
		in.Address.External, in.For, in.SentAt = clean(s.Recipient), r.key.User, s.Timestamp.Time
		in.EventID = clean(s.ID + ":" + s.Status)
		state := map[string]core.DeliveryState{"delivered": core.DeliveryDelivered, "read": core.DeliveryRead}[s.Status]
		if state != "" {
			in.Kind, in.Target, in.Status = core.InReceipt, clean(s.ID), &core.Status{State: state}
		}
	}
	r.out.In = append(r.out.In, in)
}

func clean(s string) string { return graph.Clean(s) }

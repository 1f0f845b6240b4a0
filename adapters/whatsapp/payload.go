package whatsapp

import (
	"encoding/json"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
)

type envelope struct {
	Entry []struct {
		Changes []struct {
			Field string          `json:"field"`
			Value json.RawMessage `json:"value"`
		} `json:"changes"`
	} `json:"entry"`
}

// value is the value of a change of the field messages. Messages and statuses are decoded
// one by one, so that a malformed one does not hide the others.
type value struct {
	Metadata struct {
		DisplayPhoneNumber string `json:"display_phone_number"`
		PhoneNumberID      string `json:"phone_number_id"`
	} `json:"metadata"`
	Contacts []contact         `json:"contacts"`
	Messages []json.RawMessage `json:"messages"`
	Statuses []json.RawMessage `json:"statuses"`
	Errors   []graph.Described `json:"errors"`
}

type contact struct {
	Profile struct {
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"profile"`
	WaID   string `json:"wa_id"`
	UserID string `json:"user_id"`
}

// origin holds the fields common to all messages.
type origin struct {
	From       string        `json:"from"`
	FromUserID string        `json:"from_user_id"`
	ID         string        `json:"id"`
	Timestamp  graph.Seconds `json:"timestamp"`
	Type       string        `json:"type"`
	GroupID    string        `json:"group_id"`
}

type message struct {
	origin
	graph.Files
	Context *struct {
		From                string `json:"from"`
		ID                  string `json:"id"`
		Forwarded           bool   `json:"forwarded"`
		FrequentlyForwarded bool   `json:"frequently_forwarded"`
	} `json:"context"`
	Referral *struct {
		SourceURL string `json:"source_url"`
		Headline  string `json:"headline"`
	} `json:"referral"`
	Errors []graph.Described `json:"errors"`

	Text        *struct{ Body string } `json:"text"`
	Location    *location              `json:"location"`
	Contacts    []card                 `json:"contacts"`
	Interactive *interactive           `json:"interactive"`
	Button      *button                `json:"button"`
	Reaction    *reaction              `json:"reaction"`
	System      *system                `json:"system"`
	Unsupported *struct {
		Type string `json:"type"`
	} `json:"unsupported"`
	Edit *struct {
		OriginalMessageID string          `json:"original_message_id"`
		Message           json.RawMessage `json:"message"`
	} `json:"edit"`
	Revoke *struct {
		OriginalMessageID string `json:"original_message_id"`
	} `json:"revoke"`
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Name      string  `json:"name"`
	Address   string  `json:"address"`
}

type card struct {
	Name struct {
		Formatted string `json:"formatted_name"`
		First     string `json:"first_name"`
	} `json:"name"`
	Org struct {
		Company string `json:"company"`
	} `json:"org"`
	Phones []struct {
		Phone string `json:"phone"`
		WaID  string `json:"wa_id"`
	} `json:"phones"`
}

type choice struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type interactive struct {
	Type        string  `json:"type"`
	ButtonReply *choice `json:"button_reply"`
	ListReply   *choice `json:"list_reply"`
}

type button struct {
	Payload string `json:"payload"`
	Text    string `json:"text"`
}

type reaction struct {
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji"` // absent: taken away
}

type system struct {
	Type   string `json:"type"`
	WaID   string `json:"wa_id"`
	UserID string `json:"user_id"`
}

type status struct {
	ID              string            `json:"id"`
	Status          string            `json:"status"`
	Timestamp       graph.Seconds     `json:"timestamp"`
	RecipientID     string            `json:"recipient_id"`
	RecipientUserID string            `json:"recipient_user_id"`
	RecipientType   string            `json:"recipient_type"`
	Callback        string            `json:"biz_opaque_callback_data"`
	Errors          []graph.Described `json:"errors"`
}

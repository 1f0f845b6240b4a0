package whatsapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const (
	// WebhookPath is the path to which the service posts events.
	WebhookPath = "/webhooks/whatsapp"

	signatureHeader = "X-Hub-Signature-256"
	signaturePrefix = "sha256="
	maxPayload      = 4 << 20 // bytes; the service sends at most 3 MB
	usualPayload    = 64 << 10
	largePayloads   = 4 // read at the same time
)

// Routes returns the webhook. GET answers the challenge to a caller that knows the verify token, and otherwise 403.
// POST answers 200 only after r stored all events of the body; 401 to a wrong signature, before the body is parsed; 413
// to more than four mebibytes; 408 or 503 if unauthenticated bodies take too much time or memory; and 503 if r failed,
// so that the service repeats the request. An unknown signed body is stored as well, as the service would otherwise
// repeat it for days.
func (c *Channel) Routes(r core.Receiver) map[string]http.Handler {
	return map[string]http.Handler{
		"GET " + WebhookPath: http.HandlerFunc(c.verify),
		"POST " + WebhookPath: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			c.webhook(w, req, r)
		}),
	}
}

// verify answers the challenge that Meta sends when the webhook is set up.
func (c *Channel) verify(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	got, want := sha256.Sum256([]byte(q.Get("hub.verify_token"))), sha256.Sum256([]byte(c.opts.VerifyToken))
	if q.Get("hub.mode") != "subscribe" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		http.Error(w, "wrong verify token", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, q.Get("hub.challenge"))
}

func (c *Channel) webhook(w http.ResponseWriter, req *http.Request, r core.Receiver) {
	signature := req.Header.Get(signatureHeader)
	if len(signature) != len(signaturePrefix)+hex.EncodedLen(sha256.Size) {
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		return
	}
	payload, ok := c.read(w, req)
	if !ok {
		return
	}
	if !c.signed(signature, payload) {
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		return
	}
	got := read(c.opts.PhoneNumberID, payload, c.now())
	if len(got.in) > 0 {
		if err := r.Receive(req.Context(), got.in...); err != nil {
			c.log.Error("events not stored", zap.Error(err))
			http.Error(w, "not stored, try again", http.StatusServiceUnavailable)
			return
		}
	}
	c.observe(got)
	w.WriteHeader(http.StatusOK)
}

// read reads a body that anybody may have sent. Large ones are rare and read a few at a time: the service repeats a
// refused one.
func (c *Channel) read(w http.ResponseWriter, req *http.Request) ([]byte, bool) {
	if req.ContentLength < 0 || req.ContentLength > usualPayload {
		select {
		case c.large <- struct{}{}:
			defer func() { <-c.large }()
		default:
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too busy, try again", http.StatusServiceUnavailable)
			return nil, false
		}
	}
	return channel.ReadBody(w, req, maxPayload)
}

// signed reports whether one of the secrets made the signature of body.
func (c *Channel) signed(signature string, body []byte) bool {
	known := false
	for _, secret := range []section.Secret{c.opts.AppSecret, c.opts.PreviousSecret} {
		known = known || secret != "" && hmac.Equal([]byte(signature), []byte(sign(string(secret), body)))
	}
	return known
}

func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write(body) // a hash takes everything
	return signaturePrefix + hex.EncodeToString(mac.Sum(nil))
}

// observe applies delivered messages and errors to the state of sending.
func (c *Channel) observe(got reading) {
	for _, wamid := range got.settled {
		c.line.arrived(wamid, c.now())
	}
	if got.delivered {
		c.state.worked(true)
	}
	for _, e := range got.errs {
		if classOf(e) == trouble {
			c.state.refused(troubled(e), true)
		}
	}
	for _, field := range got.fields {
		c.log.Warn("whatsapp account changed", zap.String("field", field))
	}
}

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
		Product             *struct {
			ID string `json:"product_retailer_id"`
		} `json:"referred_product"`
	} `json:"context"`
	Referral *struct {
		SourceURL string `json:"source_url"`
		Headline  string `json:"headline"`
		Body      string `json:"body"`
	} `json:"referral"`
	Errors []graph.Described `json:"errors"`

	Text        *struct{ Body string } `json:"text"`
	Location    *location              `json:"location"`
	Contacts    []card                 `json:"contacts"`
	Interactive *struct {
		Type        string   `json:"type"`
		ButtonReply *choice  `json:"button_reply"`
		ListReply   *choice  `json:"list_reply"`
		Form        *answers `json:"nfm_reply"`
	} `json:"interactive"`
	Order  *order `json:"order"`
	Button *struct {
		Payload string `json:"payload"`
		Text    string `json:"text"`
	} `json:"button"`
	Reaction *struct {
		MessageID string `json:"message_id"`
		Emoji     string `json:"emoji"` // absent: taken away
	} `json:"reaction"`
	System *struct {
		Type   string `json:"type"`
		WaID   string `json:"wa_id"`
		UserID string `json:"user_id"`
	} `json:"system"`
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
	URL       string  `json:"url"`
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
	Emails []struct {
		Email string `json:"email"`
	} `json:"emails"`
	Addresses []struct {
		Street  string `json:"street"`
		ZIP     string `json:"zip"`
		City    string `json:"city"`
		Country string `json:"country"`
	} `json:"addresses"`
	URLs []struct {
		URL string `json:"url"`
	} `json:"urls"`
	Birthday string `json:"birthday"`
}

type choice struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// answers is what a person entered in a form (a flow, or an address).
type answers struct {
	Name   string `json:"name"`
	Body   string `json:"body"`
	Fields string `json:"response_json"`
}

type order struct {
	Text  string `json:"text"`
	Items []struct {
		Product  string  `json:"product_retailer_id"`
		Quantity float64 `json:"quantity"`
		Price    float64 `json:"item_price"`
		Currency string  `json:"currency"`
	} `json:"product_items"`
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

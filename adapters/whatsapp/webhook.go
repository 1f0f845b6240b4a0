package whatsapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"net/http"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/intake"
)

const (
	// WebhookPath is the path to which the service posts events.
	WebhookPath = "/webhooks/whatsapp"

	signatureHeader = "X-Hub-Signature-256"
	signaturePrefix = "sha256="
	maxPayload      = 4 << 20 // bytes; the service sends at most 3 MB
)

// Routes returns the webhook. GET answers the challenge to a caller that knows the verify
// token, and otherwise 403. POST answers 200 only after r stored all events of the body;
// 401 to a wrong signature, before the body is parsed; 413 to more than four mebibytes;
// 408 or 503 if unauthenticated bodies take too much time or memory; and 503 if r failed,
// so that the service repeats the request. An unknown signed body is stored as well, as
// the service would otherwise repeat it for days.
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
	body, err := c.opts.Intake.Take(w, req, maxPayload)
	if err != nil {
		intake.Refuse(w, err)
		return
	}
	ours := c.signed(signature, body)
	var payload []byte
	if ours {
		payload = body.Bytes()
	}
	body.Release()
	if !ours {
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

// signed reports whether one of the secrets made the signature of body.
func (c *Channel) signed(signature string, body io.WriterTo) bool {
	known := false
	for _, secret := range []section.Secret{c.opts.AppSecret, c.opts.PreviousSecret} {
		known = known || secret != "" && hmac.Equal([]byte(signature), []byte(sign(string(secret), body)))
	}
	return known
}

// sign returns the signature header of body.
func sign(secret string, body io.WriterTo) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = body.WriteTo(mac) // a hash takes everything
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

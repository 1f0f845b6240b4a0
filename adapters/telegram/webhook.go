package telegram

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

const (
	// WebhookPath is where the service posts updates.
	WebhookPath = "/webhooks/telegram"

	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	maxUpdate    = 1 << 20 // bytes of one update
)

func webhookParams(o Options) *bot.SetWebhookParams {
	return &bot.SetWebhookParams{
		URL:            strings.TrimRight(o.PublicURL, "/") + WebhookPath,
		SecretToken:    o.WebhookSecret,
		AllowedUpdates: allowedUpdates(),
	}
}

// Routes returns the webhook (CHANNELS A.4), nothing with polling. It answers
// 200 only after r has stored the update; 401 to a wrong secret, before it
// reads the body; 413 to more than a mebibyte; 503 if r failed, so that the
// service offers the update again. A body that is no update is stored as well,
// since the service would offer it for ever.
func (c *Channel) Routes(r core.Receiver) map[string]http.Handler {
	if c.opts.Mode != "webhook" {
		return nil
	}
	return map[string]http.Handler{"POST " + WebhookPath: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c.webhook(w, req, r)
	})}
}

func (c *Channel) webhook(w http.ResponseWriter, req *http.Request, r core.Receiver) {
	if !c.knows(req.Header.Get(secretHeader)) {
		http.Error(w, "wrong secret token", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxUpdate))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, "update too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "body cut off", http.StatusBadRequest)
		return
	}
	in, update := normalise(c.account, body, c.now())
	if err := r.Receive(req.Context(), in); err != nil {
		c.log.Error("store update", zap.Error(err))
		http.Error(w, "not stored, try again", http.StatusServiceUnavailable)
		return
	}
	c.answerButtons(req.Context(), appendButton(nil, update))
	w.WriteHeader(http.StatusOK)
}

// knows compares a secret with those configured, in constant time.
func (c *Channel) knows(secret string) bool {
	got := sha256.Sum256([]byte(secret))
	known := 0
	for _, s := range []string{c.opts.WebhookSecret, c.opts.PreviousSecret} {
		want := sha256.Sum256([]byte(s))
		if s != "" {
			known |= subtle.ConstantTimeCompare(got[:], want[:])
		}
	}
	return known == 1
}

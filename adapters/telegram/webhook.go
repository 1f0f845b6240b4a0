package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const (
	// WebhookPath is the path to which the service posts updates.
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

// watchEvery is the interval of checks of the webhook.
const watchEvery = time.Minute

// watch checks the webhook until ctx ends: it reports the service's failed calls, and
// sets the URL again if somebody changed it.
func (c *Channel) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var info models.WebhookInfo
		err := c.api.call(ctx, callTimeout, "getWebhookInfo", struct{}{}, &info)
		if err == nil && info.URL != webhookParams(c.opts).URL {
			c.log.Warn("webhook was changed from elsewhere; setting it again")
			err = c.api.call(ctx, callTimeout, "setWebhook", webhookParams(c.opts), nil)
			info = models.WebhookInfo{}
		}
		if err == nil {
			err = webhookTrouble(info, c.now(), 2*every)
		}
		if ctx.Err() == nil {
			c.report(err)
		}
	}
}

// webhookTrouble returns an error with advice if calls of the webhook failed lately.
func webhookTrouble(info models.WebhookInfo, now time.Time, lately time.Duration) error {
	if info.LastErrorMessage == "" || now.Sub(unix(info.LastErrorDate)) > lately {
		return nil
	}
	return &channel.Trouble{Err: errors.New(info.LastErrorMessage), Advice: func(language string) string {
		return fmt.Sprintf(say(language).WebhookFails, info.URL, info.PendingUpdateCount)
	}}
}

// Routes returns the webhook, or nil with polling. It answers 200 only after r has stored
// the update; 401 to a wrong secret, before it reads the body; 413 to more than a
// mebibyte; and 503 if r failed, so that the service repeats the update. A body that is
// not an update is stored as well, as the service would otherwise repeat it forever.
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
		c.log.Error("update not stored", zap.Error(err))
		http.Error(w, "not stored, try again", http.StatusServiceUnavailable)
		return
	}
	c.answerButtons(req.Context(), appendButton(nil, update))
	w.WriteHeader(http.StatusOK)
}

// knows compares a secret with the configured ones in constant time.
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

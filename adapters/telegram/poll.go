package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const (
	pollSeconds = 50 // the longest wait that the service allows
	pollTimeout = (pollSeconds + 15) * time.Second

	// idleReset is the time without updates after which the offset is reset: after a week
	// without updates the service starts again at a random id.
	idleReset = 24 * time.Hour
)

type pollParams struct {
	Offset  int64    `json:"offset,omitempty"`
	Timeout int      `json:"timeout"`
	Allowed []string `json:"allowed_updates"`
}

func allowedUpdates() []string {
	return []string{
		models.AllowedUpdateMessage, models.AllowedUpdateEditedMessage, models.AllowedUpdateCallbackQuery,
		models.AllowedUpdateMyChatMember, models.AllowedUpdateMessageReaction, models.AllowedUpdateStoppedMessageGeneration,
	}
}

// poll receives until ctx ends or the token is refused. The next poll acknowledges a batch, so it follows only after r
// has stored the batch. No offset is stored, as the service keeps unconfirmed updates.
func (c *Channel) poll(ctx context.Context, r core.Receiver) error {
	var offset int64
	last := c.now()
	var stuck channel.Backoff // for updates without an id, which cannot be confirmed
	for pause := (channel.Backoff{}); ctx.Err() == nil; {
		params := pollParams{Offset: offset, Timeout: pollSeconds, Allowed: allowedUpdates()}
		var batch []json.RawMessage
		if err := c.api.call(ctx, pollTimeout, "getUpdates", params, &batch); err != nil {
			if err := c.pollFailed(ctx, err); err != nil {
				return err
			}
			pause.Wait(ctx, retryAfterOf(err))
			continue
		}
		pause = channel.Backoff{}
		c.Report(nil)
		switch {
		case len(batch) > 0:
			last = c.now()
			before := offset
			if offset = c.hand(ctx, r, batch, offset); offset > before {
				stuck = channel.Backoff{}
				continue
			}
			stuck.Wait(ctx, 0)
		case c.now().Sub(last) > idleReset:
			offset = 0
		}
	}
	return ctx.Err()
}

// pollFailed reports a failed poll and deletes a webhook that prevents polling. It
// returns an error if retries are useless.
func (c *Channel) pollFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := hopeless(err); err != nil {
		return fmt.Errorf("poll telegram: %w", err)
	}
	what := fmt.Errorf("poll telegram: %w", err)
	switch {
	case has(err, "webhook is active"):
		what = &channel.Trouble{Err: err, Advice: func(language string) string { return say(language).WebhookElsewhere }}
		_ = c.api.call(ctx, callTimeout, "deleteWebhook", struct{}{}, nil)
	case has(err, "terminated by"):
		what = &channel.Trouble{Err: err, Advice: func(language string) string { return say(language).PolledElsewhere }}
	}
	c.Report(what)
	c.log.Warn("poll failed", zap.Error(what))
	return nil
}

// hand passes a batch to r until it is stored, and returns the next offset. If ctx ends first, the batch stays
// unconfirmed.
func (c *Channel) hand(ctx context.Context, r core.Receiver, batch []json.RawMessage, offset int64) int64 {
	in, me := make([]core.Inbound, len(batch)), c.me(ctx)
	var buttons []string
	next := offset
	for i, raw := range batch {
		var u *models.Update
		in[i], u = normalise(me, raw, c.now())
		next = max(next, updateID(raw, u)+1)
		buttons = appendButton(buttons, u)
	}
	err := channel.Hand(ctx, r, in, channel.Tries, func(err error) {
		c.Report(fmt.Errorf("messages from telegram cannot be stored: %w", err))
		c.log.Error("updates not stored", zap.Int("updates", len(in)), zap.Error(err))
	})
	if err != nil {
		return offset
	}
	c.answerButtons(ctx, buttons)
	return next
}

// updateID returns the id of an update, even if the rest of it cannot be decoded; 0: none.
func updateID(raw []byte, u *models.Update) int64 {
	if u != nil {
		return u.ID
	}
	var id struct {
		ID int64 `json:"update_id"`
	}
	_ = json.Unmarshal(raw, &id)
	return id.ID
}

func appendButton(ids []string, u *models.Update) []string {
	if u != nil && u.CallbackQuery != nil {
		return append(ids, u.CallbackQuery.ID)
	}
	return ids
}

// answerButtons ends the spinners of pressed buttons. The presses are stored already, so
// a failure only leaves a spinner.
func (c *Channel) answerButtons(ctx context.Context, ids []string) {
	var group errgroup.Group
	group.SetLimit(8)
	for _, id := range ids {
		group.Go(func() error {
			params := &bot.AnswerCallbackQueryParams{CallbackQueryID: id}
			if err := c.api.call(ctx, showTimeout, "answerCallbackQuery", params, nil); err != nil {
				c.log.Debug("button not answered", zap.Error(err))
			}
			return nil
		})
	}
	_ = group.Wait() // no error is returned
}

const (
	// WebhookPath is the path to which the service posts updates.
	WebhookPath = "/webhooks/telegram"

	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	maxUpdate    = 1 << 20 // bytes of one update
)

func webhookParams(o Options) *bot.SetWebhookParams {
	return &bot.SetWebhookParams{URL: strings.TrimRight(o.PublicURL, "/") + WebhookPath,
		SecretToken: string(o.WebhookSecret), AllowedUpdates: allowedUpdates()}
}

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
			c.Report(err)
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

// Routes returns the webhook, or nil with polling. It answers 200 only after r has stored the update; 401 to a wrong
// secret, before it reads the body; 413 to more than a mebibyte; and 503 if r failed, so that the service repeats the
// update. A body that is not an update is stored as well, as the service would otherwise repeat it forever.
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
	body, ok := channel.ReadBody(w, req, maxUpdate)
	if !ok {
		return
	}
	in, update := normalise(c.me(req.Context()), body, c.now())
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
	for _, s := range []section.Secret{c.opts.WebhookSecret, c.opts.PreviousSecret} {
		want := sha256.Sum256([]byte(s))
		if s != "" {
			known |= subtle.ConstantTimeCompare(got[:], want[:])
		}
	}
	return known == 1
}

package signal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

const (
	// sendTimeout bounds one request to send, with files. After it the outcome is unknown.
	sendTimeout = 2 * time.Minute
	// showTimeout bounds a dispensable request.
	showTimeout = 5 * time.Second

	// limitPause is the pause of the account after a limit of unstated length.
	limitPause = time.Minute
	// deadPause is the pause while the daemon does not have the account.
	deadPause = 5 * time.Minute
)

// Send delivers one part, a text or a file, and then marks the person's messages as read. A part whose Key was confirmed
// to this process is not sent again. Of a failure between Signal and the daemon it is assumed that nothing arrived.
func (c *Channel) Send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	if done, ok := c.memory.sent.get(p.Key); ok && p.Key != "" {
		return done, nil
	}
	receipt, err := c.say(ctx, to, p)
	if err != nil {
		return core.Receipt{}, err
	}
	if p.Key != "" {
		c.memory.sent.put(p.Key, receipt)
	}
	c.markRead(ctx, to.External)
	return receipt, nil
}

// say sends the message p.
func (c *Channel) say(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	text, ranges := render(p)
	if p.Attachment == nil && strings.TrimSpace(text) == "" {
		return core.Receipt{}, &core.Permanent{Err: errors.New("send to signal: the text is empty")}
	}
	all := params{"message": text}
	if len(ranges) > 0 {
		all["textStyle"] = ranges
	}
	if p.Quiet {
		all["noUrgent"] = true
	}
	if p.Attachment != nil {
		if err := upload(all, p); err != nil {
			return core.Receipt{}, err
		}
	}
	c.reply(all, to.External, p.Reply)
	timestamp, err := c.deliver(ctx, to, all)
	if err != nil {
		return core.Receipt{}, err
	}
	return core.Receipt{NativeID: strconv.FormatInt(timestamp, 10)}, nil
}

// reply makes a message an answer to another one, if its text is known: apps show the text that comes with it.
func (c *Channel) reply(all params, person, native string) {
	timestamp, author, err := identified(native)
	if err != nil {
		return
	}
	person = cmp.Or(author, person)
	text, known := c.memory.texts.get(message{person, timestamp})
	if !known {
		return
	}
	all["quoteTimestamp"], all["quoteAuthor"], all["quoteMessage"] = timestamp, person, text
}

// deliver sends a message with parameters to a person, and returns its time, which is its id.
func (c *Channel) deliver(ctx context.Context, to core.Address, p params) (int64, error) {
	if !p.recipient(to.External) {
		return 0, &core.Permanent{Err: errors.New("send to signal: the address is neither a person nor a group on Signal")}
	}
	var sent struct {
		Timestamp int64 `json:"timestamp"`
	}
	if err := c.api.call(ctx, sendTimeout, "send", p, maxAnswer, &sent); err != nil {
		return 0, c.classify(ctx, err)
	}
	c.sending.Report(nil)
	if c.held.Load() {
		c.hold(ctx, limit{})
	}
	c.memory.ours.put(sent.Timestamp, true)
	return sent.Timestamp, nil
}

// Retract deletes a message of ours for everybody. Apps ignore that after a day.
func (c *Channel) Retract(ctx context.Context, to core.Address, native string) error {
	timestamp, _, err := identified(native)
	p := params{"targetTimestamp": timestamp}
	if err != nil || !p.recipient(to.External) {
		return &core.Permanent{Err: errors.New("delete on signal: there is no such message")}
	}
	if err := c.api.call(ctx, sendTimeout, "remoteDelete", p, maxAnswer, nil); err != nil {
		return c.classify(ctx, fmt.Errorf("delete: %w", err))
	}
	return nil
}

// classify wraps the error of a failed request to send for the retry policy.
func (c *Channel) classify(ctx context.Context, err error) error {
	err = fmt.Errorf("send to signal: %w", err)
	var refused *rpcError
	var other *statusError
	var lost *netError
	switch {
	case errors.As(err, &lost) && lost.Left:
		return &core.Unknown{Err: err}
	case errors.As(err, &other) && other.Status >= http.StatusInternalServerError:
		return &core.Unknown{Err: err}
	case errors.As(err, &refused):
		return c.refusal(ctx, err, refused)
	}
	return err
}

// refusal wraps the error of a request that the daemon refused.
func (c *Channel) refusal(ctx context.Context, err error, refused *rpcError) error {
	var o outcome
	if len(refused.Results) > 0 {
		o = refused.Results[0]
	}
	switch {
	case o.Type == "UNREGISTERED_FAILURE", refused.Code == codeUser && strings.Contains(refused.Message, "not registered"):
		return &core.Unreachable{Err: fmt.Errorf("the person is not on Signal any more: %w", err)}
	case o.Type == "IDENTITY_FAILURE", refused.Code == codeUntrusted:
		return &core.Unreachable{Err: fmt.Errorf("the person's safety number changed: compare it with them, and run "+
			"signal-cli trust, or use --trust-new-identities=always: %w", err)}
	case o.Type == "RATE_LIMIT_FAILURE", refused.Code == codeRate:
		return c.limited(ctx, err, o)
	case o.Type == "NETWORK_FAILURE", o.Type == "INVALID_PRE_KEY_FAILURE":
		return err
	case noAccount(refused):
		err = c.withoutAccount(err)
		c.sending.Report(err)
		return &core.RetryAfter{After: deadPause, Account: true, Err: err}
	case refused.Code == codeInternal:
		return &core.Unknown{Err: err}
	}
	return &core.Permanent{Err: err}
}

// limited wraps the error of a rate limit. Signal may ask for a captcha, which a person must solve.
func (c *Channel) limited(ctx context.Context, err error, o outcome) error {
	wait := cmp.Or(time.Duration(o.RetryAfter)*time.Second, limitPause)
	if o.Token != "" {
		err = &channel.Trouble{Err: err, Advice: func(language string) string {
			return fmt.Sprintf(say(language).Captcha, o.Token)
		}}
		c.sending.Report(err)
	}
	c.hold(ctx, limit{Until: c.now().Add(wait), Token: o.Token})
	return &core.RetryAfter{After: wait, Account: true, Err: err}
}

// limitKey is the key of the stored limit.
const limitKey = "limit"

// limit is what keeps the account from sending, for doctor.
type limit struct {
	Until time.Time `json:"until"`
	Token string    `json:"token,omitempty"` // of a captcha, which ends it; empty: none is asked for
}

// hold stores a limit; the zero value: there is none. Another process may hold the account, and then it is not stored.
func (c *Channel) hold(ctx context.Context, l limit) {
	if c.opts.Keeper == nil {
		return
	}
	text := ""
	if l != (limit{}) {
		raw, _ := json.Marshal(l) // of times and texts it cannot fail
		text = string(raw)
	}
	if err := c.opts.Keeper.SetState(ctx, map[string]string{limitKey: text}); err != nil {
		c.log.Debug("limit not stored", zap.Error(err))
		return
	}
	c.held.Store(text != "")
}

// noAccount reports whether the daemon refused a request because it does not have the account, or Signal does not.
func noAccount(refused *rpcError) bool {
	return refused.Code == codeParams && strings.Contains(refused.Message, "account") ||
		strings.Contains(refused.Message, "AuthorizationFailed") || strings.Contains(refused.Message, "NotRegistered")
}

func (c *Channel) withoutAccount(err error) error {
	return &channel.Trouble{Err: err, Advice: func(language string) string {
		return fmt.Sprintf(say(language).NoAccount, c.opts.Account)
	}}
}

// TypingTTL returns how long apps show the indicator.
func (c *Channel) TypingTTL() time.Duration { return 15 * time.Second }

// Typing marks the person's stored messages as read and shows that an answer is being written. The chat with oneself has
// neither.
func (c *Channel) Typing(ctx context.Context, to core.Address, _ string) error {
	if to.External == c.memory.me() {
		return nil
	}
	c.markRead(ctx, to.External)
	p := params{}
	p.recipient(to.External)
	if err := c.api.call(ctx, showTimeout, "sendTyping", p, maxAnswer, nil); err != nil {
		return fmt.Errorf("show typing: %w", err)
	}
	return nil
}

// markRead marks the stored messages of a person as read. A failure only leaves them unread.
func (c *Channel) markRead(ctx context.Context, person string) {
	unread := c.memory.read(person)
	if len(unread) == 0 {
		return
	}
	p := params{"recipient": person, "targetTimestamp": unread, "type": "read"}
	if err := c.api.call(ctx, showTimeout, "sendReceipt", p, maxAnswer, nil); err != nil && ctx.Err() == nil {
		c.log.Debug("messages not marked as read", zap.Error(err))
	}
}

package telegram

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"

	"github.com/everthread/everthread/core"
)

// sendTimeout bounds one request to send. After it the outcome is unknown.
const sendTimeout = 30 * time.Second

// Send delivers one part, a text or a file. It retries a refused request once for each
// cause: without markup, without a reply to a deleted message, with a picture as a
// document, or to the supergroup that a group became. Errors are classified by their code
// and description.
func (c *Channel) Send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	chat, err := strconv.ParseInt(to.External, 10, 64)
	if err != nil {
		return core.Receipt{}, &core.Permanent{Err: errors.New("send to telegram: the address is not a chat id")}
	}
	if p.Attachment == nil && strings.TrimSpace(p.Text) == "" {
		return core.Receipt{}, &core.Permanent{Err: errors.New("send to telegram: the text is empty")}
	}
	file, err := uploadOf(p)
	if err != nil {
		return core.Receipt{}, err
	}
	params := Render(chat, p)
	for {
		var sent struct {
			ID int64 `json:"message_id"`
		}
		err := c.post(ctx, params, file, &sent)
		if err == nil {
			return core.Receipt{NativeID: strconv.FormatInt(sent.ID, 10)}, nil
		}
		if has(err, "message is not modified") {
			return core.Receipt{}, nil
		}
		if !amend(params, file, err) {
			return core.Receipt{}, c.classify(err, chat)
		}
	}
}

// amend changes the part of a request that the service refused, and reports whether a
// retry makes sense. It does so once for each cause.
func amend(params *bot.SendMessageParams, file *upload, err error) bool {
	var refused *apiError
	if !errors.As(err, &refused) || refused.Code != http.StatusBadRequest {
		return false
	}
	switch {
	case refused.MigrateTo != 0 && params.ChatID != refused.MigrateTo:
		params.ChatID = refused.MigrateTo
	case params.Entities != nil && (has(err, "can't parse entities") || has(err, "ENTITIES_TOO_LONG") ||
		has(err, "ENTITY")):
		params.Entities = nil
	case params.ReplyParameters != nil && (has(err, "message to be replied not found") ||
		has(err, "REPLY_MESSAGE_ID_INVALID")):
		params.ReplyParameters = nil
	default:
		return file.plain(err)
	}
	return true
}

// has reports whether the service's description contains words.
func has(err error, words string) bool {
	var refused *apiError
	return errors.As(err, &refused) && strings.Contains(refused.Description, words)
}

// classify wraps the error of a failed request to send to chat for the retry policy.
func (c *Channel) classify(err error, chat int64) error {
	var lost *netError
	if errors.As(err, &lost) {
		if lost.Left {
			return &core.Unknown{Err: fmt.Errorf("send to telegram: %w", err)}
		}
		return fmt.Errorf("send to telegram: %w", err)
	}
	var refused *apiError
	if !errors.As(err, &refused) {
		return fmt.Errorf("send to telegram: %w", err)
	}
	if what := hopeless(err); what != nil {
		c.report(what)
		return &core.Permanent{Err: fmt.Errorf("send to telegram: %w", what)}
	}
	err = fmt.Errorf("send to telegram: %w", err)
	switch code := refused.Code; {
	case code == http.StatusTooManyRequests:
		wait := max(refused.RetryAfter, time.Second)
		return &core.RetryAfter{After: wait, Account: c.flood.note(chat, c.now(), wait), Err: err}
	case code == http.StatusForbidden:
		return &core.Unreachable{Err: err}
	case code >= 500:
		return &core.Unknown{Err: err}
	}
	return &core.Permanent{Err: err}
}

// globalFlood is the number of chats limited at the same time that counts as a limit of
// the account, which shows as failures of all chats.
const globalFlood = 5

// flood remembers the chats that the service limits.
type flood struct {
	mu    sync.Mutex
	until map[int64]time.Time
}

// note records that chat must wait, and reports whether the whole account must.
func (f *flood) note(chat int64, now time.Time, wait time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until == nil {
		f.until = map[int64]time.Time{}
	}
	maps.DeleteFunc(f.until, func(_ int64, t time.Time) bool { return !t.After(now) })
	f.until[chat] = now.Add(wait)
	return len(f.until) >= globalFlood
}

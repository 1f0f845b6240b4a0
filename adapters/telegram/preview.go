package telegram

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
)

// showTimeout bounds a dispensable request.
const showTimeout = 5 * time.Second

// Typing shows for TypingTTL that an answer is being written.
func (c *Channel) Typing(ctx context.Context, to core.Address, _ string) error {
	params := &bot.SendChatActionParams{ChatID: to.External, Action: models.ChatActionTyping}
	if err := c.api.call(ctx, showTimeout, "sendChatAction", params, nil); err != nil {
		return fmt.Errorf("show typing: %w", err)
	}
	return nil
}

// TypingTTL returns the time for which one call of Typing is shown.
func (c *Channel) TypingTTL() time.Duration { return 5 * time.Second }

// draft is the payload of sendMessageDraft. In the type of go-telegram/bot the draft id is
// a string, which works in forms only.
type draft struct {
	ChatID  int64  `json:"chat_id"`
	DraftID int64  `json:"draft_id"`
	Text    string `json:"text"`
	CanStop bool   `json:"can_stop"`
}

// Preview shows text, which is unfinished Markdown, as a plain draft in a direct chat. The
// service removes it after 30 seconds or when the message arrives.
func (c *Channel) Preview(ctx context.Context, to core.Address, key string, text string) error {
	chat, err := strconv.ParseInt(to.External, 10, 64)
	if err != nil || chat <= 0 {
		return errors.New("show draft: only direct chats have drafts")
	}
	d := draft{ChatID: chat, DraftID: DraftID(key), Text: head(markup.Plain(text), maxText), CanStop: true}
	if err := c.api.call(ctx, showTimeout, "sendMessageDraft", d, nil); err != nil {
		return fmt.Errorf("show draft: %w", err)
	}
	return nil
}

// PreviewEvery returns the pause between previews that avoids flood waits.
func (c *Channel) PreviewEvery() time.Duration { return 1500 * time.Millisecond }

// DraftID returns the draft id of a preview's key: positive, and the same for the same
// key.
func DraftID(key string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int64(h.Sum32()>>1) + 1
}

// head returns at most the first UTF-16 units of s.
func head(s string, units int) string {
	if len(s) <= units {
		return s
	}
	n := 0
	for i, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
		if n > units {
			return s[:i]
		}
	}
	return s
}

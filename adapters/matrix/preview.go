package matrix

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

// shown is the preview of an answer in a room. It is stored, so that another process continues in the same message.
type shown struct {
	Key   string `json:"key"`             // of the turn
	Event string `json:"event,omitempty"` // id of the message; empty: it may not exist yet
	Part  string `json:"part,omitempty"`  // key of the part that replaced it
}

// Preview shows text, which is unfinished Markdown, as a message that later calls edit. The part whose Preview is the
// same key becomes its last edit. Rooms of bridged networks have no previews.
func (c *Channel) Preview(ctx context.Context, to core.Address, key string, text string) error {
	text = head(markup.Plain(text), maxText)
	if to.Channel != Name || strings.TrimSpace(text) == "" {
		return nil
	}
	if err := c.show(ctx, to, key, text); err != nil {
		return fmt.Errorf("show preview: %w", err)
	}
	return nil
}

// PreviewEvery returns the pause between previews that respects the server's rate limits.
func (c *Channel) PreviewEvery() time.Duration { return 1500 * time.Millisecond }

func (c *Channel) show(ctx context.Context, to core.Address, turn, text string) error {
	s, r, err := c.reach(ctx, to)
	if err != nil {
		return err
	}
	defer c.writing.WithLock(r.id)()
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	key := s.renewal.transaction(turn)
	p, err := c.showing(ctx, r.id)
	if err != nil {
		return err
	}
	if p.Key == key && p.Part != "" {
		return nil // the answer itself was sent
	}
	again := p.Key == key
	if !again {
		p = shown{Key: key}
		if err := c.keepShown(ctx, r.id, p); err != nil { // before the message can exist
			return err
		}
	}
	content := Render(core.Part{Text: text, Place: to.Place}, nil)
	content[sentMark] = key
	if p.Event == "" {
		_, err := c.begin(ctx, s, r, p, content, again)
		return err
	}
	id, err := c.put(ctx, s, r, typeMessage, previewTxn(key)+"-"+digest(text), replace(content, p.Event))
	if err != nil {
		return err
	}
	c.memory.add(r.id, id, seen{Sender: c.opts.UserID, Mine: true, Target: p.Event})
	return nil
}

func previewTxn(key string) string { return "preview-" + key }

// begin sends the message of a preview. With again, an earlier process may have sent it without storing its id.
func (c *Channel) begin(ctx context.Context, s *session, r room, p shown, content map[string]any,
	again bool) (shown, error) {
	id := ""
	var err error
	if again {
		if id, err = c.already(ctx, s, r, previewTxn(p.Key), p.Key, true); err != nil {
			return p, err
		}
	}
	if id == "" {
		if id, err = c.put(ctx, s, r, typeMessage, previewTxn(p.Key), content); err != nil {
			return p, err
		}
	}
	c.memory.add(r.id, id, seen{Sender: c.opts.UserID, Mine: true})
	p.Event = id
	return p, c.keepShown(ctx, r.id, p)
}

// place returns the id of the message that a part replaces, or "" if it is a message of
// its own. It stores the decision before the part is sent, so that a retry does the same.
func (c *Channel) place(ctx context.Context, s *session, r room, p core.Part, key string,
	bridge *Bridge) (string, error) {
	if bridge != nil || p.Attachment != nil || p.Quiet {
		return "", nil
	}
	was, err := c.showing(ctx, r.id)
	if err != nil || was.Key == "" {
		return "", err
	}
	if was.Part != key {
		if was.Part != "" || p.Preview != was.Key {
			return "", nil
		}
		if was.Event == "" {
			content := Render(p, nil)
			content[sentMark] = key
			if was, err = c.begin(ctx, s, r, was, content, true); err != nil {
				return "", err
			}
		}
		was.Part = key
		if err := c.keepShown(ctx, r.id, was); err != nil {
			return "", err
		}
	}
	return was.Event, nil
}

func (c *Channel) showing(ctx context.Context, room string) (shown, error) {
	return keptAs[shown](ctx, c, keyPreview+room)
}

func (c *Channel) keepShown(ctx context.Context, room string, p shown) error {
	if err := c.opts.Keeper.SetState(ctx, map[string]string{keyPreview + room: encoded(p)}); err != nil {
		return fmt.Errorf("store preview: %w", err)
	}
	return nil
}

package telegram

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
)

// self is what tells the bot apart from others.
type self struct {
	account string // its id
	name    string // its user name; empty: not known yet
}

// me returns the bot, and asks the service for its name once.
func (c *Channel) me(ctx context.Context) self {
	name, _ := c.username.Load().(string)
	if name == "" {
		var u models.User
		if err := c.api.call(ctx, showTimeout, "getMe", struct{}{}, &u); err == nil {
			name = u.Username
			c.username.Store(name)
		}
	}
	return self{c.account, name}
}

// isGroup reports whether several people write in a chat.
func isGroup(chat models.Chat) bool {
	return chat.Type == models.ChatTypeGroup || chat.Type == models.ChatTypeSupergroup
}

// chatAddress returns the External of a chat, or of a topic of a forum, which is a conversation of its own.
func chatAddress(m *models.Message) string {
	id := strconv.FormatInt(m.Chat.ID, 10)
	if place := topic(m); m.Chat.IsForum && place != "" {
		return id + "/" + place
	}
	return id
}

// ofAddress returns the chat and the topic of an External; topic 0: the chat itself.
func ofAddress(external string) (chat int64, topic int, err error) {
	id, place, _ := strings.Cut(external, "/")
	if chat, err = strconv.ParseInt(id, 10, 64); err == nil && place != "" {
		topic, err = strconv.Atoi(place)
	}
	return chat, topic, err
}

// inGroup fills in who wrote a message of a group, and whether it addresses the bot.
func inGroup(in *core.Inbound, m *models.Message, bot self) {
	in.Address.External, in.Address.Place = chatAddress(m), ""
	g := &core.Group{Title: groupTitle(m)}
	in.Group = g
	switch {
	case m.SenderChat != nil: // an anonymous administrator, or a channel
		g.Speaker, g.Hidden = strconv.FormatInt(m.SenderChat.ID, 10), true
		in.Name = cmp.Or(m.AuthorSignature, m.SenderChat.Title)
		g.Program = m.IsAutomaticForward
	case m.From != nil:
		g.Speaker, g.Program = strconv.FormatInt(m.From.ID, 10), m.From.IsBot
	}
	r := m.ReplyToMessage
	g.Addressed = bot.mentioned(m) || r != nil && r.From != nil && strconv.FormatInt(r.From.ID, 10) == bot.account &&
		r.ForumTopicCreated == nil
}

// groupTitle returns the title of a group, with the name of the topic where a message tells it.
func groupTitle(m *models.Message) string {
	title := m.Chat.Title
	if r := m.ReplyToMessage; m.Chat.IsForum && m.IsTopicMessage && r != nil && r.ForumTopicCreated != nil {
		title += core.TopicMark + r.ForumTopicCreated.Name
	}
	return title
}

// mentioned reports whether a message names the bot.
func (b self) mentioned(m *models.Message) bool {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	for _, e := range entities[:min(len(entities), mostEntities)] {
		start, end, ok := span(text, e.Offset, e.Length)
		switch {
		case !ok:
		case e.Type == models.MessageEntityTypeTextMention:
			if e.User != nil && strconv.FormatInt(e.User.ID, 10) == b.account {
				return true
			}
		case e.Type == models.MessageEntityTypeMention, e.Type == models.MessageEntityTypeBotCommand:
			if _, name, ok := strings.Cut(text[start:end], "@"); ok && b.named(name) {
				return true
			}
		}
	}
	return false
}

func (b self) named(name string) bool { return b.name != "" && strings.EqualFold(name, b.name) }

// spoken returns the text of a group's message without the name of the bot: at its beginning, or behind a command.
func (b self) spoken(text string) string {
	first, rest := strings.TrimSpace(text), ""
	if end := strings.IndexAny(first, " \n\t"); end > 0 {
		first, rest = first[:end], first[end+1:]
	}
	word, name, ok := strings.Cut(first, "@")
	switch {
	case !ok || !b.named(strings.TrimRight(name, ",:")):
		return text
	case word == "":
		return strings.TrimSpace(rest)
	}
	return strings.TrimSpace(word + " " + rest)
}

// Membership returns what somebody is in a group at present.
func (c *Channel) Membership(ctx context.Context, to core.Address, speaker string) (core.Membership, error) {
	chat, _, err := ofAddress(to.External)
	if err != nil {
		return core.Outsider, err
	}
	id, err := strconv.ParseInt(speaker, 10, 64)
	switch {
	case err != nil:
		return core.Outsider, err
	case id == chat: // an anonymous administrator writes as the group
		return core.Administrator, nil
	case id <= 0: // a channel
		return core.Outsider, nil
	}
	var member struct {
		Status   models.ChatMemberType `json:"status"`
		IsMember bool                  `json:"is_member"`
	}
	if err := c.api.call(ctx, callTimeout, "getChatMember", &bot.GetChatMemberParams{ChatID: chat, UserID: id},
		&member); err != nil {
		return core.Outsider, fmt.Errorf("ask telegram for a member: %w", err)
	}
	switch member.Status {
	case models.ChatMemberTypeOwner, models.ChatMemberTypeAdministrator:
		return core.Administrator, nil
	case models.ChatMemberTypeMember:
		return core.Member, nil
	}
	if member.Status == models.ChatMemberTypeRestricted && member.IsMember {
		return core.Member, nil
	}
	return core.Outsider, nil
}

package telegram

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// normalise turns one update into an Inbound of the bot account. It also returns the decoded update, or nil. It accepts
// any bytes; unknown updates are core.InUnsupported. The event id of an update is the same for each repeat.
func normalise(bot self, raw []byte, now time.Time) (core.Inbound, *models.Update) {
	in := core.Inbound{Address: core.Address{Channel: Name, Account: bot.account}, Kind: core.InUnsupported,
		ReceivedAt: now, Raw: raw}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	var u models.Update
	if err := json.Unmarshal(raw, &u); err != nil {
		in.EventID = fallbackID(raw)
		return in, nil
	}
	in.EventID = fmt.Sprintf("update:%d", u.ID)
	if u.ID == 0 {
		in.EventID = fallbackID(raw)
	}
	switch {
	case u.Message != nil:
		message(&in, u.Message, raw, bot)
	case u.EditedMessage != nil:
		edited(&in, u.EditedMessage, raw, bot)
	case u.CallbackQuery != nil:
		callback(&in, u.CallbackQuery)
	case u.MyChatMember != nil:
		membership(&in, u.MyChatMember)
	case u.MessageReaction != nil:
		reaction(&in, u.MessageReaction)
	case u.StoppedMessageGeneration != nil:
		stopped(&in, u.StoppedMessageGeneration, u.ID)
	}
	withoutNUL(&in)
	return in, &u
}

// withoutNUL replaces NUL, which JSON can carry and PostgreSQL cannot store.
func withoutNUL(in *core.Inbound) {
	fields := []*string{&in.Text, &in.Name, &in.Language, &in.ForwardedFrom, &in.Reaction, &in.EventID}
	if in.Quote != nil {
		fields = append(fields, &in.Quote.Text, &in.Quote.From)
	}
	for i := range in.Attachments {
		a := &in.Attachments[i]
		fields = append(fields, &a.Ref, &a.Name, &a.MIME)
	}
	for _, f := range fields {
		*f = strings.ReplaceAll(*f, "\x00", "\uFFFD")
	}
}

// fallbackID returns the event id of an update that cannot be decoded as a whole.
func fallbackID(raw []byte) string {
	if id := updateID(raw, nil); id != 0 {
		return fmt.Sprintf("update:%d", id)
	}
	return "raw:" + digest(raw)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// message fills in a new message of a direct chat or of a group.
func message(in *core.Inbound, m *models.Message, raw []byte, bot self) {
	in.EventID = fmt.Sprintf("%d:%d", m.Chat.ID, m.ID)
	about(in, m.Chat, m.From)
	in.Address.Place = topic(m)
	in.NativeID = strconv.Itoa(m.ID)
	in.SentAt = unix(m.Date)
	if isGroup(m.Chat) {
		inGroup(in, m, bot)
		if m.MigrateToChatID != 0 {
			in.Kind, in.Target = core.InMoved, strconv.FormatInt(m.MigrateToChatID, 10)
			return
		}
	} else if !fromPerson(m) || m.Chat.Type != models.ChatTypePrivate {
		return
	}
	said := content(m)
	if m.RichMessage != nil && said.Text == "" {
		said = channel.Words(richText(raw))
	}
	if said.Text == "" {
		said = unknown(raw)
	}
	if in.Group != nil {
		said.Text = bot.spoken(said.Text)
	} else {
		said.Text = withoutBotName(said.Text)
	}
	if said.Text == "" {
		return
	}
	in.Kind = core.InMessage
	said.Fill(in)
	if r := m.ReplyToMessage; r == nil || r.ForumTopicCreated == nil { // the first message of a topic is no words
		in.Quote = quote(m, in.Address.Account)
	}
	in.ForwardedFrom = author(m)
}

// edited fills in the new text of a message. The service also sends this when only a
// reaction or a preview changed, which the store detects by the unchanged text.
func edited(in *core.Inbound, m *models.Message, raw []byte, bot self) {
	message(in, m, raw, bot)
	in.Edited = in.EventID
	in.EventID = fmt.Sprintf("%d:%d:%d:%s", m.Chat.ID, m.ID, m.EditDate, digest([]byte(in.Text)))
	if m.Location != nil { // a live location moved, which is neither an edit nor kept
		in.Raw = nil
		in.Kind = core.InUnsupported
		return
	}
	if in.Kind != core.InMessage {
		in.Kind = core.InUnsupported
		return
	}
	in.Kind = core.InEdit
	in.Target = in.NativeID
	if m.EditDate != 0 {
		in.SentAt = unix(m.EditDate)
	}
}

// fromPerson reports whether a person wrote m to the bot: not another bot, not through a
// business connection, and not in the name of a channel.
func fromPerson(m *models.Message) bool {
	return m.From != nil && !m.From.IsBot && m.SenderBusinessBot == nil && m.BusinessConnectionID == "" &&
		m.SenderChat == nil && m.Chat.Type != models.ChatTypeChannel
}

func about(in *core.Inbound, chat models.Chat, from *models.User) {
	in.Address.External = strconv.FormatInt(chat.ID, 10)
	if from != nil {
		in.Name = fullName(from)
		in.Language = from.LanguageCode
	}
}

// topic returns the topic of a direct chat in which m was written; empty: the chat has none.
func topic(m *models.Message) string {
	if !m.IsTopicMessage || m.MessageThreadID <= 0 {
		return ""
	}
	return strconv.Itoa(m.MessageThreadID)
}

func fullName(u *models.User) string {
	name := strings.TrimSpace(u.FirstName + " " + u.LastName)
	return cmp.Or(name, u.Username, strconv.FormatInt(u.ID, 10))
}

func unix(seconds int) time.Time { return time.Unix(int64(seconds), 0).UTC() }

// withoutBotName turns "/start@BotName payload" into "/start payload".
func withoutBotName(text string) string {
	if !strings.HasPrefix(text, "/") {
		return text
	}
	end := strings.IndexAny(text, " \n\t")
	if end < 0 {
		end = len(text)
	}
	if at := strings.IndexByte(text[:end], '@'); at > 1 {
		return text[:at] + text[end:]
	}
	return text
}

// quote returns the message that m replies to, or nil. A part that the sender selected
// takes precedence over the whole text.
func quote(m *models.Message, account string) *core.Quote {
	var q core.Quote
	switch r := m.ReplyToMessage; {
	case r != nil:
		q.NativeID = strconv.Itoa(r.ID)
		q.Text = content(r).Text
		q.Mine = r.From != nil && strconv.FormatInt(r.From.ID, 10) == account
		q.From = author(r)
		if isGroup(m.Chat) && !q.Mine {
			q.From = cmp.Or(q.From, writer(r))
		}
	case m.ExternalReply != nil:
		q.Text = content(external(m.ExternalReply)).Text
		q.From = cmp.Or(origin(&m.ExternalReply.Origin), unnamed)
	case m.ReplyToStory != nil:
		said := content(&models.Message{Story: m.ReplyToStory})
		q.Text, q.From = said.Text, chatName(m.ReplyToStory.Chat)
	case m.Quote == nil:
		return nil
	}
	if m.Quote != nil && m.Quote.Text != "" {
		q.Text = marked(m.Quote.Text, m.Quote.Entities)
	}
	if q.Text == "" && q.NativeID == "" {
		return nil
	}
	return &q
}

// writer returns the name of who wrote a message of a group, or "".
func writer(m *models.Message) string {
	switch {
	case m.SenderChat != nil:
		return cmp.Or(m.AuthorSignature, m.SenderChat.Title)
	case m.From != nil:
		return fullName(m.From)
	}
	return ""
}

// external returns the message of another chat that somebody replies to, as far as the service shows it.
func external(r *models.ExternalReplyInfo) *models.Message {
	return &models.Message{Animation: r.Animation, Audio: r.Audio, Document: r.Document, PaidMedia: r.PaidMedia,
		Photo: r.Photo, Sticker: r.Sticker, Story: r.Story, Video: r.Video, VideoNote: r.VideoNote, Voice: r.Voice,
		Checklist: r.Checklist, Contact: r.Contact, Dice: r.Dice, Game: r.Game, Giveaway: r.Giveaway,
		GiveawayWinners: r.GiveawayWinners, Invoice: r.Invoice, Location: r.Location, Poll: r.Poll, Venue: r.Venue,
		LivePhoto: r.LivePhoto}
}

// unnamed is the author of words whom the service does not name.
const unnamed = "unknown"

// author returns who wrote the words of m, if somebody else than its sender did, or "".
func author(m *models.Message) string {
	if from := origin(m.ForwardOrigin); from != "" || m.ViaBot == nil {
		return from
	}
	return "@" + m.ViaBot.Username // an inline bot wrote the words
}

// origin returns the name of a forwarded message's author, or "".
func origin(o *models.MessageOrigin) string {
	switch {
	case o == nil:
		return ""
	case o.MessageOriginUser != nil:
		return fullName(&o.MessageOriginUser.SenderUser)
	case o.MessageOriginHiddenUser != nil:
		return cmp.Or(o.MessageOriginHiddenUser.SenderUserName, unnamed)
	case o.MessageOriginChat != nil:
		return cmp.Or(o.MessageOriginChat.SenderChat.Title, unnamed)
	case o.MessageOriginChannel != nil:
		return cmp.Or(o.MessageOriginChannel.Chat.Title, unnamed)
	}
	return unnamed
}

// callback fills in a pressed button, whose data is one of the gateway's commands.
func callback(in *core.Inbound, q *models.CallbackQuery) {
	in.EventID = "callback:" + q.ID
	chat := models.Chat{ID: q.From.ID, Type: models.ChatTypePrivate}
	switch {
	case q.Message.Message != nil:
		chat, in.Address.Place = q.Message.Message.Chat, topic(q.Message.Message)
	case q.Message.InaccessibleMessage != nil:
		chat = q.Message.InaccessibleMessage.Chat
	}
	about(in, chat, &q.From)
	if m := q.Message.Message; m != nil && isGroup(m.Chat) {
		in.Address.External, in.Address.Place = chatAddress(m), ""
		in.Group = &core.Group{Title: groupTitle(m), Speaker: strconv.FormatInt(q.From.ID, 10), Program: q.From.IsBot, Addressed: true}
		in.NativeID = ""
	}
	if (in.Group != nil || chat.Type == models.ChatTypePrivate) && strings.HasPrefix(q.Data, "/") && !q.From.IsBot {
		in.Kind = core.InMessage
		in.Text = q.Data
	}
}

// membership fills in a change of the bot's own membership in a chat.
func membership(in *core.Inbound, u *models.ChatMemberUpdated) {
	status := u.NewChatMember.Type
	in.EventID = fmt.Sprintf("%d:member:%d:%s", u.Chat.ID, u.Date, status)
	about(in, u.Chat, &u.From)
	in.SentAt = unix(u.Date)
	switch u.Chat.Type {
	case models.ChatTypePrivate:
		switch status {
		case models.ChatMemberTypeBanned:
			in.Kind = core.InBlocked
		case models.ChatMemberTypeMember:
			in.Kind = core.InUnblocked
		}
	case models.ChatTypeGroup, models.ChatTypeSupergroup:
		in.Group = &core.Group{Title: u.Chat.Title, Speaker: strconv.FormatInt(u.From.ID, 10)}
		switch before := present(u.OldChatMember.Type); {
		case !before && present(status):
			in.Kind = core.InGroup
		case before && !present(status):
			in.Kind = core.InBlocked
		}
	}
}

func present(status models.ChatMemberType) bool {
	return status != models.ChatMemberTypeLeft && status != models.ChatMemberTypeBanned
}

// reaction fills in a person's reaction to a message of a direct chat.
func reaction(in *core.Inbound, r *models.MessageReactionUpdated) {
	emoji := ""
	for i := len(r.NewReaction) - 1; i >= 0 && emoji == ""; i-- {
		emoji = reactionText(r.NewReaction[i])
	}
	about(in, r.Chat, r.User)
	in.SentAt = unix(r.Date)
	in.EventID = fmt.Sprintf("%d:%d:reaction:%d:%s", r.Chat.ID, r.MessageID, r.Date, digest([]byte(emoji)))
	if r.Chat.Type == models.ChatTypePrivate && r.User != nil && !r.User.IsBot {
		in.Kind = core.InReaction
		in.Target = strconv.Itoa(r.MessageID)
		in.Reaction = emoji
	}
}

func reactionText(r models.ReactionType) string {
	switch {
	case r.ReactionTypeEmoji != nil:
		return r.ReactionTypeEmoji.Emoji
	case r.ReactionTypeCustomEmoji != nil:
		return "custom emoji"
	}
	return "⭐"
}

// stopped fills in that the person pressed the stop button of a draft.
func stopped(in *core.Inbound, s *models.MessageGenerationStopped, update int64) {
	in.Kind = core.InStop
	in.EventID = fmt.Sprintf("%d:stop:%d:%d", s.Chat.ID, s.DraftID, update)
	about(in, s.Chat, nil)
}

// richText returns the text of the rich message in an update, one line per block. A rich message has blocks instead of
// a text. To support future types of blocks, richText collects whatever is under a key named text.
func richText(update []byte) string {
	var u struct {
		Message *richUpdate `json:"message"`
		Edited  *richUpdate `json:"edited_message"`
	}
	if json.Unmarshal(update, &u) != nil {
		return ""
	}
	m := cmp.Or(u.Message, u.Edited)
	if m == nil {
		return ""
	}
	var lines []string
	for _, block := range m.Rich.Blocks {
		if line := strings.TrimSpace(shown(block)); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

type richUpdate struct {
	Rich struct {
		Blocks []json.RawMessage `json:"blocks"`
	} `json:"rich_message"`
}

// shown joins the strings of a JSON value that are under a key "text", or in a list under one, in order.
func shown(value json.RawMessage) string {
	var b strings.Builder
	collect(&b, json.NewDecoder(bytes.NewReader(value)), false)
	return b.String()
}

// collect reads one value. If isText, it collects strings in it.
func collect(b *strings.Builder, d *json.Decoder, isText bool) {
	token, err := d.Token()
	if err != nil {
		return
	}
	switch token {
	case json.Delim('['):
		for d.More() {
			collect(b, d, isText)
			if !isText && !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte('\n')
			}
		}
		_, _ = d.Token()
	case json.Delim('{'):
		var inner strings.Builder
		address := ""
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return
			}
			if key == "url" {
				link := strings.Builder{}
				collect(&link, d, true)
				address = link.String()
				continue
			}
			collect(&inner, d, key == "text")
		}
		_, _ = d.Token()
		words := inner.String()
		if address != "" && address != words && strings.TrimSpace(words) != "" {
			words = "[" + words + "](" + address + ")"
		}
		b.WriteString(words)
	default:
		if s, ok := token.(string); ok && isText {
			b.WriteString(s)
		}
	}
}

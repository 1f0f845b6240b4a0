package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// content returns what m says: its text with the addresses and marks of its entities, its file, or a placeholder of
// what else it holds. It is empty for service messages.
func content(m *models.Message) channel.Content {
	if m.Text != "" {
		return channel.Words(marked(m.Text, m.Entities))
	}
	caption := marked(m.Caption, m.CaptionEntities)
	if label, a := file(m); label != "" {
		return channel.File(label, caption, *a)
	}
	if c := object(m); c.Text != "" {
		return c.With(channel.Words(caption))
	}
	return channel.Words(caption)
}

// file returns the label and the file of m, or "" if there is none.
func file(m *models.Message) (string, *core.Attachment) {
	switch {
	case m.LivePhoto != nil && len(m.LivePhoto.Photo) > 0:
		return photo(m.LivePhoto.Photo)
	case len(m.Photo) > 0:
		return photo(m.Photo)
	case m.Voice != nil:
		v := m.Voice
		return timed("voice", v.Duration, attachment("voice", v.FileID, "", v.MimeType, v.FileSize))
	case m.Audio != nil:
		v := m.Audio
		name := cmp.Or(v.FileName, strings.Trim(v.Performer+" - "+v.Title, " -"))
		return timed("audio", v.Duration, attachment("audio", v.FileID, name, v.MimeType, v.FileSize))
	case m.Animation != nil: // comes with a document of the same file
		v := m.Animation
		return timed("animation", v.Duration, attachment("video", v.FileID, v.FileName, v.MimeType, v.FileSize))
	case m.Video != nil:
		v := m.Video
		return timed("video", v.Duration, attachment("video", v.FileID, v.FileName, v.MimeType, v.FileSize))
	case m.VideoNote != nil:
		v := m.VideoNote
		return timed("video", v.Duration, attachment("video", v.FileID, "", "video/mp4", int64(v.FileSize)))
	case m.Document != nil:
		d := m.Document
		return "document " + d.FileName, attachment("document", d.FileID, d.FileName, d.MimeType, d.FileSize)
	case m.Sticker != nil:
		s := m.Sticker
		return "sticker " + s.Emoji, attachment("sticker", s.FileID, "", stickerType(s), int64(s.FileSize))
	}
	return "", nil
}

// photo returns the largest size of a photo.
func photo(sizes []models.PhotoSize) (string, *core.Attachment) {
	p := slices.MaxFunc(sizes, func(a, b models.PhotoSize) int { return cmp.Compare(a.Width*a.Height, b.Width*b.Height) })
	return "photo", attachment("photo", p.FileID, "", "image/jpeg", int64(p.FileSize))
}

func attachment(kind, ref, name, mime string, size int64) *core.Attachment {
	return &core.Attachment{Kind: kind, Ref: ref, Name: name, MIME: mime, Size: size}
}

// timed adds a duration in seconds to a label and its attachment.
func timed(kind string, seconds int, a *core.Attachment) (string, *core.Attachment) {
	seconds = max(0, seconds)
	a.Duration = time.Duration(seconds) * time.Second
	return fmt.Sprintf("%s %d:%02d", kind, seconds/60, seconds%60), a
}

func stickerType(s *models.Sticker) string {
	switch {
	case s.IsAnimated:
		return "application/x-tgsticker"
	case s.IsVideo:
		return "video/webm"
	}
	return "image/webp"
}

// object returns the placeholder of content that is neither text nor a file; empty: there is none.
func object(m *models.Message) channel.Content {
	switch {
	case m.Venue != nil: // comes with a location of its own
		v := m.Venue
		return channel.Object("venue", v.Title+",", v.Address+",", coordinates(&v.Location))
	case m.Location != nil && m.Location.LivePeriod > 0:
		return channel.Bare("live location", coordinates(m.Location)+",", "where it began")
	case m.Location != nil:
		return channel.Bare("location", coordinates(m.Location))
	case m.Contact != nil:
		c := m.Contact
		return channel.Object("contact", c.FirstName, c.LastName, c.PhoneNumber, vCard(c.VCard, c.PhoneNumber))
	case m.Poll != nil:
		return poll(m.Poll)
	case m.Checklist != nil:
		return channel.Object("checklist", m.Checklist.Title, channel.Choices(tasks(m.Checklist.Tasks)))
	case m.Dice != nil:
		return channel.Bare("dice", m.Dice.Emoji, strconv.Itoa(m.Dice.Value))
	case m.Story != nil:
		return channel.Object("story of", chatName(m.Story.Chat))
	case m.Game != nil:
		return channel.Object("game", m.Game.Title+":", m.Game.Description, m.Game.Text)
	case m.Invoice != nil:
		return channel.Object("invoice", m.Invoice.Title+",", price(m.Invoice.TotalAmount, m.Invoice.Currency)+":",
			m.Invoice.Description)
	}
	return offer(m)
}

// offer returns the placeholder of content that costs or gives something.
func offer(m *models.Message) channel.Content {
	switch {
	case m.PaidMedia != nil:
		kinds := make([]string, len(m.PaidMedia.PaidMedia))
		for i, p := range m.PaidMedia.PaidMedia {
			kinds[i] = string(p.Type)
		}
		return channel.Object("paid media for", strconv.Itoa(m.PaidMedia.StarCount), "stars", channel.Choices(kinds))
	case m.Giveaway != nil:
		g := m.Giveaway
		return channel.Object("giveaway of", chatNames(g.Chats)+",", fmt.Sprintf("%d winners", g.WinnerCount)+",",
			"drawn on", unix(g.WinnersSelectionDate).Format("2 January 2006")+":", g.PrizeDescription)
	case m.GiveawayWinners != nil:
		g := m.GiveawayWinners
		return channel.Object("giveaway of", chatName(g.Chat)+",", fmt.Sprintf("%d winners", g.WinnerCount)+":",
			g.PrizeDescription)
	case m.Gift != nil:
		return channel.Object("gift", m.Gift.Gift.Sticker.Emoji, m.Gift.Text)
	case m.UniqueGift != nil:
		return channel.Object("gift", m.UniqueGift.Gift.BaseName, m.UniqueGift.Text)
	case m.SuccessfulPayment != nil:
		p := m.SuccessfulPayment
		return channel.Object("payment of", price(p.TotalAmount, p.Currency))
	}
	return sharing(m)
}

// sharing returns the placeholder of what a button of a bot sent in the person's name.
func sharing(m *models.Message) channel.Content {
	switch {
	case m.UsersShared != nil:
		names := make([]string, len(m.UsersShared.Users))
		for i, u := range m.UsersShared.Users {
			names[i] = cmp.Or(strings.TrimSpace(u.FirstName+" "+u.LastName), u.Username, strconv.FormatInt(u.UserID, 10))
		}
		return channel.Object("people", channel.Choices(names))
	case m.ChatShared != nil:
		return channel.Object("chat", cmp.Or(m.ChatShared.Title, m.ChatShared.Username))
	case m.WebAppData != nil:
		return channel.Object("data of the app", m.WebAppData.ButtonText+":", m.WebAppData.Data)
	}
	return channel.Content{}
}

func poll(p *models.Poll) channel.Content {
	options := make([]string, len(p.Options))
	for i, o := range p.Options {
		options[i] = o.Text
		if p.TotalVoterCount > 0 {
			options[i] += fmt.Sprintf(": %d", o.VoterCount)
		}
	}
	return channel.Object("poll", marked(p.Question, p.QuestionEntities), channel.Choices(options), p.Description,
		p.Explanation)
}

// tasks returns the entries of a list; those that are done have a mark.
func tasks(all []models.ChecklistTask) []string {
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = t.Text
		if t.CompletionDate != 0 {
			out[i] = "✓ " + t.Text
		}
	}
	return out
}

// price returns an amount in a currency, such as 5.00 EUR. Stars have no smaller unit.
func price(amount int, currency string) string {
	switch currency {
	case "XTR":
		return fmt.Sprintf("%d stars", amount)
	case "JPY", "KRW", "VND", "CLP", "UGX", "PYG", "ISK":
		return fmt.Sprintf("%d %s", amount, currency)
	}
	return fmt.Sprintf("%.2f %s", float64(amount)/100, currency)
}

func coordinates(l *models.Location) string { return channel.Position(l.Latitude, l.Longitude) }

func chatName(c models.Chat) string {
	return cmp.Or(c.Title, strings.TrimSpace(c.FirstName+" "+c.LastName), c.Username, strconv.FormatInt(c.ID, 10))
}

func chatNames(all []models.Chat) string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = chatName(c)
	}
	return strings.Join(names, " / ")
}

// circumstances are the fields of a message that are not its content: who, when, how, and the service's own notices.
const circumstances = ` message_id message_thread_id direct_messages_topic from sender_chat
	sender_boost_count sender_business_bot sender_tag receiver_user ephemeral_message_id date business_connection_id chat
	forward_origin forward_from forward_from_chat forward_from_message_id forward_signature forward_sender_name
	forward_date is_topic_message is_automatic_forward reply_to_message external_reply quote reply_to_story
	reply_to_checklist_task_id reply_to_poll_option_id via_bot edit_date has_protected_content is_from_offline
	is_paid_post media_group_id author_signature paid_star_count text entities rich_message link_preview_options
	suggested_post_info effect_id caption caption_entities show_caption_above_media has_media_spoiler reply_markup
	guest_bot_caller_user guest_bot_caller_chat guest_query_id new_chat_members new_chat_member new_chat_participant
	left_chat_member left_chat_participant new_chat_title new_chat_photo delete_chat_photo group_chat_created
	supergroup_chat_created channel_chat_created message_auto_delete_timer_changed migrate_to_chat_id
	migrate_from_chat_id pinned_message refunded_payment gift_upgrade_sent connected_website write_access_allowed
	passport_data proximity_alert_triggered boost_added chat_background_set checklist_tasks_done checklist_tasks_added
	direct_message_price_changed forum_topic_created forum_topic_edited forum_topic_closed forum_topic_reopened
	general_forum_topic_hidden general_forum_topic_unhidden giveaway_created giveaway_completed
	paid_message_price_changed chat_owner_left chat_owner_changed community_chat_added community_chat_joined
	community_chat_removed suggested_post_approved suggested_post_approval_failed suggested_post_declined
	suggested_post_paid suggested_post_refunded video_chat_scheduled video_chat_started video_chat_ended
	video_chat_participants_invited voice_chat_scheduled voice_chat_started voice_chat_ended
	voice_chat_participants_invited managed_bot_created poll_option_added poll_option_deleted `

// unknown returns a placeholder that names content of types that the service has added since; empty: there is none.
func unknown(update []byte) channel.Content {
	var u struct {
		Message map[string]json.RawMessage `json:"message"`
		Edited  map[string]json.RawMessage `json:"edited_message"`
	}
	_ = json.Unmarshal(update, &u)
	if u.Message == nil {
		u.Message = u.Edited
	}
	var names []string
	for name := range u.Message {
		if !slices.Contains(strings.Fields(circumstances), name) {
			names = append(names, strings.ReplaceAll(name, "_", " "))
		}
	}
	if len(names) == 0 {
		return channel.Content{}
	}
	slices.Sort(names)
	return channel.Object("unsupported:", strings.Join(names, ", "))
}

package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/markup"
)

// sendTimeout bounds one request to send. After it the outcome is unknown.
const sendTimeout = 30 * time.Second

// Send delivers one part, a text or a file. It retries a refused request once for each cause: without markup, without a
// reply to a deleted message, outside a deleted topic, with a picture as a document, or to the supergroup that a group
// became. Errors are
// classified by their code and description.
func (c *Channel) Send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	chat, place, err := ofAddress(to.External)
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
	if place != 0 {
		params.MessageThreadID = place
	}
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
		if place != 0 && noTopic(err) { // it is a conversation of its own, which is told nowhere else
			return core.Receipt{}, &core.Unreachable{Err: fmt.Errorf("send to telegram: the topic is closed or deleted: %w", err)}
		}
		if !amend(params, file, err) {
			return core.Receipt{}, c.classify(err, chat)
		}
	}
}

// Retract deletes a message of ours, which the service allows for 48 hours.
func (c *Channel) Retract(ctx context.Context, to core.Address, native string) error {
	chat, _, err := ofAddress(to.External)
	message, invalid := strconv.Atoi(native)
	if cmp.Or(err, invalid) != nil {
		return &core.Permanent{Err: errors.New("delete on telegram: there is no such message")}
	}
	params := &bot.DeleteMessageParams{ChatID: chat, MessageID: message}
	err = c.api.call(ctx, sendTimeout, "deleteMessage", params, nil)
	if err == nil || has(err, "message to delete not found") {
		return nil
	}
	return c.classify(fmt.Errorf("delete: %w", err), chat)
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
	case params.MessageThreadID != 0 && noTopic(err):
		params.MessageThreadID = 0
	default:
		return file.plain(err)
	}
	return true
}

// noTopic reports whether a topic cannot be written to.
func noTopic(err error) bool {
	return has(err, "message thread not found") || has(err, "TOPIC_DELETED") || has(err, "TOPIC_CLOSED")
}

func has(err error, words string) bool {
	var refused *apiError
	return errors.As(err, &refused) && strings.Contains(refused.Description, words)
}

// classify wraps the error of a failed request to send to chat for the retry policy.
func (c *Channel) classify(err error, chat int64) error {
	what := hopeless(err)
	err = fmt.Errorf("send to telegram: %w", cmp.Or(what, err))
	refused, ok := errors.AsType[*apiError](err)
	if !ok {
		if lost, ok := errors.AsType[*netError](err); ok && lost.Left {
			return &core.Unknown{Err: err}
		}
		return err
	}
	switch code := refused.Code; {
	case what != nil:
		c.Report(what)
	case code == http.StatusTooManyRequests:
		wait := max(refused.RetryAfter, time.Second)
		return &core.RetryAfter{After: wait, Account: c.flood.note(chat, c.now(), wait), Err: err}
	case code == http.StatusForbidden, has(err, "chat not found"): // until they write (again)
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

const (
	maxCaption = 1024 // UTF-16 units
	// maxFile and maxPhoto are the service's limits, in bytes.
	maxFile  = 50e6
	maxPhoto = 10e6
	// uploadTimeout bounds one request to send a file. After it the outcome is unknown.
	uploadTimeout = 2 * time.Minute
)

// upload is a file to send: the method and form field for it, and its name, type and content.
type upload struct {
	method, field, name, media string
	data                       []byte
}

// uploadOf returns the upload for p, or nil for a text. Files that the service does not
// show as a picture, video or recording are documents.
func uploadOf(p core.Part) (*upload, error) {
	a := p.Attachment
	if a == nil {
		return nil, nil
	}
	if len(p.Data) == 0 || len(p.Data) > maxFile {
		return nil, &core.Permanent{Err: fmt.Errorf(
			"send to telegram: the file %s has %d bytes; between 1 and %d can be sent", a.Name, len(p.Data), int(maxFile))}
	}
	if markup.UTF16Len(p.Text) > maxCaption {
		return nil, &core.Permanent{Err: errors.New("send to telegram: the caption is too long")}
	}
	media, _, err := mime.ParseMediaType(a.MIME)
	if err != nil {
		media = "application/octet-stream"
	}
	u := &upload{method: "sendDocument", field: "document", name: a.Name, media: media, data: p.Data}
	switch media {
	case "image/jpeg", "image/png", "image/webp":
		if len(p.Data) <= maxPhoto && a.Kind != "document" {
			u.method, u.field = "sendPhoto", "photo"
		}
	case "video/mp4":
		u.method, u.field = "sendVideo", "video"
	case "audio/mpeg", "audio/mp4":
		u.method, u.field = "sendAudio", "audio"
	case "audio/ogg":
		if a.Kind == "voice" {
			u.method, u.field = "sendVoice", "voice"
		}
	}
	return u, nil
}

// plain makes the file a document if the service refused its kind, and reports whether it did.
func (u *upload) plain(err error) bool {
	if u == nil || u.field == "document" {
		return false
	}
	causes := []string{"PHOTO_", "IMAGE_PROCESS_FAILED", "VIDEO_", "AUDIO_", "VOICE_MESSAGES_FORBIDDEN", "wrong file type"}
	if !slices.ContainsFunc(causes, func(words string) bool { return has(err, words) }) {
		return false
	}
	u.method, u.field = "sendDocument", "document"
	return true
}

// form returns the request with the file and params, whose text is the caption, and its content type.
func (u *upload) form(params *bot.SendMessageParams) ([]byte, string, error) {
	fields := [][2]string{{"chat_id", fmt.Sprint(params.ChatID)}}
	if strings.TrimSpace(params.Text) != "" {
		fields = append(fields, [2]string{"caption", params.Text})
	}
	if params.DisableNotification {
		fields = append(fields, [2]string{"disable_notification", strconv.FormatBool(true)})
	}
	if params.MessageThreadID != 0 {
		fields = append(fields, [2]string{"message_thread_id", strconv.Itoa(params.MessageThreadID)})
	}
	nested := map[string]any{}
	if len(params.Entities) > 0 && strings.TrimSpace(params.Text) != "" {
		nested["caption_entities"] = params.Entities
	}
	if params.ReplyParameters != nil {
		nested["reply_parameters"] = params.ReplyParameters
	}
	for name, v := range nested {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, "", fmt.Errorf("write %s: %w", name, err)
		}
		fields = append(fields, [2]string{name, string(raw)})
	}
	disposition := fmt.Sprintf(`form-data; name="%s"; filename="%s"`, u.field, fileName(u.name))
	return channel.Form(fields, disposition, u.media, u.data)
}

// fileName returns a name for a form. The service accepts UTF-8.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	return cmp.Or(head(name, 200), "file")
}

// post makes one request to send the file u or, if that is nil, the text.
func (c *Channel) post(ctx context.Context, params *bot.SendMessageParams, u *upload, result any) error {
	if u == nil {
		return c.api.call(ctx, sendTimeout, "sendMessage", params, result)
	}
	body, kind, err := u.form(params)
	if err != nil {
		return &netError{Op: u.method, Err: err}
	}
	return c.api.post(ctx, uploadTimeout, u.method, kind, body, result)
}

// showTimeout bounds a dispensable request.
const showTimeout = 5 * time.Second

func (c *Channel) Typing(ctx context.Context, to core.Address, _ string) error {
	chat, place, err := ofAddress(to.External)
	if err != nil {
		return fmt.Errorf("show typing: %w", err)
	}
	params := &bot.SendChatActionParams{ChatID: chat, Action: models.ChatActionTyping,
		MessageThreadID: cmp.Or(place, thread(to.Place))}
	if err := c.api.call(ctx, showTimeout, "sendChatAction", params, nil); err != nil {
		return fmt.Errorf("show typing: %w", err)
	}
	return nil
}

func (c *Channel) TypingTTL() time.Duration { return 5 * time.Second }

// draft is the payload of sendMessageDraft. In the type of go-telegram/bot the draft id is
// a string, which works in forms only.
type draft struct {
	ChatID  int64  `json:"chat_id"`
	Thread  int    `json:"message_thread_id,omitempty"`
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
	d := draft{ChatID: chat, Thread: thread(to.Place), DraftID: DraftID(key),
		Text: head(markup.Plain(text), maxText), CanStop: true}
	if err := c.api.call(ctx, showTimeout, "sendMessageDraft", d, nil); err != nil {
		return fmt.Errorf("show draft: %w", err)
	}
	return nil
}

// PreviewEvery returns the pause between previews that avoids flood waits.
func (c *Channel) PreviewEvery() time.Duration { return 1500 * time.Millisecond }

// DraftID returns the draft id of a preview's key: positive, and the same for the same key.
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

package matrix

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.mau.fi/util/exslices"
	"go.uber.org/zap"
	"maunium.net/go/mautrix"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// sendTimeout bounds one request to send. After it the outcome is unknown, and a retry with the same key is harmless.
const sendTimeout = 30 * time.Second

// Send delivers one part to the room in which the person last wrote. The transaction id
// is p.Key. Errors are classified by their errcode.
func (c *Channel) Send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	return c.send(ctx, to, p, nil)
}

// send delivers a part; bridge is nil for Matrix users.
func (c *Channel) send(ctx context.Context, to core.Address, p core.Part, bridge *Bridge) (core.Receipt, error) {
	to = to.Chat() // the part has its place
	if strings.TrimSpace(p.Text) == "" && p.Attachment == nil {
		return core.Receipt{}, &core.Permanent{Err: errors.New("send to matrix: the text is empty")}
	}
	s, r, err := c.reach(ctx, to)
	if err != nil {
		return core.Receipt{}, err
	}
	defer c.writing.WithLock(r.id)()
	id, err := c.deliver(ctx, s, r, p, bridge)
	if err != nil {
		return core.Receipt{}, c.classify(s, r, err)
	}
	c.sent(ctx, s, r, to)
	return core.Receipt{NativeID: id}, nil
}

// deliver sends a part to a room, in place of its preview if it has one.
func (c *Channel) deliver(ctx context.Context, s *session, r room, p core.Part, bridge *Bridge) (string, error) {
	key := s.renewal.transaction(p.Key)
	if key == "" {
		var err error
		if key, err = c.random(16); err != nil {
			return "", err
		}
	}
	p.Preview = s.renewal.transaction(p.Preview)
	p, err := c.qualify(ctx, s, r.id, p)
	if err != nil {
		return "", err
	}
	content := Render(p, bridge)
	content[sentMark] = key
	if p.Attachment != nil {
		if err := c.attach(ctx, s, r, p, content); err != nil {
			return "", err
		}
	}
	shown, err := c.place(ctx, s, r, p, key, bridge)
	if err != nil {
		return "", err
	}
	if shown != "" {
		content = replace(content, shown)
	}
	id := ""
	if p.Again {
		if id, err = c.already(ctx, s, r, key, key, false); err != nil {
			return "", err
		}
	}
	if id == "" {
		if id, err = c.put(ctx, s, r, typeMessage, key, content); err != nil {
			return "", err
		}
	}
	c.memory.add(r.id, id, seen{Sender: c.opts.UserID, Mine: true, Text: p.Text, Target: shown})
	if shown != "" {
		id = shown
	}
	return id, nil
}

// Retract redacts a message of ours and its edits, which hold words of it, too.
func (c *Channel) Retract(ctx context.Context, to core.Address, native string) error {
	s, r, err := c.reach(ctx, to)
	if err != nil {
		return err
	}
	defer c.writing.WithLock(r.id)()
	events := []string{native}
	_, err = c.newestOf(ctx, s, r, func(e event) bool {
		if rel := e.relation(); rel.kind == "m.replace" && rel.target == native {
			events = append(events, e.ID)
		}
		return e.ID == native
	})
	for _, event := range events {
		if err == nil {
			_, err = within(ctx, callTimeout, func(ctx context.Context) (*mautrix.RespSendEvent, error) {
				return s.cli.RedactEvent(ctx, id.RoomID(r.id), id.EventID(event), mautrix.ReqRedact{TxnID: "retract-" + event})
			})
		}
	}
	if err != nil {
		return c.classify(s, r, fmt.Errorf("delete: %w", err))
	}
	return nil
}

// random returns n random bytes in hexadecimal, for transaction ids.
func (c *Channel) random(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(c.opts.Rand, b); err != nil {
		return "", fmt.Errorf("make a transaction id: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// errEncrypted means that a room is encrypted and this build or configuration cannot write to it.
var errEncrypted = errors.New("the room is encrypted, and this program was built or configured without encryption")

// put sends an event, encrypted if the room is, and returns its id. Repeats with the same txn return the same event.
func (c *Channel) put(ctx context.Context, s *session, r room, kind, txn string,
	content map[string]any) (string, error) {
	var body any = content
	if r.encrypted {
		if s.crypto == nil {
			return "", errEncrypted
		}
		cipher, err := s.crypto.encrypt(ctx, r, kind, content)
		if err != nil {
			return "", fmt.Errorf("encrypt: %w", err)
		}
		body, kind = cipher, typeEncrypted
	}
	got, err := within(ctx, sendTimeout, func(ctx context.Context) (*mautrix.RespSendEvent, error) {
		return s.cli.SendMessageEvent(ctx, id.RoomID(r.id), mevent.NewEventType(kind), body,
			mautrix.ReqSendEvent{TransactionID: txn, DontEncrypt: true})
	})
	switch {
	case err != nil:
		return "", err
	case got == nil || got.EventID == "":
		return "", &failure{Left: true, err: errors.New("the answer holds no event id")}
	}
	return got.EventID.String(), nil
}

func (c *Channel) sent(ctx context.Context, s *session, r room, to core.Address) {
	if !strings.HasPrefix(to.External, "!") && !c.hasSpokenTo(ctx, to) {
		if err := c.opts.Keeper.SetState(ctx, map[string]string{keyOf(keySent, to): "1"}); err != nil {
			c.log.Warn("first message to a person not recorded", zap.Error(err))
		}
	}
	if last, _ := c.typing.Pop(r.id); c.now().Sub(last) < typingTTL { // the room still shows the notice
		_ = s.setTyping(ctx, r.id, false)
	}
}

// classify wraps the error of a failed request to send for the retry policy.
func (c *Channel) classify(s *session, r room, err error) error {
	wrapped := fmt.Errorf("send to matrix: %w", err)
	var permanent *core.Permanent
	e, _ := errors.AsType[*failure](err)
	switch {
	case errors.Is(err, errEncrypted), errors.As(err, &permanent):
		return &core.Permanent{Err: wrapped}
	case e == nil, e.Status == 0 && !e.Left:
		return wrapped
	case e.loggedOut():
		c.logout(s)
		return wrapped
	case e.Status == http.StatusTooManyRequests:
		return &core.RetryAfter{After: max(e.RetryAfter, time.Second), Err: wrapped}
	case e.Code == "M_FORBIDDEN", e.Code == "M_NOT_FOUND", e.Status == http.StatusForbidden:
		c.rooms.drop(r.id)
		return &core.Unreachable{Err: wrapped}
	case e.Status == 0, e.Status >= 500:
		return &core.Unknown{Err: wrapped}
	}
	return &core.Permanent{Err: wrapped}
}

func (c *Channel) reach(ctx context.Context, to core.Address) (*session, room, error) {
	s, err := c.login(ctx)
	if err != nil {
		return nil, room{}, fmt.Errorf("send to matrix: %w", err)
	}
	r, err := c.target(ctx, s, to)
	if e := refused(err); e != nil && e.loggedOut() {
		c.logout(s)
	}
	return s, r, err
}

func (c *Channel) target(ctx context.Context, s *session, to core.Address) (room, error) {
	to = to.Chat()
	if to.Channel == Name && strings.HasPrefix(to.External, "!") {
		return c.rooms.load(ctx, s, to.External)
	}
	id, err := c.roomOf(ctx, to)
	if err != nil {
		return room{}, err
	}
	for range 5 { // a room may have been replaced several times
		if id == "" {
			break
		}
		r, err := c.rooms.load(ctx, s, id)
		if err != nil {
			return r, err
		}
		if who, ok := r.person(c.rooms.home); ok && who == to && r.successor == "" {
			return r, nil
		}
		id = r.successor
	}
	return c.search(ctx, s, to)
}

// search looks for a direct chat with a person in all joined rooms, as the remembered room is no longer one.
func (c *Channel) search(ctx context.Context, s *session, to core.Address) (room, error) {
	if r, ok := c.rooms.with(to, ""); ok {
		return r, c.found(ctx, to, r)
	}
	joined, err := s.joinedRooms(ctx)
	if err != nil {
		return room{}, fmt.Errorf("look for a room: %w", err)
	}
	unread := slices.DeleteFunc(joined, func(id string) bool { _, ok := c.rooms.Get(id); return ok })
	if err := c.rooms.loadAll(ctx, s, unread); err != nil {
		return room{}, err
	}
	if r, ok := c.rooms.with(to, ""); ok {
		return r, c.found(ctx, to, r)
	}
	return room{}, &core.Unreachable{Err: errors.New(
		"send to matrix: there is no direct chat with the person; they have to write or invite first")}
}

func (s *session) joinedRooms(ctx context.Context) ([]string, error) {
	got, err := within(ctx, callTimeout, s.cli.JoinedRooms)
	if err != nil {
		return nil, err
	}
	return exslices.CastToString[string](got.JoinedRooms), nil
}

func (c *Channel) found(ctx context.Context, to core.Address, r room) error {
	c.memory.where.Set(to, r.id)
	err := c.opts.Keeper.SetState(ctx, map[string]string{keyOf(keyRoom, to): r.id,
		keyWho + r.id: to.Channel + ":" + to.External})
	if err != nil {
		return fmt.Errorf("store the room: %w", err)
	}
	return nil
}

const typingTTL = 30 * time.Second

func (c *Channel) Typing(ctx context.Context, to core.Address, _ string) error {
	s, r, err := c.reach(ctx, to)
	if err == nil {
		err = s.setTyping(ctx, r.id, true)
	}
	if err != nil {
		return fmt.Errorf("show typing: %w", err)
	}
	c.typing.Set(r.id, c.now())
	return nil
}

func (c *Channel) TypingTTL() time.Duration { return typingTTL }

func (s *session) setTyping(ctx context.Context, room string, on bool) error {
	_, err := within(ctx, showTimeout, func(ctx context.Context) (*mautrix.RespTyping, error) {
		return s.cli.UserTyping(ctx, id.RoomID(room), on, typingTTL)
	})
	return err
}

// Bounds of the search for an event that may have been sent. The homeserver may still be
// processing an interrupted request, and other people may have written much since.
const (
	alreadyWait  = time.Second // before the second search
	alreadyPage  = 100         // events of a page
	alreadyPages = 10
	alreadyOurs  = 100 // sent events, after which the search ends
)

// already looks for an event that a dead process may have sent to a room, by transaction id or by a mark in its
// content. Homeservers should return the same event for the same transaction, but some forget an interrupted request
// and still carry it out. With fresh, edits do not count.
func (c *Channel) already(ctx context.Context, s *session, r room, txn, mark string, fresh bool) (string, error) {
	ours := func(e event) bool { return e.Txn == txn || marked(e, mark, fresh) }
	id, err := c.newestOf(ctx, s, r, ours)
	if id != "" || err != nil {
		return id, err
	}
	if err := channel.Pause(ctx, alreadyWait); err != nil {
		return "", fmt.Errorf("look for a sent event: %w", err)
	}
	return c.newestOf(ctx, s, r, ours)
}

// newestOf returns the id of the newest sent event in a room for which wanted is true,
// or "" if none of the last few is.
func (c *Channel) newestOf(ctx context.Context, s *session, r room, wanted func(event) bool) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	seen := 0
	err = s.pages(ctx, r.id, "", map[string]any{"senders": []string{c.opts.UserID}, "limit": alreadyPage}, alreadyPage,
		alreadyPages, func(e event) bool {
			if e.Sender != c.opts.UserID {
				return true
			}
			if seen++; e.Type == typeEncrypted && s.crypto != nil {
				e, _ = s.open(ctx, r.id, e)
			}
			if wanted(e) {
				id = e.ID
			}
			return id == "" && seen < alreadyOurs
		})
	return id, err
}

// marked reports whether an event was sent with a mark. With fresh, edits do not count.
func marked(e event, mark string, fresh bool) bool {
	f := e.fields()
	return e.Type == typeMessage && text(f[sentMark]) == mark && (!fresh || f["m.new_content"] == nil)
}

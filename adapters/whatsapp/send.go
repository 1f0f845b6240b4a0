package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

const (
	// sendTimeout bounds one request to send. After it the outcome is unknown.
	sendTimeout = 30 * time.Second
	typingTTL   = 25 * time.Second
	maxCallback = 512 // bytes of biz_opaque_callback_data
)

type outgoing struct {
	Product       string `json:"messaging_product"`
	RecipientType string `json:"recipient_type"`
	To            string `json:"to,omitempty"`
	Recipient     string `json:"recipient,omitempty"`
	Callback      string `json:"biz_opaque_callback_data,omitempty"`
	graph.Content
	Template    object `json:"template,omitempty"`
	Interactive object `json:"interactive,omitempty"`
}

// groupPrefix marks the External of a group.
const groupPrefix = "group:"

// addressed returns a message without content to an address. Phone numbers begin with
// "+", groups with groupPrefix, and anything else is one of Meta's ids.
func addressed(to core.Address, p core.Part) (*outgoing, error) {
	m := &outgoing{Product: "whatsapp", RecipientType: "individual"}
	switch group, isGroup := strings.CutPrefix(to.External, groupPrefix); {
	case isGroup && group != "":
		m.RecipientType, m.To = "group", group
	case strings.HasPrefix(to.External, "+") && digits.MatchString(to.External[1:]):
		m.To = to.External
	case to.External != "" && to.External[0] != '+' && !isGroup:
		m.Recipient = to.External
	default:
		return nil, &core.Permanent{
			Err: errors.New("send to whatsapp: the address is neither a phone number with + nor an id")}
	}
	if len(p.Key) <= maxCallback {
		m.Callback = p.Key
	}
	m.Reply(p.Reply)
	return m, nil
}

// Send delivers one part, after a short wait for the delivery of the previous part. A
// file is uploaded first, which is harmless to repeat. A reply to a message that the
// service no longer knows becomes a plain message. Errors are classified by their code.
func (c *Channel) Send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	m, err := addressed(to, p)
	if err != nil {
		return core.Receipt{}, err
	}
	if err := c.fill(ctx, m, to, p); err != nil {
		return core.Receipt{}, err
	}
	return c.deliver(ctx, to, m)
}

func (c *Channel) fill(ctx context.Context, m *outgoing, to core.Address, p core.Part) error {
	if p.Attachment != nil {
		return c.attach(ctx, m, to, p)
	}
	body, err := graph.Render("whatsapp", p, maxBody)
	if err != nil {
		return err
	}
	if len(p.Buttons) > 0 && len(p.Buttons) <= maxButtons && utf8.RuneCountInString(body) <= maxButtonBody {
		m.Type, m.Interactive = "interactive", withButtons(body, p.Buttons)
		return nil
	}
	m.Say(body)
	return nil
}

// Limits of messages with reply buttons. Without buttons the text says what to write.
const (
	maxButtons    = 3
	maxButtonBody = 1024 // characters
)

// object is a JSON object that is only sent.
type object = map[string]any

// withButtons returns a text with buttons, whose ids are the gateway's commands.
func withButtons(body string, buttons []core.Button) object {
	var all []object
	for _, b := range buttons {
		all = append(all, object{"type": "reply", "reply": object{"id": b.Command, "title": b.Label}})
	}
	return object{"type": "button", "body": object{"text": body}, "action": object{"buttons": all}}
}

// deliver sends m after the previous message to the address.
func (c *Channel) deliver(ctx context.Context, to core.Address, m *outgoing) (core.Receipt, error) {
	if err := c.line.wait(ctx, to.External, c.now()); err != nil {
		return core.Receipt{}, fmt.Errorf("send to whatsapp: %w", err)
	}
	id, err := c.send(ctx, m)
	if err != nil && m.Context != nil && refusesParameter(err) {
		m.Context = nil
		id, err = c.send(ctx, m)
	}
	if err != nil {
		return core.Receipt{}, c.classify(err, to)
	}
	c.line.sent(to.External, id, c.now())
	c.pairs.reset(to.External)
	c.state.worked(false)
	return core.Receipt{NativeID: id}, nil
}

func (c *Channel) send(ctx context.Context, m *outgoing) (string, error) {
	return c.api.Send(ctx, c.opts.PhoneNumberID+"/messages", sendTimeout, m)
}

// refusesParameter reports whether the service refused a field, in which case it did nothing.
func refusesParameter(err error) bool {
	var refused *graph.Error
	return errors.As(err, &refused) && refused.Subcode != 33 && (refused.Code == 100 || refused.Code == 131009)
}

func (c *Channel) TypingTTL() time.Duration { return typingTTL }

// Typing marks the message event as read and shows that an answer is being written. The
// indicator needs a message of the person; without one, Typing does nothing.
func (c *Channel) Typing(ctx context.Context, _ core.Address, event string) error {
	if !strings.HasPrefix(event, "wamid.") {
		return nil
	}
	return c.api.MarkRead(ctx, "show typing", c.opts.PhoneNumberID+"/messages", callTimeout, event, true)
}

const waitingPayload = "everthread:waiting"

// Reopen sends the template of the options, with today's date as its parameter. A press of its button is core.InAsked.
func (t *reopening) Reopen(ctx context.Context, to core.Address, key string) (core.Receipt, error) {
	m, err := addressed(to, core.Part{Key: key})
	if err != nil {
		return core.Receipt{}, err
	}
	m.Type = "template"
	m.Template = summaryTemplate(t.opts.SummaryTemplate, t.opts.TemplateLanguage,
		dateInWords(t.opts.TemplateLanguage, t.now()))
	receipt, err := t.deliver(ctx, to, m)
	if err != nil {
		return core.Receipt{}, fmt.Errorf("send the template %s: %w", t.opts.SummaryTemplate, err)
	}
	return receipt, nil
}

func summaryTemplate(name, code, date string) object {
	return object{"name": name, "language": object{"policy": "deterministic", "code": code}, "components": []object{
		{"type": "body", "parameters": []object{{"type": "text", "text": date}}},
		{"type": "button", "sub_type": "quick_reply", "index": "0",
			"parameters": []object{{"type": "payload", "payload": waitingPayload}}},
	}}
}

// dateInWords returns the date of t in the language of a template. Languages without a catalogue get the ISO form.
func dateInWords(code string, t time.Time) string {
	language, _, _ := strings.Cut(strings.ToLower(code), "_")
	if i18n.Match(language) == language {
		return times.DayOfMonth(t.Day(), language) + " " + times.MonthName(t.Month(), language)
	}
	return t.Format(time.DateOnly)
}

// class is the meaning of an error for the next attempt.
type class int

const (
	permanent class = iota // this message will never be accepted
	away                   // no delivery before the person writes again
	unsure                 // the request may have been carried out
	busy                   // the account exceeds a limit
	pair                   // this person got too many messages
	later                  // the account is in maintenance at Meta
	held                   // no delivery for a day
	trouble                // the owner must act on the account
)

// Pauses where the service names none.
const (
	busyWait    = 10 * time.Second
	laterWait   = 5 * time.Minute
	troubleWait = 5 * time.Minute
	spamWait    = 15 * time.Minute
	heldWait    = 24 * time.Hour
	maxPair     = 6 // the longest wait is 4^6 s, a bit over an hour
)

// classOf classifies an error by its code, or else by the status of the answer.
func classOf(e *graph.Error) class {
	switch code := e.Code; {
	case code == 100 && e.Subcode == 33, code >= 200 && code <= 299:
		return trouble
	case code != 0:
		return classOfCode(code)
	case e.HTTP == http.StatusTooManyRequests:
		return busy
	case e.HTTP == http.StatusUnauthorized, e.HTTP == http.StatusForbidden, e.HTTP == http.StatusNotFound:
		return trouble
	case e.HTTP >= 500, e.HTTP == 0, e.HTTP == http.StatusOK:
		return unsure
	}
	return permanent
}

func classOfCode(code int) class {
	switch code {
	case 3, 10, 33, 190, 368, 131031, 131042, 131045, 131048, 133010, 133016:
		return trouble
	case 1, 2, 131000, 131016, 133004:
		return unsure
	case 4, 80007, 130429:
		return busy
	case 131056:
		return pair
	case 131057:
		return later
	case 131026, 131047:
		return away
	case 131049:
		return held
	}
	return permanent
}

// advices are the keys of the advice for the owner, by error code.
var advices = map[int]string{3: "may_not_send", 10: "may_not_send", 33: "no_number", 100: "no_number", 368: "locked",
	131031: "locked", 131042: "cannot_charge", 131045: "not_registered", 133010: "not_registered",
	133016: "not_registered", 131048: "blocked"}

// troubled returns an error of class trouble with advice for the owner.
func troubled(e *graph.Error) error {
	key := advices[e.Code]
	switch {
	case key == "" && e.Code >= 200 && e.Code <= 299:
		key = "lacks_permission"
	case key == "":
		key = "refused"
	}
	return fmt.Errorf("whatsapp: %w", &channel.Trouble{Err: e,
		Advice: func(language string) string { return say(language).Advice[key] }})
}

// plain explains the codes for which the service's own description does not say why a message is refused.
var plain = map[int]string{
	131047: "more than 24 hours passed since the person last wrote",
	131026: "the person cannot receive it: they are not on WhatsApp, have an old version or have not accepted its terms",
	131030: "the number is a test number, and the person is not on its list of recipients",
	131021: "the recipient is the number itself",
	130497: "the business may not write to people in that country",
	131049: notNow, 130472: notNow, 131050: notNow,
	131051: notTaken, 131052: notTaken, 131053: notTaken,
}

const (
	notNow   = "WhatsApp does not deliver this kind of message to the person now"
	notTaken = "WhatsApp does not take this file"
)

func explain(e *graph.Error) error {
	if words := plain[e.Code]; words != "" {
		return fmt.Errorf("send to whatsapp: %s: %w", words, e)
	}
	return fmt.Errorf("send to whatsapp: %w", e)
}

// classify wraps the error of a failed request to send for the retry policy, and stores
// one that the owner must know for Check.
func (c *Channel) classify(err error, to core.Address) error {
	refused, ok := errors.AsType[*graph.Error](err)
	if !ok {
		err = fmt.Errorf("send to whatsapp: %w", err)
		if lost, ok := errors.AsType[*graph.NetError](err); ok && lost.Left {
			return &core.Unknown{Err: err}
		}
		return err
	}
	err = explain(refused)
	switch classOf(refused) {
	case away:
		return &core.Unreachable{Err: err}
	case unsure:
		return &core.Unknown{Err: err}
	case busy:
		return &core.RetryAfter{After: max(refused.Wait, busyWait), Account: true, Err: err}
	case later:
		return &core.RetryAfter{After: max(refused.Wait, laterWait), Account: true, Err: err}
	case pair:
		return &core.RetryAfter{After: max(refused.Wait, c.pairs.note(to.External, c.now())), Err: err}
	case held:
		return &core.RetryAfter{After: heldWait, Err: err}
	case trouble:
		return c.inTrouble(refused)
	}
	return &core.Permanent{Err: err}
}

// inTrouble stores the error for Check, and returns one that pauses all messages.
func (c *Channel) inTrouble(e *graph.Error) error {
	err := troubled(e)
	c.state.refused(err, false)
	wait := troubleWait
	if e.Code == 131048 {
		wait = spamWait
	}
	return &core.RetryAfter{After: wait, Account: true, Err: err}
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
)

const (
	// sendTimeout bounds one request to send. After it the outcome is unknown.
	sendTimeout = 30 * time.Second
	callTimeout = 30 * time.Second
	typingTTL   = 25 * time.Second

	maxBody    = 4096 // UTF-16 units
	maxCaption = 1024

	codeParameter = 131009
	codeUnsent    = 131016 // with 503: not accepted
)

type outgoing struct {
	Product string `json:"messaging_product"`
	To      string `json:"to"`
	graph.Content
}

// Send delivers one part, one at a time for each agent. A file is uploaded first, which is harmless to repeat. A reply
// to a message that the service does not know becomes a plain message. Errors are classified by their code.
func (c *Channel) Send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	if !strings.HasPrefix(to.External, "user:") {
		return core.Receipt{}, &core.Permanent{
			Err: errors.New("send to personal agent: the address is not a person on WhatsApp")}
	}
	a, err := c.agent(ctx, to.Account)
	if err != nil {
		return core.Receipt{}, fmt.Errorf("send to personal agent: %w", err)
	}
	select {
	case a.sending <- struct{}{}:
	case <-ctx.Done():
		return core.Receipt{}, fmt.Errorf("send to personal agent: %w", ctx.Err())
	}
	defer func() { <-a.sending }()
	return a.send(ctx, to, p)
}

func (a *agent) send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	m := &outgoing{Product: "whatsapp", To: to.External}
	m.Reply(p.Reply)
	if err := a.fill(ctx, m, p); err != nil {
		return core.Receipt{}, err
	}
	id, err := a.post(ctx, m)
	if refused, ok := errors.AsType[*graph.Error](err); ok && m.Context != nil && refused.Code == codeParameter {
		m.Context = nil
		id, err = a.post(ctx, m)
	}
	if err != nil {
		return core.Receipt{}, a.classify(ctx, err)
	}
	return core.Receipt{NativeID: id}, nil
}

func (a *agent) fill(ctx context.Context, m *outgoing, p core.Part) error {
	if p.Attachment != nil {
		return a.attach(ctx, m, p)
	}
	body, err := graph.Render("personal agent", p, maxBody)
	if err != nil {
		return err
	}
	m.Say(body)
	return nil
}

// post sends m, if the limit admits it, and returns the wamid.
func (a *agent) post(ctx context.Context, m *outgoing) (string, error) {
	if wait := a.limits.messages.take(a.c.now()); wait > 0 {
		return "", &core.RetryAfter{After: wait, Account: true,
			Err: errors.New("a personal agent may send twelve messages a minute")}
	}
	return a.api.Send(ctx, "messages", sendTimeout, m)
}

// classify wraps the error of a failed request to send for the retry policy.
func (a *agent) classify(ctx context.Context, err error) error {
	err = fmt.Errorf("send to personal agent: %w", err)
	var refused *graph.Error
	var lost *graph.NetError
	switch {
	case errors.As(err, &lost) && lost.Left:
		return &core.Unknown{Err: err}
	case !errors.As(err, &refused):
		return err
	case refused.HTTP == http.StatusTooManyRequests:
		return &core.RetryAfter{After: max(refused.Wait, a.c.pace.busyPause), Account: true, Err: err}
	case refused.HTTP == http.StatusServiceUnavailable && refused.Code == codeUnsent:
		return err
	case refused.HTTP >= 500:
		return &core.Unknown{Err: err}
	case refused.HTTP == http.StatusUnauthorized, refused.Code == codeGone && a.probe(ctx) != nil:
		err = deadKey(err)
		a.report(err)
		return &core.RetryAfter{After: a.c.pace.deadSender, Account: true, Err: err}
	}
	return &core.Permanent{Err: err}
}

// probe returns an error if the service does not know the key. It marks a message that does not exist as read: the
// service refuses an unknown key, or else the message. A poll would interrupt the process that receives.
func (a *agent) probe(ctx context.Context) error {
	err := a.api.MarkRead(ctx, "mark as read", "statuses", callTimeout, "wamid.none", false)
	if unknownKey(err) {
		return err
	}
	return nil
}

func (c *Channel) TypingTTL() time.Duration { return typingTTL }

// Typing marks the message event as read and shows that an answer is being written. It
// does nothing without a message of the person, or if the limit does not admit the call.
func (c *Channel) Typing(ctx context.Context, to core.Address, event string) error {
	if !strings.HasPrefix(event, "wamid.") {
		return nil
	}
	a, err := c.agent(ctx, to.Account)
	if err != nil {
		return fmt.Errorf("show typing: %w", err)
	}
	if a.limits.statuses.take(c.now()) > 0 {
		return nil
	}
	return a.api.MarkRead(ctx, "mark as read", "statuses", callTimeout, event, true)
}

const (
	// maxIncoming bounds a file for which the caller sets no limit, in bytes.
	maxIncoming = 64 << 20
	maxImage    = 5e6
	maxFile     = 16e6 // of every other kind
)

// attach uploads the file of p and makes m a message with it.
func (a *agent) attach(ctx context.Context, m *outgoing, p core.Part) error {
	if len(p.Data) == 0 || len(p.Data) > maxFile {
		return &core.Permanent{Err: fmt.Errorf(
			"send to personal agent: the file %s has %d bytes; between 1 and %d can be sent", p.Attachment.Name,
			len(p.Data), int(maxFile))}
	}
	caption, err := graph.Caption("personal agent", p, maxCaption)
	if err != nil {
		return err
	}
	kind, mediaType := form(p.Attachment.MIME, len(p.Data), caption != "")
	id, err := a.upload(ctx, p.Attachment.Name, mediaType, p.Data)
	if err != nil {
		return graph.Repeatable(a.classify(ctx, err))
	}
	m.Carry(kind, graph.File{ID: id, Caption: caption}, p.Attachment.Name)
	return nil
}

func form(mediaType string, size int, captioned bool) (kind, sent string) {
	sounds := []string{"audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg", "audio/opus"}
	return graph.Kind(mediaType, size, captioned, [3]int{maxImage, maxFile, maxFile}, sounds)
}

func (a *agent) upload(ctx context.Context, name, mediaType string, data []byte) (string, error) {
	if wait := a.limits.uploads.take(a.c.now()); wait > 0 {
		return "", &core.RetryAfter{After: wait, Err: errors.New("a personal agent may upload twelve files a minute")}
	}
	return a.api.Upload(ctx, "media", name, mediaType, data)
}

// Fetch downloads the file of an attachment's Ref, and returns it with its media type. A file larger than max bytes (0:
// 64 MiB), one that the service no longer has, and one with a wrong digest are *core.Permanent errors. Only Meta's
// hosts receive the key, and redirects are not followed.
func (c *Channel) Fetch(ctx context.Context, ref string, max int64) ([]byte, string, error) {
	account, rest, _ := strings.Cut(ref, "/")
	id, digest, _ := strings.Cut(rest, "#")
	if max <= 0 || max > maxIncoming {
		max = maxIncoming
	}
	a, err := c.agent(ctx, account)
	if err != nil {
		return nil, "", fmt.Errorf("fetch file of personal agent: %w", err)
	}
	data, media, err := a.fetch(ctx, id, digest, max)
	if err != nil {
		return nil, "", fmt.Errorf("fetch file of personal agent: %w", err)
	}
	return data, media, nil
}

// fetch looks up the URL of a file and downloads it.
func (a *agent) fetch(ctx context.Context, id, digest string, max int64) ([]byte, string, error) {
	if err := a.limits.lookups.wait(ctx, a.c.now); err != nil {
		return nil, "", err
	}
	return a.api.Fetch(ctx, "media/"+url.PathEscape(id), digest, callTimeout, max, gone)
}

// gone makes an error permanent if the service refuses the lookup of a file.
func gone(err error) error {
	if refused, ok := errors.AsType[*graph.Error](err); ok && refused.HTTP >= 400 && refused.HTTP < 500 &&
		refused.HTTP != http.StatusTooManyRequests {
		return &core.Permanent{Err: err}
	}
	return err
}

package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// maxSkew is how far our clock may be from Meta's; windows are counted by both.
const maxSkew = 2 * time.Minute

// terms is what a person has to know before they rely on this channel.
const terms = "Meta's business terms do not allow general-purpose assistants on the Cloud API where the assistant is the main purpose, except where law requires it; check that your use is allowed, or use a personal agent (whatsapp_agent)."

// Diagnose looks at all that has to be right for messages to come and go.
func (c *Channel) Diagnose(ctx context.Context) []core.Finding {
	number, clock, err := c.number(ctx)
	if err != nil {
		return []core.Finding{{Detail: err.Error()}, {OK: true, Detail: terms}}
	}
	out := []core.Finding{
		{OK: true, Detail: fmt.Sprintf("The token works for the number %s (%s).", number.Number, number.Name)},
		quality(number),
	}
	out = append(out, c.permissions(ctx)...)
	if err := c.subscribed(ctx); err != nil {
		out = append(out, core.Finding{Detail: err.Error()})
	}
	out = append(out, c.reachable(ctx, c.opts.PublicURL), skew(clock, c.now()), core.Finding{OK: true, Detail: terms})
	return out
}

func quality(n numberInfo) core.Finding {
	if n.Quality == "RED" {
		return core.Finding{Detail: "The quality of the number is low, since people blocked or reported it: write to people less, or Meta limits it."}
	}
	return core.Finding{OK: true, Detail: "The quality of the number is not low."}
}

// permissions looks at what the token may do, and for how long.
func (c *Channel) permissions(ctx context.Context) []core.Finding {
	t, err := c.token(ctx)
	if err != nil {
		return []core.Finding{{OK: true, Detail: "Meta does not tell what the token may do: " + err.Error()}}
	}
	var out []core.Finding
	for _, scope := range []string{"whatsapp_business_messaging", "whatsapp_business_management"} {
		if !slices.Contains(t.Data.Scopes, scope) {
			out = append(out, core.Finding{Detail: "The token lacks the permission " + scope +
				": give it to the system user and make a new token."})
		}
	}
	if t.Data.Expires > 0 {
		out = append(out, core.Finding{Detail: "The token ends at " + time.Unix(t.Data.Expires,
			0).UTC().Format(time.RFC3339) + ": make one for a system user that never ends."})
	}
	if len(out) == 0 {
		out = append(out, core.Finding{OK: true, Detail: "The token has the permissions it needs and does not end."})
	}
	return out
}

// reachable asks our own webhook for the challenge, from outside.
func (c *Channel) reachable(ctx context.Context, publicURL string) core.Finding {
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" {
		return core.Finding{Detail: "http.public_url is not set, so Meta cannot reach the webhook " + WebhookPath + "."}
	}
	address := strings.TrimRight(publicURL, "/") + WebhookPath
	if u.Scheme != "https" {
		return core.Finding{Detail: "Meta posts to https only, and http.public_url is " + u.Scheme + "."}
	}
	if err := c.challenge(ctx, address); err != nil {
		return core.Finding{Detail: fmt.Sprintf(
			"The webhook %s does not answer (%v): see that the server runs and is reachable from outside.",
			address, c.api.Clean(err))}
	}
	return core.Finding{OK: true, Detail: "The webhook " + address +
		" answers; it has to be entered in the app with the same verify token, subscribed to messages."}
}

// challenge does what Meta does when a webhook is set up.
func (c *Channel) challenge(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	q := url.Values{"hub.mode": {"subscribe"}, "hub.verify_token": {c.opts.VerifyToken}, "hub.challenge": {"1158201444"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || string(got) != "1158201444" {
		return fmt.Errorf("it answered %d and not the challenge", resp.StatusCode)
	}
	return nil
}

func skew(theirs, ours time.Time) core.Finding {
	if theirs.IsZero() {
		return core.Finding{OK: true, Detail: "Meta's clock is not known."}
	}
	if d := ours.Sub(theirs).Abs(); d > maxSkew {
		return core.Finding{Detail: fmt.Sprintf(
			"This machine's clock is %s away from Meta's: set it, since the 24 hours are counted by it.", d.Round(time.Second))}
	}
	return core.Finding{OK: true, Detail: "The clock is right."}
}

// App asks for the number that people write to; wa.me opens a chat with it.
func (c *Channel) App(ctx context.Context) (core.App, error) {
	n, _, err := c.number(ctx)
	if err != nil {
		return core.App{}, err
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, n.Number)
	if digits == "" {
		return core.App{}, errors.New("the number is not known")
	}
	return core.App{Channel: Name, Name: "+" + digits, Link: func(text string) string {
		return "https://wa.me/" + digits + "?text=" + url.PathEscape(text)
	}}, nil
}

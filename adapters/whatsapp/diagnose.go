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
	"github.com/everthread/everthread/core/channel"
)

// maxSkew bounds the difference between the local clock and Meta's, which both determine windows.
const maxSkew = 2 * time.Minute

// findings are the texts of Diagnose in one language. The comments list the values for the formatting verbs in order.
type findings struct {
	QualityLow, QualityGood, PermissionsGood, ClockGood string
	Terms                                               string // restrictions of this channel
	Token                                               string // number, its name
	PermissionsUnknown                                  string // why
	PermissionLacks, TokenEnds                          string // which; when
	NoAddress, NoTLS                                    string // path of the webhook; scheme
	HookFails                                           string // address, why
	HookGood                                            string // address
	ClockUnknown, ClockOff                              string // how far
}

// Diagnose checks everything that messages in both directions need.
func (c *Channel) Diagnose(ctx context.Context, language string) []core.Finding {
	w := &say(language).Findings
	terms := core.Finding{OK: true, Detail: w.Terms}
	number, clock, err := c.number(ctx)
	if err != nil {
		return []core.Finding{{Detail: channel.Said(err, language)}, terms}
	}
	out := []core.Finding{{OK: true, Detail: fmt.Sprintf(w.Token, number.Number, number.Name)}, quality(w, number)}
	out = append(out, c.permissions(ctx, w)...)
	if err := c.subscribed(ctx); err != nil {
		out = append(out, core.Finding{Detail: channel.Said(err, language)})
	}
	out = append(out, c.reachable(ctx, w, c.opts.PublicURL), skew(w, clock, c.now()), terms)
	return out
}

func quality(w *findings, n numberInfo) core.Finding {
	if n.Quality == "RED" {
		return core.Finding{Detail: w.QualityLow}
	}
	return core.Finding{OK: true, Detail: w.QualityGood}
}

func (c *Channel) permissions(ctx context.Context, w *findings) []core.Finding {
	t, err := c.token(ctx)
	if err != nil {
		return []core.Finding{{OK: true, Detail: fmt.Sprintf(w.PermissionsUnknown, err)}}
	}
	var out []core.Finding
	for _, scope := range []string{"whatsapp_business_messaging", "whatsapp_business_management"} {
		if !slices.Contains(t.Data.Scopes, scope) {
			out = append(out, core.Finding{Detail: fmt.Sprintf(w.PermissionLacks, scope)})
		}
	}
	if t.Data.Expires > 0 {
		ends := time.Unix(t.Data.Expires, 0).UTC().Format(time.RFC3339)
		out = append(out, core.Finding{Detail: fmt.Sprintf(w.TokenEnds, ends)})
	}
	if len(out) == 0 {
		out = append(out, core.Finding{OK: true, Detail: w.PermissionsGood})
	}
	return out
}

// reachable requests the challenge from the channel's own webhook, from outside.
func (c *Channel) reachable(ctx context.Context, w *findings, publicURL string) core.Finding {
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" {
		return core.Finding{Detail: fmt.Sprintf(w.NoAddress, WebhookPath)}
	}
	address := strings.TrimRight(publicURL, "/") + WebhookPath
	if u.Scheme != "https" {
		return core.Finding{Detail: fmt.Sprintf(w.NoTLS, u.Scheme)}
	}
	if err := c.challenge(ctx, address); err != nil {
		return core.Finding{Detail: fmt.Sprintf(w.HookFails, address, c.api.Clean(err))}
	}
	return core.Finding{OK: true, Detail: fmt.Sprintf(w.HookGood, address)}
}

// challenge makes the request that Meta makes when a webhook is set up.
func (c *Channel) challenge(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	q := url.Values{"hub.mode": {"subscribe"}, "hub.verify_token": {string(c.opts.VerifyToken)},
		"hub.challenge": {"1158201444"}}
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

func skew(w *findings, theirs, ours time.Time) core.Finding {
	if theirs.IsZero() {
		return core.Finding{OK: true, Detail: w.ClockUnknown}
	}
	if d := ours.Sub(theirs).Abs(); d > maxSkew {
		return core.Finding{Detail: fmt.Sprintf(w.ClockOff, d.Round(time.Second))}
	}
	return core.Finding{OK: true, Detail: w.ClockGood}
}

// App returns the number that people write to; wa.me opens a chat with it.
func (c *Channel) App(ctx context.Context) (core.App, error) {
	n, _, err := c.number(ctx)
	if err != nil {
		return core.App{}, err
	}
	digits := onlyDigits(n.Number)
	if digits == "" {
		return core.App{}, errors.New("the number is not known")
	}
	return core.App{Channel: Name, Name: "+" + digits, Link: func(text string) string {
		return "https://wa.me/" + digits + "?text=" + url.PathEscape(text)
	}}, nil
}

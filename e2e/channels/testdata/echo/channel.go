// Package echo is the channel of docs/adding-a-channel.md. A test adds it to the program
// with one line, and uses every interface.
package echo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/everthread/everthread/core"
)

// Name is the channel's name.
const Name = "echo"

// Channel is one account. Its methods may be called concurrently; Run only by the
// process that holds the account's lease.
type Channel struct {
	c    Config
	http *http.Client
	down atomic.Pointer[error]
}

var (
	_ core.Channel   = (*Channel)(nil)
	_ core.Describer = (*Channel)(nil)
	_ core.Accounter = (*Channel)(nil)
	_ core.Checker   = (*Channel)(nil)
	_ core.Diagnoser = (*Channel)(nil)
	_ core.Linker    = (*Channel)(nil)
)

// Name returns "echo".
func (*Channel) Name() string { return Name }

// Account is the one account of a token.
func (*Channel) Account() string { return "1" }

// Capabilities states that the service drops known keys.
func (*Channel) Capabilities() core.Capabilities {
	return core.Capabilities{Title: "Echo & Sons", MaxText: 4000, Push: true, Idempotent: true}
}

// Check returns the error that prevents receiving, or nil.
func (c *Channel) Check() error {
	if err := c.down.Load(); err != nil {
		return *err
	}
	return nil
}

// update is a message of the service.
type update struct {
	ID   int64  `json:"id"`
	From string `json:"from"`
	Text string `json:"text"`
}

// Run requests updates until ctx ends. The next request is the acknowledgement: it is sent
// once the previous updates are stored.
func (c *Channel) Run(ctx context.Context, r core.Receiver) error {
	for after := int64(0); ctx.Err() == nil; {
		var updates []update
		err := c.call(ctx, http.MethodGet, fmt.Sprintf("updates?after=%d", after), nil, &updates)
		if err == nil && len(updates) > 0 {
			err = r.Receive(ctx, normalise(updates, time.Now())...)
		}
		if c.down.Store(nil); err != nil {
			c.down.Store(&err)
		} else if len(updates) > 0 {
			after = updates[len(updates)-1].ID
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func normalise(updates []update, now time.Time) []core.Inbound {
	var out []core.Inbound
	for _, u := range updates {
		id := fmt.Sprint(u.ID)
		out = append(out, core.Inbound{Address: core.Address{Channel: Name, Account: "1", External: u.From},
			EventID: id, NativeID: id,
			Kind: core.InMessage, Text: u.Text, Name: u.From, ReceivedAt: now})
	}
	return out
}

// Send sends one part, whose key makes a repeat harmless.
func (c *Channel) Send(ctx context.Context, to core.Address, p core.Part) (core.Receipt, error) {
	body, err := json.Marshal(map[string]string{"to": to.External, "text": p.Text, "key": p.Key})
	if err != nil {
		return core.Receipt{}, &core.Permanent{Err: err}
	}
	var sent struct {
		ID string `json:"id"`
	}
	err = c.call(ctx, http.MethodPost, "messages", body, &sent)
	return core.Receipt{NativeID: sent.ID}, err
}

// Diagnose checks the account of the token.
func (c *Channel) Diagnose(ctx context.Context, _ string) []core.Finding {
	me, err := c.me(ctx)
	if err != nil {
		return []core.Finding{{Detail: err.Error() + "; check channels.echo.token"}}
	}
	return []core.Finding{{OK: true, Detail: "the account is " + me}}
}

// App returns a link that opens a chat with the account.
func (c *Channel) App(ctx context.Context) (core.App, error) {
	me, err := c.me(ctx)
	return core.App{Channel: Name, Name: me, Link: func(text string) string {
		return "https://echo.example/" + url.PathEscape(me) + "?text=" + url.PathEscape(text)
	}}, err
}

func (c *Channel) me(ctx context.Context) (string, error) {
	var me struct{ Name string }
	err := c.call(ctx, http.MethodGet, "me", nil, &me)
	return me.Name, err
}

func (c *Channel) call(ctx context.Context, method, path string, body []byte, result any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.c.APIURL+"/"+path, bytes.NewReader(body))
	if err != nil {
		return &core.Permanent{Err: errors.New("the address is wrong")}
	}
	req.Header.Set("Authorization", "Bearer "+string(c.c.Token))
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("echo answers %s", resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(result)
}

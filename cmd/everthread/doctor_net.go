package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/configs"
)

// dates remembers what another machine's clock said.
type dates struct {
	ours, theirs time.Time
	host         string
}

// note keeps the Date of a response.
func (d *dates) note(resp *http.Response, host string) {
	if t, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		d.ours, d.theirs, d.host = time.Now(), t, host
	}
}

// maxSkew is how far the clock may be off: signatures and "which day is it" bear
// no more.
const maxSkew = time.Minute

// checkClock compares our clock with that of a service we use.
func checkClock(ctx context.Context, c configs.Config, d *dates) finding {
	if d.host == "" && c.LLM.Provider != "demo" {
		base := c.LLM.BaseURL
		if base == "" {
			base = map[string]string{"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}[c.LLM.Provider]
		}
		if resp, err := get(ctx, base); err == nil {
			d.note(resp.resp, host(base))
		}
	}
	if d.host == "" {
		return finding{"clock", true, "not compared: no service that could tell the time was reached"}
	}
	off := d.ours.Sub(d.theirs).Round(time.Second)
	if off.Abs() > maxSkew {
		return finding{"clock", false, fmt.Sprintf("it is %s off against %s: set the machine's clock, for example with an NTP service", off, d.host)}
	}
	return finding{"clock", true, "agrees with " + d.host}
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// answer is a response that was read.
type answer struct {
	resp *http.Response
	body []byte
}

// get fetches an address. Errors do not repeat it: a token may be in it.
func get(ctx context.Context, address string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, errors.New("the address is wrong")
	}
	resp, err := ask(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answer{resp, body}, err
}

// checkTelegram asks the Bot API who the bot is and where its updates go.
func checkTelegram(ctx context.Context, c configs.Config, d *dates) []finding {
	var me struct {
		Username string `json:"username"`
	}
	if err := askTelegram(ctx, c, "getMe", d, &me); err != nil {
		return []finding{verdict("telegram", err, "")}
	}
	out := []finding{{"telegram", true, "the bot is @" + me.Username}}
	var hook webhook
	if err := askTelegram(ctx, c, "getWebhookInfo", d, &hook); err != nil {
		return append(out, verdict("webhook", err, ""))
	}
	return append(out, hook.judge(c))
}

// webhook is what Telegram tells of a bot's webhook.
type webhook struct {
	URL       string `json:"url"`
	Pending   int    `json:"pending_update_count"`
	LastError string `json:"last_error_message"`
	LastAt    int64  `json:"last_error_date"`
}

// judge says whether updates come our way.
func (w webhook) judge(c configs.Config) finding {
	t := c.Channels.Telegram
	ours := strings.TrimRight(c.HTTP.PublicURL, "/") + telegram.WebhookPath
	switch {
	case t.Mode == "polling" && w.URL != "":
		return finding{"webhook", true, "updates go to " + host(w.URL) + " until `everthread serve` starts: it takes the webhook away and polls"}
	case t.Mode == "polling":
		return finding{"webhook", true, fmt.Sprintf("none, as polling wants it; %d updates wait", w.Pending)}
	case w.URL != ours:
		return finding{"webhook", true, "not registered yet; `everthread serve` registers " + ours}
	case w.LastError != "" && time.Since(time.Unix(w.LastAt, 0)) < time.Hour:
		return finding{"webhook", false, fmt.Sprintf("Telegram could not deliver to %s: %s; check that http.public_url reaches this server", ours, w.LastError)}
	}
	return finding{"webhook", true, fmt.Sprintf("registered; %d updates wait", w.Pending)}
}

// askTelegram calls a method without parameters.
func askTelegram(ctx context.Context, c configs.Config, method string, d *dates, result any) error {
	t := c.Channels.Telegram
	a, err := get(ctx, strings.TrimRight(t.APIURL, "/")+"/bot"+string(t.Token)+"/"+method)
	if err != nil {
		return fmt.Errorf("%s is not reached: %w; check the network and channels.telegram.api_url", host(t.APIURL), err)
	}
	d.note(a.resp, host(t.APIURL))
	var said struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Description string          `json:"description"`
	}
	if err := json.Unmarshal(a.body, &said); err != nil {
		return fmt.Errorf("%s does not answer like Telegram (%s); check channels.telegram.api_url", host(t.APIURL), a.resp.Status)
	}
	if !said.OK {
		return fmt.Errorf("telegram refuses the token (%s); get a new one from @BotFather and set channels.telegram.token", said.Description)
	}
	return json.Unmarshal(said.Result, result)
}

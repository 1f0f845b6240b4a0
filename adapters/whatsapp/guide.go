package whatsapp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/text/i18n"
)

var _ channel.Guided = (*Config)(nil)

// wording holds the operators' texts in one language: the guide's and the findings.
type wording struct {
	Option, Number, Help, Token, Secret, Good, NotFound, NoNumber, Malformed string
	Findings                                                                 findings
	Advice                                                                   map[string]string // what the owner should do
	NotSubscribed                                                            string            // account, account
}

var say = i18n.In[wording]("whatsapp")

// Guide asks for a business number.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := say(language)
	return channel.Guide{
		Option: w.Option,
		Fields: []channel.Field{
			{ID: "whatsapp_number", Title: w.Number, Help: w.Help, Into: &c.PhoneNumberID,
				Form: regexp.MustCompile(`^[0-9]+$`), Malformed: w.Malformed},
			{ID: "whatsapp_token", Title: w.Token, Into: (*string)(&c.AccessToken), Secret: true},
			{ID: "whatsapp_secret", Title: w.Secret, Into: (*string)(&c.AppSecret), Secret: true},
		},
		Try: func(ctx context.Context) (channel.Tried, error) { return c.try(ctx, h, w) },
	}
}

// try looks up the number at Meta, and generates a verify token.
func (c *Config) try(ctx context.Context, h channel.Host, w *wording) (channel.Tried, error) {
	if err := c.ask(ctx, h, w); err != nil {
		return channel.Tried{}, err
	}
	from := h.Rand
	if from == nil {
		from = rand.Reader
	}
	b := make([]byte, 12)
	if _, err := io.ReadFull(from, b); err != nil {
		return channel.Tried{}, fmt.Errorf("generate a verify token: %w", err)
	}
	c.VerifyToken = section.Secret(hex.EncodeToString(b))
	return channel.Tried{Said: fmt.Sprintf(w.Good, string(c.VerifyToken)), Comment: "docs/whatsapp.md",
			Keys: []string{"phone_number_id", c.PhoneNumberID,
				"access_token", string(c.AccessToken), "app_secret", string(c.AppSecret), "verify_token", string(c.VerifyToken)}},
		nil
}

func (c *Config) ask(ctx context.Context, h channel.Host, w *wording) error {
	if c.PhoneNumberID == "" {
		return &channel.Fault{Text: w.NoNumber}
	}
	a := newAPI(*c, h.Client(c.APIURL))
	path := url.PathEscape(c.PhoneNumberID) + "?fields=id"
	_, err := a.Do(ctx, graph.Call{Op: "look up the number", Method: http.MethodGet, Path: path,
		Timeout: callTimeout}, nil)
	var refused *graph.Error
	var away *graph.NetError
	switch {
	case errors.As(err, &refused):
		return &channel.Fault{Text: w.NotFound, Detail: fmt.Sprintf("%d %s", refused.HTTP, http.StatusText(refused.HTTP)),
			Err: err}
	case errors.As(err, &away):
		return &channel.Unreached{Where: a.Host, Err: away.Err}
	}
	return err
}

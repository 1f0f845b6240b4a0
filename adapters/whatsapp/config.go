package whatsapp

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/words"
)

// Config is channels.whatsapp: a business number of the Cloud API. Without a
// SummaryTemplate, messages after the 24-hour window are held until the person writes.
type Config struct {
	PhoneNumberID    string         `yaml:"phone_number_id"`
	AccessToken      section.Secret `yaml:"access_token"`
	AppSecret        section.Secret `yaml:"app_secret"`
	PreviousSecret   section.Secret `yaml:"previous_app_secret"`
	VerifyToken      section.Secret `yaml:"verify_token"`
	APIURL           string         `yaml:"api_url"`
	APIVersion       string         `yaml:"api_version"`
	SummaryTemplate  string         `yaml:"summary_template"`
	TemplateLanguage string         `yaml:"template_language"`
	RatePerChat      float64        `yaml:"rate_per_chat"`
	RatePerBot       float64        `yaml:"rate_per_bot"`
}

var _ channel.Config = (*Config)(nil)

func Default() *Config {
	return &Config{APIURL: "https://graph.facebook.com", APIVersion: "v25.0", TemplateLanguage: "en",
		RatePerChat: 0.16, RatePerBot: 80}
}

//go:embed config.yaml
var example string

func (*Config) Key() string { return Name }

func (*Config) Example() string { return example }

// On reports whether there is a number.
func (c *Config) On() bool { return c.PhoneNumberID != "" }

// Validate checks the values. If the number or token is set, all required values must be.
func (c *Config) Validate(p *section.Problems, _ string) {
	p.Web("channels.whatsapp.api_url", c.APIURL)
	section.AtLeast(p, "channels.whatsapp.rate_per_chat", c.RatePerChat, 0)
	section.AtLeast(p, "channels.whatsapp.rate_per_bot", c.RatePerBot, 0)
	if c.PhoneNumberID == "" && c.AccessToken == "" {
		return
	}
	for _, v := range []struct{ key, value, from string }{
		{"phone_number_id", c.PhoneNumberID, "Meta's dashboard shows it beside the number, under API setup"},
		{"access_token", string(c.AccessToken), "create one for a system user"},
		{"app_secret", string(c.AppSecret), "copy it from the app's basic settings"},
		{"verify_token", string(c.VerifyToken), "choose one, and enter the same in the dashboard's webhook form"},
	} {
		if strings.TrimSpace(v.value) == "" {
			p.Add("channels.whatsapp.%s is empty; %s", v.key, v.from)
		}
	}
	if !versionForm.MatchString(c.APIVersion) {
		p.Add("channels.whatsapp.api_version is %q; write it like v25.0", c.APIVersion)
	}
	if c.SummaryTemplate != "" && c.TemplateLanguage == "" {
		p.Add("channels.whatsapp.template_language is empty; name the language of the template, such as en")
	}
}

func (c *Config) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	return New(Options{Config: *c, PublicURL: h.PublicURL, HTTP: h.Client(c.APIURL, "https://"+graph.MediaHost),
		Log: h.Log, Now: h.Now, Intake: h.Intake})
}

var _ channel.Guided = (*Config)(nil)

// wording holds the operators' texts in one language: the guide's and the findings.
type wording struct {
	Option, Number, Help, Token, Secret, Good, NotFound, NoNumber string
	Findings                                                      findings
	Advice                                                        map[string]string // what the owner should do
	NotSubscribed                                                 string            // account, account
}

var say = words.In[wording]("whatsapp")

// Guide asks for a business number.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := say(language)
	return channel.Guide{
		Option: w.Option,
		Fields: []channel.Field{
			{ID: "whatsapp_number", Title: w.Number, Help: w.Help, Into: &c.PhoneNumberID},
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
	_, err := a.Do(ctx, call{Op: "look up the number", Method: http.MethodGet, Path: path, Timeout: callTimeout}, nil)
	var refused *apiError
	var away *netError
	switch {
	case errors.As(err, &refused):
		return &channel.Fault{Text: w.NotFound, Detail: fmt.Sprintf("%d %s", refused.HTTP, http.StatusText(refused.HTTP)),
			Err: err}
	case errors.As(err, &away):
		return &channel.Unreached{Where: a.Host, Err: away.Err}
	}
	return err
}

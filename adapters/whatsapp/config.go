package whatsapp

import (
	"context"
	_ "embed"
	"errors"
	"regexp"
	"strings"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
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

// Listed returns a phone number as "+" and its digits, the same for all of its spellings, or Meta's id of a person; see
// section.Lister.
func (*Config) Listed(who string) (string, error) {
	who = strings.TrimSpace(who)
	if metaID.MatchString(who) {
		return who, nil
	}
	n := phoneSigns.ReplaceAllString(who, "")
	if rest, foreign := strings.CutPrefix(n, "00"); foreign {
		n = rest
	}
	if n = strings.TrimPrefix(n, "+"); !phoneForm.MatchString(n) {
		return "", errors.New("write the number with its country, like whatsapp:+4915550001, or Meta's id, like whatsapp:DE.1349120865")
	}
	if m := mobile.FindStringSubmatch(n); m != nil {
		n = strings.Join(m[1:], "")
	}
	return "+" + n, nil
}

var (
	metaID     = regexp.MustCompile(`^[A-Z]{2}\.[A-Za-z0-9.]+$`)
	phoneSigns = regexp.MustCompile(`[\s().\x{a0}/-]`)
	phoneForm  = regexp.MustCompile(`^[1-9][0-9]{6,14}$`)
	// mobile matches numbers that exist with and without a digit that marks a mobile phone: Mexico's 1, Brazil's ninth
	// digit and Argentina's 9. The groups are what both have.
	mobile = regexp.MustCompile(`^(52)1([0-9]{10})$|^(55[1-9][0-9])9([6-9][0-9]{7})$|^(54)9([0-9]{10})$`)
)

func (c *Config) Open(_ context.Context, h channel.Host) (core.Channel, error) {
	return New(Options{Config: *c, PublicURL: h.PublicURL, HTTP: h.Client(c.APIURL, "https://"+graph.MediaHost),
		Log: h.Log, Now: h.Now})
}

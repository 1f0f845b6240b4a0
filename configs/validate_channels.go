package configs

import (
	"net/url"
	"regexp"
	"strings"
	"time"
)

func (c Config) checkWhatsApp(p *problems) {
	w := c.Channels.WhatsApp
	p.web("channels.whatsapp.api_url", w.APIURL)
	p.web("channels.whatsapp_agent.api_url", c.Channels.WhatsAppAgent.APIURL)
	atLeast(p, "channels.whatsapp.rate_per_chat", w.RatePerChat, 0)
	atLeast(p, "channels.whatsapp.rate_per_bot", w.RatePerBot, 0)
	if w.PhoneNumberID == "" && w.AccessToken == "" {
		return
	}
	for _, v := range []struct{ key, value, from string }{
		{"phone_number_id", w.PhoneNumberID, "Meta's dashboard shows it beside the number, under API setup"},
		{"access_token", string(w.AccessToken), "make one for a system user"},
		{"app_secret", string(w.AppSecret), "copy it from the app's basic settings"},
		{"verify_token", string(w.VerifyToken), "choose one, and enter the same in the dashboard's webhook form"},
	} {
		if v.value == "" {
			p.add("channels.whatsapp.%s is empty; %s", v.key, v.from)
		}
	}
	if !regexp.MustCompile(`^v[0-9]+\.[0-9]+$`).MatchString(w.APIVersion) {
		p.add("channels.whatsapp.api_version is %q; write it like v25.0", w.APIVersion)
	}
	if w.SummaryTemplate != "" && w.TemplateLanguage == "" {
		p.add("channels.whatsapp.template_language is empty; name the language of the template, such as en")
	}
}

// A user id of Matrix, and a bridge as its network and bot.
var (
	mxid   = regexp.MustCompile(`^@[^:\s]+:[^\s]+$`)
	bridge = regexp.MustCompile(`^[a-z0-9_]+=@[^:\s]+:[^\s]+$`)
)

func (c Config) checkMatrix(p *problems) {
	m := c.Channels.Matrix
	atLeast(p, "channels.matrix.rate_per_chat", m.RatePerChat, 0)
	if m.Homeserver == "" && m.UserID == "" && m.AccessToken == "" && m.Password == "" {
		return
	}
	p.web("channels.matrix.homeserver", m.Homeserver)
	if !mxid.MatchString(m.UserID) {
		p.add("channels.matrix.user_id is %q; write it like @assistant:example.org", m.UserID)
	}
	if m.AccessToken == "" && m.Password == "" {
		p.add("channels.matrix.access_token is empty; set it, or channels.matrix.password")
	}
	for _, a := range m.Autojoin {
		if !mxid.MatchString(a) && !strings.HasPrefix(a, "*:") {
			p.add("channels.matrix.autojoin: %q is neither a user such as @ada:example.org nor a server such as *:example.org", a)
		}
	}
	for _, b := range m.Bridges {
		if !bridge.MatchString(b) {
			p.add("channels.matrix.bridges: %q has not the form network=@bot:server, such as signal=@signalbot:example.org", b)
		}
	}
}

func (c Config) checkEgress(p *problems) {
	e := c.Egress
	for _, entry := range e.AllowHosts {
		u, err := url.Parse("//" + entry)
		if err != nil || u.Host != entry || u.Hostname() == "" || strings.Contains(strings.TrimPrefix(entry, "*."), "*") {
			p.add("egress.allow_hosts has %q; write hosts like api.example.org, *.example.org or 10.0.0.5:8080", entry)
		}
	}
	atLeast(p, "egress.bytes_per_day", e.BytesPerDay, 0)
	atLeast(p, "egress.calls_per_day", e.CallsPerDay, 0)
}

func (c Config) checkTranscription(p *problems) {
	t := c.Transcription
	if t.BaseURL != "" {
		p.web("transcription.base_url", t.BaseURL)
	}
	if t.Model == "" && (t.BaseURL != "" || t.APIKey != "") {
		p.add("transcription.model is empty; name the model to use")
	}
	within(p, "transcription.timeout", t.Timeout, time.Second, 10*time.Minute)
}

package configs

import (
	"net/url"
	"strings"
	"time"

	"github.com/everthread/everthread/configs/section"
)

func (c Config) checkEgress(p *section.Problems) {
	e := c.Egress
	for _, entry := range e.AllowHosts {
		u, err := url.Parse("//" + entry)
		if err != nil || u.Host != entry || u.Hostname() == "" || strings.Contains(strings.TrimPrefix(entry, "*."), "*") {
			p.Add("egress.allow_hosts has %q; write hosts like api.example.org, *.example.org or 10.0.0.5:8080", entry)
		}
	}
	section.AtLeast(p, "egress.bytes_per_day", e.BytesPerDay, 0)
	section.AtLeast(p, "egress.calls_per_day", e.CallsPerDay, 0)
}

func (c Config) checkTranscription(p *section.Problems) {
	t := c.Transcription
	if t.BaseURL != "" {
		p.Web("transcription.base_url", t.BaseURL)
	}
	if t.Model == "" && (t.BaseURL != "" || t.APIKey != "") {
		p.Add("transcription.model is empty; name the model to use")
	}
	section.Within(p, "transcription.timeout", t.Timeout, time.Second, 10*time.Minute)
	section.Within(p, "transcription.max_duration", t.MaxDuration, time.Second, 24*time.Hour)
}

func (c Config) checkSpeech(p *section.Problems) {
	s := c.Speech
	if s.BaseURL != "" {
		p.Web("speech.base_url", s.BaseURL)
	}
	switch {
	case s.Model == "" && (s.BaseURL != "" || s.APIKey != "" || s.Voice != ""):
		p.Add("speech.model is empty; name the model to use")
	case s.Model != "" && s.Voice == "":
		p.Add("speech.voice is empty; name the voice to use, such as alloy")
	}
	section.Within(p, "speech.timeout", s.Timeout, time.Second, 10*time.Minute)
	section.Within(p, "speech.max_characters", s.MaxCharacters, 100, 4096)
	section.Within(p, "speech.max_bytes", s.MaxBytes, 64<<10, 50<<20)
}

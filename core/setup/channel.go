package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/trust/egress"
)

// ChannelTrier tries channels with answers that are in no configuration yet.
type ChannelTrier struct {
	Way  *egress.Gate // addresses in answers, not in the configuration, have to pass it
	Now  func() time.Time
	Rand io.Reader
}

// ErrNoGuide means that a channel cannot be set up by answers.
var ErrNoGuide = errors.New("this channel has no guide")

// Rejected is a sentence for the person: answers are wrong, or do not work.
type Rejected string

// Error returns the sentence.
func (r Rejected) Error() string { return string(r) }

// Try tries the channel of a section with answers to its guide, by the ids of the fields.
// A missing answer is taken from the section, which is not changed. said reports the result
// to the person, and lines are the part of the configuration that the answers make, with …
// for each secret. A secret of the section goes only where the section sends it: if another
// field is answered with a new value, the secret has to be answered too. Its errors are
// ErrNoGuide and Rejected.
func (t ChannelTrier) Try(ctx context.Context, s section.Section, language string,
	answers map[string]string) (said, lines string, err error) {
	trial := reflect.New(reflect.TypeOf(s).Elem()) // the answers go into a copy
	trial.Elem().Set(reflect.ValueOf(s).Elem())
	guided, ok := trial.Interface().(channel.Guided)
	if !ok {
		return "", "", ErrNoGuide
	}
	guide := guided.Guide(language, channel.Host{Client: t.client(answers), Now: t.Now, Rand: t.Rand})
	changed := slices.ContainsFunc(guide.Fields, func(f channel.Field) bool {
		return !f.Secret && answers[f.ID] != "" && answers[f.ID] != *f.Into
	})
	var secret []string
	for _, f := range guide.Fields {
		if f.Secret && changed {
			*f.Into = ""
		}
		*f.Into = cmp.Or(answers[f.ID], *f.Into)
		switch {
		case *f.Into == "":
			return "", "", Rejected(fmt.Sprintf(wordsOf(language).LeftOut, f.Title))
		case f.Form != nil && !f.Form.MatchString(*f.Into):
			return "", "", Rejected(f.Malformed)
		case f.Secret:
			secret = append(secret, *f.Into)
		}
	}
	tried, err := guide.Try(ctx)
	if err != nil {
		return "", "", Rejected(wordsOf(language).said(err) + ".")
	}
	for i := 1; i < len(tried.Keys); i += 2 {
		if slices.Contains(secret, tried.Keys[i]) {
			tried.Keys[i] = "…"
		}
	}
	a := Answers{Language: language, Channels: []Channel{{s.Key(), tried}}}
	return tried.Said, a.channelsYAML(), nil
}

// client makes clients that reach the addresses of the configuration; those typed into a
// page are bound by the policy.
func (t ChannelTrier) client(answers map[string]string) func(addresses ...string) *http.Client {
	typed := map[string]bool{}
	for _, a := range answers {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			typed[u.Host] = true
		}
	}
	return func(addresses ...string) *http.Client {
		return t.Way.Client(slices.DeleteFunc(slices.Clone(addresses), func(a string) bool {
			u, err := url.Parse(a)
			return err != nil || typed[u.Host]
		})...)
	}
}

package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/markup"
)

func (c *Commands) timezone(_ context.Context, r *request) (core.Outcome, error) {
	if r.arg == "" {
		zone := c.location(r)
		clock, date := c.clock(r, zone)
		return r.sayf(r.words.ZoneIs, zone, clock, date), nil
	}
	name, zone, ok := findZone(r.arg, r.now)
	if !ok {
		return c.noZone(r), nil
	}
	s := r.user.Settings
	s.Zone = name
	clock, date := c.clock(r, zone)
	return r.sayf(r.words.ZoneSet, name, clock, date).With(effect.SetSettings{Settings: s}), nil
}

// clock returns the time in a zone, and its weekday and date.
func (c *Commands) clock(r *request, zone *time.Location) (clock, date string) {
	t := r.now.In(zone)
	return t.Format("15:04"), day.Name(t.Format(time.DateOnly), "", r.lang)
}

func (c *Commands) noZone(r *request) core.Outcome {
	names := NearZones(r.arg)
	if len(names) == 0 {
		return r.say(r.words.ZoneUnknown)
	}
	text := r.words.ZoneNear
	for _, n := range names {
		text += "\n- `/timezone " + n + "`"
	}
	return core.Outcome{Text: text}
}

// language shows or sets the language; it answers in the new one.
func (c *Commands) language(_ context.Context, r *request) (core.Outcome, error) {
	if r.arg == "" {
		return r.sayf(r.words.LanguageIs, languages(r.lang)), nil
	}
	chosen := named(r.arg)
	if chosen == "" {
		return r.sayf(r.words.LanguageUnknown, languages("")), nil
	}
	s := r.user.Settings
	s.Language = chosen
	r.speak(chosen)
	return r.say(r.words.LanguageSet).With(effect.SetSettings{Settings: s}), nil
}

// named returns the language with a code or name; empty: there is none.
func named(s string) string {
	tag, _, _ := strings.Cut(text.Fold(s), "-")
	tag = strings.TrimSpace(tag)
	for _, l := range i18n.Languages() {
		if tag == l || slices.Contains(i18n.Of(l).Called, tag) {
			return l
		}
	}
	return ""
}

// languages returns the commands that choose each language but one.
func languages(but string) string {
	var out []string
	for _, l := range i18n.Languages() {
		if l != but {
			out = append(out, "`/language "+l+"` ("+i18n.Of(l).Name+")")
		}
	}
	return strings.Join(out, ", ")
}

// home makes the identity that sent the command the home.
func (c *Commands) home(_ context.Context, r *request) (core.Outcome, error) {
	if !c.Channels.Capabilities(r.at.Address.Channel).Push {
		return r.say(r.words.HomeCannot), nil
	}
	s := r.user.Settings
	if s.Home == r.at.ID {
		return r.say(r.words.HomeAlready), nil
	}
	s.Home = r.at.ID
	return r.say(r.words.HomeSet).With(effect.SetSettings{Settings: s}), nil
}

func (c *Commands) summaries(_ context.Context, r *request) (core.Outcome, error) {
	s := r.user.Settings
	if r.arg == "" {
		return r.sayf(r.words.SummariesAre, r.posts(cmp.Or(s.Summaries, c.Defaults.PostForward, "home"))), nil
	}
	s.Summaries = map[string]string{"on": "home", "home": "home", "off": "off"}[text.Fold(r.arg)]
	switch {
	case means(r.arg, yes):
		s.Summaries = "home"
	case means(r.arg, no):
		s.Summaries = "off"
	case means(r.arg, func(t *typed) []string { return t.All }):
		s.Summaries = "all"
	}
	if s.Summaries == "" {
		return r.say(r.words.SummariesUnknown), nil
	}
	return r.sayf(r.words.SummariesSet, r.posts(s.Summaries)).With(effect.SetSettings{Settings: s}), nil
}

func (r *request) posts(forward string) string {
	if r.user.Group() && forward != "off" {
		return r.words.PostsGroup
	}
	return cmp.Or(map[string]string{"off": r.words.PostsOff, "all": r.words.PostsAll}[forward], r.words.PostsHome)
}

// strategy shows or sets what the model sees.
func (c *Commands) strategy(_ context.Context, r *request) (core.Outcome, error) {
	s := r.user.Settings
	if r.arg == "" {
		return r.sayf(r.words.StrategyIs, r.sees(cmp.Or(s.Strategy, c.Defaults.Strategy))), nil
	}
	switch {
	case means(r.arg, func(t *typed) []string { return t.Days }):
		s.Strategy = "continuous"
	case means(r.arg, func(t *typed) []string { return t.Long }):
		s.Strategy = "long"
	case means(r.arg, func(t *typed) []string { return t.Newest }):
		s.Strategy = "truncate"
	default:
		return r.say(r.words.StrategyUnknown), nil
	}
	return r.sayf(r.words.StrategySet, r.sees(s.Strategy)).With(effect.SetSettings{Settings: s}), nil
}

func (r *request) sees(strategy string) string {
	return cmp.Or(map[string]string{"long": r.words.SeesLong, "truncate": r.words.SeesNewest}[strategy], r.words.SeesDays)
}

// model shows or sets the model that answers.
func (c *Commands) model(_ context.Context, r *request) (core.Outcome, error) {
	all := c.Models(r.user.ID)
	at := func(name string) int {
		return slices.IndexFunc(all, func(m core.ModelChoice) bool { return text.Fold(m.Name) == text.Fold(name) })
	}
	here := max(0, at(r.user.Settings.Model))
	name := r.arg
	if means(name, func(t *typed) []string { return t.Default }) {
		name = ""
	}
	switch n := at(name); {
	case r.arg == "" && len(all) == 1:
		return r.sayf(r.words.ModelOnly, markup.Escape(all[0].Model)), nil
	case r.arg == "":
		return list(fmt.Sprintf(r.words.ModelIs, r.modelNamed(all[here])), all, r.modelLine), nil
	case n < 0:
		return list(fmt.Sprintf(r.words.ModelUnknown, markup.Escape(r.arg)), all, r.modelLine), nil
	default:
		s := r.user.Settings
		s.Model = all[n].Name
		return r.sayf(r.words.ModelSet, r.modelNamed(all[n])).With(effect.SetSettings{Settings: s}), nil
	}
}

func (r *request) modelNamed(m core.ModelChoice) string {
	return "**" + markup.Escape(m.Model) + "**"
}

func (r *request) modelLine(m core.ModelChoice) string {
	line := "- `/model " + cmp.Or(m.Name, "default") + "`: " + markup.Escape(m.Model)
	if m.Prompt > 0 || m.Completion > 0 {
		line += " · " + fmt.Sprintf(r.words.ModelPrice, m.Prompt, m.Completion, m.Currency)
	}
	return line
}

// pause stops answering messages, or resumes with those that are pending.
func (c *Commands) pause(ctx context.Context, r *request) (core.Outcome, error) {
	s := r.user.Settings
	s.Paused = !s.Paused
	effects := []core.Effect{effect.SetSettings{Settings: s}}
	if s.Paused {
		return core.Outcome{Text: r.words.Paused, Effects: effects}, nil
	}
	b, err := c.Store.Backlog(ctx, r.user.ID, r.at.Thread)
	if err != nil {
		return core.Outcome{}, err
	}
	text := r.words.Resumed
	if b.Pending > 0 {
		text = r.words.ResumedWith
	}
	return core.Outcome{Text: text, Effects: append(effects, effect.Resume{At: r.now})}, nil
}

// voice shows or sets when answers are also spoken. In a chat, only it reports why the last answer was not spoken.
func (c *Commands) voice(ctx context.Context, r *request) (core.Outcome, error) {
	s := r.user.Settings
	if r.arg == "" {
		return c.voiceIs(ctx, r)
	}
	switch choice := core.VoiceChoice(text.Fold(r.arg)); {
	case slices.Contains(core.Voices(), choice):
		s.Voice = choice
	case means(r.arg, yes):
		s.Voice = core.VoiceOn
	case means(r.arg, no):
		s.Voice = core.VoiceOff
	default:
		return r.say(r.words.VoiceUnknown), nil
	}
	return r.say(r.spoken(s.Voice) + c.mute(r)).With(effect.SetSettings{Settings: s}), nil
}

// voiceIs shows the choice, and why the last answer was not spoken.
func (c *Commands) voiceIs(ctx context.Context, r *request) (core.Outcome, error) {
	said := r.spoken(r.user.Settings.Voice) + "\n" + r.words.VoiceChange + c.mute(r)
	cause, since, err := c.Store.SpeechTrouble(ctx, r.user.ID)
	if err != nil {
		return core.Outcome{}, err
	}
	switch at := since.In(c.location(r)).Format("2006-01-02 15:04"); {
	case cause == "" || !c.Defaults.Voice:
	case r.user.Role == core.RoleOwner:
		said += "\n\n" + fmt.Sprintf(r.words.VoiceFailedOwner, at, "`"+strings.ReplaceAll(cause, "`", "'")+"`")
	default:
		said += "\n\n" + fmt.Sprintf(r.words.VoiceFailed, at)
	}
	return r.say(said), nil
}

func (r *request) spoken(v core.VoiceChoice) string {
	of := map[core.VoiceChoice]string{core.VoiceOn: r.words.VoiceOn, core.VoiceOff: r.words.VoiceOff}
	return cmp.Or(of[v], r.words.VoiceAuto)
}

// mute returns a note if no service that speaks is configured.
func (c *Commands) mute(r *request) string {
	if c.Defaults.Voice {
		return ""
	}
	return "\n\n" + r.words.VoiceNone
}

package command

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/text"
)

func (c *Commands) timezone(_ context.Context, r *request) (core.Outcome, error) {
	if r.arg == "" {
		zone := r.user.Settings.Location(c.Calendar.Zone)
		clock, date := c.clock(r, zone)
		return r.say(r.words.zoneIs, zone, clock, date), nil
	}
	name, zone, ok := findZone(r.arg, r.now)
	if !ok {
		return c.noZone(r), nil
	}
	s := r.user.Settings
	s.Zone = name
	clock, date := c.clock(r, zone)
	out := r.say(r.words.zoneSet, name, clock, date)
	out.Effects = []core.Effect{core.SetSettings{Settings: s}}
	return out, nil
}

// clock is the time that a zone shows, and its weekday and date.
func (c *Commands) clock(r *request, zone *time.Location) (clock, date string) {
	t := r.now.In(zone)
	return t.Format("15:04"), day.Name(t.Format(time.DateOnly), "", r.lang)
}

func (c *Commands) noZone(r *request) core.Outcome {
	names := suggestZones(r.arg)
	if len(names) == 0 {
		return r.say(r.words.zoneUnknown)
	}
	text := r.text(r.words.zoneNear)
	for _, n := range names {
		text += "\n- `/timezone " + n + "`"
	}
	return core.Outcome{Text: text}
}

// language is answered in the language that was chosen.
func (c *Commands) language(_ context.Context, r *request) (core.Outcome, error) {
	if r.arg == "" {
		return r.say(r.words.languageIs), nil
	}
	names := map[string]string{"fr": "fr", "francais": "fr", "french": "fr", "en": "en", "english": "en", "anglais": "en"}
	tag, _, _ := strings.Cut(text.Fold(r.arg), "-")
	chosen := names[strings.TrimSpace(tag)]
	if chosen == "" {
		return r.say(r.words.languageUnknown), nil
	}
	s := r.user.Settings
	s.Language = chosen
	r.speak(chosen)
	out := r.say(r.words.languageSet)
	out.Effects = []core.Effect{core.SetSettings{Settings: s}}
	return out, nil
}

// home makes the identity that the command came from the first to be written to.
func (c *Commands) home(_ context.Context, r *request) (core.Outcome, error) {
	if !c.Channels.Capabilities(r.at.Address.Channel).Push {
		return r.say(r.words.homeCannot), nil
	}
	s := r.user.Settings
	if s.Home == r.at.ID {
		return r.say(r.words.homeAlready), nil
	}
	s.Home = r.at.ID
	out := r.say(r.words.homeSet)
	out.Effects = []core.Effect{core.SetSettings{Settings: s}}
	return out, nil
}

func (c *Commands) summaries(_ context.Context, r *request) (core.Outcome, error) {
	s := r.user.Settings
	if r.arg == "" {
		return r.say(r.words.summariesAre, r.posts(cmp.Or(s.Summaries, c.Defaults.PostForward, "home"))), nil
	}
	choices := map[string]string{"on": "home", "home": "home", "oui": "home", "off": "off", "non": "off", "all": "all", "tous": "all", "tout": "all"}
	s.Summaries = choices[text.Fold(r.arg)]
	if s.Summaries == "" {
		return r.say(r.words.summariesUnknown), nil
	}
	out := r.say(r.words.summariesSet, r.posts(s.Summaries))
	out.Effects = []core.Effect{core.SetSettings{Settings: s}}
	return out, nil
}

// posts says in words where summaries are posted.
func (r *request) posts(forward string) string {
	switch forward {
	case "off":
		return r.text(r.words.postsOff)
	case "all":
		return r.text(r.words.postsAll)
	}
	return r.text(r.words.postsHome)
}

// strategy chooses what the model sees (SPEC 5).
func (c *Commands) strategy(_ context.Context, r *request) (core.Outcome, error) {
	s := r.user.Settings
	if r.arg == "" {
		return r.say(r.words.strategyIs, r.sees(cmp.Or(s.Strategy, c.Defaults.Strategy))), nil
	}
	choices := map[string]string{"continuous": "continuous", "days": "continuous", "jours": "continuous", "continue": "continuous",
		"long": "long", "longue": "long", "all": "long", "tout": "long", "truncate": "truncate", "newest": "truncate", "recents": "truncate"}
	s.Strategy = choices[text.Fold(r.arg)]
	if s.Strategy == "" {
		return r.say(r.words.strategyUnknown), nil
	}
	out := r.say(r.words.strategySet, r.sees(s.Strategy))
	out.Effects = []core.Effect{core.SetSettings{Settings: s}}
	return out, nil
}

// sees says in words what the model is shown.
func (r *request) sees(strategy string) string {
	switch strategy {
	case "long":
		return r.text(r.words.seesLong)
	case "truncate":
		return r.text(r.words.seesNewest)
	}
	return r.text(r.words.seesDays)
}

// pause keeps messages unanswered, or goes on with what was kept.
func (c *Commands) pause(ctx context.Context, r *request) (core.Outcome, error) {
	s := r.user.Settings
	s.Paused = !s.Paused
	effects := []core.Effect{core.SetSettings{Settings: s}}
	if s.Paused {
		return core.Outcome{Text: r.text(r.words.paused), Effects: effects}, nil
	}
	b, err := c.Store.Backlog(ctx, r.user.ID, r.at.Thread)
	if err != nil {
		return core.Outcome{}, err
	}
	text := r.words.resumed
	if b.Pending > 0 {
		text = r.words.resumedWith
	}
	return core.Outcome{Text: r.text(text), Effects: append(effects, core.Resume{At: r.now})}, nil
}

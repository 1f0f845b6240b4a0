package office

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/command"
	"github.com/everthread/everthread/core/day"
	"github.com/everthread/everthread/core/words"
)

// maxName bounds a name, in characters.
const maxName = 80

// zoneView is the choice of a time zone.
type zoneView struct {
	Value string // empty: none chosen
	House string // the zone without a choice
	Now   string // the present time in the zone
	Names []string
	Near  []string // suggestions for an unknown zone
}

func fillZone(v *web.Visit, page *settingsView) {
	z := &page.Zone
	z.Names, z.House = command.Zones(), v.ZoneOf(core.Settings{}).String()
	if page.Problem == nil || page.Problem.Section != "profile" {
		z.Value = v.User.Settings.Zone
	}
	z.Now = clockIn(v, v.Zone)
}

// clockIn formats the present time in a zone, with weekday and date.
func clockIn(v *web.Visit, zone *time.Location) string {
	t := v.Now.In(zone)
	date := day.Name(t.Format(time.DateOnly), "", v.Lang)
	return fmt.Sprintf(say(v.Lang).Settings.ZoneNow, t.Format(web.HourMinute), date, zone)
}

// setProfile sets name, zone and language, all or none. The answer is in the chosen language.
func (r *Room) setProfile(v *web.Visit) error {
	f := v.R.PostForm
	name, language := web.OneLine(f.Get("name")), f.Get("language")
	if language != "" && !slices.Contains(words.Languages(), language) {
		return v.BadForm(nil)
	}
	zone, page, wrong := profile(v, name, web.Short(web.OneLine(f.Get("zone")), 100))
	if wrong != nil {
		page.Chosen = &language
		return r.wrong(v, *wrong, page)
	}
	s := v.User.Settings
	s.Zone, s.Language = zone, language
	then := *v
	then.Lang = v.Language(language)
	said := fmt.Sprintf(say(then.Lang).Settings.ProfileSet, clockIn(&then, v.ZoneOf(s)))
	return r.change(v, "profile", said, core.SetName{Name: name}, core.SetSettings{Settings: s})
}

// profile checks a name and a zone, which may be a city as for /timezone. The returned
// page holds the form's values, to be shown again with a problem.
func profile(v *web.Visit, name, said string) (zone string, page settingsView, wrong *problem) {
	w := say(v.Lang).Settings
	page = settingsView{Name: web.Short(name, 400), Zone: zoneView{Value: said}}
	switch {
	case name == "":
		return "", page, &problem{"profile", "name", w.NameEmpty}
	case utf8.RuneCountInString(name) > maxName:
		return "", page, &problem{"profile", "name", fmt.Sprintf(w.NameLong, words.Number(v.Lang, maxName))}
	case said == "":
		return "", page, nil
	}
	zone, ok := command.Zone(said, v.Now)
	if !ok {
		page.Zone.Near = command.NearZones(said)
		return "", page, &problem{"profile", "zone", w.ZoneUnknown}
	}
	return zone, page, nil
}

// setAssistant sets the destination of summaries, the context strategy, memory and voice.
func (r *Room) setAssistant(v *web.Visit) error {
	s := v.User.Settings
	switch posts := v.R.PostForm.Get("summaries"); posts {
	case "home", "all", "off":
		s.Summaries = posts
	default:
		return v.BadForm(nil)
	}
	switch strategy := v.R.PostForm.Get("strategy"); strategy {
	case "continuous", "long", "truncate":
		s.Strategy = strategy
	default:
		return v.BadForm(nil)
	}
	switch kept := v.R.PostForm.Get("memory"); kept {
	case "": // a form of an older version
	case "on", "off":
		s.MemoryOff = kept == "off"
	default:
		return v.BadForm(nil)
	}
	switch voice := core.VoiceChoice(v.R.PostForm.Get("voice")); {
	case voice == "": // no voice, or a form of an older version
	case slices.Contains(core.Voices(), voice):
		s.Voice = voice
	default:
		return v.BadForm(nil)
	}
	return r.change(v, "assistant", say(v.Lang).Settings.Saved, core.SetSettings{Settings: s})
}

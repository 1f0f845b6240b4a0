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

// maxName is how long a name may be, in characters.
const maxName = 80

// zoneView is where a person says which clock is theirs.
type zoneView struct {
	Value string // empty: they chose none
	House string // the one that holds then
	Now   string // what the clock shows
	Names []string
	Near  []string // what they may have meant
}

func fillZone(v *web.Visit, page *settingsView) {
	z := &page.Zone
	z.Names, z.House = command.Zones(), v.ZoneOf(core.Settings{}).String()
	if page.Problem == nil || page.Problem.Section != "profile" {
		z.Value = v.User.Settings.Zone
	}
	z.Now = clockIn(v, v.Zone)
}

// clockIn is what a clock in a zone shows, with its weekday and date.
func clockIn(v *web.Visit, zone *time.Location) string {
	t := v.Now.In(zone)
	date := day.Name(t.Format(time.DateOnly), "", v.Lang)
	return fmt.Sprintf(say(v.Lang).Settings.ZoneNow, t.Format(web.HourMinute), date, zone)
}

// setProfile sets name, zone and language, all or none. It is answered in the language
// that was chosen.
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

// profile checks a name, and a zone, which may be a city, as /timezone takes it. What is
// wrong is said on the page, which has what was written.
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

// setAssistant sets where summaries go, what the model sees, whether it has memory,
// and when it speaks.
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
	case "": // a form from before there was this choice
	case "on", "off":
		s.MemoryOff = kept == "off"
	default:
		return v.BadForm(nil)
	}
	switch voice := core.VoiceChoice(v.R.PostForm.Get("voice")); {
	case voice == "": // nobody speaks, or a form from before
	case slices.Contains(core.Voices(), voice):
		s.Voice = voice
	default:
		return v.BadForm(nil)
	}
	return r.change(v, "assistant", say(v.Lang).Settings.Saved, core.SetSettings{Settings: s})
}

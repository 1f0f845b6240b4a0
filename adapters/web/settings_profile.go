package web

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

func (v *visit) fillZone(page *settingsView) {
	z := &page.Zone
	z.Names, z.House = command.Zones(), v.Channel.zone.String()
	if page.Problem.At("zone") == "" {
		z.Value = v.user.Settings.Zone
	}
	z.Now = v.clockIn(v.zone)
}

// clockIn is what a clock in a zone shows, with its weekday and date.
func (v *visit) clockIn(zone *time.Location) string {
	t := v.now.In(zone)
	return fmt.Sprintf(v.words.Settings.ZoneNow, t.Format(hoursMinutes), day.Name(t.Format(time.DateOnly), "", v.lang),
		zone)
}

func (v *visit) setName() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	name := oneLine(v.r.PostForm.Get("name"))
	w := v.words.Settings
	switch {
	case name == "":
		return v.wrong(problem{"profile", "name", w.NameEmpty}, settingsView{})
	case utf8.RuneCountInString(name) > maxName:
		return v.wrong(problem{"profile", "name", fmt.Sprintf(w.NameLong, words.Number(v.lang, maxName))},
			settingsView{Name: short(name, 400)})
	}
	return v.change("profile", fmt.Sprintf(w.NameSet, name), core.SetName{Name: name})
}

// oneLine is a text on one line, without what cannot be seen.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// setZone takes a zone by its name or by a city, as /timezone does.
func (v *visit) setZone() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	w, said := v.words.Settings, oneLine(v.r.PostForm.Get("zone"))
	s := v.user.Settings
	s.Zone = ""
	if said != "" {
		name, ok := command.Zone(short(said, 100), v.now)
		if !ok {
			page := settingsView{Zone: zoneView{Value: short(said, 100), Near: command.NearZones(short(said, 100))}}
			return v.wrong(problem{"profile", "zone", w.ZoneUnknown}, page)
		}
		s.Zone = name
	}
	return v.change("profile", v.clockIn(s.Location(v.Channel.zone)), core.SetSettings{Settings: s})
}

// setLanguage is answered in the language that was chosen.
func (v *visit) setLanguage() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	chosen := v.r.PostForm.Get("language")
	if chosen != "" && !slices.Contains(words.Languages(), chosen) {
		return badForm(nil)
	}
	s := v.user.Settings
	s.Language = chosen
	said := say(languageOf(chosen, v.Language, v.r.Header.Get("Accept-Language")))
	return v.change("profile", said.Settings.LanguageSet, core.SetSettings{Settings: s})
}

// setAssistant sets where summaries go, what the model sees, and whether it has
// memory.
func (v *visit) setAssistant() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	s := v.user.Settings
	switch posts := v.r.PostForm.Get("summaries"); posts {
	case "home", "all", "off":
		s.Summaries = posts
	default:
		return badForm(nil)
	}
	switch strategy := v.r.PostForm.Get("strategy"); strategy {
	case "continuous", "long", "truncate":
		s.Strategy = strategy
	default:
		return badForm(nil)
	}
	switch kept := v.r.PostForm.Get("memory"); kept {
	case "": // a form from before there was this choice
	case "on", "off":
		s.MemoryOff = kept == "off"
	default:
		return badForm(nil)
	}
	return v.change("assistant", v.words.Settings.Saved, core.SetSettings{Settings: s})
}

package settings

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/command"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
)

func (r *Room) settingsRoutes() []web.Route {
	return slices.Concat([]web.Route{
		{Pattern: "GET /settings", Serve: r.settingsPage, Tab: &web.Tab{
			Name: func(lang string) string { return say(lang).Settings.Title }, Key: "s", InMenu: true}},
		{Pattern: "GET /settings/{section}", Serve: r.settingsPage},
		{Pattern: "POST /settings/profile", Serve: r.setProfile},
		{Pattern: "POST /settings/assistant", Serve: r.setAssistant},
		{Pattern: "POST /settings/allowed", Serve: r.endAllowed},
	}, r.linkRoutes(), r.serviceRoutes(), r.embeddingRoutes(), r.keyRoutes(), r.pushRoutes(),
		r.dataRoutes())
}

// section is a page of an area, in the list beside it.
type section struct {
	ID, Name string
	Path     string
	Here     bool
	Count    int // what needs attention there
}

// mark marks the section shown, the first without an id, and returns its id, or core.ErrNotFound.
func mark(all []section, area, id string) (string, error) {
	id = cmp.Or(id, all[0].ID)
	found := false
	for i := range all {
		all[i].Path = area + "/" + all[i].ID
		all[i].Here = all[i].ID == id
		found = found || all[i].Here
	}
	if !found {
		return "", core.ErrNotFound
	}
	return id, nil
}

type problem struct {
	Section, Field, Text string
}

// At returns the problem of a field, or "".
func (p *problem) At(field string) string {
	if p == nil || p.Field != field {
		return ""
	}
	return p.Text
}

type settingsView struct {
	Sections []section
	Here     string // id of the section shown
	Problem  *problem

	Name                                   string
	Chosen                                 *string // language in a refused form
	Zone                                   zoneView
	Languages, Summaries, Strategy, Memory []choice
	Voice                                  []choice // empty: replies cannot be spoken
	Models                                 []choice // empty: there is only one
	Allowed                                []allowedView
	Standing                               standingView
	Links                                  linksView
	Services                               []shownService // empty: there is none to connect
	Meaning                                meaningView
	Keys                                   keysView
	Sessions                               []shownSession
	Push                                   pushView

	BrowserKeys string // names of keys that were made in a browser
	SessionDays int    // life of a session after its last use
	Usage       usageView
	ExportAbout string // estimated contents of an export
	Owner       bool   // the owner cannot delete the account
}

func (r *Room) settingsPage(v *web.Visit) error {
	return r.showSettings(v, http.StatusOK, settingsView{Here: v.R.PathValue("section")})
}

func (r *Room) settingsSections(v *web.Visit, services bool) []section {
	w := say(v.Lang).Settings
	all := []section{{ID: "profile", Name: w.Profile}, {ID: "assistant", Name: w.Assistant},
		{ID: "standing", Name: say(v.Lang).Standing.Title}, {ID: "channels", Name: w.Channels}}
	if services {
		all = append(all, section{ID: "services", Name: say(v.Lang).Connect.Services})
	}
	return append(all, section{ID: "notifications", Name: w.Push}, section{ID: "embeddings", Name: w.Meaning},
		section{ID: "keys", Name: w.Keys}, section{ID: "sessions", Name: w.Sessions}, section{ID: "usage", Name: w.Usage}, section{ID: "data", Name: w.Data})
}

// wrong shows the settings again with the problem of a form.
func (r *Room) wrong(v *web.Visit, p problem, page settingsView) error {
	page.Problem, page.Here = &p, p.Section
	return r.showSettings(v, http.StatusUnprocessableEntity, page)
}

// showSettings fills in a section and shows it. A refused form is set in page before.
func (r *Room) showSettings(v *web.Visit, status int, page settingsView) error {
	if err := r.fillServices(v, &page); err != nil {
		return err
	}
	page.Sections = r.settingsSections(v, len(page.Services) > 0)
	var err error
	if page.Here, err = mark(page.Sections, "/settings", page.Here); err != nil {
		return err
	}
	fill := map[string]func(*web.Visit, *settingsView) error{"profile": r.fillChoices, "assistant": r.fillChoices,
		"standing": r.fillStanding, "channels": r.fillLinks, "embeddings": r.fillMeaning, "keys": r.fillKeys,
		"sessions": r.fillSessions, "notifications": r.fillPush, "usage": r.fillUsage, "data": r.fillData}[page.Here]
	if fill != nil {
		if err := fill(v, &page); err != nil {
			return err
		}
	}
	return v.Render(status, "settings", say(v.Lang).Settings.Title, page)
}

func (r *Room) fillStanding(v *web.Visit, page *settingsView) error {
	return page.Standing.fill(v, r, "/settings/standing")
}

func (r *Room) fillChoices(v *web.Visit, page *settingsView) error {
	w, s := say(v.Lang).Settings, v.User.Settings
	if page.Problem == nil {
		page.Name = v.User.Name
	}
	fillZone(v, page)
	language := s.Language
	if page.Chosen != nil {
		language = *page.Chosen
	}
	if language != "" {
		language = i18n.Match(language)
	}
	languages := []string{"", w.LanguageAuto, ""}
	for _, l := range i18n.Languages() {
		languages = append(languages, l, i18n.Of(l).Name, "")
	}
	page.Languages = choices(language, languages...)
	page.Summaries = choices(cmp.Or(s.Summaries, r.Summaries, "home"), "home", w.PostsHome, w.PostsHomeHint,
		"all", w.PostsAll, w.PostsAllHint, "off", w.PostsOff, w.PostsOffHint)
	page.Strategy = choices(cmp.Or(s.Strategy, r.Strategy, "continuous"), "continuous", w.Continuous, w.ContinuousHint,
		"long", w.Long, w.LongHint, "truncate", w.Truncate, w.TruncateHint)
	if r.Voice {
		page.Voice = choices(string(cmp.Or(s.Voice, core.VoiceAuto)), "auto", w.VoiceAuto, w.VoiceAutoHint,
			"on", w.VoiceOn, w.VoiceOnHint, "off", w.VoiceOff, w.VoiceOffHint)
	}
	page.Models = r.models(v)
	for _, a := range s.Allow("", time.Time{}, v.Now).Allowed {
		page.Allowed = append(page.Allowed, allowedView{a.Tool, day.Name(a.Until.In(v.Zone).Format(time.DateOnly), "", v.Lang)})
	}
	page.Memory = choices(map[bool]string{false: "on", true: "off"}[s.MemoryOff], "on", w.MemoryOn, w.MemoryOnHint,
		"off", w.MemoryOff, w.MemoryOffHint)
	return nil
}

// models returns the models that the person may choose; none if there is only one.
func (r *Room) models(v *web.Visit) []choice {
	if r.Models == nil {
		return nil
	}
	all := r.Models(v.User.ID)
	if len(all) == 1 {
		return nil
	}
	var options []string
	here := ""
	for _, m := range all {
		if m.Name == v.User.Settings.Model {
			here = m.Name
		}
		hint := ""
		if m.Prompt > 0 || m.Completion > 0 {
			hint = fmt.Sprintf(say(v.Lang).Settings.ModelPrice, m.Prompt, m.Completion, m.Currency)
		}
		options = append(options, m.Name, cmp.Or(m.Name, say(v.Lang).Settings.ModelDefault)+": "+m.Model, hint)
	}
	return choices(here, options...)
}

// allowedView is a tool that runs without a question until a day.
type allowedView struct{ Tool, Until string }

// endAllowed ends what a person allowed a tool.
func (r *Room) endAllowed(v *web.Visit) error {
	tool := v.R.PostForm.Get("tool")
	if !v.User.Settings.Allows(tool, v.Now) {
		return v.BadForm(nil)
	}
	return r.change(v, "assistant", say(v.Lang).Settings.Saved,
		effect.SetSettings{Settings: v.User.Settings.Allow(tool, time.Time{}, v.Now)})
}

// choices returns options, each with a name and a hint. The one with the value here is marked.
func choices(here string, all ...string) []choice {
	var out []choice
	for c := range slices.Chunk(all, 3) {
		out = append(out, choice{Value: c[0], Name: c[1], Hint: c[2], Here: c[0] == here})
	}
	return out
}

// change applies effects for the visitor and redirects to a section of the settings.
func (r *Room) change(v *web.Visit, section, toast string, effects ...core.Effect) error {
	return v.Act("change", "/settings/"+section, toast, effects...)
}

// maxName bounds a name, in characters.
const maxName = 80

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
	if page.Problem == nil {
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
	if language != "" && !slices.Contains(i18n.Languages(), language) {
		return v.BadForm(nil)
	}
	zone, page, wrong := profile(v, name, web.OneLine(f.Get("zone")))
	if wrong != nil {
		page.Chosen = &language
		return r.wrong(v, *wrong, page)
	}
	s := v.User.Settings
	s.Zone, s.Language = zone, language
	then := *v
	then.Lang = v.Language(language)
	said := fmt.Sprintf(say(then.Lang).Settings.ProfileSet, clockIn(&then, v.ZoneOf(s)))
	return r.change(v, "profile", said, effect.SetName{Name: name}, effect.SetSettings{Settings: s})
}

// profile checks a name and a zone, which may be a city as for /timezone. The returned
// page holds the form's values, to be shown again with a problem.
func profile(v *web.Visit, name, said string) (zone string, page settingsView, wrong *problem) {
	w := say(v.Lang).Settings
	page = settingsView{Name: name, Zone: zoneView{Value: said}}
	switch {
	case name == "":
		return "", page, &problem{"profile", "name", w.NameEmpty}
	case utf8.RuneCountInString(name) > maxName:
		return "", page, &problem{"profile", "name", fmt.Sprintf(w.NameLong, i18n.Number(v.Lang, maxName))}
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

// setAssistant sets the destination of summaries, the model, the context strategy, memory and voice.
func (r *Room) setAssistant(v *web.Visit) error {
	s := v.User.Settings
	f := v.R.PostForm
	s.Summaries, s.Strategy = f.Get("summaries"), f.Get("strategy")
	if f.Has("model") {
		s.Model = f.Get("model")
		if !slices.ContainsFunc(r.models(v), func(c choice) bool { return c.Value == s.Model }) {
			return v.BadForm(nil)
		}
	}
	kept, voice := f.Get("memory"), core.VoiceChoice(f.Get("voice")) // left out: as they are
	if !slices.Contains([]string{"home", "all", "off"}, s.Summaries) ||
		!slices.Contains([]string{"continuous", "long", "truncate"}, s.Strategy) ||
		!slices.Contains([]string{"", "on", "off"}, kept) || voice != "" && !slices.Contains(core.Voices(), voice) {
		return v.BadForm(nil)
	}
	if kept != "" {
		s.MemoryOff = kept == "off"
	}
	s.Voice = cmp.Or(voice, s.Voice)
	return r.change(v, "assistant", say(v.Lang).Settings.Saved, effect.SetSettings{Settings: s})
}

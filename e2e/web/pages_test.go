//go:build e2e

package web

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/everthread/everthread/e2e/e2etest"
	"github.com/everthread/everthread/internal/fulltest"
)

// onThePage are messages of the page, with their answers.
var onThePage = [][2]string{
	{"This is where it will stand. Is that a **good place**?\n[photo]",
		"Yes: it is open to the south, so there is light from morning to evening.\n\n| side | metres | what stands there |\n|---|---|---|\n| south | 2.4 | the bench |\n| west | 1.8 | the door |\n\nMind the wind: **screw the frame to the shed**."},
	{"Which train is the fastest?", "The one at 07:58 from Gare de Lyon: two hours to Part-Dieu."},
}

// gallery is a page with earlier days, on which every list has entries.
type gallery struct {
	*e2etest.Week
	g     *e2etest.Gateway
	start string // the code of a sign-in link
	pages []string
}

func newGallery(t *testing.T) *gallery {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	e2etest.Must(t, err)
	scenes := e2etest.ReadScenes(t, zone)
	w := e2etest.NewWeek(t, "", zone, append(slices.Clone(scenes), e2etest.Scene{Pairs: onThePage}))
	w.Env = append(w.Env, "EVERTHREAD_ACCESS_POLICY=pairing", "EVERTHREAD_SUMMARIES_POST_FORWARD=off",
		"EVERTHREAD_DEFAULT_TIMEZONE=Europe/Paris", "EVERTHREAD_TURN_GIVE_UP_AFTER=1s")
	g := w.Start()
	w.Ask("/start " + g.Logged(`/start ([A-Z0-9]{10})`)[1])
	w.Talk(scenes, "2026-10-24")
	w.Set(time.Date(2026, 10, 25, 3, 5, 0, 0, zone))
	l := w.Ledger()
	l.Until(`SELECT COUNT(*) FROM segments WHERE label = '2026-10-24' AND state = 'final'`, 1, g)
	w.Talk(scenes[:8], "2026-10-25")
	m := e2etest.Written(e2etest.Bob, 9001, "May I come in?")
	m["date"], m["from"] = w.Now().Unix(), map[string]any{"id": e2etest.Bob, "is_bot": false, "first_name": "Bob",
		"language_code": "en"}
	w.Telegram.Offer(map[string]any{"message": m})
	w.Town.Sent(e2etest.Bob, 1)
	v := &gallery{Week: w, g: g, start: w.WebLink()}
	l.Until(`SELECT COUNT(*) FROM jobs WHERE queue = 'summarize' AND state IN ('ready', 'running')`, 0, g)
	id := l.Lines(`SELECT MAX(id) FROM messages WHERE role = 'assistant' AND kind = 'chat'`)[0]
	v.pages = []string{"/", "/day/2026-10-24", "/day/2026-10-24/history", "/day/2026-10-20", "/days", "/search",
		"/search?q=greenhouse&scope=all", "/search?q=nothingofthesort", "/threads", "/m/" + id + "/why",
		"/m/" + id + "/remember", "/m/" + id + "/forget", "/m/999999"}
	return v
}

// stay adds things on the page itself: a picture, a thread, a memory item.
func (v *gallery) stay(p *e2etest.Tab) {
	v.T.Helper()
	p.SignIn(v.start)
	path := filepath.Join(v.T.TempDir(), "greenhouse.png")
	e2etest.Must(v.T, os.WriteFile(path, aPicture(v.T), 0o600))
	p.Do(chromedp.SetUploadFiles(chromedp.CSS("#write input[type=file]"), []string{path}))
	p.Send(onThePage[0][0][:strings.Index(onThePage[0][0], "\n")])
	p.Sees(".entry.agent", "bench")
	own := "/m/" + e2etest.Js[string](p, "[...document.querySelectorAll('.entry.user.said')].pop().id.slice(1)")
	v.pages = append(v.pages, own+"/edit", own+"/unsend", "/commands", "/admin/audit", "/setup/model", "/setup/channel-telegram", "/admin/users/1/usage", "/setup/calendars", "/settings/export", "/offline")
	p.Open(v.pages[10])
	p.Press("main", "Remember")
	p.Sees("#toast", "Remembered.")
	for _, item := range []string{"Léa is allergic to walnuts.",
		"The greenhouse stands behind the shed, 2.4 by 1.8 metres.", "Answers in the language of the question."} {
		p.Open("/memory")
		p.Press("details.add", "Remember something")
		p.Fill("#add-text", item)
		p.Press("details.add form", "Remember")
		p.Sees(".statement", item)
	}
	p.Open("/settings")
	p.Fill("#profile input[name=name]", "Ada")
	p.Press("#profile", "Save")
	p.Sees(".account", "Ada")
	p.Open("/threads")
	p.Fill("#title", "A trip to Lyon")
	p.Press("main", "Open thread")
	p.Send("Which train is the fastest?")
	p.Sees(".entry.agent", "07:58")
	v.pages = append(v.pages, e2etest.Js[string](p, "location.pathname"))
	v.pages = append(v.pages, v.found(p)...)
}

// found returns the pages in the navigation, and further ones that it does not link to.
func (v *gallery) found(p *e2etest.Tab) []string {
	v.T.Helper()
	const links = `[...document.querySelectorAll('.tabs a, .side a, nav a')].filter((x) => x.origin === location.origin).map((x) => x.pathname)`
	var out []string
	area := regexp.MustCompile(`^/(memory|settings|admin|setup)(/[a-z]+)?$`)
	for _, top := range e2etest.Js[[]string](p, links) {
		if !area.MatchString(top) {
			continue
		}
		p.Open(top)
		for _, at := range append([]string{top}, e2etest.Js[[]string](p, links)...) {
			if area.MatchString(at) && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// name returns the file name for a page.
func pageName(path string) string {
	path = regexp.MustCompile(`\d{3,}|[?&=]`).ReplaceAllString(strings.Trim(path, "/"), "-")
	if path = strings.Trim(strings.ReplaceAll(path, "/", "-"), "-"); path == "" {
		return "today"
	}
	return path
}

// look is a view of a page.
type look struct {
	width int64
	theme string
}

// looks returns the views of the nth page in a language, by the width at which it is loaded: a
// window may change its width, a phone does not. Without all tests a page is seen on a phone and on a
// desktop, and language and theme change from page to page.
func looks(n int, language string) map[int64][]look {
	switch {
	case !fulltest.Asked():
		languages, themes := []string{"en", "fr", "en", "de"}, []string{"dark", "light"}
		out := map[int64][]look{}
		for i, width := range []int64{360, 1280} {
			if languages[(n+i)%4] == language {
				out[width] = []look{{width, themes[(n/4+i)%2]}}
			}
		}
		return out
	case language == "fr":
		return map[int64][]look{360: {{360, "dark"}, {768, "light"}}, 1280: {{1280, "light"}, {1920, "dark"}}}
	case language == "de":
		return map[int64][]look{360: {{360, "light"}, {768, "dark"}}, 1280: {{1280, "dark"}, {1920, "light"}}}
	}
	return map[int64][]look{
		360:  {{360, "light"}, {360, "dark"}, {768, "light"}, {768, "dark"}},
		1280: {{1280, "light"}, {1280, "dark"}, {1920, "light"}, {1920, "dark"}}}
}

// inspection collects the faults of pages, with their places.
type inspection struct {
	*gallery
	axe    string
	markup *markup

	mu    sync.Mutex
	wrong map[string][]string
}

func (n *inspection) is(wrong, where string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wrong[wrong] = append(n.wrong[wrong], where)
}

// view is a page to inspect.
type view struct {
	path, language string
	loaded         int64 // width
	looks          []look
	stranger       bool
}

// seeAll inspects all pages in several tabs at once.
func (n *inspection) seeAll(t *testing.T, p *e2etest.Tab) {
	var all []view
	for i, path := range append(slices.Clone(n.pages), strangersPages()...) {
		for _, language := range []string{"en", "fr", "de"} {
			for loaded, looks := range looks(i, language) {
				all = append(all, view{path, language, loaded, looks, i >= len(n.pages)})
			}
		}
	}
	todo := make(chan view, len(all))
	for _, v := range all {
		todo <- v
	}
	close(todo)
	t.Run("pages", func(t *testing.T) {
		for i := range runtime.NumCPU() {
			t.Run(fmt.Sprint("tab ", i), func(t *testing.T) {
				t.Parallel()
				member := p.Another().Allow("404")
				member.T = t
				stranger := n.g.NewTab(t).Allow("401")
				for v := range todo {
					if v.stranger {
						n.see(stranger, v)
					} else {
						n.see(member, v)
					}
				}
			})
		}
	})
}

// see inspects a page in a language, loaded at a width.
func (n *inspection) see(p *e2etest.Tab, v view) {
	p.T.Helper()
	path, language, loaded := v.path, v.language, v.loaded
	p.Look(loaded, "light", language)
	p.Open(path)
	if lang := e2etest.Js[string](p, "document.documentElement.lang"); lang != language {
		n.is("is in another language", pageName(path)+"-"+language)
	}
	if loaded == 1280 {
		n.markup.keep(p, pageName(path)+"-"+language)
	}
	if path == "/offline" { // it would leave for the conversation, which is there
		e2etest.Js[chromedp.Void](p, "window.fetch = () => new Promise(() => {})")
	}
	for _, look := range v.looks {
		p.Look(look.width, look.theme, language)
		name := fmt.Sprintf("%s-%d-%s-%s.png", pageName(path), look.width, look.theme, language)
		if look.width == loaded {
			n.Artefact(name, p.Picture(look.width))
		}
		if wide := e2etest.Js[int](p, "document.documentElement.scrollWidth"); wide > int(look.width) {
			n.is("is too wide", fmt.Sprintf("%s (%d)", name, wide))
		}
		if look.width >= 1280 && p.Is(`[...document.querySelectorAll(".scroll")].some((x) =>
			x.scrollWidth > x.clientWidth + 1 && x.clientWidth < innerWidth / 2)`) {
			n.is("is cut off beside empty room", name)
		}
		for _, f := range p.Check(n.axe) {
			for _, at := range f.Nodes {
				n.is(fmt.Sprintf("%s (%s): %s\n    %.300s\n    %s %.300v", f.ID, f.Impact, f.Help, at.HTML,
					strings.ReplaceAll(at.Summary, "\n", " "), at.Any), name)
			}
		}
	}
}

var updatePictures = flag.Bool("update", false, "put the pictures of the page into docs/images")

// illustrate takes the pictures of docs/images.
func (v *gallery) illustrate(p *e2etest.Tab) {
	v.T.Helper()
	for _, picture := range []struct {
		name, page, theme string
		width             int64
	}{{"page.png", "/day/2026-10-24", "light", 1280}, {"phone.png", "/day/2026-10-24", "dark", 390},
		{"why.png", v.pages[9], "light", 1280}} {
		p.Look(picture.width, picture.theme, "en")
		p.Open(picture.page)
		e2etest.Js[chromedp.Void](p, `innerWidth > 600 && document.querySelector('.entry.said') &&
			scrollTo(0, document.querySelector('.entry.said').getBoundingClientRect().top + scrollY - 80)`)
		b, err := chromedp.Run(p.Ctx, chromedp.CaptureScreenshot())
		e2etest.Must(v.T, err)
		v.Artefact(picture.name, b)
		if *updatePictures {
			e2etest.Must(v.T, os.WriteFile(filepath.Join("../../docs/images", picture.name), b, 0o644))
		}
	}
}

// Every page on a phone, a tablet and desktops, light and dark, in every language, is
// accessible, and nothing is cut off. The screenshots are kept.
func TestPages_usableByEverybody(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "../axe-core/axe.min.js"))
	if err != nil {
		t.Skip("axe-core is not there; `make test` installs it")
	}
	v := newGallery(t)
	p := v.g.NewTab(t).Allow("404")
	p.Look(1280, "light", "en")
	v.stay(p)
	v.illustrate(p)
	n := &inspection{gallery: v, axe: string(axe), markup: newMarkup(t), wrong: map[string][]string{}}
	n.seeAll(t, p)
	for wrong, where := range n.markup.faults() {
		n.wrong[wrong] = append(n.wrong[wrong], where...)
	}
	for wrong, where := range n.wrong {
		t.Errorf("%s: %s", wrong, strings.Join(where, ", "))
	}
	t.Logf("%d pages: %q", len(v.pages)+2, v.pages)
	if fulltest.Asked() {
		v.judge()
	}
}

// strangersPages returns the pages that need no session.
func strangersPages() []string { return []string{"/signin", "/signin?code=ABCDEFGHJKLMNPQRSTUVWXYZ"} }

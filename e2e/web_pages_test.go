//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// onThePage is what is said there, and answered.
var onThePage = [][2]string{
	{"This is where it will stand. Is that a **good place**?\n[photo]", "Yes: it is open to the south, so there is light from morning to evening.\n\n| side | metres | what stands there |\n|---|---|---|\n| south | 2.4 | the bench |\n| west | 1.8 | the door |\n\nMind the wind: **screw the frame to the shed**."},
	{"Which train is the fastest?", "The one at 07:58 from Gare de Lyon: two hours to Part-Dieu."},
}

// gallery is a page with days behind it: everything that is shown has something
// to show.
type gallery struct {
	*week
	g     *gateway
	start string // the code of a link to sign in
	pages []string
}

func newGallery(t *testing.T) *gallery {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Paris")
	must(t, err)
	scenes := readScenes(t, zone)
	w := newWeek(t, "", zone, append(slices.Clone(scenes), scene{pairs: onThePage}))
	w.env = append(w.env, "EVERTHREAD_ACCESS_POLICY=pairing", "EVERTHREAD_SUMMARIES_POST_FORWARD=off", "EVERTHREAD_DEFAULT_TIMEZONE=Europe/Paris", "EVERTHREAD_TURN_GIVE_UP_AFTER=1s")
	g := w.start()
	w.ask("/start " + g.logged(`/start ([A-Z0-9]{10})`)[1])
	w.talk(scenes, "2026-10-24")
	w.set(time.Date(2026, 10, 25, 3, 5, 0, 0, zone))
	l := w.ledger()
	l.until(`SELECT COUNT(*) FROM segments WHERE label = '2026-10-24' AND state = 'final'`, 1, g)
	w.talk(scenes[:8], "2026-10-25")
	m := written(bob, 9001, "May I come in?")
	m["date"], m["from"] = w.now().Unix(), map[string]any{"id": bob, "is_bot": false, "first_name": "Bob", "language_code": "en"}
	w.telegram.Offer(map[string]any{"message": m})
	w.town.sent(bob, 1)
	v := &gallery{week: w, g: g, start: w.webLink()}
	l.until(`SELECT COUNT(*) FROM jobs WHERE queue = 'summarize' AND state IN ('ready', 'running')`, 0, g)
	id := l.lines(`SELECT MAX(id) FROM messages WHERE role = 'assistant' AND kind = 'chat'`)[0]
	v.pages = []string{"/", "/day/2026-10-24", "/day/2026-10-24/history", "/day/2026-10-20", "/days", "/search", "/search?q=greenhouse&scope=all", "/search?q=nothingofthesort", "/threads",
		"/m/" + id + "/why", "/m/" + id + "/remember", "/m/" + id + "/forget", "/m/999999"}
	return v
}

// webLink is the code of the link that /web brings in a chat.
func (w *week) webLink() string {
	w.t.Helper()
	m := regexp.MustCompile(`/signin\?code=([A-Z0-9]+)`).FindStringSubmatch(w.ask("/web").Text)
	if m == nil {
		w.t.Fatal("there is no link")
	}
	return m[1]
}

// stay says more on the page itself: a picture, a thread, something remembered.
func (v *gallery) stay(p *tab) {
	v.t.Helper()
	p.signIn(v.start)
	path := filepath.Join(v.t.TempDir(), "greenhouse.png")
	must(v.t, os.WriteFile(path, aPicture(v.t), 0o600))
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#write input[type=file]"), []string{path}))
	p.send(onThePage[0][0][:strings.Index(onThePage[0][0], "\n")])
	p.sees(".entry.agent", "bench")
	p.open(v.pages[10])
	p.press("main", "Remember")
	p.sees("#toast", "Remembered.")
	for _, item := range []string{"Léa is allergic to walnuts.", "The greenhouse stands behind the shed, 2.4 by 1.8 metres.", "Answers in the language of the question."} {
		p.open("/memory")
		p.press("details.add", "Remember something")
		p.fill("#add-text", item)
		p.press("details.add form", "Remember")
		p.sees(".statement", item)
	}
	p.open("/settings")
	p.fill("#profile input[name=name]", "Ada")
	p.press("#profile", "Save")
	p.sees(".account", "Ada")
	p.open("/threads")
	p.fill("#title", "A trip to Lyon")
	p.press("main", "Open thread")
	p.send("Which train is the fastest?")
	p.sees(".entry.agent", "07:58")
	v.pages = append(v.pages, js[string](p, "location.pathname"))
	v.pages = append(v.pages, v.found(p)...)
}

// found are the pages that the navigation leads to, and those beside them.
func (v *gallery) found(p *tab) []string {
	v.t.Helper()
	const links = `[...document.querySelectorAll('.tabs a, .side a, nav a')].filter((x) => x.origin === location.origin).map((x) => x.pathname)`
	var out []string
	area := regexp.MustCompile(`^/(memory|settings|admin)(/[a-z]+)?$`)
	for _, top := range js[[]string](p, links) {
		if !area.MatchString(top) {
			continue
		}
		p.open(top)
		for _, at := range append([]string{top}, js[[]string](p, links)...) {
			if area.MatchString(at) && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// name is a file for a page.
func pageName(path string) string {
	path = regexp.MustCompile(`\d{3,}|[?&=]`).ReplaceAllString(strings.Trim(path, "/"), "-")
	if path = strings.Trim(strings.ReplaceAll(path, "/", "-"), "-"); path == "" {
		return "today"
	}
	return path
}

// fault is something that a page does to people that it should not.
type fault struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML    string
		Summary string `json:"failureSummary"`
	}
}

// check runs axe-core on a page.
func (p *tab) check(axe string) []fault {
	p.t.Helper()
	if !p.is("window.axe") {
		js[chromedp.Void](p, axe)
	}
	js[chromedp.Void](p, "scrollTo(0, 0)") // what is half below a bar is no small target
	out := js[string](p, `axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then((r) => JSON.stringify(r.violations))`)
	var all []fault
	must(p.t, json.Unmarshal([]byte(out), &all))
	return all
}

// Every page, as it is seen on a phone and on a desktop, light and dark, in every
// language: nobody is shut out, nothing is cut off. The screenshots are kept.
func TestEveryPageCanBeUsedByEverybody(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "../axe-core/axe.min.js"))
	if err != nil {
		t.Skip("axe-core is not there; `make test` installs it")
	}
	v := newGallery(t)
	p := v.g.newTab(t).allow("404")
	p.look(1280, "light", "en")
	v.stay(p)
	for name, width := range map[string]int64{"page.png": 1280, "phone.png": 390} { // as docs/images shows them
		p.look(width, map[int64]string{1280: "light", 390: "dark"}[width], "en")
		p.open("/day/2026-10-24")
		js[chromedp.Void](p, "document.querySelector('#older').open = true; innerWidth > 600 && scrollTo(0, document.querySelector('.entry.said').getBoundingClientRect().top + scrollY - 80)")
		b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		must(t, err)
		v.artefact(name, b)
	}
	stranger := v.g.newTab(t).allow("401")
	all := map[string][]string{} // what is wrong, and where
	for i, look := range []struct {
		width           int64
		theme, language string
	}{
		{1280, "light", "en"}, {360, "dark", "fr"}, {1280, "dark", "en"}, {360, "light", "fr"}, {1280, "light", "fr"}, {360, "dark", "en"},
		{1280, "dark", "fr"}, {360, "light", "en"}, {1280, "light", "de"}, {360, "dark", "de"},
	} {
		for _, who := range []struct {
			*tab
			pages []string
		}{{p, v.pages}, {stranger, []string{"/signin", "/signin?code=ABCDEFGHJKLMNPQRSTUVWXYZ"}}} {
			who.look(look.width, look.theme, look.language)
			for _, path := range who.pages {
				who.open(path)
				name := fmt.Sprintf("%s-%d-%s-%s.png", pageName(path), look.width, look.theme, look.language)
				v.artefact(name, who.picture(look.width))
				if wide := js[int](who.tab, "document.documentElement.scrollWidth"); wide > int(look.width) {
					all["is too wide"] = append(all["is too wide"], fmt.Sprintf("%s (%d)", name, wide))
				}
				if lang := js[string](who.tab, "document.documentElement.lang"); lang != look.language {
					all["is in another language"] = append(all["is in another language"], name)
				}
				if i < 4 {
					for _, f := range who.check(string(axe)) {
						for _, n := range f.Nodes {
							said := fmt.Sprintf("%s (%s): %s\n    %.300s\n    %s", f.ID, f.Impact, f.Help, n.HTML, strings.ReplaceAll(n.Summary, "\n", " "))
							all[said] = append(all[said], name)
						}
					}
				}
			}
		}
	}
	for wrong, where := range all {
		t.Errorf("%s: %s", wrong, strings.Join(where, ", "))
	}
	t.Logf("%d pages: %q", len(v.pages)+2, v.pages)
}

// picture is a screenshot of a page in a window that is as high as the page.
func (p *tab) picture(width int64) []byte {
	p.t.Helper()
	size := func(height int64) action {
		return command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
	}
	p.do(size(min(3000, max(800, js[int64](p, "document.documentElement.scrollHeight")))))
	out, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	must(p.t, err)
	p.do(size(800))
	return out
}

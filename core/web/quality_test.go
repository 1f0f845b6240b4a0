package web

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// script is a way of writing, with sentences in it.
type script struct {
	name      string
	sentences []string
}

func scripts() []script {
	return []script{
		{"Latin", []string{"The council opened the new library on Saturday, after three years of work.",
			"Visitors find forty thousand books, a reading room, and a café with a view of the harbour.",
			"Most of the money came from the region; the rest was given by the people of the town.",
			"Opening hours are from nine to seven, and on Thursdays until nine in the evening.",
			"Whoever lives in the town gets a card for nothing, and borrows up to ten books at a time."}},
		{"Cyrillic", []string{"В субботу городской совет открыл новую библиотеку, которую строили три года.",
			"Посетителей ждут сорок тысяч книг, читальный зал и кафе с видом на гавань.",
			"Большую часть денег выделил регион, остальное собрали жители города.",
			"Библиотека работает с девяти до семи, а по четвергам до девяти вечера.",
			"Жители города получают билет бесплатно и могут взять до десяти книг сразу."}},
		{"Arabic", []string{"افتتح مجلس المدينة المكتبة الجديدة يوم السبت بعد ثلاث سنوات من العمل.",
			"يجد الزوار أربعين ألف كتاب، وقاعة للقراءة، ومقهى يطل على الميناء.",
			"جاء معظم المال من الإقليم، وتبرع أهل المدينة بالباقي.",
			"تفتح المكتبة أبوابها من التاسعة إلى السابعة، ويوم الخميس حتى التاسعة مساء.",
			"يحصل سكان المدينة على البطاقة مجانا، ويستعيرون حتى عشرة كتب دفعة واحدة."}},
		{"Chinese", []string{"经过三年的建设，市议会于星期六宣布新图书馆正式开放，许多居民前来参观。",
			"读者可以在这里找到四万册图书、一间宽敞的阅览室，以及一家能看到港口的咖啡馆。",
			"大部分资金来自地区政府，其余的由本市居民捐赠，名单刻在入口处的墙上。",
			"图书馆的开放时间是上午九点到晚上七点，星期四延长到晚上九点。",
			"本市居民可以免费办理借书证，每次最多可以借十本书，期限为四个星期。"}},
		{"Devanagari", []string{"तीन साल के काम के बाद नगर परिषद ने शनिवार को नया पुस्तकालय खोल दिया।",
			"यहाँ चालीस हज़ार किताबें, एक वाचनालय और बंदरगाह के नज़ारे वाला एक कैफ़े है।",
			"ज़्यादातर पैसा क्षेत्र की सरकार ने दिया, बाकी शहर के लोगों ने दान किया।",
			"पुस्तकालय सुबह नौ से शाम सात बजे तक, और गुरुवार को रात नौ बजे तक खुला रहता है।",
			"शहर के निवासियों को कार्ड मुफ़्त मिलता है, और वे एक बार में दस किताबें ले सकते हैं।"}},
	}
}

// sample is a page whose text is known.
type sample struct {
	source string
	main   []string // pieces of its text
	around []string // pieces of what surrounds it
}

// writer makes a sample.
type writer struct {
	random *rand.Rand
	script script
	sample
	n int
}

// text returns new main text of some sentences, each with a number of its own.
func (w *writer) text(sentences int) string {
	var out []string
	for range sentences {
		w.n++
		s := fmt.Sprintf("%s (%d)", w.script.sentences[w.random.IntN(len(w.script.sentences))], w.n)
		w.main = append(w.main, s)
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// word returns new main text of a word or two.
func (w *writer) word() string {
	w.n++
	s := fmt.Sprintf("%s %d", strings.Fields(w.script.sentences[w.n%5] + " x")[0], w.n)
	w.main = append(w.main, s)
	return s
}

// off returns text that does not belong to the main one.
func (w *writer) off(what string) string {
	w.n++
	s := fmt.Sprintf("%s-%d", what, w.n)
	w.around = append(w.around, s)
	return s
}

func (w *writer) links(n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, `<li><a href="/%d">%s</a></li>`, w.n, w.off("Elsewhere"))
	}
	return "<ul>" + b.String() + "</ul>"
}

// page puts a text into one of four frames of a site.
func (w *writer) page(main string) {
	title := "<title>Page</title>"
	switch w.random.IntN(4) {
	case 0: // elements that say what they are
		w.source = `<html><head>` + title + `</head><body><header><nav>` + w.links(8) + `</nav></header><main>` + main + `</main><aside><h3>` +
			w.off("Related") + `</h3>` + w.links(5) + `</aside><footer><p>` + w.off("Imprint") + `</p>` + w.links(6) + `</footer></body></html>`
	case 1: // classes
		w.source = `<html><head>` + title + `</head><body><div id="navbar">` + w.links(9) + `</div><div class="breadcrumbs">` + w.off("Home") +
			`</div><div id="content">` + main + `</div><div class="sidebar"><p>` + w.off("Popular") + `</p>` + w.links(6) +
			`</div><div class="cookie-banner"><p>` + w.off("Cookies") + `</p></div><div id="footer">` + w.off("Copyright") + `</div></body></html>`
	case 2: // a form, things to share, hidden things
		w.source = `<html><head>` + title + `<style>.x{}</style></head><body><div role="navigation">` + w.links(7) + `</div><form><p>` + w.off("Search") +
			`</p><input name=q></form><article>` + main + `</article><div class="social share"><a href=/f>` + w.off("Share") + `</a></div><div style="display:none">` +
			w.off("Hidden") + `</div><div class="newsletter"><p>` + w.off("Subscribe") + `</p></div><script>var a = "` + w.off("Script") + `";</script></body></html>`
	default: // tables, as of old
		w.source = `<html><head>` + title + `</head><body><table><tr><td colspan=2>` + w.links(5) + `</td></tr><tr><td class="menu">` + w.links(8) +
			`</td><td>` + main + `</td></tr><tr><td colspan=2 class="footer">` + w.off("Imprint") + `</td></tr></table></body></html>`
	}
}

// kinds are the kinds of pages.
func kinds() map[string]func(w *writer) {
	paragraphs := func(w *writer, n int) string {
		var b strings.Builder
		for range n {
			b.WriteString("<p>" + w.text(2+w.random.IntN(4)) + "</p>")
		}
		return b.String()
	}
	return map[string]func(*writer){
		"news": func(w *writer) {
			w.page("<h1>" + w.text(1) + "</h1>" + paragraphs(w, 5) + "<blockquote>" + w.text(2) + "</blockquote>" + paragraphs(w, 3))
		},
		"forum": func(w *writer) {
			var b strings.Builder
			for range 8 {
				fmt.Fprintf(&b, `<div class="post"><div class="author"><a href=/u>%s</a></div><div class="body"><p>%s</p></div></div>`, w.word(), w.text(1+w.random.IntN(3)))
			}
			w.page("<h1>" + w.text(1) + "</h1>" + b.String())
		},
		"table": func(w *writer) {
			var b strings.Builder
			for range 20 {
				b.WriteString("<tr><td>" + w.word() + "</td><td>" + w.word() + "</td><td>" + w.word() + "</td></tr>")
			}
			w.page("<h1>" + w.word() + "</h1><p>" + w.text(1) + "</p><table><thead><tr><th>" + w.word() + "</th><th>" + w.word() + "</th><th>" +
				w.word() + "</th></tr></thead><tbody>" + b.String() + "</tbody></table>")
		},
		"docs": func(w *writer) {
			var b strings.Builder
			for range 4 {
				fmt.Fprintf(&b, "<h2>%s</h2><p>%s</p><pre><code>%s\n%s</code></pre><ul><li>%s</li><li>%s</li></ul>", w.word(), w.text(2), w.word(), w.word(), w.text(1), w.text(1))
			}
			w.page("<h1>" + w.word() + "</h1>" + b.String())
		},
		"shop": func(w *writer) {
			var b strings.Builder
			for range 8 {
				fmt.Fprintf(&b, "<dt>%s</dt><dd>%s</dd>", w.word(), w.word())
			}
			w.page("<h1>" + w.word() + "</h1><div class=price>" + w.word() + "</div><div class=description>" + paragraphs(w, 2) + "</div><dl>" + b.String() + "</dl>")
		},
		"list": func(w *writer) {
			var b strings.Builder
			for range 15 {
				b.WriteString("<li><b>" + w.word() + "</b>: " + w.text(1) + "</li>")
			}
			w.page("<h1>" + w.word() + "</h1><p>" + w.text(1) + "</p><ol>" + b.String() + "</ol>")
		},
	}
}

// TestExtract_keepsTheTextAndLittleElse reads 300 pages of six kinds in five scripts: of the main text at least 95 in
// 100 characters are kept, of what surrounds it at most 5, for each kind and each script.
func TestExtract_keepsTheTextAndLittleElse(t *testing.T) {
	t.Parallel()
	type count struct{ main, kept, around, left int }
	counts := map[string]*count{}
	at, err := url.Parse("https://site.example/page")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for kind, write := range kinds() {
		for _, s := range scripts() {
			for seed := range uint64(10) {
				w := &writer{random: rand.New(rand.NewPCG(seed, uint64(len(kind)))), script: s}
				write(w)
				pages++
				got := strings.Join(strings.Fields(strings.NewReplacer("**", "", "|", " ", "`", "").Replace(whole(extract(w.source, at)))), " ")
				for _, name := range []string{kind, s.name} {
					if counts[name] == nil {
						counts[name] = &count{}
					}
					c := counts[name]
					for _, m := range w.main {
						n := utf8.RuneCountInString(m)
						if c.main += n; strings.Contains(got, m) {
							c.kept += n
						}
					}
					for _, a := range w.around {
						n := utf8.RuneCountInString(a)
						if c.around += n; strings.Contains(got, a) {
							c.left += n
						}
					}
				}
			}
		}
	}
	for name, c := range counts {
		kept, left := float64(c.kept)/float64(c.main), float64(c.left)/float64(c.around)
		t.Logf("%-10s %.1f %% of the text, %.1f %% of what surrounds it", name, 100*kept, 100*left)
		if kept < 0.95 || left > 0.05 {
			t.Errorf("%s: %.1f %% of the text is kept, and %.1f %% of what surrounds it", name, 100*kept, 100*left)
		}
	}
	if pages != 300 {
		t.Errorf("%d pages", pages)
	}
}

// whole is a page as the model reads it.
func whole(c content) string { return c.title + "\n" + c.text }

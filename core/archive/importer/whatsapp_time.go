package importer

import (
	"cmp"
	_ "embed" // whatsapp.txt
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core/text"
)

// head is the beginning of a message in a WhatsApp chat: its time, and the rest.
type head struct {
	numbers              [3]int // of the date, in order
	year                 bool   // the first is the year
	slash                bool
	hour, minute, second int
	dayFirst             bool   // by its language
	half                 bool   // on a twelve-hour clock
	word                 string // beside the hour, if it is unknown
	rest                 string
}

// headForm matches a head: [date, time] or date, time - , with the words of languages
// between the two and around the hour.
var headForm = text.Pattern(
	`^(\[)?(\d{1,4})([./\-])\s?(\d{1,2})[./\-]\s?(\d{1,4})\.?(?:,|،)?\s(à |a las |alle |klo |kl\. |at |um |om |в )?` +
		`([^\d\s\[\]:]{1,12}\s?)?(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\s?([^\d\s\[\]:,\-–]{1,12}(?:\s[^\d\s\[\]:,\-–]{1,10})?))?(\]\s|\s[-–]\s|,\s)`)

// parseHead reads the beginning of a message; false: the line has none.
func parseHead(line string) (h head, ok bool) {
	plain := westernDigits(strings.TrimLeft(line, "\u200e\u200f\ufeff"))
	if plain == "" || plain[0] != '[' && (plain[0] < '0' || plain[0] > '9') {
		return h, false
	}
	n := min(len(plain), 120)
	front := unmarkedSpaces(plain[:n])
	m := headForm().FindStringSubmatch(front)
	if m == nil || (m[1] == "[") != (m[12][0] == ']') {
		return h, false
	}
	for i, s := range []string{m[2], m[4], m[5]} {
		h.numbers[i], _ = strconv.Atoi(s)
	}
	h.year, h.slash = len(m[2]) == 4, m[3] == "/"
	h.hour, _ = strconv.Atoi(m[8])
	h.minute, _ = strconv.Atoi(m[9])
	h.second, _ = strconv.Atoi(m[10])
	h.dayFirst = m[6] != "" && m[6] != "at "
	h.twelve(strings.TrimSpace(m[7]) + m[11])
	// The rest is of the original line: a leading mark means a notice or a file.
	h.rest = restAfter(strings.TrimLeft(line, "\u200e\u200f\ufeff"), len([]rune(m[0])))
	return h, true
}

// restAfter returns a line after so many runes, not counting marks.
func restAfter(line string, runes int) string {
	for i, r := range line {
		if runes == 0 {
			return line[i:]
		}
		if !isMark(r) {
			runes--
		}
	}
	return ""
}

func isMark(r rune) bool {
	return r == '\u200e' || r == '\u200f' || r >= '\u202a' && r <= '\u202e' || r == '\ufeff'
}

// unmarkedSpaces drops marks, and makes every space a plain one.
func unmarkedSpaces(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case isMark(r):
			return -1
		case r == '\u00a0' || r == '\u202f' || r == '\u2009':
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// westernDigits writes Arabic, Persian and Devanagari digits as 0 to 9.
func westernDigits(s string) string {
	return strings.Map(func(r rune) rune {
		for _, zero := range []rune{'٠', '۰', '०'} {
			if r >= zero && r <= zero+9 {
				return '0' + r - zero
			}
		}
		return r
	}, s)
}

// twelve corrects the hour of a twelve-hour clock by the word beside it.
func (h *head) twelve(word string) {
	half := strings.ToLower(strings.NewReplacer(".", "", " ", "", "״", `"`, "“", `"`, "”", `"`).Replace(word))
	switch {
	case slices.Contains(chatWords()["morning"], half):
		h.half = true
		if h.hour == 12 {
			h.hour = 0
		}
	case slices.Contains(chatWords()["afternoon"], half):
		h.half = true
		if h.hour < 12 {
			h.hour += 12
		}
	case half != "" && !slices.Contains(chatWords()["clock"], half):
		h.word = word
	}
}

// dateOrder determines the order of day and month in a chat, and whether its hours are known.
type dateOrder struct {
	Order         string // given; see Options
	first, second int    // the greatest numbers in these places
	back          [2]int // steps back in time if the day comes first, or the month
	last          [2]int
	slashes, fit  int            // dates with slashes, and those with two readings
	dayFirst      bool           // by the language
	ends          [2]head        // the first and the last one
	words         map[string]int // unknown words beside hours, with the greatest hour
	month         bool           // the month comes first
}

func (d *dateOrder) see(h head) {
	if h.word != "" {
		if d.words == nil {
			d.words = map[string]int{}
		}
		d.words[h.word] = max(d.words[h.word], h.hour)
	}
	if h.year {
		return
	}
	if d.first == 0 {
		d.ends[0] = h
	}
	d.ends[1] = h
	d.first, d.second = max(d.first, h.numbers[0]), max(d.second, h.numbers[1])
	if h.slash {
		d.slashes++
	}
	d.dayFirst = d.dayFirst || h.dayFirst
	if h.numbers[0] != h.numbers[1] {
		d.fit++
	}
	for i, n := range [2]int{h.numbers[2]*400 + h.numbers[1]*31 + h.numbers[0],
		h.numbers[2]*400 + h.numbers[0]*31 + h.numbers[1]} {
		if n < d.last[i] {
			d.back[i]++
		}
		d.last[i] = n
	}
}

// ErrOrder means that the dates of a chat, or its hours, can be read in two ways.
var ErrOrder = errors.New("its times have two meanings")

// settle decides which order applies, by the given one or by what is impossible, and refuses to guess. Only dates with
// slashes are written in both orders.
func (d *dateOrder) settle(zone *time.Location) error {
	for _, word := range slices.Sorted(maps.Keys(d.words)) {
		if d.words[word] <= 12 {
			return fmt.Errorf("%w: %q beside the hour may stand for the morning or the afternoon; "+
				"export the chat with a 24-hour clock, or with the phone in English", ErrOrder, word)
		}
	}
	switch {
	case d.Order != "":
		d.month = d.Order == MonthFirst
	case d.first > 12:
	case d.second > 12:
		d.month = true
	case d.slashes == 0 || d.fit == 0 || d.dayFirst:
	case d.back[0] != d.back[1]:
		d.month = d.back[1] < d.back[0]
	default:
		return d.ask(zone)
	}
	return nil
}

// ask returns an error that shows both readings.
func (d *dateOrder) ask(zone *time.Location) error {
	var shown [2]string
	for i := range shown {
		d.month = i == 1
		shown[i] = d.time(d.ends[0], zone).In(zone).Format("2 January 2006") + " to " +
			d.time(d.ends[1], zone).In(zone).Format("2 January 2006")
	}
	return fmt.Errorf("%w: its dates are %s with --day-first, or %s with --month-first; say which", ErrOrder, shown[0],
		shown[1])
}

// time returns the time of a message, zero if there is no such time.
func (d *dateOrder) time(h head, zone *time.Location) time.Time {
	y, m, n := h.numbers[2], h.numbers[1], h.numbers[0]
	switch {
	case h.year:
		y, m, n = h.numbers[0], h.numbers[1], h.numbers[2]
	case d.month:
		m, n = n, m
	}
	if y < 100 {
		y += 2000
	}
	if y > 2400 && y < 2700 { // the Buddhist calendar
		y -= 543
	}
	t := time.Date(y, time.Month(m), n, h.hour, h.minute, h.second, 0, zone)
	if m < 1 || m > 12 || t.Day() != n && h.hour < 24 && n > 28 || n < 1 || n > 31 || h.hour > 23 ||
		h.minute > 59 || h.second > 60 {
		return time.Time{}
	}
	return t.UTC()
}

//go:embed whatsapp.txt
var chatText string

var chatWords = sync.OnceValue(func() map[string][]string { return text.Lists(chatText) })

// matches reports whether a text is one of a list of whatsapp.txt, regardless of case, marks and a final
// sign; it may hold one with a star anywhere.
func matches(list, text string) bool {
	text = strings.ToLower(strings.TrimSpace(unmarked(text)))
	return slices.ContainsFunc(chatWords()[list], func(w string) bool {
		if rest, ok := strings.CutPrefix(w, "*"); ok {
			return strings.Contains(text, rest)
		}
		return strings.HasPrefix(text, w) && len(text) <= len(w)+3
	})
}

// omittedKind returns the kind of a file that the export omits, by its text; empty: none.
func omittedKind(text string) string {
	text = strings.ToLower(strings.TrimSpace(unmarked(text)))
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return namedKind(text)
	}
	if matches("left out", text) {
		return cmp.Or(namedKind(text), "file")
	}
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > 4 || !slices.Contains(chatWords()["omitted"], words[len(words)-1]) {
		return ""
	}
	for _, kind := range omittable {
		if slices.Contains(chatWords()["omitted "+kind], words[0]) {
			return kind
		}
	}
	return "file"
}

var omittable = [...]string{"photo", "video", "voice", "sticker", "document"}

// namedKind returns the kind of a file that a text without blanks names; empty: none.
func namedKind(text string) string {
	for _, kind := range omittable {
		if slices.ContainsFunc(chatWords()["named "+kind], func(w string) bool { return strings.Contains(text, w) }) {
			return kind
		}
	}
	return ""
}

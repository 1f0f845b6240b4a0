package web

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/language"

	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/text/times"
)

// Texts are the texts of the shell in one language, and those that rooms share. The
// comments list the values for the formatting verbs in order.
type Texts struct {
	Skip, Search, SignOut, Notify, Theme, Light, Dark, System, KeysTitle, KeySearch, KeyDays, KeyWrite, KeyEscape, KeyHelp,
	KeysWith, KeysAlone, Close, Cancel string

	// Signing in.
	SignInTitle, SignInAs, SignInButton, SignInOnce, SignInAgain, SignInZone, SignInZoneHere, SignInZoneHouse,
	SignedOutWhy, SignedOutMachine, StartLead, StartCode, StartHelp, StartDo, SignedOut, GoodByeA string
	SignedOutChat           string
	SignInName, SignInOther string // name; name of the present user, name
	SignInUntil             string // time, minutes

	// Without network.
	Offline offlineWords

	// Notifications.
	Push pushWords

	// Shared by rooms.
	Retry, Tokens, Total, RememberText, RememberTheme, RememberNew, RememberType, RememberDo, Remembered,
	RememberRefused string
	Messages, Minutes                   i18n.Counted // number
	Channels, States, SearchMode, Types map[string]string
	RememberKnown                       string // number, theme

	// Errors.
	ErrTitle, ErrNothing, ErrHome, ErrNotFound, ErrBroken, ErrTooLarge, ErrNoRoom, ErrForm, ErrForeign, ErrTries, ErrCode,
	ErrAccount,
	ErrRefused string
	ErrLong string // number
	TooLong string // {most}, {have}

	Moment string // day, month, year, time
	Units  [4]string
}

type offlineWords struct {
	About, Title, Lead, SignedOut, Write, Keep, Back, Again, Lost, Kept, Unsent, Waits, Refused, Drop, Leave string
	Since                                                                                                    string // {time}
}

type pushWords struct {
	Offer, Texts, On, Later, Done, Denied, Failed string
}

var say = i18n.In[Texts]("web")

// languageOf returns the language of a page: the person's choice, the browser's
// preference, or else the configured language.
func languageOf(chosen, house, accepted string) string {
	if chosen != "" {
		return i18n.Match(chosen)
	}
	tags, _, err := language.ParseAcceptLanguage(Short(accepted, 200))
	if err == nil && len(tags) > 0 {
		var spoken []language.Tag
		for _, l := range i18n.Languages() {
			spoken = append(spoken, language.Make(l))
		}
		if _, i, sure := language.NewMatcher(spoken).Match(tags...); sure > language.No {
			return i18n.Languages()[i]
		}
	}
	return i18n.Match(house)
}

const HourMinute = "15:04"

// Size formats a number of bytes.
func Size(lang string, n int64) string {
	units := say(lang).Units
	x, i := float64(n), 0
	for x >= 1000 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	decimals := 1
	if i == 0 || x >= 10 {
		decimals = 0
	}
	return i18n.Decimal(lang, x, decimals) + "\u00a0" + units[i]
}

// ChannelName returns the displayed name of a channel.
func (v *Visit) ChannelName(name string) string {
	title := ""
	if v.channel.Channels != nil {
		title = v.channel.Channels.Capabilities(name).Title
	}
	return cmp.Or(v.Words.Channels[name], title, name)
}

// Moment formats a date and time in full, in the visitor's time zone.
func (v *Visit) Moment(t time.Time) string {
	t = t.In(v.Zone)
	return fmt.Sprintf(v.Words.Moment, times.DayOfMonth(t.Day(), v.Lang), times.MonthName(t.Month(), v.Lang), t.Year(),
		t.Format(HourMinute))
}

// Short returns at most n bytes of a text, cut between characters.
func Short(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// OneLine returns a text on one line, without control characters.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// FileName returns a file's displayed name: without its folder, control characters, and
// characters with a meaning in placeholders.
func FileName(s string) string {
	s = filepath.Base(strings.ReplaceAll(Short(s, 400), `\`, "/"))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '[', r == ']', r == ':', r == '/':
			return '_'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	if s == "." || s == ".." {
		return ""
	}
	return Short(strings.TrimSpace(s), 120)
}

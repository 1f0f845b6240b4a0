package web

import (
	"cmp"
	"fmt"
	"time"

	"golang.org/x/text/language"

	"github.com/everthread/everthread/core/when"
	"github.com/everthread/everthread/core/words"
)

// Texts are what the shell says in one language, and what its rooms say alike. Verbs are
// filled in the order in which they stand in the comments.
type Texts struct {
	Skip, Search, SignOut, Notify, Theme, Light, Dark, System          string
	KeysTitle, KeySearch, KeyDays, KeyGo, KeyWrite, KeyEscape, KeyHelp string
	Close, Cancel                                                      string

	// Signing in.
	SignInName, SignInOther                                        string // name; who is signed in, name
	SignInTitle, SignInAs, SignInButton, SignInOnce, SignInAgain   string
	SignInUntil                                                    string // time, minutes
	SignInZone, SignInZoneHere, SignInZoneHouse                    string
	SignedOutWhy, SignedOutChat, SignedOutLog, SignedOut, GoodByeA string

	// Without network.
	Offline offlineWords

	// What is said in several rooms.
	Retry, Tokens, Total                     string
	Messages                                 words.Counted // number
	Minutes                                  words.Counted // number
	Channels, States, SearchMode             map[string]string
	RememberText, RememberTheme, RememberNew string
	RememberType, RememberDo, Remembered     string
	RememberKnown, RememberRefused           string // RememberKnown: number, theme
	Types                                    map[string]string

	// Errors.
	ErrTitle, ErrHome, ErrNotFound, ErrBroken, ErrTooLarge, ErrNoRoom, ErrForm, ErrForeign, ErrTries string
	ErrCode, ErrMoving, ErrRefused                                                                   string

	Moment string // day, month, year, time
	Units  [4]string
}

// offlineWords are what is said without network, and by the manifest.
type offlineWords struct {
	About, Title, Lead, SignedOut, Write, Keep, Back, Again string
	Since, Lost, Kept                                       string // Since: {time}
	Unsent, Waits, Refused, Drop, Leave                     string
}

// say returns what the page says in a language.
var say = words.In[Texts]("web")

// languageOf is the language of a page: what the person chose, what their browser
// asks for, or else what the owner chose.
func languageOf(chosen, house, accepted string) string {
	if chosen != "" {
		return words.Match(chosen)
	}
	tags, _, err := language.ParseAcceptLanguage(Short(accepted, 200))
	if err == nil && len(tags) > 0 {
		var spoken []language.Tag
		for _, l := range words.Languages() {
			spoken = append(spoken, language.Make(l))
		}
		if _, i, sure := language.NewMatcher(spoken).Match(tags...); sure > language.No {
			return words.Languages()[i]
		}
	}
	return words.Match(house)
}

// HourMinute is how a time of day is written.
const HourMinute = "15:04"

// Size writes a number of bytes.
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
	return words.Decimal(lang, x, decimals) + "\u00a0" + units[i]
}

// ChannelName is what a channel is called.
func (v *Visit) ChannelName(name string) string {
	title := ""
	if v.channel.Channels != nil {
		title = v.channel.Channels.Capabilities(name).Title
	}
	return cmp.Or(v.Words.Channels[name], title, name)
}

// Moment writes a date and time in full, by the clock of the visitor.
func (v *Visit) Moment(t time.Time) string {
	t = t.In(v.Zone)
	return fmt.Sprintf(v.Words.Moment, when.DayOfMonth(t.Day(), v.Lang), when.MonthName(t.Month(), v.Lang), t.Year(),
		t.Format(HourMinute))
}

package core

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Listed reports whether an entry of a list, such as "whatsapp:+52 55 1234 5678", names the address. Entries are
// compared as what they are: a phone number by its digits, whichever of its spellings a service uses; a Matrix id
// without regard to the case of letters that cannot differ.
func (a Address) Listed(entry string) bool {
	channel, who, _ := strings.Cut(entry, ":")
	channel, who = strings.TrimSpace(channel), strings.TrimSpace(who)
	switch {
	case !strings.EqualFold(channel, a.Channel) || who == "":
		return false
	case who == a.External:
		return true
	case a.Channel == "matrix":
		id := withServer(a.External)
		return withServer(who) == id || strings.ToLower(who) == id
	}
	listed, ok := phone(who)
	seen, known := phone(a.External)
	return ok && known && strings.HasPrefix(a.External, "+") && listed == seen
}

// withServer returns a Matrix id with its server in lower case: names of servers have no case.
func withServer(id string) string {
	name, server, _ := strings.Cut(id, ":")
	return name + ":" + strings.ToLower(server)
}

var (
	phoneSigns = strings.NewReplacer(" ", "", "\u00a0", "", "-", "", "(", "", ")", "", ".", "", "/", "")
	phoneForm  = regexp.MustCompile(`^[1-9][0-9]{6,14}$`)
	// mobile matches numbers that exist with and without a digit that marks a mobile phone: Mexico's 1, Brazil's ninth
	// digit and Argentina's 9. The groups are what both have.
	mobile = regexp.MustCompile(`^(52)1([0-9]{10})$|^(55[1-9][0-9])9([6-9][0-9]{7})$|^(54)9([0-9]{10})$`)
)

// phone returns the digits of a phone number with its country, the same for all of its spellings. ok is false if it is
// none.
func phone(s string) (digits string, ok bool) {
	s = phoneSigns.Replace(s)
	international := strings.HasPrefix(s, "+")
	if s = strings.TrimPrefix(s, "+"); !international {
		s = strings.TrimPrefix(s, "00")
	}
	if m := mobile.FindStringSubmatch(s); m != nil {
		s = strings.Join(m[1:], "")
	}
	return s, phoneForm.MatchString(s)
}

// unlisted are channels whose people are not admitted by a list.
var unlisted = []string{"web", "terminal", "openai", "api", "mcp", "whatsapp_agent"}

var (
	telegramID = regexp.MustCompile(`^[1-9][0-9]{0,15}$`)
	matrixID   = regexp.MustCompile(`^@[^\s:]+:[^\s]+$`)
	metaID     = regexp.MustCompile(`^[A-Z]{2}\.[A-Za-z0-9.]+$`)
)

// CheckListed returns why no address can ever match an entry of a list, and what to write instead; nil: one can.
func CheckListed(entry string) error {
	channel, who, ok := strings.Cut(entry, ":")
	channel, who = strings.ToLower(strings.TrimSpace(channel)), strings.TrimSpace(who)
	_, isPhone := phone(who)
	switch {
	case !ok || channel == "" || who == "":
		return fmt.Errorf("%q has not the form channel:id, such as telegram:123456", entry)
	case slices.Contains(unlisted, channel):
		return fmt.Errorf("%q admits nobody: people of %s are not admitted by a list", entry, channel)
	case channel == "telegram" && !telegramID.MatchString(who):
		return fmt.Errorf("%q admits nobody: Telegram's people are known by a number, not by a name; "+
			"write it like telegram:123456", entry)
	case channel == "whatsapp" && !isPhone && !metaID.MatchString(who):
		return fmt.Errorf("%q admits nobody: write the number with its country, like whatsapp:+4915550001, or Meta's id "+
			"like whatsapp:DE.13491208655302741918", entry)
	case channel == "matrix" && !matrixID.MatchString(who):
		return fmt.Errorf("%q admits nobody: write the whole id, like matrix:@ada:example.org", entry)
	}
	return nil
}

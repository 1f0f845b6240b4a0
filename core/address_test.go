package core

import (
	"strings"
	"testing"
)

func TestListed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		channel, external, entry string
		want                     bool
	}{
		{"whatsapp", "+4915550001", "whatsapp:+4915550001", true},
		{"whatsapp", "+5215512345678", "whatsapp:+525512345678", true}, // Mexico
		{"whatsapp", "+525512345678", "whatsapp:+52 1 55 1234 5678", true},
		{"whatsapp", "+551187654321", "whatsapp:+5511987654321", true}, // Brazil
		{"whatsapp", "+5511987654321", "whatsapp:+551187654321", true},
		{"whatsapp", "+551133334444", "whatsapp:+5511933334444", false}, // no mobile phone has this number
		{"whatsapp", "+5491123456789", "whatsapp:+541123456789", true},  // Argentina
		{"whatsapp", "+541123456789", "whatsapp:0054 9 11 2345-6789", true},
		{"whatsapp", "+525512345678", "whatsapp:+52 55 1234 5678", true},
		{"whatsapp", "+525512345678", "whatsapp:525512345678", true},
		{"whatsapp", "+525512345678", " WhatsApp : +52 (55) 1234.5678 ", true},
		{"whatsapp", "+15550001", "whatsapp:+15550002", false},
		{"whatsapp", "+15550001", "telegram:+15550001", false},
		{"whatsapp", "US.1349", "whatsapp:US.1349", true},
		{"whatsapp", "US.1349", "whatsapp:us.1349", false},
		{"whatsapp", "US.15550001", "whatsapp:15550001", false},
		{"telegram", "123456", "telegram:123456", true},
		{"telegram", "123456", "telegram: 123456", true},
		{"telegram", "5215512345678", "telegram:525512345678", false}, // no phone number
		{"telegram", "123456", "telegram:@ada", false},
		{"matrix", "@ada:hs.test", "matrix:@ada:hs.test", true},
		{"matrix", "@ada:hs.test", "matrix:@ada:HS.Test", true},
		{"matrix", "@ada:hs.test", "matrix:@Ada:hs.test", true},
		{"matrix", "@Ada:hs.test", "matrix:@Ada:HS.test", true},
		{"matrix", "@Ada:hs.test", "matrix:@ada:hs.test", false}, // another person of an old server
		{"matrix", "@ada:hs.test", "matrix:@ada:hs.test.evil", false},
		{"signal", "+4915550001", "signal:+49 1555 0001", true},
		{"signal", "6b3f-uuid", "signal:6b3f-uuid", true},
	} {
		if got := (Address{Channel: c.channel, Account: "1", External: c.external}).Listed(c.entry); got != c.want {
			t.Errorf("%q lists %s:%s: got %t, want %t", c.entry, c.channel, c.external, got, c.want)
		}
	}
}

func TestCheckListed(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"telegram:123456": "", "whatsapp:+52 55 1234 5678": "", "whatsapp:525512345678": "", "whatsapp:DE.1349": "",
		"matrix:@ada:hs.test": "", "signal:+49 1555 0001": "", "signal:6b3f-uuid": "", "Matrix:@Ada:HS.test": "",
		"telegram:@ada": "known by a number", "telegram:ada": "known by a number", "telegram:-100123": "known by a number",
		"whatsapp:0155 50001": "with its country", "whatsapp:ada": "with its country", "whatsapp:+49": "with its country",
		"matrix:ada:hs.test": "the whole id", "matrix:@ada": "the whole id", "web:1": "not admitted by a list",
		"telegram": "has not the form", ":1": "has not the form", "telegram:": "has not the form",
	} {
		err := CheckListed(entry)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", entry, err, want)
		}
	}
}

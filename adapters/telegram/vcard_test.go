package telegram

import "testing"

func TestVCard(t *testing.T) {
	t.Parallel()
	for card, want := range map[string]string{
		// An iPhone's groups.
		"BEGIN:VCARD\r\nVERSION:3.0\r\nN:;Max;;;\r\nFN:Max\r\nTEL;type=CELL;type=pref:+49 151 23\r\nitem4.TEL:+49 30 55\r\n" +
			"item1.EMAIL;type=INTERNET:max@x.org\r\nitem2.ADR;type=HOME:;;Street 1;Berlin;;10115;Germany\r\n" +
			"item2.X-ABADR:de\r\nitem3.URL;type=pref:https\\://x.org\r\nBDAY:1990-01-02\r\nEND:VCARD": "+49 30 55, max@x.org, " +
			"Street 1 Berlin 10115 Germany, https://x.org, 1990-01-02",
		// Android's older form.
		"BEGIN:VCARD\nVERSION:2.1\nNOTE;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Gr=C3=BC=\n=C3=9Fe\nEND:VCARD": "Grüße",
		"ORG;ENCODING=QUOTED-PRINTABLE:=FF=FE":                       "\ufffd",
		"ORG;ENCODING=QUOTED-PRINTABLE:=C3=BC=":                      "ü",
		"NOTE:a very long\n  line\\, with\\nbreaks\\; and \\\\":      "a very long line, with breaks; and \\",
		"BDAY;X-APPLE-OMIT-YEAR=1604:1604-01-02":                     "01-02",
		"TEL:00 1\nTEL:00-1\nEMAIL:a@x.org\nEMAIL;TYPE=home:a@x.org": "00 1, 00-1, a@x.org",
		"TEL;CELL:+4915123":                                          "",
		"PHOTO;ENCODING=b:AAAA\nno field\n:\n.:x":                    "",
		"": "",
	} {
		if got := vCard(card, "+4915123"); got != want {
			t.Errorf("%q: got %q, want %q", card, got, want)
		}
	}
}

package whatsapp

import "testing"

// The spellings of one person have one form; "": it can be nobody.
func TestListed(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]string{
		"+4915550001": "+4915550001", "4915550001": "+4915550001", "0049 1555-0001": "+4915550001",
		"+5215512345678": "+525512345678", "+52 (55) 1234.5678": "+525512345678", // Mexico
		"+5511987654321": "+551187654321", "+55 11 8765-4321": "+551187654321", // Brazil
		"+5511933334444": "+5511933334444", "+551133334444": "+551133334444", // no mobile phone has the second one
		"+5491123456789": "+541123456789", "+54 11 2345-6789": "+541123456789", // Argentina
		"US.13491208655302741918": "US.13491208655302741918",
		"0155 50001":              "", "+49": "", "ada": "", "@ada": "", "us.1349": "", "+49 1555 0001 ext 5": "",
	} {
		got, err := (&Config{}).Listed(who)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", who, got, err, want)
		}
	}
}

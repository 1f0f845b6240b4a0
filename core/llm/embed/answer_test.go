package embed

import (
	"net/netip"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "93.184.216.34": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true, "172.32.0.1": true,
		"127.0.0.1": false, "127.9.9.9": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "192.0.0.8": false, "198.18.0.1": false, "224.0.0.1": false,
		"240.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false, "::127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:100.64.0.1": false,
		"fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "fec0::1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
}

func TestHeadKeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 30).Draw(t, "n")
		got := head(text, n)
		if want := min(n, utf8.RuneCountInString(text)); utf8.RuneCountInString(got) != want || text[:len(got)] != got {
			t.Fatalf("head %q of %q", got, text)
		}
	})
	if got := head("a\xffb", 5); got != "a\uFFFDb" {
		t.Errorf("got %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"data":[{"index":0,"embedding":[1,2]}]}`, `{"embeddings":[[1],[2]]}`, `[[1,2]]`, `["AACAPw=="]`, `{"embedding":[1]}`,
		`[{"index":0,"embedding":[[1]]}]`, `{"results":[{"embedding":[1]}]}`, `{"data":[{"index":-1,"embedding":[1]}]}`, `[[1e39]]`,
		`[[NaN]]`, `[null]`, `{"data":[{}]}`, `[[[[]]]]`, `<html>`, ``,
	} {
		f.Add([]byte(s))
	}
	c := &client{}
	f.Fuzz(func(t *testing.T, body []byte) {
		vectors, err := parse(body)
		if err != nil || c.measure(vectors) != nil {
			return
		}
		if len(vectors) == 0 {
			t.Fatal("neither vectors nor an error")
		}
		for _, v := range vectors {
			if !usable(v) || len(v) != len(vectors[0]) || len(v) > 1024 {
				t.Fatalf("vector %v passed", v)
			}
		}
	})
}

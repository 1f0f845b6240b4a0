package web

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// longestAddress bounds an address, in bytes.
const longestAddress = 2000

// Normal returns an address in the form in which addresses are compared and requested: scheme and host in lower case,
// without a fragment. Its errors are for the model.
func Normal(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("url must be a whole address that begins with https:// or http://")
	case u.User != nil:
		return "", errors.New("url must not contain a user name or a password")
	case len(address) > longestAddress:
		return "", errors.New("the address is too long")
	}
	u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Host), "", ""
	return u.String(), nil
}

// beginning is where an address begins within a text.
var beginning = regexp.MustCompile(`(?i)\bhttps?://`)

// stands reports whether an address in its normal form stands word for word in a text.
func stands(address, text string) bool {
	for _, at := range beginning.FindAllStringIndex(text, -1) {
		word := text[at[0]:]
		if end := strings.IndexFunc(word, func(r rune) bool { return r <= ' ' || strings.ContainsRune("<>\"`\u00a0", r) }); end >= 0 {
			word = word[:end]
		}
		for word != "" { // what follows an address in a sentence does not belong to it
			if normal, err := Normal(word); err == nil && normal == address {
				return true
			}
			shorter := strings.TrimRight(word, ".,;:!?)]}'*_~»”’“‘…")
			if len(shorter) == len(word) {
				break
			}
			_, size := lastRune(word)
			word = word[:len(word)-size]
		}
	}
	return false
}

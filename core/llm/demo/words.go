package demo

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

var englishWords = sync.OnceValue(func() map[string]bool {
	return set(
		`a about after all am an and any are as at be been but by can could did do does don't for from get had has have
he her here him his how i i'm if in into is it it's its just let like me more my no not now of on one or our out please say said
she should so some tell than that the their them then there they this to today told up us was we were what what's when where which
who why will with would yes you your know talk talked discuss discussed mention mentioned remember call called name again still`)
})

var frenchWords = sync.OnceValue(func() map[string]bool {
	return set(
		`à ai aller alors as au aussi aux avait avec avez avons bien ça ce ces cet cette c'est dans de des dit dites donc
du elle en es est et été être fait hier il ils j'ai je la le les leur lui ma mais me mes moi mon même ne non nos notre nous on ont
ou où par parlé pas peux plus pour quand que quel quelle quels quelles qu qui quoi sa sais sans se ses si son sont suis sur ta te tes
toi ton tu un une va vos votre vous y était appelle appelé comment combien pourquoi bonjour merci oui veux l d j m n s t c`)
})

func set(words string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		out[word] = true
	}
	return out
}

// isFrench tells French from English by the commonest words; English if in doubt.
func isFrench(text string) bool {
	score := 0
	for _, word := range words(text) {
		switch en, fr := englishWords()[word], frenchWords()[word]; {
		case fr && !en:
			score++
		case en && !fr:
			score--
		}
	}
	return score > 0
}

// words returns the words of a text in lower case, apostrophes and hyphens kept.
func words(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-'
	})
}

// contentWords returns the words that carry meaning, without endings, each once.
func contentWords(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, word := range words(text) {
		for part := range strings.SplitSeq(word, "-") {
			stem := stemOf(part)
			if stem != "" && !seen[stem] {
				seen[stem] = true
				out = append(out, stem)
			}
		}
	}
	return out
}

// stemOf returns a word without elision and plural, nothing if it means little.
func stemOf(word string) string {
	word = strings.Trim(word, "'")
	if englishWords()[word] || frenchWords()[word] {
		return ""
	}
	if before, after, ok := strings.Cut(word, "'"); ok {
		word = after
		if len(before) > 2 || after == "" { // dog's, not l'hôtel
			word = before
		}
	}
	if len([]rune(word)) > 3 {
		word = strings.TrimRight(word, "sx")
	}
	if len([]rune(word)) < 2 || englishWords()[word] || frenchWords()[word] {
		return ""
	}
	return word
}

// shared counts the words of a that b has too.
func shared(a, b []string) (n int) {
	for _, word := range a {
		if slices.Contains(b, word) {
			n++
		}
	}
	return n
}

// excerpt is a text in one line of at most 240 letters.
func excerpt(text string) string { return shorten(text, 240) }

func shorten(text string, most int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= most {
		return string(runes)
	}
	cut := string(runes[:most-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

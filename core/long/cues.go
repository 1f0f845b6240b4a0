package long

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"github.com/everthread/everthread/core/text"
)

//go:embed cues.txt
var cueText string

// longestCue is the most words of a phrase in cues.txt.
const longestCue = 4

// everywhere is the weight of phrases such as thanks, which are a whole sentence or its beginning.
const everywhere = -1.0

// cue is the weight of a phrase in a sentence of either role.
type cue struct{ user, assistant float64 }

var cues = sync.OnceValue(func() map[string]cue {
	out := map[string]cue{}
	for line := range strings.Lines(cueText) {
		head, phrases, ok := strings.Cut(line, ": ")
		whose, number, _ := strings.Cut(head, " ")
		weight, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil || strings.HasPrefix(line, "#") {
			continue
		}
		for phrase := range strings.SplitSeq(phrases, "|") {
			phrase = strings.TrimSpace(phrase)
			c := out[phrase]
			if whose != "assistant" {
				c.user = stronger(c.user, weight)
			}
			if whose != "user" {
				c.assistant = stronger(c.assistant, weight)
			}
			out[phrase] = c
		}
	}
	return out
})

func stronger(a, b float64) float64 {
	if max(a, -a) > max(b, -b) {
		return a
	}
	return b
}

// phrases adds the weights of the phrases in the sentence, within bounds. Of phrases
// that overlap the longest counts.
func (t *tally) phrases() {
	known := cues()
	joined, at := join(t.words)
	for i := 0; i < len(t.words); {
		n, c := longest(known, joined, at, i)
		weight := c.user
		if t.assistant {
			weight = c.assistant
		}
		switch {
		case n == 1 && t.isDate(i):
		case weight > 0:
			t.cues += weight
		case weight == everywhere && (i > 1 || len(t.words) > 5):
			t.filler -= weight / 3 // yes, thanks and such mean little within a sentence
		default:
			t.filler -= weight
		}
		i += max(n, 1)
	}
	t.cues = min(t.cues, 3)
	t.filler = min(t.filler, 2.5)
}

// conclusion is the weight of cues that alone make a fact of an assistant's sentence.
const conclusion = 1.0

// isUnit reports whether a word is a unit of numbers, in the singular.
var isUnit = text.OneOf(
	`% € $ £ ¥ euro dollar pound cent franc eur usd gbp chf kg g mg gram gramme kilo kilogram lb oz l ml cl dl litre liter cm mm m km metre mètre meter mile inch inche foot feet ft yard
percent degree degré °c bar volt v watt w kw kwh amp gb mb tb ghz mhz hz dpi bag sac bottle bouteille box ticket billet kcal`)

// join returns the words in lower case with a space after each, and their offsets.
func join(words []word) (string, []int) {
	var b strings.Builder
	at := make([]int, 0, len(words)+1)
	for i := range words {
		at = append(at, b.Len())
		b.WriteString(words[i].lower)
		b.WriteByte(' ')
	}
	return b.String(), append(at, b.Len())
}

// longest returns the longest known phrase at word i, and its number of words.
func longest(known map[string]cue, joined string, at []int, i int) (int, cue) {
	elided := elision(joined[at[i]:at[i+1]])
	for n := min(longestCue, len(at)-1-i); n > 0; n-- {
		if c, ok := known[joined[at[i]:at[i+n]-1]]; ok {
			return n, c
		}
		if c, ok := known[joined[at[i]+elided:at[i+n]-1]]; ok && elided > 0 {
			return n, c
		}
	}
	return 0, cue{}
}

// elision returns the length of the French elision before a word: l'adresse, qu'on.
func elision(word string) int {
	if len(word) > 3 && word[1] == '\'' && strings.IndexByte("cdjlmnst", word[0]) >= 0 {
		return 2
	}
	if strings.HasPrefix(word, "qu'") && len(word) > 4 {
		return 3
	}
	return 0
}

// denseSigns indicate, in Chinese, Japanese or Korean, a statement about the speaker,
// a preference or a decision.
var denseSigns = []string{"我", "私", "僕", "俺", "나는", "저는", "제", "喜欢", "喜歡", "讨厌", "討厭", "过敏", "過敏", "决定", "決定", "决め",
	"決め", "アレルギー", "好き", "嫌い", "苦手", "住", "生日", "誕生日", "名前", "名字", "叫", "電話", "电话", "予約", "预订", "예약", "알레르기", "결정", "생일"}

// isDate reports whether a word is the name of a day or month.
var isDate = text.OneOf(`monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun
january february march april june july august september october november december jan feb apr jun jul aug sept oct nov dec
lundi mardi mercredi jeudi vendredi samedi dimanche janvier février fevrier mars avril juin juillet août aout septembre octobre novembre décembre decembre
christmas easter thanksgiving noël pâques toussaint`)

// isFunctionWord reports whether a word is one of the commonest of English and French.
var isFunctionWord = text.OneOf(
	`a about after all also am an and any are as at be because been before but by can could did do does don't for from get go got had has have he her
here him his how i i'm i've i'll i'd if in into is isn't it it's its just let's like me more most my no not now of off on one only or our out over she should so some such than that that's the
their them then there these they this those to too up us very was we we're were what when where which while who why will with would yes you your yours can't won't didn't doesn't there's you're you'll you've
à ai aller alors après as au aussi aux avait avant avec avez avons bien bon car ce ceci cela ces cet cette chez comme d dans de des donc du elle elles en encore est et été être eu eux fait
il ils j'ai je j'y la le les leur leurs lui ma mais me même mes moi mon n'a n'est ne ni non nos notre nous on ont ou où par pas peu peut plus pour quand que quel quelle qui quoi sa sans se ses si
son sont sous suis sur ta te tes toi ton tous tout toute tu un une va vais vers vos votre vous y c'est ça qu'il qu'elle qu'on d'un d'une l'on s'il j'avais j'étais n'ai c'était puis très trop toujours oui`)

// foreignWords are the commonest words of Spanish, Italian, Portuguese, German and Dutch.
var foreignWords = text.OneOf(
	`el los las y con por una del mi su sus al lo más pero muy ya porque cuando desde hasta sin sobre este esta hay está están soy era tengo tiene yo
il lo gli di che per non è e sono della dello dei delle nel nella al alla ho hai mio mia ma anche più perché quando dove questo questa io solo se ci
o os as um uma em com para não mais meu minha do da dos das no na pelo pela também já eu tenho tem são foi
der das und ist ich nicht ein eine einen einem einer mit auf für von zu im den dem wir sie er es aber auch noch schon mein meine meinem meiner habe hat war bin sind nach bei aus wenn weil dass nur
het een en ik niet van voor met op aan zijn mijn heb heeft is dat die maar ook nog wel naar bij als omdat wij`)

// isOpener reports whether a word often begins a sentence and is rarely a name.
var isOpener = text.OneOf(
	`ok okay thanks thank hello hi hey sure great good well please maybe perhaps today tomorrow yesterday tonight however also another each both many most some start use try check add keep make
take first second third next finally last still once remember consider avoid store cook bring put set run write read think look here's what's who's how's where's let haha lol yeah nope sorry absolutely exactly
got been never always sometimes usually often instead meanwhile anyway although though since until during despite besides overall nothing nobody everyone everybody something someone weather work
bonjour salut coucou bonsoir merci bref enfin aujourd'hui demain hier ensuite d'abord pense pensez essaie essayez vérifie ajoute ajoutez garde gardez prends prenez voici voilà parfait super génial bien peut-être
sinon finalement justement normalement parfois souvent cependant pourtant toutefois évidemment voilà désolé désolée quelle quel quelles quels chaque plusieurs certains beaucoup rien personne jamais faut avoir faire
recommended suggested advised explained told gave listed noted booked confirmed agreed decided proposed calculated found chose picked answered described compared warned said named mentioned offered helped discussed
recommandé conseillé proposé expliqué noté réservé confirmé décidé calculé trouvé choisi rappelé indiqué comparé prévenu répondu suggéré ajouté
note conclusion summary tip tips step option example exemple étape conseil résumé astuce total result results don't isn't it'll they're he's she's we'll we've we'd they've he'd she'd wouldn't couldn't aren't wasn't weren't haven't hasn't`)

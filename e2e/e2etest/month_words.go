//go:build e2e

package e2etest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Fact is a statement of Ada's on a day of the month that she asks about weeks later, with
// similar statements.
type Fact struct {
	Day      int
	Said     string
	Question string
	near     string // a distractor: nearly the same words, another answer
	Other    string // another person's statement about the same
	Answered string // not empty: said is a question, and this answer is the fact
}

// Evidence returns the text on which the answer to the question is based.
func (f Fact) Evidence() string {
	if f.Answered != "" {
		return f.Answered
	}
	return f.Said
}

// Facts are in the order of the questions.
func Facts() []Fact {
	return []Fact{
		{Day: 2, Said: "Ana will paint the kitchen sage green, the tin is called Thyme 42",
			Question: "Which colour will Ana paint the kitchen?", near: "Marek painted the office kitchen yellow once",
			Other: "Ana will paint the kitchen brick red, the tin is called Ember 17"},
		{Day: 3, Said: "The supplier's invoice has the number INV-20931 and came to 1,840 euros",
			Question: "What was the number of the supplier's invoice?", near: "Invoice INV-20913 of the caterer is paid",
			Other: "The supplier's invoice has the number INV-55120 and came to 310 euros"},
		{Day: 4, Said: "Le dentiste attend Lucie le 17 novembre à 14 h 30, rue des Lilas",
			Question: "Quand le dentiste attend-il Lucie ?", near: "Le kiné attend Hugo le 12 novembre à 9 h",
			Other: "Le dentiste attend Lucie le 30 novembre à 8 h, quai Perrache"},
		{Day: 5, Said: "We decided with Ingrid that Heron goes live on 24 November and not before",
			Question: "What did we decide with Ingrid about going live?",
			near:     "We decided with Paul that Juniper stays as it is",
			Other:    "We decided with Ingrid that Heron never goes live"},
		{Day: 6, Said: "The importer stops with ERR-4471 when a column is empty", Question: "When did ERR-4471 happen?",
			near: "ERR-4417 came back twice this morning", Other: "ERR-4471 means that the disk is full"},
		{Day: 7, Said: "Le code du portail de la grange est 7734B", Question: "Quel est le code du portail de la grange ?",
			near: "Le code du coffre du bureau est 7743B", Other: "Le code du portail de la grange est 1002X"},
		{Day: 8, Said: "Paul has an allergy to hazelnuts, so no praline for his birthday",
			Question: "Which allergy does Paul have?", near: "Nadia thinks the spring brings her allergies back",
			Other: "Paul has an allergy to peanuts"},
		{Day: 9, Said: "The Juniper server sits in rack C7 and has 64 GB of memory",
			Question: "In which rack is the Juniper server?", near: "The Orion server sits in rack D2",
			Other: "The Juniper server sits in rack A1"},
		{Day: 10, Said: "On a retenu le gîte des Aravis pour les vacances d'hiver, 860 euros la semaine",
			Question: "Quel gîte a-t-on retenu pour les vacances d'hiver ?",
			near:     "Pour les vacances d'été rien n'est encore décidé",
			Other:    "On a retenu le gîte du Lubéron pour les vacances d'hiver"},
		{Day: 11, Said: "My passport expires on 3 March 2027, its number is 19CK58812",
			Question: "When does my passport expire?", near: "Hugo's driving licence expires in June",
			Other: "My passport expires on 9 May 2031"},
		{Day: 12, Said: "Sofia recommended the novel The Left Hand of Darkness for the train",
			Question: "Which novel did Sofia recommend?", near: "Hugo recommended the film Arrival",
			Other: "Sofia recommended the novel Solaris"},
		{Day: 5, Said: "Le budget du jardin est de 2 350 euros, dont 400 pour le cerisier",
			Question: "Quel est le budget du jardin ?", near: "Le budget de la fête est de 530 euros",
			Other: "Le budget du jardin est de 90 euros"},
		{Day: 3, Said: "Marek signed the lease of the workshop for three years",
			Question: "What did Marek sign on 3 October?", near: "Marek signed a card for Nadia",
			Other: "Marek signed the lease of the boathouse"},
		{Day: 6, Said: "How long do borlotti beans have to soak?",
			Question: "How many hours should I soak the borlotti beans?",
			Answered: "Soak the borlotti beans for nine hours, and add no salt to the water",
			near:     "Lentils do not have to soak", Other: "Somebody said two hours are enough for borlotti beans"},
	}
}

// daysOfMonth is the number of days; perDay the number of Ada's messages on each, and
// bursts the number of their sittings.
const (
	DaysOfMonth = 30
	PerDay      = 68
	bursts      = 4
	PerOther    = 5 // of another person
)

// chatter generates plausible messages about the same people and things, the same for the
// same seed.
type chatter struct {
	rnd  *rand.Rand
	said map[string]bool
}

func NewChatter(seed uint64) *chatter {
	return &chatter{rnd: rand.New(rand.NewPCG(seed, 2026)), said: map[string]bool{}}
}

func (c *chatter) one(of string) string {
	words := strings.Split(of, "|")
	return words[c.rnd.IntN(len(words))]
}

const (
	someone = "Ana|Marek|Lucie|Tomás|Ingrid|Paul|Sofia|Hugo|Claire|Nadia"
	things  = "Orion|Heron|Juniper|Bluebird|Cobalt|Larkspur"
	placesE = "the harbour|the library|the market|the old mill|the station|the pool"
	placesF = "le port|la bibliothèque|le marché|le vieux moulin|la gare|la piscine"
	months  = "November|December|January|February"
	mois    = "novembre|décembre|janvier|février"
	english = "P sent the figures of T: N units this week|The call with P about T is moved to D M|Ticket I is with P now|Today N minutes on foot along L|" +
		"Lunch with P at L came to N euros|We decided to look at T again on D M|P thinks that T needs N more days|The train to P's place leaves at N past eight|" +
		"Reference I belongs to the T contract|P's sister moves into a flat near L|T failed again, the log says I|The plumber asks N euros for the sink in L|" +
		"P and I swam N lengths today|P lent me N euros for L|My notes on T are in folder I|P says the T numbers of D M are wrong"
	frenchT = "P a envoyé les chiffres de T : N unités cette semaine|L'appel avec P sur T est repoussé au D M|Le ticket I est chez P maintenant|" +
		"J'ai marché N minutes vers L|Déjeuner avec P : N euros|On a décidé de revoir T le D M|P pense qu'il faut N jours de plus pour T|" +
		"J'ai noté la référence I pour le contrat T|La sœur de P s'installe près d'ici, vers L|T a encore échoué, le journal dit I|" +
		"P et moi avons nagé N longueurs|P m'a prêté N euros|Mes notes sur T sont dans le dossier I|P dit que les chiffres de T du D M sont faux"
)

// Next returns a new message.
func (c *chatter) Next() string {
	for {
		lang, place, month := english, placesE, months
		if c.rnd.IntN(5) < 2 {
			lang, place, month = frenchT, placesF, mois
		}
		var b strings.Builder
		for _, w := range strings.SplitAfter(c.one(lang), " ") {
			b.WriteString(c.fill(w, place, month))
		}
		if text := b.String(); !c.said[text] {
			c.said[text] = true
			return text
		}
	}
}

// fill replaces a capital that is a word of its own, or has 's.
func (c *chatter) fill(word, place, month string) string {
	bare := strings.TrimRight(word, " :,")
	head := strings.TrimSuffix(bare, "'s")
	with := map[string]string{"P": c.one(someone), "T": c.one(things), "L": c.one(place), "M": c.one(month),
		"D": fmt.Sprint(1 + c.rnd.IntN(28)), "N": fmt.Sprint(2 + c.rnd.IntN(95)),
		"I": fmt.Sprintf("%s-%04d", c.one("TCK|REF|ERR|DOC"), c.rnd.IntN(10_000))}[head]
	if with == "" {
		return word
	}
	return with + word[len(head):]
}

// Day returns the messages of a day in their sittings. The facts, and a week later their
// distractors, are among the others; one with an answer of its own ends a sitting.
func (c *chatter) Day(n int, own func(Fact) string) [][]string {
	var texts, last []string
	for _, f := range Facts() {
		switch {
		case f.Day == n && f.Answered != "" && own(f) == f.Said:
			last = append(last, f.Said)
		case f.Day == n:
			texts = append(texts, own(f))
		case f.Day+7 == n:
			texts = append(texts, f.near)
		}
	}
	for len(texts)+len(last) < PerDay {
		texts = append(texts, c.Next())
	}
	c.rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	var out [][]string
	for b := range slices.Chunk(texts, (len(texts)+bursts-1)/bursts) {
		out = append(out, b)
	}
	out[1] = append(out[1], last...)
	return out
}

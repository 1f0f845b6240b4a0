package remind

import "strings"

// The words of times in English, French and German, folded. All languages are read whatever
// the person's, because models write English. Only short names of weekdays, and words such
// as am and alle, are read in the person's language only: they have other meanings in other
// languages. Core/when has the names of months and weekdays.

// spelled returns what each word means. Words of one meaning are separated by blanks.
func spelled[T comparable](words map[T]string) map[string]T {
	out := map[string]T{}
	for meaning, list := range words {
		for w := range strings.FieldsSeq(list) {
			out[w] = meaning
		}
	}
	return out
}

var numbers = spelled(map[int]string{
	1: "a an one un une ein eine einer einem einen eins", 2: "two deux zwei", 3: "three trois drei",
	4: "four quatre vier", 5: "five cinq funf", 6: "six sechs", 7: "seven sept sieben", 8: "eight huit acht",
	9: "nine neuf neun", 10: "ten dix zehn", 11: "eleven onze elf", 12: "twelve douze zwolf",
	15: "fifteen quinze funfzehn", 20: "twenty vingt zwanzig", 30: "thirty trente dreißig dreissig",
	40: "forty quarante vierzig", 45: "forty-five quarante-cinq funfundvierzig", 50: "fifty cinquante funfzig",
	60: "sixty soixante sechzig", 90: "ninety neunzig",
})

var ordinals = spelled(map[int]string{
	1: "first premier premiere ersten erster", 2: "second deuxieme zweiten", 3: "third troisieme dritten",
	4: "fourth quatrieme vierten", 5: "fifth funften",
})

// unit is a unit of time.
type unit int

const (
	second unit = iota + 1
	minute
	hour
	day
	week
	month
	year
)

var units = spelled(map[unit]string{
	second: "s sec secs second seconds seconde secondes sekunde sekunden sek",
	minute: "minuten m min mins mn minute minutes", hour: "stunde stunden std h hr hrs hour hours heure heures",
	day: "tag tage tagen d day days jour jours j", week: "woche wochen w week weeks semaine semaines",
	month: "monat monate monaten month months mois", year: "jahr jahre jahren year years an ans annee annees",
})

// period is a part of a day.
type period int

const (
	anyTime period = iota
	morning
	afternoon
	evening
	night
)

var periods = spelled(map[period]string{
	morning:   "morning matin fruh morgens vormittag vormittags",
	afternoon: "afternoon apres-midi aprem nachmittag nachmittags", evening: "evening soir abend abends",
	night: "night nuit nacht nachts",
})

var periodPlurals = spelled(map[period]string{
	morning: "mornings matins", afternoon: "afternoons apres-midis apres-midi", evening: "evenings soirs",
	night: "nights nuits",
})

package remind

// The words of times in English and French, folded. Both are read whatever the
// language of the person: models write English. Only short names of weekdays
// are read in the person's language alone, as mon, mar and mer mean other things.
// The names of months and weekdays are those of core/when.

var numbers = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45,
	"fifty": 50, "sixty": 60, "ninety": 90, "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7,
	"huit": 8, "neuf": 9, "dix": 10, "onze": 11, "douze": 12, "quinze": 15, "vingt": 20, "trente": 30, "quarante": 40,
	"quarante-cinq": 45, "cinquante": 50, "soixante": 60,
}

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "premier": 1, "premiere": 1, "deuxieme": 2,
	"troisieme": 3, "quatrieme": 4,
}

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

var units = map[string]unit{
	"s": second, "sec": second, "secs": second, "second": second, "seconds": second, "seconde": second, "secondes": second,
	"m": minute, "min": minute, "mins": minute, "mn": minute, "minute": minute, "minutes": minute,
	"h": hour, "hr": hour, "hrs": hour, "hour": hour, "hours": hour, "heure": hour, "heures": hour,
	"d": day, "day": day, "days": day, "jour": day, "jours": day, "j": day,
	"w": week, "week": week, "weeks": week, "semaine": week, "semaines": week,
	"month": month, "months": month, "mois": month,
	"year": year, "years": year, "an": year, "ans": year, "annee": year, "annees": year,
}

// period is a part of a day.
type period int

const (
	anyTime period = iota
	morning
	afternoon
	evening
	night
)

var periods = map[string]period{
	"morning": morning, "afternoon": afternoon, "evening": evening, "night": night,
	"matin": morning, "apres-midi": afternoon, "aprem": afternoon, "soir": evening, "nuit": night,
}

var periodPlurals = map[string]period{
	"mornings": morning, "afternoons": afternoon, "evenings": evening, "nights": night,
	"matins": morning, "apres-midis": afternoon, "apres-midi": afternoon, "soirs": evening, "nuits": night,
}

package remind

// The words of times in English, French and German, folded. All languages are read whatever
// the person's, because models write English. Only short names of weekdays, and words such
// as am and alle, are read in the person's language only: they have other meanings in other
// languages. Core/when has the names of months and weekdays.

var numbers = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "forty-five": 45,
	"fifty": 50, "sixty": 60, "ninety": 90, "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7,
	"huit": 8, "neuf": 9, "dix": 10, "onze": 11, "douze": 12, "quinze": 15, "vingt": 20, "trente": 30, "quarante": 40,
	"quarante-cinq": 45, "cinquante": 50, "soixante": 60, "ein": 1, "eine": 1, "einer": 1, "einem": 1, "einen": 1,
	"eins": 1,
	"zwei": 2, "drei": 3, "vier": 4, "funf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11,
	"zwolf": 12, "funfzehn": 15, "zwanzig": 20, "dreißig": 30, "dreissig": 30, "vierzig": 40, "funfundvierzig": 45,
	"funfzig": 50, "sechzig": 60, "neunzig": 90,
}

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "premier": 1, "premiere": 1, "deuxieme": 2,
	"troisieme": 3, "quatrieme": 4, "ersten": 1, "erster": 1, "zweiten": 2, "dritten": 3, "vierten": 4, "funften": 5,
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
	"s": second, "sec": second, "secs": second, "second": second, "seconds": second, "seconde": second,
	"secondes": second,
	"sekunde":  second, "sekunden": second, "sek": second, "minuten": minute, "stunde": hour, "stunden": hour,
	"std": hour,
	"tag": day, "tage": day, "tagen": day, "woche": week, "wochen": week, "monat": month, "monate": month,
	"monaten": month, "jahr": year, "jahre": year, "jahren": year,
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
	"fruh": morning, "morgens": morning, "vormittag": morning, "vormittags": morning, "nachmittag": afternoon,
	"nachmittags": afternoon, "abend": evening, "abends": evening, "nacht": night, "nachts": night,
}

var periodPlurals = map[string]period{
	"mornings": morning, "afternoons": afternoon, "evenings": evening, "nights": night,
	"matins": morning, "apres-midis": afternoon, "apres-midi": afternoon, "soirs": evening, "nuits": night,
}

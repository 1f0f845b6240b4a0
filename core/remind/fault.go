package remind

import (
	"fmt"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/when"
)

// fault is what is wrong with what somebody wants, in plain words of their
// language. It is core.ErrRefused.
type fault string

// Error returns the words.
func (f fault) Error() string { return string(f) }

// Is makes every fault a core.ErrRefused.
func (f fault) Is(target error) bool { return target == core.ErrRefused }

// faults are all faults of one language.
type faults struct {
	nothing, left    string // left: what was not understood
	past, pastDay    string
	far              string
	noDate           string // the date
	often            string // minutes
	odd              string
	cron             string // the expression
	never            string
	noText, longText string // longText: characters, most
	full             string // most
	none             string // the number
	both, neither    string
}

var englishFaults = faults{
	nothing:  "I understand no time in that; write it as tomorrow at 9, in 20 minutes, next Tuesday 14:30 or every Monday at 8",
	left:     "I do not understand %q in the time; write it as tomorrow at 9, in 20 minutes, next Tuesday 14:30 or every Monday at 8",
	past:     "that is past; did you mean tomorrow?",
	pastDay:  "that is past; give a day to come",
	far:      "that is too far away; at most ten years",
	noDate:   "there is no %s",
	often:    "that is too often; a reminder recurs at most every %d minutes",
	odd:      "I cannot repeat that; I can repeat on days of the week (every Monday and Thursday at 8), on a day of the month (on the 1st of every month), every year on a date, and every 15, 20 or 30 minutes or every 1, 2, 3, 4, 6, 8 or 12 hours",
	cron:     "%q is no cron expression of five fields; minute hour day month weekday, such as 0 8 * * 1",
	never:    "that never comes",
	noText:   "it does not say of what to remind; add a few words",
	longText: "the text has %d characters; at most %d fit",
	full:     "there are %d reminders already; cancel one first",
	none:     "there is no active reminder %d",
	both:     "give either when or cron, not both",
	neither:  "give when (such as tomorrow at 9) or cron (such as 0 8 * * 1)",
}

var frenchFaults = faults{
	nothing:  "je n’y comprends aucun moment ; écrivez demain à 9h, dans 20 minutes, mardi prochain 14:30 ou tous les lundis à 8h",
	left:     "je ne comprends pas « %s » dans le moment ; écrivez demain à 9h, dans 20 minutes, mardi prochain 14:30 ou tous les lundis à 8h",
	past:     "c’est passé ; vouliez-vous dire demain ?",
	pastDay:  "c’est passé ; donnez un jour à venir",
	far:      "c’est trop loin ; dix ans au plus",
	noDate:   "il n’y a pas de %s",
	often:    "c’est trop souvent ; un rappel revient au plus toutes les %d minutes",
	odd:      "je ne sais pas répéter cela ; je peux répéter certains jours de la semaine (tous les lundis et jeudis à 8h), un jour du mois (le 1er de chaque mois), chaque année à une date, et toutes les 15, 20 ou 30 minutes ou toutes les 1, 2, 3, 4, 6, 8 ou 12 heures",
	cron:     "« %s » n’est pas une expression cron de cinq champs ; minute heure jour mois jour-de-semaine, comme 0 8 * * 1",
	never:    "cela n’arrive jamais",
	noText:   "il manque ce qu’il faut rappeler ; ajoutez quelques mots",
	longText: "le texte a %d caractères ; %d au plus",
	full:     "il y a déjà %d rappels ; annulez-en un d’abord",
	none:     "il n’y a pas de rappel actif %d",
	both:     "donnez when ou cron, pas les deux",
	neither:  "donnez when (comme demain à 9h) ou cron (comme 0 8 * * 1)",
}

func faultsOf(language string) faults {
	if when.French(language) {
		return frenchFaults
	}
	return englishFaults
}

func faultf(format string, args ...any) error { return fault(fmt.Sprintf(format, args...)) }

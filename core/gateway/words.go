package gateway

import (
	"github.com/everthread/everthread/core/when"
)

// words are what the gateway itself says to people.
type words struct {
	gaveUp                         string
	gaveUpOwner                    string // %s: what the model's server said
	gaveUpSetup                    string
	gaveUpRefused                  string
	membersUnanswered              string // %s: what the model's server said
	budget                         string // %s: when it goes on
	group                          string
	refused                        string
	askCall                        string // %s: the tool
	askTainted, askYes, askNowhere string
	askElsewhere                   string          // %s: where
	decision                       map[bool]string // what a yes or no is stored as

	toldTitle                               string
	toldItem, toldLoop, toldReminder        string // %s: its text
	toldArchived, toldClosed, toldCancelled string // %s: its text
	toldUndo, toldButton                    string // %d: its number
}

// say returns the words of a language: French for fr…, else English.
func say(language string) words {
	if when.French(language) {
		return words{
			gaveUp:            "Je n'arrive pas à joindre le modèle de langage pour le moment. Votre message est gardé : envoyez /retry, ou écrivez simplement à nouveau, et j'y répondrai.",
			gaveUpOwner:       "Le serveur du modèle de langage a refusé : %s\nVotre message est gardé : une fois le réglage corrigé, envoyez /retry. `everthread doctor` vérifie la configuration.",
			gaveUpSetup:       "Je ne peux pas répondre pour le moment. Ce n'est pas de votre faute : un réglage est à corriger ici, et la personne qui s'en occupe est prévenue. Votre message est gardé : envoyez /retry plus tard, ou écrivez simplement à nouveau, et j'y répondrai.",
			gaveUpRefused:     "Le modèle de langage n'a pas accepté cette demande, et attendre n'y changera rien. Votre message est gardé : écrivez-le autrement, ou envoyez /retry.",
			membersUnanswered: "Je ne peux répondre à personne : le serveur du modèle de langage a refusé : %s\nLes messages sont gardés. `everthread doctor` vérifie la configuration.",
			budget:            "Le budget du jour est épuisé. Votre message est gardé et j'y répondrai à partir de %s.",
			group:             "Je ne parle qu'en privé, donc je reste silencieux dans ce groupe. Écrivez-moi directement pour commencer.",
			decision:          map[bool]string{true: "Oui.", false: "Non."},
			askCall:           "**Puis-je ?** Je voudrais utiliser `%s` avec ceci :",
			askTainted:        "Je demande parce que j'ai lu des mots qui ne sont pas de vous : vérifiez que c'est bien ce que vous voulez.",
			askYes:            "Répondez « oui » ou « non ». Sans réponse dans l'heure, je ne le fais pas.",
			askNowhere:        "Il n'y a personne à qui le demander : reliez d'abord une messagerie, ou ouvrez la page web. Ce n'est donc pas fait.",
			askElsewhere:      "La question est posée ici : %s. Une réponse par un programme ne compte pas.",
			toldTitle:         "*J'avais lu des mots qui ne sont pas de vous ; voici ce que j'ai fait :*",
			toldItem:          "Retenu : %s",
			toldLoop:          "Sujet ouvert : %s",
			toldReminder:      "Rappel réglé : %s",
			toldArchived:      "Retiré de la mémoire : %s",
			toldClosed:        "Sujet clos : %s",
			toldCancelled:     "Rappel annulé : %s",
			toldUndo:          "– pour revenir en arrière : `/undo %d`",
			toldButton:        "Annuler %d",
			refused:           "Cela n'existe pas, ou plus. /help montre ce que je sais faire.",
		}
	}
	return words{
		gaveUp:            "I cannot reach the language model right now. Your message is kept: send /retry, or just write again, and I will answer it.",
		gaveUpOwner:       "The language model's server refused: %s\nYour message is kept: once the setting is mended, send /retry. `everthread doctor` checks the configuration.",
		gaveUpSetup:       "I cannot answer right now. It is not your fault: a setting needs mending here, and the person who looks after me has been told. Your message is kept: send /retry later, or just write again, and I will answer it.",
		gaveUpRefused:     "The language model did not accept this request, and waiting will not help. Your message is kept: put it differently, or send /retry.",
		membersUnanswered: "I cannot answer anybody: the language model's server refused: %s\nTheir messages are kept. `everthread doctor` checks the configuration.",
		budget:            "Today's budget is used up. Your message is kept, and I will answer it from %s on.",
		group:             "I only talk in private, so I stay silent in this group. Write to me directly to begin.",
		decision:          map[bool]string{true: "Yes.", false: "No."},
		askCall:           "**May I?** I would like to use `%s` with this:",
		askTainted:        "I ask because I have read words that are not yours: check that this is what you want.",
		askYes:            "Say yes or no. Without an answer within an hour I do not do it.",
		askNowhere:        "There is nobody to ask: connect a chat app first, or open the web page. So it is not done.",
		askElsewhere:      "The question is asked at %s. An answer through a program does not count.",
		toldTitle:         "*I had read words that are not yours; this is what I did:*",
		toldItem:          "Remembered: %s",
		toldLoop:          "Noted as open: %s",
		toldReminder:      "Reminder set: %s",
		toldArchived:      "Taken out of memory: %s",
		toldClosed:        "Closed: %s",
		toldCancelled:     "Reminder cancelled: %s",
		toldUndo:          "– undo with `/undo %d`",
		toldButton:        "Undo %d",
		refused:           "There is no such thing, or not any more. /help shows what I can do.",
	}
}

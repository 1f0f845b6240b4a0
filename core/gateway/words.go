package gateway

import "strings"

// words are what the gateway itself says to people.
type words struct {
	gaveUp  string
	budget  string // %s: when it goes on
	group   string
	refused string
}

// say returns the words of a language: French for fr…, else English.
func say(language string) words {
	if strings.HasPrefix(strings.ToLower(language), "fr") {
		return words{
			gaveUp:  "Je n'arrive pas à joindre le modèle de langage pour le moment. Votre message est gardé : envoyez /retry, ou écrivez simplement à nouveau, et j'y répondrai.",
			budget:  "Le budget du jour est épuisé. Votre message est gardé et j'y répondrai à partir de %s.",
			group:   "Je ne parle qu'en privé, donc je reste silencieux dans ce groupe. Écrivez-moi directement pour commencer.",
			refused: "Cela n'existe pas, ou plus. /help montre ce que je sais faire.",
		}
	}
	return words{
		gaveUp:  "I cannot reach the language model right now. Your message is kept: send /retry, or just write again, and I will answer it.",
		budget:  "Today's budget is used up. Your message is kept, and I will answer it from %s on.",
		group:   "I only talk in private, so I stay silent in this group. Write to me directly to begin.",
		refused: "There is no such thing, or not any more. /help shows what I can do.",
	}
}

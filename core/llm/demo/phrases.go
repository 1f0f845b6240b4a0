package demo

// phrases are all the words of the model's own, in one language.
type phrases struct {
	hello, heard, youSaid, noted, unknown, onlyToday string

	found, foundNothing, searchFailed string
	hitYours, hitMine, hitSummary     string
	hitFile                           string // name, page, text

	nothingSaid, began, ended string
}

var english = phrases{
	hello:     "Hello! I am only the demo model that is built in: I understand nothing, but I can quote what you told me, today or on another day. Tell me something, then ask me about it. For a real model, set llm.provider.",
	heard:     "Demo model: I heard “%s”. Ask me about it later.",
	youSaid:   "Demo model: I can see that you said: “%s”",
	noted:     "Demo model: in the notes of our conversation I can see: “%s”",
	unknown:   "Demo model: nothing that I can see answers this. I can only quote what you told me.",
	onlyToday: "Demo model: I can only see today's messages and the summaries.",

	found:        "Demo model: I searched our conversation and found:",
	foundNothing: "Demo model: I searched our conversation and found nothing about it.",
	searchFailed: "Demo model: the search gave no list of results but: “%s”",
	hitYours:     "- %s, you said: “%s”",
	hitMine:      "- %s, I said: “%s”",
	hitSummary:   "- %s, from the summary: “%s”",
	hitFile:      "- %s, page %d: “%s”",

	nothingSaid: "Nothing was said.",
	began:       "The person began with “%s”.",
	ended:       "Later came “%s”.",
}

var french = phrases{
	hello:     "Bonjour ! Je ne suis que le modèle de démonstration intégré : je ne comprends rien, mais je peux citer ce que vous m'avez dit, aujourd'hui ou un autre jour. Dites-moi quelque chose, puis posez-moi une question à ce sujet. Pour un vrai modèle, réglez llm.provider.",
	heard:     "Modèle de démonstration : j'ai entendu « %s ». Interrogez-moi là-dessus plus tard.",
	youSaid:   "Modèle de démonstration : je vois que vous avez dit : « %s »",
	noted:     "Modèle de démonstration : dans les notes de notre conversation je vois : « %s »",
	unknown:   "Modèle de démonstration : rien de ce que je vois n'y répond. Je ne peux que citer ce que vous m'avez dit.",
	onlyToday: "Modèle de démonstration : je ne vois que les messages d'aujourd'hui et les résumés.",

	found:        "Modèle de démonstration : j'ai cherché dans notre conversation et trouvé :",
	foundNothing: "Modèle de démonstration : j'ai cherché dans notre conversation et je n'ai rien trouvé à ce sujet.",
	searchFailed: "Modèle de démonstration : la recherche n'a pas donné de liste de résultats mais : « %s »",
	hitYours:     "- %s, vous avez dit : « %s »",
	hitMine:      "- %s, j'ai dit : « %s »",
	hitSummary:   "- %s, d'après le résumé : « %s »",
	hitFile:      "- %s, page %d : « %s »",

	nothingSaid: "Rien n'a été dit.",
	began:       "La personne a commencé par « %s ».",
	ended:       "Plus tard est venu « %s ».",
}

var questionWords = []string{
	"what", "what's", "who", "who's", "whom", "whose", "when", "where", "where's", "why", "how", "which", "do", "does",
	"did", "can", "could", "remember", "tell", "que", "quoi", "quel", "quelle", "quels", "quelles", "qui", "quand", "où",
	"pourquoi", "comment", "combien", "est-ce", "qu'est-ce", "rappelle-moi", "dis-moi",
}

package web

// memoryWords are the words of the page of memory.
type memoryWords struct {
	Title, Lead, Themes, AllThemes, Words, Type, AnyType      string
	Archives, Show, Results, Newest, Add, Archive, Restore    string
	Archived, Restored, Same, IsArchived, From, Tags, Foreign string
	None, NoneHint, NoneFound, NoneFoundHint, ShowAll         string
	Waiting, Ready, Failed                                    string
	Vectors, NoVectors                                        string
	VectorsReady, VectorsWaiting, VectorsFailed               string // number
	VectorsFault                                              string // number, reason
	Newer, Older                                              string
}

var memoryEnglish = memoryWords{
	Title: "Memory", Lead: "What the assistant knows about you for good, on every day and in every channel. It reads it when it is needed; nothing of it stands in a prompt unasked.",
	Themes: "Themes", AllThemes: "All themes", Words: "Search memory", Type: "Type", AnyType: "All types", Archives: "Include archived", Show: "Go",
	Results: "Found", Newest: "Newest first", Add: "Remember something", Archive: "Archive", Restore: "Restore",
	Archived: "Archived. The assistant no longer finds it.", Restored: "Restored.", Same: "Memory says the same already, so this stays in the archive.",
	IsArchived: "archived", From: "from this message", Tags: "tags", Foreign: "from words that are not yours",
	None: "Nothing is remembered yet", NoneHint: "Add something above, or choose “Remember this” on a message. The assistant also adds what you ask it to keep.",
	NoneFound: "Nothing here", NoneFoundHint: "Try other words, or another theme or type. What was archived is shown on request.", ShowAll: "Show everything",
	Waiting: "waits for its vector", Ready: "found by meaning", Failed: "no vector could be made; found by words",
	Vectors: "Vectors for search by meaning, of memory and conversation:", NoVectors: "Memory is searched by words. Search by meaning needs an embedding model.",
	VectorsReady: "%s ready", VectorsWaiting: "%s waiting", VectorsFailed: "%s failed", VectorsFault: "No vector for %s: %s.",
	Newer: "Newer", Older: "Older",
}

var memoryFrench = memoryWords{
	Title: "Mémoire", Lead: "Ce que l’assistant sait de vous durablement, chaque jour et dans chaque application. Il le lit quand il le faut ; rien n’en figure dans une requête sans raison.",
	Themes: "Thèmes", AllThemes: "Tous les thèmes", Words: "Chercher dans la mémoire", Type: "Type", AnyType: "Tous les types", Archives: "Avec les archives", Show: "OK",
	Results: "Trouvé", Newest: "Du plus récent au plus ancien", Add: "Retenir quelque chose", Archive: "Archiver", Restore: "Rétablir",
	Archived: "Archivé. L’assistant ne le trouve plus.", Restored: "Rétabli.", Same: "La mémoire dit déjà la même chose : ceci reste dans les archives.",
	IsArchived: "archivé", From: "de ce message", Tags: "étiquettes", Foreign: "d’après des mots qui ne sont pas de vous",
	None: "Rien n’est encore retenu", NoneHint: "Ajoutez quelque chose ci-dessus, ou choisissez « Retenir ceci » sur un message. L’assistant ajoute aussi ce que vous lui demandez de garder.",
	NoneFound: "Rien ici", NoneFoundHint: "Essayez d’autres mots, un autre thème ou un autre type. Les archives se montrent sur demande.", ShowAll: "Tout afficher",
	Waiting: "attend son vecteur", Ready: "trouvé par le sens", Failed: "aucun vecteur n’a pu être fait ; trouvé par les mots",
	Vectors: "Vecteurs pour la recherche par le sens, mémoire et conversation :", NoVectors: "La mémoire se cherche par les mots. La recherche par le sens demande un modèle d’embeddings.",
	VectorsReady: "%s prêts", VectorsWaiting: "%s en attente", VectorsFailed: "%s en échec", VectorsFault: "Sans vecteur, %s : %s.",
	Newer: "Plus récents", Older: "Plus anciens",
}

package web

// adminWords are the words of the owner's page.
type adminWords struct {
	Title, Lead, Requests, RequestsNone, RequestsHint, Asked, Until              string // Asked: how long ago; Until: time
	NewUser, As, CallThem, Approve, Approved, Deny, DenyHint, Denied, CodeGone   string
	Taken, Users, UsersHint, Owner, Paused, NoAddress, Tokens, LinkMake          string
	LinkTitle, LinkLead, LinkMore                                                string // LinkLead: name, minutes
	Channels, Fine, Deliveries, DeliveriesNone, DeliveriesHint, Retry, Resent    string
	Who                                                                          string
	Jobs, JobsHint, Queue, Ready, Running, Waiting, Dead, Oldest, JobsNone       string
	DeadTitle, DeadNone, Attempts, Revived                                       string
	Usage, UsageHint, UsageNone, UsageTable, UsageSum, Others, Prices, Parked    string // UsageSum: number, number
	Check, CheckHint, CheckDo, CheckAgain, CheckRuns, CheckFine, CheckLate, Okay string
	CheckWrong, CheckWrongOne, Problem                                           string // CheckWrong: number
	Audit, AuditLead, AuditNone, AuditOlder, AuditNewest, AuditWhen, AuditWhat   string
	AuditThrough, AuditIdentity                                                  string // AuditIdentity: number
	UsersSearch, UsersNone, UsersBefore, UsersAfter, UsersOf                     string // UsersOf: number, number, number
	Kinds, Queues                                                                map[string]string
}

var adminEnglish = adminWords{
	Title: "Admin", Lead: "For you who run this gateway. What other people say, their summaries and their memory are shown nowhere here.",
	Requests: "Requests", RequestsNone: "Nobody asks to be let in.", RequestsHint: "They wrote to the assistant and were shown this code. What they wrote meanwhile is answered once they are let in.",
	Asked: "asked %s", Until: "valid until %s", NewUser: "somebody new", As: "Who it is", CallThem: "Call them", Approve: "Let in", Approved: "They are let in. What they wrote is answered now.",
	Deny: "Turn down", DenyHint: "What they wrote is dropped. They may ask again.", Denied: "The request is gone.", CodeGone: "Nobody waits with this code any more: it has expired, or was decided elsewhere.",
	Taken: "This address is somebody's already.", Users: "People", UsersHint: "Tokens are those of the last thirty days.", Owner: "owner", Paused: "paused", NoAddress: "no address yet", Tokens: "tokens",
	UsersSearch: "A name or a number", UsersNone: "There is nobody of that name.", UsersBefore: "Before", UsersAfter: "After", UsersOf: "%s to %s of %s",
	LinkMake: "Sign-in link", LinkTitle: "A sign-in link", LinkLead: "It signs %s in to this page, once, within %s minutes. It is shown only now.", LinkMore: "Send it to them alone: whoever opens it reads their conversation.",
	Channels: "Channels", Fine: "fine", Deliveries: "Not delivered", DeliveriesNone: "Everything was delivered.", DeliveriesHint: "What did not reach people, newest first. What it says is not shown.",
	Retry: "Send again", Resent: "It is sent again.", Who: "For",
	Jobs: "Work", JobsHint: "What waits to be done, by queue.", Queue: "Queue", Ready: "ready", Running: "running", Waiting: "waiting", Dead: "gave up", Oldest: "oldest", JobsNone: "Nothing waits.",
	DeadTitle: "Gave up", DeadNone: "Nothing gave up.", Attempts: "tries", Revived: "It is tried again.",
	Usage: "Usage", UsageHint: "Tokens of the last thirty days, by person.", UsageNone: "Nothing was used in the last thirty days.", UsageTable: "By day and person", Others: "others",
	UsageSum: "In all %s read and %s written", Parked: "waiting until they can be reached",
	Prices: "To see what this costs, set llm.prices.",
	Check:  "Configuration", CheckHint: "Tries every service that is configured, as everthread doctor does. That takes up to a minute, and calls the models once.", CheckDo: "Check everything", CheckAgain: "Check again",
	CheckRuns: "A check is under way already. Try again in a moment.", CheckFine: "Everything is in order.", CheckWrong: "%s things want your attention.", CheckWrongOne: "%s thing wants your attention.",
	CheckLate: "The time was up before all was checked; what is missing here answers slowly.", Okay: "ok", Problem: "problem",
	Audit: "What was done", AuditLead: "Every change of an account, every question and its answer, every call of a tool that may change something, newest first. It shows numbers and tools, never what people wrote.",
	AuditNone: "Nothing was done yet.", AuditOlder: "Older", AuditNewest: "Newest", AuditWhen: "When", AuditWhat: "What", AuditThrough: "Through", AuditIdentity: "app #%s",
	Kinds:  map[string]string{"reply": "answer", "notice": "notice", "post": "summary", "reminder": "reminder"},
	Queues: map[string]string{"turn": "Answers", "deliver": "Deliveries", "fetch": "Attachments", "summarize": "Summaries", "embed": "Vectors"},
}

var adminFrench = adminWords{
	Title: "Gestion", Lead: "Pour vous qui gérez cette passerelle. Ce que disent les autres, leurs résumés et leur mémoire ne s’affichent nulle part ici.",
	Requests: "Demandes", RequestsNone: "Personne ne demande à entrer.", RequestsHint: "Ces personnes ont écrit à l’assistant et ont reçu ce code. Ce qu’elles ont écrit entre-temps reçoit une réponse dès qu’elles entrent.",
	Asked: "demandé %s", Until: "valable jusqu’à %s", NewUser: "quelqu’un de nouveau", As: "Qui est-ce", CallThem: "L’appeler", Approve: "Laisser entrer", Approved: "C’est fait. Ce qui avait été écrit reçoit sa réponse.",
	Deny: "Refuser", DenyHint: "Ce qui avait été écrit est abandonné. Une nouvelle demande reste possible.", Denied: "La demande est écartée.", CodeGone: "Plus personne n’attend avec ce code : il a expiré, ou la décision a été prise ailleurs.",
	Taken: "Cette adresse est déjà à quelqu’un.", Users: "Personnes", UsersHint: "Les jetons sont ceux des trente derniers jours.", Owner: "propriétaire", Paused: "en pause", NoAddress: "pas encore d’adresse", Tokens: "jetons",
	UsersSearch: "Un nom ou un numéro", UsersNone: "Personne ne porte ce nom.", UsersBefore: "Avant", UsersAfter: "Après", UsersOf: "%s à %s sur %s",
	LinkMake: "Lien de connexion", LinkTitle: "Un lien de connexion", LinkLead: "Il connecte %s à cette page, une fois, dans les %s minutes. Il ne s’affiche que maintenant.", LinkMore: "Envoyez-le à cette seule personne : qui l’ouvre lit sa conversation.",
	Channels: "Applications", Fine: "en ordre", Deliveries: "Non remis", DeliveriesNone: "Tout a été remis.", DeliveriesHint: "Ce qui n’est pas arrivé, du plus récent au plus ancien. Le contenu n’est pas montré.",
	Retry: "Renvoyer", Resent: "C’est renvoyé.", Who: "Pour",
	Jobs: "Travaux", JobsHint: "Ce qui attend d’être fait, par file.", Queue: "File", Ready: "prêts", Running: "en cours", Waiting: "en attente", Dead: "abandonnés", Oldest: "le plus ancien", JobsNone: "Rien n’attend.",
	DeadTitle: "Abandonnés", DeadNone: "Rien n’a été abandonné.", Attempts: "essais", Revived: "Nouvel essai en cours.",
	Usage: "Consommation", UsageHint: "Les jetons des trente derniers jours, par personne.", UsageNone: "Rien n’a été consommé ces trente derniers jours.", UsageTable: "Par jour et par personne", Others: "autres",
	UsageSum: "En tout %s lus et %s écrits", Parked: "attend que la personne soit joignable",
	Prices: "Pour voir ce que cela coûte, réglez llm.prices.",
	Check:  "Configuration", CheckHint: "Essaie chaque service réglé, comme everthread doctor. Cela prend jusqu’à une minute, et appelle une fois les modèles.", CheckDo: "Tout vérifier", CheckAgain: "Vérifier encore",
	CheckRuns: "Une vérification est déjà en cours. Réessayez dans un instant.", CheckFine: "Tout est en ordre.", CheckWrong: "%s choses demandent votre attention.", CheckWrongOne: "%s chose demande votre attention.",
	CheckLate: "Le temps a manqué pour tout vérifier ; ce qui manque ici répond lentement.", Okay: "ok", Problem: "problème",
	Audit: "Ce qui a été fait", AuditLead: "Chaque modification d’un compte, chaque question et sa réponse, chaque appel d’un outil qui peut changer quelque chose, du plus récent au plus ancien. On y voit des numéros et des outils, jamais ce que les gens ont écrit.",
	AuditNone: "Rien n’a encore été fait.", AuditOlder: "Plus ancien", AuditNewest: "Le plus récent", AuditWhen: "Quand", AuditWhat: "Quoi", AuditThrough: "Par", AuditIdentity: "application n° %s",
	Kinds:  map[string]string{"reply": "réponse", "notice": "avis", "post": "résumé", "reminder": "rappel"},
	Queues: map[string]string{"turn": "Réponses", "deliver": "Envois", "fetch": "Pièces jointes", "summarize": "Résumés", "embed": "Vecteurs"},
}

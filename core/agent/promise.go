package agent

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// promiseNudge is the message to a model that promised something without a tool.
const promiseNudge = "[You told the person that you will come back to this later, but nothing will make you: between messages you do nothing, " +
	"and no reminder was set and no loop opened for it. The person has not seen your answer yet. If reminder_set fits, call it now, " +
	"or loops_open if no time is known; then write your whole answer again. If no tool fits, write your whole answer again without the promise " +
	"and say what the person can do instead. Do not mention this note.]"

// Promise finds promises in an answer, in English, French or German: to remind, to follow up, to get back to the
// person, to check later; and the claim that a reminder was set. If there is one and no tool of used keeps it
// (reminder_set, task_set, loops_open), it returns the nudge for Request.Guard, else nothing. Offers, conditions,
// questions, quotations and reports of earlier actions are not promises.
func Promise(answer string, used []string) string {
	if slices.ContainsFunc(used, func(name string) bool {
		return name == "reminder_set" || name == "loops_open" || name == "task_set"
	}) {
		return ""
	}
	listed := slices.ContainsFunc(used, func(name string) bool { return strings.HasPrefix(name, "reminder_") })
	for _, s := range sentences(answer) {
		if promises(s) || !listed && claims(s) {
			return promiseNudge
		}
	}
	return ""
}

// sentence is one sentence, in lower case and without accents.
type sentence struct {
	text     string
	question bool
}

var (
	quoted = text.Pattern("(?s)```.*?(```|$)|`[^`\n]*`" + `|"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|(?m:^\s*>.*$)`)
	ends   = text.Pattern(`[.!?…]+[)*_]*(?:\s+|$)|[\n;]+|\s+[?!]\s*`)
	plainF = strings.NewReplacer("’", "'", "ʼ", "'", "‘", "'", "*", "", "_", "", "\u00a0", " ", "\u202f", " ", "é", "e",
		"è", "e", "ê", "e", "ë", "e", "à", "a", "â", "a", "ç", "c", "î", "i", "ï", "i", "ô", "o", "û", "u",
		"ù", "u", "œ", "oe")
)

// sentences splits an answer, without its quotations.
func sentences(answer string) []sentence {
	if strings.ContainsAny(answer, "`\"“«„>") {
		answer = quoted().ReplaceAllString(answer, " ")
	}
	text := plainF.Replace(strings.ToLower(answer))
	var out []sentence
	for len(text) > 0 {
		end := ends().FindStringIndex(text)
		if end == nil {
			end = []int{len(text), len(text)}
		}
		if s := strings.TrimSpace(text[:end[0]]); s != "" {
			out = append(out, sentence{text: s, question: strings.Contains(text[end[0]:end[1]], "?")})
		}
		text = text[end[1]:]
	}
	return out
}

// Parts of English, French and German promises.
const (
	when = `(?:later|tomorrow|tonight|soon|this (?:afternoon|evening|week|weekend|month)|next (?:week|month|year|time|morning|\w+day)|` +
		`(?:on |by |every )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?|in (?:an?|\d+|two|three|five|ten|a few|a couple of|some) (?:\w+ )?(?:minutes?|hours?|days?|weeks?|months?|bit|while)|` +
		`in the (?:morning|afternoon|evening)|at (?:\d|noon|midnight)|every (?:day|morning|evening|week|hour)|as soon as)`
	quand = `(?:demain|ce soir|cet apres-midi|ce week-end|cette semaine|(?:lun|mar|mercre|jeu|vendre|same)di|dimanche|plus tard|tout a l'heure|bientot|` +
		`prochaine?s?|dans (?:une?|\d+|deux|trois|cinq|dix|quelques|la) ?|des que|lorsque|quand |une fois |apres |avant |a \d|a midi|chaque |tous les |toutes les |matin|le \d|d'ici )`

	will = `\b(?:(?:i|we)(?:'ll| will| shall|'m going to| am going to|'re going to| are going to|'m gonna)|(?:i|we) promise (?:to|i'll|i will|we'll)|` +
		`(?:you can )?count on me to|(?:i|we) (?:won't|will not) forget to|^(?:(?:ok|okay|sure|yes|great|noted|done|absolutely|perfect|got it|of course|no problem)[,:—–-]* ?)*(?:will|gonna))` +
		`(?: (?:also|then|definitely|certainly|gladly|happily|of course|personally|just|simply|always|surely|be sure to|make sure to|be happy to|try to|remember to|come back and|be there to|be the one to|not forget to|never forget to))*(?: [\w' ]{1,40} and)?`
	futureJe = `\b(?:je|on|nous) (?:(?:te|vous|t'|vous l'|te l'|le|la|les|l'|lui|leur|en|y) ?)*`
	vais     = `\b(?:(?:(?:je|on|nous) |j' ?)(?:vais|vas|va|allons|m'engage a|promets de|tacherai de|veillerai a|penserai a|essaierai de|n'oublierai pas de|ne manquerai pas de)|compte[rz]? sur moi pour|(?:je|nous) (?:te|vous) promets?(?:ons)? de)(?: (?:aussi|donc|bien sur|certainement|egalement|bien))* (?:(?:te|vous|t'|le|la|les|l'|lui|leur|en|y|de|d'|pas|ne) ?)*`
	rappel   = `(?:un|une|le|ton|votre|ce) (?:petit |petite )?(?:rappel|alarme|alerte|notification)`

	wann = `(?:^|[ ,])(?:(?:über)?morgen|heute (?:abend|nachmittag|nacht)|später|bald|nächste[nrsm]? |am (?:\d|mon|diens|mitt|donners|frei|sams|sonn|wochen|abend|nachmittag)|` +
		`in (?:eine[rm]|zwei|drei|fünf|zehn|\d+|ein paar|einigen|wenigen) |um \d|gegen \d|jede[nrs]? |sobald |wenn |dann$)`
	dich       = `(?:dich|euch|sie|ihnen|dir)`
	gesetzt    = `(?:gesetzt|gestellt|eingerichtet|angelegt|erstellt|geplant|eingetragen|vorgemerkt)`
	erinnerung = `(?:erinnerung|wecker|alarm|benachrichtigung)`
)

// ich returns the pattern of a German verb with its subject before or after it.
func ich(verbs string) string {
	return `(?:\b(?:ich|wir) (?:` + verbs + `)|\b(?:` + verbs + `) (?:ich|wir))\b`
}

var (
	englishPromise = text.Pattern(will +
		` (?:remind (?:you|us)|be reminding you|(?:set|schedule|create|add|put|make|place)(?: up)?(?: you)?(?: (?:a|the|your|an|that|this))? ?(?:\w+ )?(?:reminder|alarm)|` +
		`(?:ping|nudge|alert|notify|warn|text|message|wake|update) you|follow(?:-| )up|be following up|circle back|(?:get|come|be|report) back (?:to|with) you|get in touch|reach out|touch base|` +
		`check (?:back|in)\b|keep you (?:posted|updated|informed|in the loop)|let you know|give you (?:a (?:heads-up|nudge|shout|ping|reminder)|an update)|` +
		`send you (?:a|an|another|the|your|one) ?(?:\w+ )?(?:reminder|nudge|ping|notification|heads-up|alert|update)|keep an eye (?:on|out)|keep (?:track|tabs|watch)|stay on top|make sure (?:that )?you (?:don't|do not|won't) (?:forget|miss)|see to it that you)`)
	englishLater = text.Pattern(will +
		` (?:look|check|ask|try|verify|confirm|review|revisit|return|send|call|test|monitor|watch|search|email|do|handle|finish|bring|come back|get back|raise|report|tell|write|prepare|pick)\b.*\b` + when)
	englishGet = text.Pattern(
		`\b(?:you'll|you will|you're going to|expect to) (?:get|receive|hear|be (?:notified|reminded|alerted))(?: (?:a|an|the|my|your))? ?(?:\w+ )?(?:reminders?|notifications?|ping|nudge|alert|from me|back from me|by me|message from me)|\bexpect (?:a|my) (?:\w+ )?(?:reminder|nudge|ping|message)`)

	frenchPromise = text.Pattern(futureJe +
		`(?:rappel(?:l)?(?:erai|erons|era)|recontacter(?:ai|ons)|relancer(?:ai|ons)|previendr(?:ai|ons)|avertir(?:ai|ons)|notifier(?:ai|ons)|alerter(?:ai|ons)|informer(?:ai|ons)|` +
		`tiens (?:au courant|informe)|tiendr(?:ai|ons) (?:au courant|informe|au jus)|fer(?:ai|ons|a) (?:signe|un (?:suivi|point|rappel)|un petit (?:point|rappel|signe))|reviens vers (?:toi|vous)|reviendr(?:ai|ons) vers (?:toi|vous)|` +
		`enverr(?:ai|ons) ` + rappel +
		`|(?:mets|note|programme|planifie|cree|regle|place|ajoute|mettrai|noterai|programmerai|planifierai|creerai) ` +
		rappel + `)`)
	frenchSoon = text.Pattern(vais +
		`(?:rappeler|relancer|recontacter|prevenir|avertir|notifier|alerter|tenir (?:au courant|informe)|faire (?:signe|un (?:suivi|point|rappel))|revenir vers (?:toi|vous)|(?:mettre|programmer|planifier|creer|envoyer|noter|regler|ajouter) ` + rappel + `)`)
	frenchLater = text.Pattern(futureJe +
		`(?:rappelle|previens|relance|recontacte|redis|dis|fais signe|reecris|ecris|reverifie|verifie|regarde|(?:re)?verifierai|(?:re)?garderai|regarderai|dirai|redirai|ecrirai|reecrirai|enverrai|renverrai|demanderai|poserai|confirmerai|suivrai|surveillerai|m'en occuperai|reparlerai)\b.*\b` + quand +
		`|` + vais +
		`(?:verifier|regarder|demander|dire|redire|ecrire|envoyer|confirmer|suivre|surveiller|m'en occuper|reparler)\b.*\b` +
		quand)
	frenchGet = text.Pattern(
		`\b(?:tu recevras|vous recevrez|tu auras|vous aurez|tu vas recevoir|vous allez recevoir) (?:bien )?(?:` + rappel +
			`|mon rappel|un message de ma part|de mes nouvelles)`)

	germanPromise = text.Pattern(ich(`erinnere|erinner|erinnern|benachrichtige|benachrichtigen|alarmiere|wecke`) + ` ` + dich + `\b|` +
		ich(`melde|melden`) + ` (?:mich|uns) (?:.*)?\b(?:bei ` + dich + `|wieder|zurück|dazu|darauf)\b|` +
		ich(`sage|sag|gebe|geb|geben|sagen`) + ` ` + dich + ` (?:.* )?bescheid\b|` +
		ich(`halte|halten`) + ` ` + dich + ` (?:.* )?auf dem laufenden\b|` +
		ich(`behalte|behalten`) + ` .*\bim (?:auge|blick)\b|` +
		ich(`stelle|setze|lege|richte|plane|erstelle|trage|mache|schicke|sende`) + ` (?:\S+ ){0,4}` + erinnerung + `\b|` +
		ich(`vergesse nicht|denke daran|denk daran`) + `, ` + dich + ` .*\berinnern\b`)
	germanWill = text.Pattern(ich(`werde|werden|verspreche`) + `,? (?:.* )?(?:` + dich + ` (?:.* )?(?:zu )?(?:erinnern|benachrichtigen|wecken|bescheid (?:zu )?(?:geben|sagen)|` +
		`auf dem laufenden (?:zu )?halten|informieren)|mich (?:.* )?(?:zu )?melden|` + erinnerung +
		` (?:.* )?(?:stellen|setzen|anlegen|einrichten|erstellen|schicken|senden))\b`)
	germanLater = text.Pattern(ich(`schaue|schau|sehe|frage|frag|prüfe|schreibe|schicke|sende|sage|erzähle|kümmere|komme|rufe|`+
		`suche|teste|erledige|berichte|hake|melde|informiere`) + `\b.*` + wann + `|` + ich(`werde|werden`) + `\b.*` + wann +
		`.*\b(?:nachsehen|nachschauen|nachfragen|prüfen|schreiben|schicken|zurückkommen|kümmern|berichten)\b`)
	germanSoon = text.Pattern(wann + `.*\b(?:schaue|sehe|frage|prüfe|schreibe|schicke|sende|sage|erzähle|kümmere|komme|rufe|teste|erledige|` +
		`berichte|hake|melde|informiere) ich\b`)
	germanGet = text.Pattern(`\b(?:(?:du|ihr|sie) (?:bekommst|bekommt|bekommen|erhältst|erhaltet|erhalten|kriegst|hörst|hört|hören)|` +
		`(?:bekommst|erhältst|kriegst|hörst) du|bekommen sie|erhalten sie|hören sie)\b.*\b(?:` + erinnerung + `|von mir)\b`)

	// claimed matches the claim that a reminder was set.
	claimed = text.Pattern(
		`\b(?:i've|i have|i|we've) (?:just |now )?(?:set|scheduled|created|added|put)(?: up)?(?: you)?(?: (?:a|the|your|an|that))? (?:\w+ )?(?:reminder|alarm)\b|` +
			`\b(?:your |the |a )?reminder(?: is| has been|'s)?(?: now)? (?:set|scheduled|created|added) (?:for|to)\b|^(?:\w+,? )?(?:your |the )?reminder(?: is| has been|'s)?(?: now)? (?:set|scheduled|created|added)\b|` +
			`\bj'ai (?:bien )?(?:mis|programme|cree|note|regle|planifie|ajoute|place) (?:en place )?` + rappel +
			`|(?:^|[,:] |\bton |\bvotre |\ble |\bun )rappel (?:est |a ete )?(?:bien )?(?:programme|cree|enregistre|note|planifie|mis en place|active)\b|` +
			`\b(?:ich habe|ich hab|habe ich) (?:\S+ ){0,6}` + erinnerung + `\b.*\b` + gesetzt + `\b|` +
			`\b` + erinnerung + ` (?:ist |wurde )?(?:\S+ ){0,4}` + gesetzt + `\b`)
	notNew = text.Pattern(
		`\b(?:already|deja|earlier|yesterday|hier|previously|last (?:week|time|month)|the other day|no|not|any|if|when|once|have one|si|aucun|pas|there(?:'s| is)|il y a|` +
			`bereits|schon|gestern|vorhin|keine?n?|nicht|wenn|falls|es gibt|hast|hattest|kannst)\b`)
)

// Conditions that the person must fulfil first, or may choose.
var (
	before = text.Pattern(
		`\b(?:(?:if|when|once|whenever|as soon as|in case) (?:you|it|that|this)|should you|(?:tell|give|send|ask|ping|message|text|remind) me|let me know|just say|say (?:the word|yes|so)|(?:if|when) (?:needed|necessary)|you (?:can|could) (?:write|say|answer)|would you like|do you want|want me|` +
			`si (?:tu|vous|besoin|ca|cela|c'est|necessaire)|s'il|dis-moi|dites-moi|donne-moi|donnez-moi|envoie-moi|envoyez-moi|quand (?:tu|vous)|des que (?:tu|vous)|une fois que (?:tu|vous)|il suffit|` +
			`wenn (?:du|ihr|sie|nötig|gewünscht)|falls|sobald (?:du|ihr|sie)|sage? (?:mir|einfach)|sagen sie mir|(?:gib|nenne?|schicke?|schreibe?|frage?) mi(?:r|ch)|soll(?:en)? (?:ich|wir)|(?:möchten|wollen) sie|(?:möchtest|willst) du|bei bedarf|auf wunsch|` +
			`(?:voulez|veux|souhaites|souhaitez|preferes|preferez|aimerais|aimeriez)-(?:tu|vous)|(?:tu|vous) (?:veux|voulez|souhaites|souhaitez) que)\b`)
	after = text.Pattern(
		`\b(?:(?:if|when|once|whenever|as soon as) (?:you(?:'d)?(?: would)?(?: \w+)? (?:want|like|wish|prefer|tell|ask|need|say|give|let|send|share|provide|confirm)|needed|necessary)|on request|` +
			`(?:si|quand|des que|une fois que) (?:tu|vous)(?: (?:me|m'|le|la|l'))* ?(?:veux|voulez|souhaites?|souhaitez|preferes?|preferez|demandes?|demandez|dis|dites|donnes?|donnez|envoies?|envoyez|as donne|avez donne)|si besoin|si necessaire|sur demande|a la demande|` +
			`(?:wenn|sobald) (?:du|ihr|sie)\b.* (?:willst|möchtest|magst|sagst|schreibst|brauchst|wünschst|wollt|wollen|möchten|gibst|bestätigst)|falls (?:du|ihr|sie|nötig|gewünscht)|sofern|wenn (?:nötig|gewünscht)|bei bedarf|auf wunsch|nicht (?:mehr|noch einmal|wieder))\b`)
	// tag matches the question after a promise: "I'll remind you, ok?"
	tag = text.Pattern(
		`, ?(?:ok(?:ay)?|alright|all right|deal|good|right|sounds good|d'accord|ca (?:te|vous) va|ca marche|entendu|in ordnung|einverstanden|ja|passt das|gut so) ?$`)
	// thatIsNow matches a sentence that itself reminds of something.
	thatIsNow = text.Pattern(`^.*?(?:remind you|rappell?e(?:rai|rons|r)?) (?:that|que|qu') ?(\w*)|^.*?erinnere? (?:ich )?` + dich + `(?: \S+){0,2} ?daran,? dass\b`)
	dayWords  = text.Pattern(`^(?:day|evening|morning|night|afternoon|week|time)$`)
)

// promises reports whether a sentence promises something for later.
func promises(s sentence) bool {
	if s.question && !tag().MatchString(s.text) {
		return false
	}
	for _, l := range languages {
		if !l.speaks(s.text) {
			continue
		}
		for _, p := range l.patterns {
			for _, at := range p().FindAllStringIndex(s.text, -1) {
				if !conditional(s.text, at) && !reminding(s.text, at) {
					return true
				}
			}
		}
	}
	return false
}

// language holds the patterns of promises. Every match of a pattern contains one of its
// marks. Most sentences have none, and searching for them takes a tenth of the time.
type language struct {
	marks    []string
	patterns []func() *regexp.Regexp
}

var languages = []language{
	{[]string{"'ll", "will", "shall", "going to", "gonna", "promise", "count on", "won't", "expect"},
		[]func() *regexp.Regexp{englishPromise, englishLater, englishGet}},
	{[]string{"je", "j'", "on ", "nous", "tu ", "vous", "compte"},
		[]func() *regexp.Regexp{frenchPromise, frenchSoon, frenchLater, frenchGet}},
	{[]string{"ich", "wir", "du", "ihr", "sie"},
		[]func() *regexp.Regexp{germanPromise, germanWill, germanLater, germanSoon, germanGet}},
}

// speaks reports whether a sentence contains a mark.
func (l language) speaks(sentence string) bool {
	return slices.ContainsFunc(l.marks, func(mark string) bool { return strings.Contains(sentence, mark) })
}

// conditional reports whether the promise at a place depends on the person.
func conditional(text string, at []int) bool {
	return before().MatchString(text[:at[0]]) || after().MatchString(text[at[0]:])
}

// reminding reports whether the sentence reminds of something itself: "I will remind you that the office is closed".
func reminding(text string, at []int) bool {
	m := thatIsNow().FindStringSubmatch(text[at[0]:])
	return m != nil && !dayWords().MatchString(m[1])
}

// reminders are words of which every match of claimed contains one.
var reminders = []string{"reminder", "alarm", "rappel", "alerte", "notification", "erinnerung", "wecker",
	"benachrichtigung"}

// claims reports whether a sentence says that a reminder was set just now.
func claims(s sentence) bool {
	if s.question || !slices.ContainsFunc(reminders, func(w string) bool { return strings.Contains(s.text, w) }) {
		return false
	}
	return claimed().MatchString(s.text) && !notNew().MatchString(s.text)
}

// reconsider gives the model one more chance with tools if Guard objects to the answer. The
// first answer stays if the model fails. Errors are those of the context and the journal.
func (r *run) reconsider(ctx context.Context, first answer) (answer, error) {
	if r.Guard == nil || first.text == "" {
		return first, nil
	}
	nudge := r.Guard(first.text, r.used)
	if nudge == "" {
		return first, nil
	}
	if ok, err := r.affordable(ctx, r.specs); err != nil || !ok {
		return first, err
	}
	r.note(core.RoleAssistant, first.text)
	r.note(core.RoleUser, nudge)
	second, err := r.converse(ctx, max(1, r.MaxSteps-(r.step-r.firstStep)))
	if err == nil && second.finish != core.FinishRefused && second.finish != core.FinishCut {
		return second, nil
	}
	if r.OnText != nil {
		r.OnText(first.text)
	}
	var m *core.ModelError
	if ctx.Err() == nil && errors.As(err, &m) {
		err = nil
	}
	return first, err
}

package agent

import (
	"strings"
	"testing"
)

// promised lists sentences that promise an action.
const promised = `
I'll remind you tomorrow.
I will remind you to call your mother on Sunday at 10.
I’ll remind you that evening.
Sure! I'll remind you at 9 am.
I'm going to remind you before the meeting.
I'll be sure to remind you about the rent.
I'll set a reminder for Friday.
I'll set you a quick reminder for noon.
I will follow up next week.
I'll follow up with you on Monday.
I'll get back to you on this.
I will get back to you tomorrow with an answer.
I'll check back in an hour.
I'll check in with you tonight.
I will let you know on Monday.
I'll let you know as soon as it ships.
I'll keep you posted.
I'll keep an eye on the price.
I'll ping you at 5.
I'll look into it tomorrow and tell you what I find.
I'll check the weather again tomorrow morning.
I'll ask you about it next week.
We'll circle back to this on Thursday.
Noted. Will remind you tomorrow!
You'll get a reminder from me at 8.
You'll hear from me on Friday.
I promise to remind you.
Count on me to remind you on Tuesday.
I won't forget to remind you.
I'll also notify you when the tickets go on sale.
**I'll remind you** in two hours.
Great idea — I'll nudge you on Wednesday.
I'll remind you tomorrow, ok?
I've set a reminder for tomorrow at 9.
Done: reminder set for Friday.
Your reminder is set for 8 pm.
I'll send you a reminder the day before.
I'll give you a heads-up before it starts.
I'll make sure you don't forget.
I'll text you in the morning.
Je te le rappellerai demain.
Je vous rappellerai de prendre vos médicaments.
Je te rappelle ça demain matin.
Je reviens vers toi lundi.
Je reviendrai vers vous dès que possible.
Je te tiens au courant.
Je vous tiendrai informé.
Je te ferai signe demain.
Je vais te le rappeler ce soir.
Je vais vous recontacter la semaine prochaine.
Je vais mettre un rappel pour vendredi.
Je mets un rappel pour demain.
J'ai programmé un rappel pour 9 h.
C'est noté, rappel programmé pour demain.
Je te préviendrai dès que le colis arrive.
Je te préviens dès que c'est prêt.
Je vérifierai demain et je te dirai.
Compte sur moi pour te le rappeler !
Je n'oublierai pas de te le rappeler.
Tu recevras un rappel demain à 8 h.
Je t’enverrai un rappel la veille.
Je te relancerai jeudi.
On fera un point vendredi.
Je te le rappellerai demain, d'accord ?
I'll make a note and remind you when the time comes.
Got it. I will check on this again next Monday.
Perfect! I'll reach out to you tomorrow morning to see how it went.
Sounds good, I'll be reminding you each morning.
We will follow up on your ticket.
Okay, I'll bring this up again on Friday.
I will remind you tomorrow. Let me know if 9 am is too early.
I'll remind you tomorrow unless you tell me otherwise.
Je te renverrai un message demain.
Je vous recontacterai sous 48 h.
Pas de souci, je te le rappellerai.
Je m'en occuperai demain.
Je vous redirai cela lundi.
Je penserai à te le rappeler.
Ich erinnere dich morgen daran.
Morgen früh erinnere ich dich daran.
Ich werde dich am Freitag daran erinnern.
Alles klar, ich erinnere Sie um 9 Uhr.
Ich melde mich morgen wieder.
Ich melde mich bei dir, sobald es etwas Neues gibt.
Ich sage dir rechtzeitig Bescheid.
Ich gebe dir am Montag Bescheid.
Dann gebe ich Ihnen Bescheid.
Ich halte dich auf dem Laufenden.
Ich behalte den Preis im Auge.
Ich stelle dir eine Erinnerung für 8 Uhr.
Ich setze eine kurze Erinnerung für Freitag.
Ich schaue morgen noch einmal nach.
Ich frage dich nächste Woche danach.
Nächste Woche frage ich nach.
Ich kümmere mich übermorgen darum.
Ich werde morgen noch einmal nachschauen.
In zwei Stunden schaue ich nach.
Ich benachrichtige dich, wenn das Paket da ist.
Ich vergesse nicht, dich daran zu erinnern.
Ich verspreche, dich daran zu erinnern.
Du bekommst um 8 Uhr eine Erinnerung.
Du hörst am Freitag von mir.
Ich habe dir eine Erinnerung für morgen gestellt.
Erledigt: Die Erinnerung ist eingerichtet.
Ich erinnere dich morgen, ok?
Wir melden uns nächste Woche bei Ihnen.
`

// harmless lists sentences that promise nothing.
const harmless = `
Remind me what you said about the garden.
I reminded you yesterday.
I have already reminded you twice.
You could set a reminder on your phone.
Do you want me to remind you?
Shall I remind you tomorrow?
Should I follow up on that?
Would you like me to check back next week?
If you want, I'll remind you tomorrow.
I'll remind you tomorrow if you like.
Tell me when, and I'll remind you.
Just say the word and I'll set a reminder.
Once you give me the date, I'll set a reminder.
I can remind you tomorrow.
I could remind you, but you know it anyway.
I can't remind you by myself.
I won't remind you again.
I will not follow up on this.
I'll remind you that the office is closed on Mondays.
Let me remind you that it is Tuesday.
This will remind you of your childhood.
The song reminds me of you.
Your calendar will remind you.
Your doctor will follow up with you.
She will let you know on Monday.
He said "I'll remind you tomorrow" and forgot.
> I'll remind you tomorrow.
` + "`I'll remind you tomorrow`" + ` is a sentence in the future tense.
“I’ll get back to you” is what they always say.
I'll explain it step by step.
I'll check the list: milk, bread, eggs.
I'll keep it short.
I'll keep that in mind.
I'll be happy to help.
I'll be here when it is over.
You already have a reminder set for Friday.
I've already set a reminder for that.
There is no reminder set for tomorrow.
You will need to follow up with the bank next week.
Ask them to get back to you by Friday.
They will get back to you tomorrow.
You should let them know on Monday.
Let me know on Monday how it went.
See you tomorrow!
Good luck with the exam tomorrow.
Tomorrow it will rain.
Set a reminder with /remind tomorrow 9:00.
Here is what I'll cover: history, prices, tips.
I'll tell you a story.
We talked about this yesterday, and I followed up.
Je vous rappelle que le magasin est fermé.
Je te rappelle que tu as un rendez-vous demain.
Je t'ai rappelé ce rendez-vous hier.
Veux-tu que je te le rappelle demain ?
Voulez-vous que je vous prévienne lundi ?
Si tu veux, je te le rappellerai demain.
Je te le rappellerai demain si tu veux.
Dis-moi quand et je te le rappellerai.
Je peux te le rappeler demain.
Je pourrais vous relancer la semaine prochaine.
Je ne te le rappellerai pas.
Rappelle-moi ce que tu as dit.
Rappelle-toi de fermer la porte demain.
Tu peux programmer un rappel sur ton téléphone.
Il te rappellera demain.
Elle reviendra vers toi lundi.
Il faut les relancer demain.
Cela te rappellera ton enfance.
Demain, il fera beau.
Je vais t'expliquer pas à pas.
Je te dis ça simplement.
Bonne chance pour demain !
« Je te le rappellerai demain », disait-il.
Il n'y a aucun rappel programmé.
I'll send you the recipe below.
Just text me and I'll check it when you do.
I'll try again: the answer is 5.
I'll do that once you confirm.
After the meeting you will get back to work.
The package will arrive on Monday; the carrier will notify you.
If it rains tomorrow, I'd take an umbrella.
You will follow up on Monday, as you told me.
You told me that you will follow up with Ben tomorrow.
Then Ben and you will check in tomorrow at 9.
Your boss said he will get back to you.
And will follow up with Ben.
Your plan: call Ben, and will check back on Friday.
Je te dis la vérité.
On se revoit demain ?
Tu m'as dit que tu reviendrais vers moi lundi.
Le médecin vous rappellera demain.
I'll tell you what happens when water boils.
Ich erinnere dich daran, dass das Büro montags geschlossen ist.
Ich habe dich gestern schon erinnert.
Soll ich dich morgen daran erinnern?
Wenn du willst, erinnere ich dich morgen.
Ich erinnere dich morgen, wenn du möchtest.
Sag mir, wann, und ich erinnere dich.
Ich kann dich morgen daran erinnern.
Ich könnte dich erinnern, aber du weißt es ja.
Ich erinnere dich nicht noch einmal.
Ich erinnere mich an diesen Tag.
Das erinnert mich an deine Kindheit.
Dein Arzt meldet sich morgen bei dir.
Sie sagte: „Ich erinnere dich morgen.“
Du hast bereits eine Erinnerung für Freitag.
Es gibt keine Erinnerung für morgen.
Du kannst eine Erinnerung auf dem Handy stellen.
Sag mir am Montag Bescheid.
Bis morgen!
Morgen wird es regnen.
Ich erkläre es dir Schritt für Schritt.
Ich schreibe dir hier das Rezept.
Ich sehe, dass du müde bist.
Ich komme aus dem Süden.
Ich werde den Text um 3 Absätze kürzen.
Setze eine Erinnerung mit /remind morgen 9.
Der Kurier benachrichtigt dich am Montag.
Ich suche dir die Stelle heraus: Sie steht im dritten Absatz.
I'll write the summary after the list.
I'll ask you three questions, one after another.
I will look at this when we get to part two.
`

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func TestPromise_isFound(t *testing.T) {
	t.Parallel()
	for _, s := range lines(promised) {
		if Promise(s, nil) == "" {
			t.Errorf("not found: %s", s)
		}
		if Promise("Here are the facts. It is late.\n\n- one\n- two\n\n"+s+" Anything else?", []string{"time_now"}) == "" {
			t.Errorf("not found in an answer: %s", s)
		}
		for _, tool := range []string{"reminder_set", "loops_open"} {
			if Promise(s, []string{"time_now", tool}) != "" {
				t.Errorf("objects although %s was used: %s", tool, s)
			}
		}
	}
}

func TestPromise_harmlessIsNone(t *testing.T) {
	t.Parallel()
	for _, s := range lines(harmless) {
		if Promise(s, nil) != "" {
			t.Errorf("mistaken for a promise: %s", s)
		}
	}
	if all := strings.Join(lines(harmless), "\n"); Promise(all, nil) != "" {
		t.Error("mistaken for a promise as one text")
	}
}

func TestPromise_lookedUpReminderIsNone(t *testing.T) {
	t.Parallel()
	const s = "Your reminder is set for 8 pm."
	if Promise(s, []string{"reminder_list"}) != "" || Promise(s, []string{"memory_search"}) == "" {
		t.Error("reminder_list alone must account for a set reminder")
	}
}

// allMarked fails the test for a pattern that matches a sentence without a marker: it would never
// be tried.
func allMarked(t *testing.T, answer string) {
	t.Helper()
	for _, l := range languages() {
		for _, s := range sentences(answer) {
			if !has(s, l.marks) && l.promise.MatchString(s.text) || !has(s, l.claimMarks) && l.claim.MatchString(s.text) {
				t.Errorf("a pattern of the language with the mark %q matches %q, which has none", l.marks[0], s.text)
			}
		}
	}
}

func TestPromise_everyPatternHasAMark(t *testing.T) {
	t.Parallel()
	allMarked(t, promised+harmless)
	allMarked(t, "Frage wir,morgen\nHören Sie,von mir\nIch habe die Benachrichtigung gesetzt\nJ'vais te rappeler")
}

func FuzzPromise(f *testing.F) {
	for _, s := range append(lines(promised), lines(harmless)...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Promise(s, []string{"reminder_set"}) != "" {
			t.Fatal("objected to a kept promise")
		}
		allMarked(t, s)
		_ = Promise(s, nil)
	})
}

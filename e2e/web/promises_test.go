//go:build e2e

package web

import (
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Promises are shown next to the day and can be settled there, on a phone in a strip that opens.
// Every open page shows it immediately.
func TestPromises_settledBesideTheDay(t *testing.T) {
	v := newVisitor(t, "")
	v.Look(1280, "light", "en")
	v.Open("/")
	v.Sees("#promises", "Nothing is open and no reminder is set")
	v.Send("/remind in 2 hours water the plants")
	v.Sees("#promises", "water the plants")
	v.Send(`call loops_open {"text":"choose the paint for the hull"}`)
	v.Sees("#promises", "choose the paint for the hull")

	phone := v.Tab.Another()
	phone.Look(360, "dark", "en")
	phone.Open("/")
	phone.Sees("#promises > summary", "1 open loop · next reminder: Today,")
	if phone.Is("document.querySelector('.promised').checkVisibility()") {
		t.Error("the strip on a phone is open before a tap")
	}
	phone.Click("#promises > summary")
	phone.Press("#promises", "Snooze")
	phone.Press(".snooze[open]", "Tomorrow")
	phone.Sees("#toast", "You will be reminded:")
	v.Sees("#promises .promised", "09:00")
	if !phone.Is("document.querySelector('#promises').open && document.documentElement.scrollWidth <= 360") {
		t.Errorf("the strip closed, or does not fit:\n%s", phone.Shown())
	}
	v.Press("#promises", "Go to message")
	v.Sees(".entry.found", "water the plants")
	v.Press("#promises", "Done")
	phone.Comes("!document.querySelector('#promises').innerText.includes('the hull')")
	v.Press("#promises", "Cancel")
	phone.Sees("#promises", "Nothing is open and no reminder is set")
}

// What happens elsewhere leaves the focus on a link in the runs of a task, and the runs open.
func TestPromises_keepTheFocusInsideATask(t *testing.T) {
	v := newVisitor(t, "")
	for _, into := range []string{
		`INSERT INTO plans (user_id, id, kind, body, due_at, cron, zone, state, created_at, last_due)
			VALUES (1, 400000, 'task', 'tell the news', 1761300000000, '0 9 * * *', 'UTC', 'paused', 1, 1000)`,
		`INSERT INTO plan_runs (user_id, plan_id, due_at, state, cause, message_id, turn_id, started_at, ended_at)
			VALUES (1, 400000, 1000, 'failed', 'model', 1, 1, 1000, 1000)`,
	} {
		_, err := v.l.DB.Exec(into)
		e2etest.Must(t, err)
	}
	v.Look(1280, "light", "en")
	v.Open("/")
	v.Click("#runs400000 > summary")
	v.Comes("(document.querySelector('#runs400000 a').focus(), document.activeElement.matches('#runs400000 a'))")
	other := v.Tab.Another()
	other.Open("/")
	for _, text := range []string{"water the plants", "feed the cat"} {
		other.Send("/remind in 2 hours " + text)
		v.Sees("#promises", text)
		if !v.Is("document.activeElement.matches('#runs400000[open] a')") {
			t.Fatalf("the focus left the runs of a task:\n%s", v.Shown())
		}
	}
}

//go:build e2e

package web

import "testing"

// Promises are shown next to the day and can be settled there, on a phone in a strip that opens.
// Every open page shows it immediately.
func TestPromisesAreSettledBesideTheDay(t *testing.T) {
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

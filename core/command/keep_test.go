package command_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/command"
)

// TestRememberTooMuch checks a text and a message that exceed an item's size.
func TestRememberTooMuch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	long := strings.Repeat("é", 2001)
	w.talk(w.ada, long)
	for _, quote := range []*core.Quote{nil, {NativeID: "m1", Text: long}} {
		text := "/remember"
		if w.quote = quote; quote == nil {
			text += " " + long
		}
		if out, _ := w.ask(w.ada, text); len(out.Effects) != 0 || !strings.Contains(out.Text, "at most 2,000 characters") {
			t.Errorf("got %+v", out)
		}
	}
}

// TestRememberAnAnswer checks that commands and their answers cannot be remembered.
func TestRememberAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.send(w.ada, "/usage")
	for _, native := range []string{fmt.Sprint("m", w.n), fmt.Sprint("n", w.n), fmt.Sprint("m", w.n-1),
		fmt.Sprint("n", w.n-1)} {
		w.quote = &core.Quote{NativeID: native, Text: "Used today"}
		if out, _ := w.ask(w.ada, "/remember"); len(out.Effects) != 0 ||
			!strings.Contains(out.Text, "can't find that message") {
			t.Errorf("%s: %+v", native, out)
		}
	}
}

// TestOthersNumbers checks that another user's items and reminders are not found, with the same
// answer as for numbers that never existed.
func TestOthersNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.keep(w.ada, "Ada's item", "")
	w.send(w.ada, "/remind tomorrow 9 call Ana")
	_, u := w.identify(w.ada)
	for text, name := range map[string]string{"/memory archive %s": "ITEM", "/remind cancel %s": "REMINDER"} {
		theirs := w.named(u.ID, name)
		out, _ := w.ask(w.bo, fmt.Sprintf(text, theirs))
		none, _ := w.ask(w.bo, fmt.Sprintf(text, "777"))
		if len(out.Effects) != 0 || theirs == name || strings.ReplaceAll(out.Text, theirs, "777") != none.Text {
			t.Errorf("%s: %+v, %+v", name, out, none)
		}
	}
}

// TestAnswersFail checks that an error of the store or of the search is reported, not answered.
func TestAnswersFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	i, u := w.identify(w.ada)
	must(t, w.Close())
	for _, text := range []string{"/search tea", "/memory", "/memory tea", "/memory archive 7", "/remember tea", "/remind",
		"/remind tomorrow tea", "/remind cancel 7", "/loops"} {
		out, ok, err := command.New(w.options).Command(w.ctx, u, i, w.event(w.ada, text), w.now)
		if err == nil || !ok || out.Text != "" {
			t.Errorf("%s: %+v, %v, %v", text, out, ok, err)
		}
	}
}

func TestArchivedItemIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.keep(w.ada, "Ada's item", "")
	_, u := w.identify(w.ada)
	text := w.named(u.ID, "/memory archive ITEM")
	w.send(w.ada, text)
	if out, _ := w.send(w.ada, text); len(out.Effects) != 0 ||
		!strings.Contains(out.Text, "I don't remember anything with the number") {
		t.Errorf("got %+v", out)
	}
}

// told is a store of one reminder that fired, with the deliveries of the test.
type told struct {
	reminders
	deliveries []core.Delivery
}

func (r told) DeliveriesOf(context.Context, core.UserID, core.MessageID) ([]core.Delivery, error) {
	return r.deliveries, nil
}

func (told) Reminders(context.Context, core.UserID, int) ([]core.Reminder, error) {
	return []core.Reminder{{ID: 7, Text: "plants", DueAt: morning().Add(time.Hour), Cron: "0 10 * * *",
		Zone: "Europe/Paris", FiredAt: morning(), Message: 3}}, nil
}

type reminders = command.Reminders

// TestReceiptSaysMost checks that of several deliveries the one that got furthest is shown.
func TestReceiptSaysMost(t *testing.T) {
	t.Parallel()
	for want, states := range map[string][]core.DeliveryState{
		"read":                                 {core.DeliveryFailed, core.DeliveryRead, core.DeliverySent},
		"delivered":                            {core.DeliveryDelivered, core.DeliveryPending},
		"sent":                                 {core.DeliverySent, core.DeliveryFailed},
		"possibly sent":                        {core.DeliveryUnknown, core.DeliveryExpired},
		"waiting":                              {core.DeliveryFailed, core.DeliverySending},
		"waiting until the app can receive it": {core.DeliveryParked},
		"failed":                               {core.DeliveryExpired, core.DeliveryFailed},
		"in the conversation only":             nil,
	} {
		w := newWorld(t, "en")
		r := told{reminders: w.options.Reminders}
		for _, s := range states {
			r.deliveries = append(r.deliveries, core.Delivery{State: s})
		}
		w.options.Reminders = r
		if out, _ := w.ask(w.ada, "/remind"); !strings.Contains(out.Text, "last: Today, 09:00, "+want+"\n") {
			t.Errorf("%v: %s", states, out.Text)
		}
	}
}

// TestRecurringInItsZone checks that a recurring reminder is shown in the zone it was set in, and a
// single one in the user's.
func TestRecurringInItsZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "en")
	w.send(w.ada, "/remind every Monday at 8 plants")
	w.send(w.ada, "/remind tomorrow at 9 call Ana")
	w.send(w.ada, "/timezone Tokyo")
	out, _ := w.ask(w.ada, "/remind")
	for _, want := range []string{"plants · **Monday 23 November, 08:00** (Europe/Paris) · every Monday at 08:00",
		"call Ana · **Friday 20 November, 17:00**\n"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("%q is not in %s", want, out.Text)
		}
	}
}

func TestUsageOfAllIsForOwners(t *testing.T) {
	t.Parallel()
	for language, want := range map[string]string{"en": "Everyone together, today (UTC): 250 of 1,000 tokens (25%).",
		"fr": "aujourd’hui (UTC)\u00a0: 250 jetons sur 1\u202f000 (25\u202f%)."} {
		w := newWorld(t, language)
		_, err := w.Grant(w.ctx, core.Grant{Day: w.now.UTC().Format(time.DateOnly), Worker: "w", Used: 250, Want: 50,
			PerDay: 1000, Now: w.now, Until: w.now.Add(time.Hour)})
		must(t, err)
		if out, _ := w.ask(w.ada, "/usage"); strings.Contains(out.Text, "UTC") {
			t.Errorf("without a limit: %q", out.Text)
		}
		w.options.Defaults.AllTokensPerDay = 1000
		if out, _ := w.ask(w.ada, "/usage"); !strings.Contains(out.Text, want) {
			t.Errorf("the owner reads %q", out.Text)
		}
		if out, _ := w.ask(w.bo, "/usage"); strings.Contains(out.Text, "UTC") {
			t.Errorf("a member reads %q", out.Text)
		}
	}
}

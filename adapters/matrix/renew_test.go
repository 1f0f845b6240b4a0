package matrix

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// renewedWorld is a world with a store restored at a time, in which a lost process had sent the
// given texts, in order, under their keys.
func renewedWorld(t *testing.T, at time.Time, lost ...[2]string) (*world, string) {
	t.Helper()
	w, room := talking(t)
	for _, part := range lost {
		_, err := w.c.Send(t.Context(), toAda, core.Part{Text: part[1], Key: part[0]})
		must(t, err)
	}
	w.stop()
	must(t, w.k.SetState(t.Context(), map[string]string{keyRenewal: fmt.Sprintf(`{"salt":"r0-","at":%d}`,
		at.UnixMilli())}))
	return start(t, w.Server, w.k, nil), room
}

// A restored store gives ids again that a lost process gave to other answers.
func TestRenew_answerAfterRestoreIsNoRepeat(t *testing.T) {
	t.Parallel()
	w, room := renewedWorld(t, time.Time{}, [2]string{"everthread-1-5-0", "Lost."})
	must(t, w.c.Preview(t.Context(), toAda, "turn-1-4", "Ano"))
	first, err := w.c.Send(t.Context(), toAda, core.Part{Text: "Another.", Key: "everthread-1-5-0", Preview: "turn-1-4"})
	must(t, err)
	again, err := w.c.Send(t.Context(), toAda, core.Part{Text: "Another.", Key: "everthread-1-5-0", Preview: "turn-1-4"})
	must(t, err)
	same(t, again, first)
	same(t, screen(w, room), []string{"Lost.", "Another."})
}

// A delivery that was pending at the time of the backup may have arrived since.
func TestRenew_pendingMayBeARepeat(t *testing.T) {
	t.Parallel()
	w, room := renewedWorld(t, time.Now(), [2]string{"everthread-1-5-0", "On its way."})
	for range 2 {
		_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "On its way.", Key: "everthread-1-5-0", Again: true})
		must(t, err)
	}
	w.SetNow(time.Now().Add(time.Minute))
	w.Say(room, ada, "what is new?")
	w.barrier(t)
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "New.", Key: "everthread-1-6-0"})
	must(t, err)
	same(t, screen(w, room), []string{"On its way.", "On its way.\n\n(may be a repeat)", "New."})
}

func TestStatus_namesThePartsOfThisStore(t *testing.T) {
	t.Parallel()
	for txn, want := range map[string]string{"r0-everthread-1-5-0": "everthread-1-5-0", "everthread-1-5-0": "", "": ""} {
		raw, err := json.Marshal(map[string]any{"status": "SUCCESS", "relates_to_txn_id": txn,
			"m.relates_to": map[string]string{"rel_type": "m.reference", "event_id": "$e"}})
		must(t, err)
		in, ok := status(scene{renewal: renewal{Salt: "r0-"}}, core.Inbound{}, event{Type: typeStatus, Content: raw})
		if !ok {
			t.Fatalf("false")
		}
		same(t, in.Status.Key, want, txn)
	}
}

// A message that a lost process answered is answered again, with a remark, until something new is said.
func TestRenew_marksWhatALostLifeAnswered(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := func(o *Options) { o.Now = func() time.Time { return now } }
	w, room := talking(t)
	since, err := w.k.State(t.Context(), keySync)
	must(t, err)
	w.Say(room, ada, "what a day")
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "A day.", Key: "everthread-1-5-0"})
	must(t, err)
	w.stop()
	now = now.Add(time.Minute)
	renewed := fmt.Sprintf(`{"salt":"r0-","at":%d}`, now.UnixMilli())
	must(t, w.k.SetState(t.Context(), map[string]string{keyRenewal: renewed, keySync: since}))
	for n, more := range []string{"", "", "and a night"} {
		w.SetNow(now.Add(time.Minute))
		w = start(t, w.Server, w.k, later) // the state is stored
		if more != "" {
			w.Say(room, ada, more)
		}
		w.barrier(t)
		_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "A day.", Key: fmt.Sprint("everthread-1-6-", n)})
		must(t, err)
		w.stop()
	}
	same(t, screen(w, room), []string{"A day.", "A day.\n\n(may be a repeat)", "A day.\n\n(may be a repeat)", "A day."})
}

package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/everthread/everthread/adapters/matrix/matrixtest"
	"github.com/everthread/everthread/core"
)

// screen returns a client's view of the channel's messages in a room, with their last
// edits.
func screen(w *world, room string) []string {
	var order []string
	texts := map[string]string{}
	for _, e := range w.Sent(room) {
		var c struct {
			Relates struct {
				Type  string `json:"rel_type"`
				Event string `json:"event_id"`
			} `json:"m.relates_to"`
		}
		_ = json.Unmarshal(e.Content, &c)
		id := e.ID
		if c.Relates.Type == "m.replace" {
			id = c.Relates.Event
		} else {
			order = append(order, id)
		}
		texts[id] = e.Text()
	}
	out := []string{}
	for _, id := range order {
		out = append(out, texts[id])
	}
	return out
}

// talking returns a room in which Ada has written.
func talking(t *testing.T) (*world, string) {
	t.Helper()
	w := begin(t)
	room := w.Direct(ada)
	w.Say(room, ada, "tell me")
	w.barrier(t)
	return w, room
}

func TestPreview_answerTakesItsPlace(t *testing.T) {
	t.Parallel()
	w, room := talking(t)
	must(t, w.c.Preview(t.Context(), toAda, "turn-1-1", "Once upon"))
	must(t, w.c.Preview(t.Context(), toAda, "turn-1-1", "Once **upon** a time"))
	same(t, screen(w, room), []string{"Once upon a time"})
	first, err := w.c.Send(t.Context(), toAda, core.Part{Text: "Once upon a time.", Key: "p-0", Preview: "turn-1-1"})
	must(t, err)
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "The end.", Key: "p-1"})
	must(t, err)
	must(t, w.c.Preview(t.Context(), toAda, "turn-1-1", "Once upon a late frame"))
	again, err := w.c.Send(t.Context(), toAda, core.Part{Text: "Once upon a time.", Key: "p-0", Preview: "turn-1-1"})
	must(t, err)
	same(t, again, first)
	same(t, screen(w, room), []string{"Once upon a time.", "The end."})
	w.barrier(t)
	if got := w.in.of(core.InByHand, core.InEdit); len(got) > 0 {
		t.Fatalf("our own edits are ours: %v", got)
	}
}

func TestPreview_goesOnAfterACrash(t *testing.T) {
	t.Parallel()
	w, room := talking(t)
	must(t, w.c.Preview(t.Context(), toAda, "turn-1-2", "Half an ans"))
	w.stop()
	w = start(t, w.Server, w.k, nil)
	must(t, w.c.Preview(t.Context(), toAda, "turn-1-2", "Half an answer, and"))
	w.stop()
	w = start(t, w.Server, w.k, nil)
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "A whole answer.", Key: "q-0", Preview: "turn-1-2"})
	must(t, err)
	same(t, screen(w, room), []string{"A whole answer."})
}

func TestPreview_lostIDIsFoundAgain(t *testing.T) {
	t.Parallel()
	w, room := talking(t)
	w.Fail("send", 1, matrixtest.Failure{Drop: true})
	if err := w.c.Preview(t.Context(), toAda, "turn-1-3", "It was there"); err == nil {
		t.Fatalf("no error")
	}
	w.stop()
	w = start(t, w.Server, w.k, nil)
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "All of it was there.", Key: "s-0", Preview: "turn-1-3"})
	must(t, err)
	same(t, screen(w, room), []string{"All of it was there."})
}

// The edits of a message that was streamed hold its words, too.
func TestRetract_withItsEdits(t *testing.T) {
	t.Parallel()
	w, room := talking(t)
	must(t, w.c.Preview(t.Context(), toAda, "turn-1-4", "The PIN is"))
	sent, err := w.c.Send(t.Context(), toAda, core.Part{Text: "The PIN is 4711.", Key: "r-0", Preview: "turn-1-4"})
	must(t, err)
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "Anything else?", Key: "r-1"})
	must(t, err)
	must(t, w.c.Retract(t.Context(), toAda, sent.NativeID))
	same(t, screen(w, room), []string{"", "", "Anything else?"})
	for _, e := range w.Sent(room)[:2] {
		same(t, string(e.Content), "{}")
	}
	same(t, w.Calls("redact"), 2)
	w.barrier(t)
	if got := w.in.of(core.InByHand, core.InEdit); len(got) > 0 {
		t.Errorf("our own deletions are ours: %v", got)
	}
	w.Fail("redact", 1, matrixtest.Failure{Code: 403, Err: "M_FORBIDDEN"})
	var gone *core.Unreachable
	if err := w.c.Retract(t.Context(), toAda, sent.NativeID); !errors.As(err, &gone) {
		t.Errorf("got %v", err)
	}
}

// A homeserver may forget a transaction whose request was interrupted, and still carry it
// out.
func TestSend_notAgainWhatIsThere(t *testing.T) {
	t.Parallel()
	w, room := talking(t)
	part := core.Part{Text: "Only once.", Key: "o-0"}
	w.Fail("send", 1, matrixtest.Failure{Drop: true})
	_, err := w.c.Send(t.Context(), toAda, part)
	var unknown *core.Unknown
	if !errors.As(err, &unknown) {
		t.Fatalf("%v", err)
	}
	w.Fail("send", 1, matrixtest.Failure{Drop: true})
	if err := w.c.Preview(t.Context(), toAda, "turn-1-4", "Shown"); err == nil {
		t.Fatalf("no error")
	}
	w.stop()
	w.ForgetTransactions()
	for n := range 250 { // a talkative person
		w.Post(room, ada, typeMessage, map[string]any{"msgtype": "m.text", "body": fmt.Sprint("and ", n)})
	}
	w = start(t, w.Server, w.k, nil)
	part.Again = true
	first, err := w.c.Send(t.Context(), toAda, part)
	must(t, err)
	same(t, first.NativeID, w.Sent(room)[len(w.Sent(room))-2].ID)
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "Shown and done.", Key: "o-1", Preview: "turn-1-4"})
	must(t, err)
	same(t, screen(w, room), []string{"Only once.", "Shown and done."})
	_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "Never arrived.", Key: "o-2", Again: true})
	must(t, err)
	same(t, screen(w, room), []string{"Only once.", "Shown and done.", "Never arrived."})
}

func TestBridge_isNotStreamedTo(t *testing.T) {
	t.Parallel()
	w := begin(t)
	_, streams := w.c.Carries()[0].(core.Streamer)
	if streams {
		t.Fatalf("true")
	}
}

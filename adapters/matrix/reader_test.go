package matrix

import (
	"errors"
	"fmt"
	"testing"

	"github.com/everthread/everthread/adapters/matrix/matrixtest"
	"github.com/everthread/everthread/core"
)

const mallory = "@mallory:hs.test"

// TestReaders_decideWhatIsSaid covers every way in which others come to read a room: nobody's words are taken
// there, and nothing private is sent there, although the person has accepted it.
func TestReaders_decideWhatIsSaid(t *testing.T) {
	t.Parallel()
	direct := func(w *world) string { // Mallory's room, which Ada has accepted
		room := w.Invite(mallory)
		w.Member(room, ada, "invite", mallory)
		return room
	}
	left := func(w *world, kind string, content map[string]any) string {
		room := direct(w)
		w.State(room, mallory, kind, "", content)
		w.Member(room, mallory, "leave")
		return room
	}
	rule := func(rule string) func(*world) string {
		return func(w *world) string { return left(w, typeJoins, map[string]any{"join_rule": rule}) }
	}
	for name, c := range map[string]struct {
		room func(w *world) string
		says core.Silence
		mine bool // nobody else can read it
	}{
		"she calls herself a service": {room: func(w *world) string {
			room := direct(w)
			w.State(room, mallory, typeService, "", map[string]any{"service_members": []string{mallory}})
			return room
		}},
		"she calls her second account a service": {room: func(w *world) string {
			room := direct(w)
			w.State(room, mallory, typeService, "", map[string]any{"service_members": []string{"@second:hs.test"}})
			w.Member(room, "@second:hs.test", "invite", mallory)
			w.Member(room, mallory, "leave")
			return room
		}},
		"everybody can read it": {says: core.SilentOpen, room: func(w *world) string {
			return left(w, typeHistory, map[string]any{"history_visibility": "world_readable"})
		}},
		"everybody can join it":          {says: core.SilentOpen, room: rule("public")},
		"members of a space can join it": {says: core.SilentOpen, room: rule("restricted")},
		"they can knock and join it":     {says: core.SilentOpen, room: rule("knock_restricted")},
		"a rule that we do not know":     {says: core.SilentOpen, room: rule("org.example.anyone")},
		"its maker left, and it is shut": {mine: true, room: rule("invite")},
		"others can knock, and need Ada": {mine: true, room: rule("knock")},
		"new members read only new words": {mine: true, room: func(w *world) string {
			return left(w, typeHistory, map[string]any{"history_visibility": "joined"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			own := w.Direct(ada)
			w.Say(own, ada, "mine")
			eventually(t, "mine", func() bool { return len(w.messages()) == 1 })
			room := c.room(w)
			w.Member(room, ada, "join")
			w.Member(room, us, "join")
			w.barrier(t)
			_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "the reminder", Key: "r"})
			must(t, err)
			if got := w.Sent(own); len(got) != 1 {
				t.Fatalf("a join moved the person: %d, want %d: %v", len(got), 1, got)
			}

			for i := range 2 {
				w.Say(room, ada, fmt.Sprint("said there ", i))
			}
			w.barrier(t)
			if c.mine {
				if got := w.messages(); len(got) != 3 {
					t.Fatalf("%d, want %d: %v", len(got), 3, got)
				}
				return
			}
			same(t, w.messages(), []string{"mine"})
			told := w.in.of(core.InGroup)
			if got := told; len(got) != 1 {
				t.Fatalf("it is said once: %d, want %d: %v", len(got), 1, got)
			}
			same(t, told[0].Silent, c.says)
			same(t, told[0].Address.External, room)
			_, err = w.c.Send(t.Context(), toAda, core.Part{Text: "the answer", Key: "a"})
			must(t, err)
			if got := w.Sent(own); len(got) != 2 {
				t.Fatalf("%d, want %d: %v", len(got), 2, got)
			}
			if got := w.Sent(room); len(got) > 0 {
				t.Fatalf("%v", got)
			}
		})
	}
}

func TestReaders_openedRoomGetsNothingMore(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Direct(ada)
	w.Say(room, ada, "mine")
	eventually(t, "mine", func() bool { return len(w.messages()) == 1 })
	w.State(room, ada, typeHistory, "", map[string]any{"history_visibility": "world_readable"})
	w.Say(room, ada, "ours")
	w.barrier(t)
	var gone *core.Unreachable
	_, err := w.c.Send(t.Context(), toAda, core.Part{Text: "private", Key: "p"})
	if !errors.As(err, &gone) {
		t.Fatalf("%v", err)
	}
	if err := w.c.Preview(t.Context(), toAda, "turn-1-1", "private"); !errors.As(err, &gone) {
		t.Fatalf("%v", err)
	}
	w.State(room, ada, typeHistory, "", map[string]any{"history_visibility": "shared"})
	w.Say(room, ada, "mine again")
	w.barrier(t)
	same(t, w.messages(), []string{"mine", "mine again"})
}

func TestPortal_thirdPersonMakesAGroup(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Portal(alice)
	w.Say(room, matrixtest.Ghost(alice), "alone")
	eventually(t, "alone", func() bool { return len(w.messages()) == 1 })
	w.Member(room, mallory, "join")
	w.Say(room, matrixtest.Ghost(alice), "overheard")
	w.barrier(t)
	same(t, w.messages(), []string{"alone"})
	var gone *core.Unreachable
	_, err := w.c.Carries()[0].Send(t.Context(), toAlice, core.Part{Text: "private", Key: "p"})
	if !errors.As(err, &gone) {
		t.Fatalf("%v", err)
	}
}

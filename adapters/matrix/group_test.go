package matrix

import (
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

func TestGroup_whoIsAddressed(t *testing.T) {
	t.Parallel()
	w := begin(t)
	room := w.Direct(ada)
	w.Say(room, ada, "alone")
	eventually(t, "alone", func() bool { return len(w.messages()) == 1 })
	w.State(room, ada, typeName, "", map[string]any{"name": "Family"})
	w.Member(room, "@bob:hs.test", "join")
	own, err := w.c.Send(t.Context(), core.Address{Channel: Name, Account: us, External: room}, core.Part{Text: "hello", Key: "h"})
	must(t, err)
	type said struct {
		content   map[string]any
		addressed bool
		text      string
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(us, "@"), ":")
	for _, c := range []said{
		{map[string]any{"body": "to nobody"}, false, "to nobody"},
		{map[string]any{"body": us + ": what is for dinner?"}, true, "what is for dinner?"},
		{map[string]any{"body": name + ", and then?"}, true, "and then?"},
		{map[string]any{"body": name + "icon is a word"}, false, name + "icon is a word"},
		{map[string]any{"body": "hey Robo", "m.mentions": map[string]any{"user_ids": []string{us}}}, true, "hey Robo"},
		{map[string]any{"body": "hey Bob", "m.mentions": map[string]any{"user_ids": []string{"@bob:hs.test"}}}, false, "hey Bob"},
		{map[string]any{"body": "why?", "m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": own.NativeID}}}, true,
			"why?"},
	} {
		c.content["msgtype"] = "m.text"
		id := w.Post(room, "@bob:hs.test", typeMessage, c.content)
		w.barrier(t)
		for _, e := range w.in.of(core.InMessage) {
			if e.NativeID == id && (e.Group == nil || e.Group.Addressed != c.addressed || e.Text != c.text ||
				e.Group.Title != "Family" || e.Group.Speaker != "@bob:hs.test" || e.Address.External != room) {
				t.Errorf("%v: got %+v of %+v", c.content, e.Group, e)
			}
		}
	}
}

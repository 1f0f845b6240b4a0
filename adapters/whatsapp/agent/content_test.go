package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

func TestMessage_everyType(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]struct {
		text    string
		foreign bool
	}{
		`"type":"text","text":{"body":"hi"}`:                           {"hi", false},
		`"type":"image","image":{"id":"1","caption":"Look"}`:           {"[photo: Look]", false},
		`"type":"video","video":{"id":"1"}`:                            {"[video]", false},
		`"type":"audio","audio":{"id":"1","voice":true}`:               {"[voice]", false},
		`"type":"audio","audio":{"id":"1"}`:                            {"[audio]", false},
		`"type":"document","document":{"id":"1","filename":"[a].pdf"}`: {"[document (a).pdf]", false},
		`"type":"sticker","sticker":{"id":"1"}`:                        {"[sticker]", false},
		`"type":"location","location":{"latitude":1,"longitude":2}`:    {"[unsupported: location]", true},
		`"type":"contacts","contacts":[]`:                              {"[unsupported: contacts]", true},
	} {
		body := fmt.Sprintf(`{"next_offset":2,"entry":[{"changes":[{"value":{"messages":[{"from":"user:5","id":"wamid.A",
			"timestamp":"1790000000",%s}]}}]}]}`, fields)
		got := Normalise(Key{ID: 1}, []byte(body), time.Unix(1790000999, 0)).In
		if len(got) != 1 || got[0].Kind != core.InMessage || got[0].Text != want.text || got[0].Tainted != want.foreign {
			t.Errorf("%s: got %+v, want %q, foreign %t", fields, got, want.text, want.foreign)
		}
	}
}

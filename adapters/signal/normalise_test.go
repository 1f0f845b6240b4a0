package signal

import (
	"flag"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/core"
)

var update = flag.Bool("update", false, "write the wanted output of golden files")

// known reads events of the account of the fake daemon, which knows Bob.
func known() *reader {
	return &reader{account: signaltest.Account, self: signaltest.Self, now: time.Unix(1790000999, 0),
		name:  func(person string) string { return map[string]string{bob: "Bob"}[person] },
		sent:  func(int64) bool { return false },
		first: func(m message) int64 { return m.timestamp }}
}

// Each file holds an event, followed by what is passed on, or why nothing is.
func TestNormalise_golden(t *testing.T) {
	adaptertest.Golden(t, *update, func(raw []byte) string {
		r := known()
		all, _ := r.normalise(raw)
		if len(all) == 0 {
			return "ignored: " + r.ignored + "\n"
		}
		var out []string
		for _, in := range all {
			out = append(out, adaptertest.Dump(in))
		}
		return strings.Join(out, "\n")
	})
}

// A new number, name or device of a person changes neither their address nor the ids of their events.
func TestNormalise_aPersonIsTheirACI(t *testing.T) {
	t.Parallel()
	const first = `{"envelope":{"sourceUuid":"` + ada + `","sourceNumber":"+4911111","sourceName":"Ada","sourceDevice":1,"timestamp":5,"dataMessage":{"timestamp":5,"message":"a"}}}`
	second := strings.NewReplacer("+4911111", "+4922222", `"Ada"`, `"Countess"`, `"sourceDevice":1`, `"sourceDevice":2`).Replace(first)
	read := func(raw string) core.Inbound {
		all, _ := known().normalise([]byte(raw))
		if len(all) != 1 {
			t.Fatalf("%d inbounds", len(all))
		}
		return all[0]
	}
	a, b := read(first), read(second)
	if a.Address != b.Address || a.EventID != b.EventID || a.Address.External != ada {
		t.Errorf("%v %s and %v %s", a.Address, a.EventID, b.Address, b.EventID)
	}
	if b.Name != "Countess" || b.Aliases[0] != "+4922222" {
		t.Errorf("shown as %q, with %q", b.Name, b.Aliases)
	}
}

func TestNormalise_eventIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for what, raw := range map[string]string{
		"message":  `"dataMessage":{"timestamp":5,"message":"a"}`,
		"edit":     `"editMessage":{"targetSentTimestamp":5,"dataMessage":{"timestamp":6,"message":"b"}}`,
		"reaction": `"dataMessage":{"timestamp":7,"reaction":{"emoji":"x","targetSentTimestamp":5}}`,
		"delivery": `"receiptMessage":{"isDelivery":true,"timestamps":[5]}`,
		"read":     `"receiptMessage":{"isRead":true,"timestamps":[5]}`,
	} {
		all, _ := known().normalise([]byte(`{"envelope":{"sourceUuid":"` + ada + `","timestamp":9,` + raw + `}}`))
		if before, taken := ids[all[0].EventID]; taken || all[0].EventID == "" {
			t.Errorf("%s has the event id %q of %s", what, all[0].EventID, before)
		}
		ids[all[0].EventID] = what
	}
}

func FuzzNormalise(f *testing.F) {
	adaptertest.Seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := known()
		all, _ := r.normalise(raw)
		if len(all) == 0 && r.ignored == "" && !strings.Contains(string(raw), `"timestamps"`) {
			t.Error("dropped without a reason")
		}
		for _, in := range all {
			if in.EventID == "" || in.Kind == "" || in.Address.Channel != Name {
				t.Errorf("incomplete: %+v", in)
			}
			if !utf8.ValidString(in.Text) || !utf8.ValidString(in.Name) || !utf8.ValidString(in.EventID) {
				t.Errorf("invalid UTF-8: %+v", in)
			}
			if in.Kind == core.InMessage && (in.Text == "" || in.Address.External == "") {
				t.Errorf("message without text or sender: %+v", in)
			}
		}
	})
}

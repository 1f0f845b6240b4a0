package whatsapp

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/core"
)

var update = flag.Bool("update", false, "write the wanted output of golden files")

// Each file holds the body of a webhook, followed by the expected result.
func TestNormalise_golden(t *testing.T) {
	adaptertest.Golden(t, *update, func(raw []byte) string {
		var got strings.Builder
		for _, in := range read(whatsapptest.PhoneNumberID, raw, time.Unix(1790000999, 0)).in {
			got.WriteString(adaptertest.Dump(in) + "\n")
		}
		return got.String()
	})
}

// A full body is read in one pass, each event once.
func TestNormalise_thousand(t *testing.T) {
	t.Parallel()
	in := read(whatsapptest.PhoneNumberID, thousand(t), time.Unix(1790000999, 0)).in
	seen := map[string]bool{}
	for i, m := range in {
		if want := fmt.Sprintf("message %d", i); m.Text != want || seen[m.EventID] || m.Name != "Ada" {
			t.Fatalf("message %d is %+v", i, m)
		}
		seen[m.EventID] = true
	}
	if len(in) != 1000 {
		t.Errorf("%d messages", len(in))
	}
}

// thousand returns a body with a thousand messages.
func thousand(tb testing.TB) []byte {
	var e map[string]any
	if err := json.Unmarshal(whatsapptest.Body(ada, "wamid.0", time.Unix(1, 0), nil), &e); err != nil {
		tb.Fatal(err)
	}
	value := e["entry"].([]any)[0].(map[string]any)["changes"].([]any)[0].(map[string]any)["value"].(map[string]any)
	var all []any
	for i := range 1000 {
		all = append(all, map[string]any{
			"from": ada.Phone, "from_user_id": ada.UserID, "id": fmt.Sprint("wamid.", i), "timestamp": "1790000000",
			"type": "text", "text": map[string]any{"body": fmt.Sprint("message ", i)},
		})
	}
	value["messages"] = all
	raw, err := json.Marshal(e)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func BenchmarkNormaliseThousand(b *testing.B) {
	raw := thousand(b)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		read(whatsapptest.PhoneNumberID, raw, time.Time{})
	}
}

func FuzzNormalise(f *testing.F) {
	adaptertest.Seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, in := range read(whatsapptest.PhoneNumberID, raw, time.Time{}).in {
			check(t, in)
		}
	})
}

func check(t *testing.T, in core.Inbound) {
	t.Helper()
	if in.EventID == "" || in.Kind == "" || in.Address.Channel != Name ||
		in.Address.Account != whatsapptest.PhoneNumberID {
		t.Errorf("incomplete: %+v", in)
	}
	for _, s := range []string{in.Text, in.Name, in.EventID, in.Address.External, in.Target,
		in.Reaction, in.ForwardedFrom} {
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("cannot be stored: %q", s)
		}
	}
	switch in.Kind {
	case core.InMessage, core.InAsked:
		if in.Text == "" || in.Address.External == "" || in.NativeID == "" {
			t.Errorf("message without text, sender or id: %+v", in)
		}
	case core.InMoved:
		if in.Target == "" || in.Address.External == "" {
			t.Errorf("moved from or to nowhere: %+v", in)
		}
	case core.InReceipt:
		if in.Status == nil || in.Target == "" {
			t.Errorf("receipt of nothing: %+v", in)
		}
	}
}

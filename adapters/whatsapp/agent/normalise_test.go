package agent

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/everthread/everthread/adapters/adaptertest"
	"github.com/everthread/everthread/core"
)

var update = flag.Bool("update", false, "write the wanted output of golden files")

// testKey is the key in golden files.
var testKey = Key{ID: 7, User: 3, CreatedAt: time.Unix(1789999999, 500)}

// Each file holds the answer to a poll, followed by the expected result.
func TestNormalise_golden(t *testing.T) {
	adaptertest.Golden(t, *update, func(raw []byte) string {
		var got strings.Builder
		out := Normalise(testKey, raw, time.Unix(1790000999, 0))
		for _, in := range out.In {
			got.WriteString(adaptertest.Dump(in) + "\n")
		}
		if out.Next != nil {
			fmt.Fprintf(&got, "next: %d\n", *out.Next)
		}
		fmt.Fprintf(&got, "last: %s\n", out.Last)
		return got.String()
	})
}

func FuzzNormalise(f *testing.F) {
	adaptertest.Seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, in := range Normalise(testKey, raw, time.Time{}).In {
			check(t, in)
		}
	})
}

func check(t *testing.T, in core.Inbound) {
	t.Helper()
	if in.EventID == "" || in.Kind == "" || in.Address.Channel != Name || in.Address.Account != "7" ||
		(in.Address.External != "") != (in.For == testKey.User) {
		t.Errorf("incomplete: %+v", in)
	}
	for _, s := range []string{in.Text, in.Name, in.EventID, in.Address.External, in.Target,
		in.Reaction, in.ForwardedFrom} {
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("cannot be stored: %q", s)
		}
	}
	switch in.Kind {
	case core.InMessage:
		if in.Text == "" || in.Address.External == "" || in.NativeID == "" {
			t.Errorf("message without text, sender or id: %+v", in)
		}
	case core.InReceipt:
		if in.Status == nil || in.Target == "" {
			t.Errorf("receipt of nothing: %+v", in)
		}
	}
}

package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/tokens"
)

func TestRegistry_ordersByName(t *testing.T) {
	t.Parallel()
	r := registry(t, TimeNow{}, echo("b"), echo("a"))
	var names []string
	for _, spec := range r.Specs() {
		names = append(names, spec.Name)
	}
	if got := strings.Join(names, " "); got != "a b time_now" {
		t.Errorf("names %s", got)
	}
	if n := r.Tokens(tokens.New()); n < 60 || n > 150 {
		t.Errorf("%d tokens", n)
	}
}

func TestRegistry_refuses(t *testing.T) {
	t.Parallel()
	noSchema := &specOnly{spec: core.ToolSpec{Name: "x", Schema: json.RawMessage(`[]`)}}
	for name, tools := range map[string][]core.Tool{
		"two of one name":  {echo("a"), echo("a")},
		"a space":          {echo("a b")},
		"no name":          {echo("")},
		"too long a name":  {echo(strings.Repeat("a", 65))},
		"a broken schema":  {noSchema},
		"a dot in a name":  {echo("server.tool")},
		"letters of no US": {echo("été")},
	} {
		if _, err := NewRegistry(tools...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

type specOnly struct {
	core.Tool
	spec core.ToolSpec
}

func (s *specOnly) Spec() core.ToolSpec { return s.spec }

func TestTimeNow(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 19, 23, 10, 0, 0, time.UTC)
	cases := []struct {
		location *time.Location
		want     string
	}{
		{paris, `{"date":"2026-11-20","time":"00:10","weekday":"Friday","zone":"Europe/Paris","utc_offset":"+01:00"}`},
		{nil, `{"date":"2026-11-19","time":"23:10","weekday":"Thursday","zone":"UTC","utc_offset":"+00:00"}`},
	}
	for _, c := range cases {
		got, err := TimeNow{}.Use(t.Context(), core.ToolUse{Now: at, Location: c.location})
		if err != nil || got.Text != c.want {
			t.Errorf("got %s, %v, want %s", got.Text, err, c.want)
		}
	}
}

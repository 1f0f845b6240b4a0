package signal

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"go.uber.org/zap"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/channel"
)

func TestConfig_validate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"off":        {Config{APIURL: "nonsense"}, ""},
		"a number":   {Config{APIURL: "http://127.0.0.1:8080", Account: "+4930123456"}, ""},
		"an ACI":     {Config{APIURL: "http://signal:8080", Account: ada}, ""},
		"no country": {Config{APIURL: "http://signal:8080", Account: "030123456"}, "channels.signal.account"},
		"no address": {Config{APIURL: "signal:8080", Account: ada}, "channels.signal.api_url"},
		"no rate":    {Config{APIURL: "http://signal:8080", Account: ada, RatePerChat: -1}, "channels.signal.rate_per_chat"},
	} {
		var p section.Problems
		c.config.Validate(&p, "")
		if err := p.Err(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The spellings of one person have one form; "": it can be nobody.
func TestListed(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]string{
		"+4930123456": "+4930123456", " +49 (30) 123-456 ": "+4930123456", strings.ToUpper(ada): ada,
		"030123456": "", "ada.42": "", "+0301234": "", "": "",
	} {
		got, err := Default().Listed(who)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", who, got, err, want)
		}
	}
}

func TestConfig_open(t *testing.T) {
	t.Parallel()
	h := channel.Host{Client: func(...string) *http.Client { return &http.Client{} }, Log: zap.NewNop(), Now: time.Now}
	c := Default()
	if _, err := c.Open(t.Context(), h); c.On() || err == nil {
		t.Errorf("without an account: on %v, %v", c.On(), err)
	}
	c.Account = "+4930123456"
	if ch, err := c.Open(t.Context(), h); err != nil || !c.On() || ch.Name() != c.Key() {
		t.Errorf("on %v, %v", c.On(), err)
	}
}

func TestConfig_exampleHasTheDefaults(t *testing.T) {
	t.Parallel()
	var got struct{ Signal Config }
	if err := yaml.Unmarshal([]byte(Default().Example()), &got); err != nil || got.Signal != *Default() {
		t.Errorf("got %+v, %v", got.Signal, err)
	}
}

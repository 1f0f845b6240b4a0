package trust_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/core/trust"
)

func TestSpelled(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"to":"\u0065\u0076\u0069\u006c@x"}`: "{\n  \"to\": \"evil@x\"\n}",
		`"<a&b>\/"`:                           `"<a&b>/"`,
		"\"abc\u202efed\u2066\"":              `"abc\u202efed\u2066"`,
		`"a\u200bb\ufeff"`:                    `"a\u200bb\ufeff"`,
		"\"a\u2800\u3164\u115f\u1160\uffa0\"": `"a\u2800\u3164\u115f\u1160\uffa0"`,
		"\"\u034f\u17b4\ufe0f\u00a0\u3000\"":  `"\u034f\u17b4\ufe0f\u00a0\u3000"`,
		"\"p\u0430ypal.com\"":                 `"p\u0430ypal.com"`,
		"\"\u043f\u0430\u043f\u0430 \u03b1\u03b2 Z\u00fcrich 日本\"": "\"\u043f\u0430\u043f\u0430 \u03b1\u03b2 Z\u00fcrich 日本\"",
		`"\ud800"`:              `"\ud800"`,
		"\"x\U000e0041y\"":      `"x\udb40\udc41y"`,
		`{"a":"\u0031","a":2}`:  "{\n  \"a\": \"1\",\n  \"a\": 2\n}",
		"no JSON \u202e\x1b[2J": `no JSON \u202e\u001b[2J`,
	} {
		if got := trust.Spelled(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// TestSpelled_saysTheSame checks that what is shown is the same JSON value.
func TestSpelled_saysTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]string{rapid.String().Draw(t, "key"): rapid.OneOf(rapid.String(),
			rapid.StringMatching("[ab\u0430\u03b1\u202e\u200b\\\\\"\n\U000e0041]{0,9}")).Draw(t, "value")}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		shown := trust.Spelled(string(text))
		if err := json.Unmarshal([]byte(shown), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is shown as %s: %v", text, shown, err)
		}
	})
}

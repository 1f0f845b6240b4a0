package trust_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"pgregory.net/rapid"

	"github.com/everthread/everthread/core/trust"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"Zoë 👩‍👩‍👧 日本 \tx":  {"Zoë 👩‍👩‍👧 日本 \tx", "Zoë 👩‍👩‍👧 日本 x"},
		"a\x1b[31mb\x07":    {"a[31mb", "a [31mb"},
		"a\u009b2Jb":        {"a2Jb", "a 2Jb"},
		"one\ntwo\r\nx":     {"one\ntwo\nx", "one two x"},
		"ad\u202enim\u200f": {"adnim", "ad nim"},
		"a\u2028b\u2029c":   {"abc", "a b c"},
		"raw\x9b\xff":       {"raw\ufffd\ufffd", "raw\ufffd\ufffd"},
	} {
		if got := trust.Visible(in); got != want[0] {
			t.Errorf("Visible(%q) is %q, want %q", in, got, want[0])
		}
		if got := trust.Line(in); got != want[1] {
			t.Errorf("Line(%q) is %q, want %q", in, got, want[1])
		}
	}
}

func TestEscaped_saysTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.OneOf(rapid.String(),
			rapid.StringMatching("[a\u009b\u202e\u2028\x1b\x7f\n\"\\\\]{0,9}")).Draw(t, "text"), "")
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		b = trust.Escaped(b)
		var got string
		if err := json.Unmarshal(b, &got); err != nil || got != text || strings.ContainsFunc(string(b), trust.Obeyed) {
			t.Fatalf("%q became %s: %q, %v", text, b, got, err)
		}
	})
}

// TestLogEncoder_littleOfWhatServersWrite checks that no server fills the log, and that no key in its words, or in an
// address, stands there.
func TestLogEncoder_littleOfWhatServersWrite(t *testing.T) {
	t.Parallel()
	l := trust.LogEncoder{Encoder: zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()),
		Redact: func(s string) string { return strings.ReplaceAll(s, "12345:token", "***") }}
	long := strings.Repeat("no ", 100_000)
	for _, f := range []zapcore.Field{zap.Error(errors.New(long)), zap.Error(fmt.Errorf("a: %w", errors.New(long))),
		zap.NamedError("cause", errors.New("12345:token "+long)), zap.String("event", long),
		zap.Error(errors.New(strings.Repeat("x", 1990) + " 12345:token")), zap.Error(nil)} {
		line, err := l.Clone().EncodeEntry(zapcore.Entry{Message: "failed"}, []zapcore.Field{f, zap.Int("n", 7)})
		if err != nil || line.Len() > 2200 || strings.Contains(line.String(), "12345") ||
			!strings.Contains(line.String(), `"n":7`) {
			t.Errorf("%s: %d bytes, %v: %.300s", f.Key, line.Len(), err, line)
		}
	}
}

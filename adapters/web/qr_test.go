package web

import (
	"os"
	"strings"
	"testing"
)

// TestQRCodes compares codes with those in testdata, which other readers have read.
func TestQRCodes(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, text := range []string{"/link ABCD2345", "https://t.me/everthread_bot?text=%2Flink%20ABCD2345", strings.Repeat("0123456789", 12), strings.Repeat("x", 213)} {
		q, err := newQR(text)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(text + "\n")
		for _, row := range q.dark {
			for _, dark := range row {
				all.WriteString(map[bool]string{true: "█", false: "·"}[dark])
			}
			all.WriteByte('\n')
		}
	}
	const file = "testdata/qr.txt"
	if *anew {
		if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if all.String() != string(want) {
		t.Errorf("the codes differ from %s", file)
	}
	if _, err := newQR(strings.Repeat("x", 214)); err == nil {
		t.Error("what is too long is taken")
	}
}

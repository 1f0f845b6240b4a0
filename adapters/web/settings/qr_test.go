package settings

import (
	"strings"
	"testing"
)

func TestQRCodes(t *testing.T) {
	t.Parallel()
	got, err := qrSVG("https://t.me/everthread_bot?text=%2Flink+ABCD2345")
	if err != nil || !strings.HasPrefix(string(got), `<svg class="qr" viewBox="0 0 41 41"`) ||
		strings.Count(string(got), "h1v1h-1z") < 200 {
		t.Errorf("got %.200s, %v", got, err)
	}
	if _, err := qrSVG(strings.Repeat("x", 3000)); err == nil {
		t.Error("a text that is too long is drawn")
	}
}

package terminal

import (
	"strings"
	"testing"
)

func TestQR(t *testing.T) {
	t.Parallel()
	picture, err := QR("https://t.me/some_bot?start=ABCDEFGHJK")
	if err != nil || strings.Count(picture, "\n") < 15 || !strings.Contains(picture, "▀") {
		t.Errorf("got %s, %v", picture, err)
	}
}

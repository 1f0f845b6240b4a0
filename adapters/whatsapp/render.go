package whatsapp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
)

// Render returns p as the text of a message of at most max UTF-16 units, in
// WhatsApp's markup (CHANNELS B.11, markup.WhatsApp). It is *core.Permanent if
// the text is empty or does not fit even without markup.
func Render(p core.Part, max int) (string, error) {
	if strings.TrimSpace(p.Text) == "" {
		return "", &core.Permanent{Err: errors.New("send to whatsapp: the text is empty")}
	}
	text := markup.WhatsApp(markup.Text{Text: p.Text, Spans: p.Spans}, max)
	if n := markup.UTF16Len(text); n > max {
		return "", &core.Permanent{Err: fmt.Errorf("send to whatsapp: the text has %d characters, and at most %d are taken", n, max)}
	}
	return text, nil
}

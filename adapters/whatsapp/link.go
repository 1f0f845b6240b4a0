package whatsapp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/everthread/everthread/core"
)

// App asks for the number that people write to; wa.me opens a chat with it.
func (c *Channel) App(ctx context.Context) (core.App, error) {
	n, _, err := c.number(ctx)
	if err != nil {
		return core.App{}, err
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, n.Number)
	if digits == "" {
		return core.App{}, errors.New("the number is not known")
	}
	return core.App{Channel: Name, Name: "+" + digits, Link: func(text string) string {
		return "https://wa.me/" + digits + "?text=" + url.PathEscape(text)
	}}, nil
}

package telegram

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust/egress"
)

// Every message needs a send, and most a draft and a chat action.
func BenchmarkSend(b *testing.B) {
	s := telegramtest.New()
	defer s.Close()
	c, err := New(Options{Config: Config{Token: telegramtest.Token, APIURL: s.URL()},
		HTTP: (*egress.Gate)(nil).Client(s.URL()), Log: zap.NewNop(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	p := markup.Parse("A reply with **bold** words, `code` and a [link](https://a.example).").Part()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Send(b.Context(), adaAddress, p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNormalise(b *testing.B) {
	raw := []byte(strings.Replace(hello, `"text":"hello"`, `"text":`+strconv.Quote(strings.Repeat("some words ", 20)), 1))
	b.ReportAllocs()
	for b.Loop() {
		normalise(self{account: "999", name: "test_bot"}, raw, time.Time{})
	}
}

func BenchmarkRender(b *testing.B) {
	p := markup.Parse(strings.Repeat("Some **bold** words and `code`.\n", 20)).Part()
	b.ReportAllocs()
	for b.Loop() {
		Render(7, p)
	}
}

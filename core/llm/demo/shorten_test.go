package demo

import (
	"testing"

	"github.com/everthread/everthread/core"
)

func TestShortensWordForWord(t *testing.T) {
	t.Parallel()
	request := []core.ModelMessage{
		{Role: core.RoleSystem, Content: shortenRequest + " between a person (user) and their assistant."},
		{Role: core.RoleUser, Content: "=====00c0ffee 12 user, at most 20 tokens\nThe weather was nice. We decided to move to Ghent on 3 May.\n```\nx = 7\n```\nNothing else.\n=====00c0ffee\n" +
			"=====00c0ffee 13 assistant, at most 4 tokens\nEnjoy your day, and tell me more whenever you like.\n=====00c0ffee\n" +
			"=====00c0ffee 14 user, at most 9 tokens\ncut off"},
	}
	want := `{"id":12,"text":"We decided to move to Ghent on 3 May."}` + "\n" + `{"id":13,"text":""}`
	if got := reply(core.ModelRequest{Messages: request}).text; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

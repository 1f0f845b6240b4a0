package demo

import (
	"testing"

	"github.com/everthread/everthread/core"
)

func TestShortensWordForWord(t *testing.T) {
	t.Parallel()
	request := []core.ModelMessage{
		{Role: core.RoleSystem, Content: shortenRequest + " between a person (user) and their assistant."},
		{Role: core.RoleUser,
			Content: `{"id":12,"role":"user","max_tokens":20,"text":"The weather was nice. We decided to move to Ghent on 3 May.\n` + "```\\nx = 7\\n```" + `\nNothing else."}` + "\n" +
				`{"id":13,"role":"assistant","max_tokens":4,"text":"Enjoy your day, and tell me more whenever you like."}` + "\n" +
				`{"id":14,"role":"user","max_tokens":9,"text":"cut off`},
	}
	want := `{"id":12,"text":"We decided to move to Ghent on 3 May."}` + "\n" + `{"id":13,"text":""}`
	if got := reply(core.ModelRequest{Messages: request}).Content; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

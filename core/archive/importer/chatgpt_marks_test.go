package importer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestChatGPT_marks: what the marks in an answer stand for is said, and none of them stays.
func TestChatGPT_marks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, refs, want string }{
		{"The boat is blue. \ue200cite\ue202turn0search1\ue201", `[{"matched_text":"\ue200cite\ue202turn0search1\ue201","type":"grouped_webpages","alt":"([boats.example](https://boats.example/a))","items":[{"url":"https://boats.example/a"}]}]`,
			"The boat is blue. ([boats.example](https://boats.example/a))"},
		{"Blue.\ue200cite\ue202turn0search1\ue202turn0search2\ue201", `[{"matched_text":"\ue200cite\ue202turn0search1\ue202turn0search2\ue201","alt":null,"items":[{"title":"A","url":"https://a.example"},{"url":"https://b.example"}]}]`,
			"Blue. (https://a.example, https://b.example)"},
		{"Blue.\ue200cite\ue202turn0search1\ue201", `[{"title":"A","url":"https://a.example"},{"matched_text":" ","type":"sources_footnote","sources":[{"url":"https://a.example"}]}]`,
			"Blue.\nhttps://a.example"},
		{"Blue.\ue200cite\ue202turn0search1\ue201", `[]`, "Blue."},
		{"I like \ue200entity\ue202[\"city\",\"Paris\",\"in France\"]\ue201!", `null`, "I like Paris!"},
		{"See \ue200image_group\ue202{\"query\":[\"x\"]}\ue201", `7`, "See [image group]"},
		{"Blue【4†source】.", `[{"matched_text":"【4†source】","url":"https://a.example"}]`, "Blue (https://a.example)."},
		{"Blue【4:0†plan.pdf】.", `[{"matched_text":"【4:0†plan.pdf】","type":"file","name":"plan.pdf"}]`, "Blue (plan.pdf)."},
		{"Blue【4†source】.", `[7, {"matched_text": 5}]`, "Blue."},
		{":::writing{variant=\"email\" id=\"1\"}\nDear Ana,\nhi\n:::\nShall I send it?", `[]`, "Dear Ana,\nhi\nShall I send it?"},
		{":::writing{variant=\"email\" subject=\"The boat\"}\nDear Ana\n:::", `[]`, "The boat\nDear Ana"},
		{"Use ::: for a fence\n:::\nand 【this】.", `[]`, "Use ::: for a fence\n:::\nand 【this】."},
	} {
		said, _ := json.Marshal(c.text)
		got := render(open(t, file(t, "conversations.json", fmt.Sprintf(`[{"id":"c","title":"T","current_node":"a","mapping":{
			"a":{"id":"a","parent":null,"message":{"id":"a","author":{"role":"assistant"},"create_time":1756000000,
			"content":{"content_type":"text","parts":[%s]},"metadata":{"content_references":%s},"recipient":"all"}}}}]`, said, c.refs))),
			"chatgpt", paris(t))
		if want := fmt.Sprintf("%q", c.want); !strings.Contains(got, want) || strings.Contains(got, "left out") {
			t.Errorf("%q with %s:\ngot %swant %s", c.text, c.refs, got, want)
		}
	}
}

package matrix

import (
	"encoding/json"
	"testing"

	"github.com/everthread/everthread/core"
)

func readContent(t *testing.T, kind, content string) core.Inbound {
	t.Helper()
	e, ok := readEvent([]byte(`{"type":"` + kind + `","event_id":"$1","sender":"@ada:hs.test","content":` + content + `}`))
	if !ok {
		t.Fatalf("%s: no event", content)
	}
	r := room{id: "!r:hs.test", members: map[string]member{"@bot:hs.test": {membership: "join"},
		"@ada:hs.test": {membership: "join", name: "Ada"}}}
	in, _ := normalise(scene{home: household{self: "@bot:hs.test"}, room: r}, e)
	return in
}

func TestMessage_everyType(t *testing.T) {
	t.Parallel()
	const message = "m.room.message"
	for content, want := range map[string]struct {
		kind, text string
		foreign    bool
	}{
		`{"msgtype":"m.text","body":"hi"}`:                                     {message, "hi", false},
		`{"msgtype":"m.emote","body":"waves"}`:                                 {message, "* Ada waves", false},
		`{"msgtype":"m.image","body":"a.png","url":"mxc://hs.test/a"}`:         {message, "[photo]", false},
		`{"msgtype":"m.file","body":"a.pdf","url":"mxc://hs.test/a"}`:          {message, "[document a.pdf]", false},
		`{"body":"cat","url":"mxc://hs.test/a"}`:                               {"m.sticker", "[sticker]", false},
		`{"msgtype":"m.location","geo_uri":"geo:52.52,13.405;u=3","body":"x"}`: {message, "[location 52.52000,13.40500]", false},
		`{"msgtype":"m.location","geo_uri":"geo:1,2","body":"x","org.matrix.msc3488.location":{"description":"the pub"}}`: {message,
			"[location the pub, 1.00000,2.00000]", true},
		`{"org.matrix.msc3381.poll.start":{"question":{"body":"Lunch?","org.matrix.msc1767.text":"Lunch?"},"answers":[{"id":"1","org.matrix.msc1767.text":"Pizza"},{"id":"2","org.matrix.msc1767.text":"Soup"}]},"org.matrix.msc1767.text":"Lunch?\n1. Pizza"}`: {
			"org.matrix.msc3381.poll.start", "[poll Lunch? (Pizza / Soup)]", true},
		`{"m.poll":{"question":{"m.text":[{"body":"Tea?"}]},"answers":[{"m.id":"1","m.text":[{"mimetype":"text/html","body":"<b>"},{"body":"yes"}]}]}}`: {
			"m.poll.start", "[poll Tea? (yes)]", true},
		`{"m.text":[{"body":"The poll has ended"}]}`: {"m.poll.end", "[poll ended: The poll has ended]", true},
		`{"call_id":"1","lifetime":60000}`:           {"m.call.invite", "[call]", false},
		`{"msgtype":"org.example.hologram"}`:         {message, "[unsupported: org.example.hologram]", true},
	} {
		in := readContent(t, want.kind, content)
		if in.Kind != core.InMessage || in.Text != want.text || in.Tainted != want.foreign {
			t.Errorf("%s:\ngot  %s %q, foreign %t\nwant %q, foreign %t", content, in.Kind, in.Text, in.Tainted, want.text,
				want.foreign)
		}
	}
}

// TestMessage_beginsSomethingElse: offers to verify are nobody's words, and a live location is named once, when it begins.
func TestMessage_beginsSomethingElse(t *testing.T) {
	t.Parallel()
	if in := readContent(t, "m.room.message", `{"msgtype":"m.key.verification.request","from_device":"X","methods":["m.sas.v1"],
		"body":"Ada is requesting to verify your key, but your client does not support it"}`); in.Text !=
		"[unsupported: m.key.verification.request]" {
		t.Errorf("a request to verify: %q", in.Text)
	}
	for event, want := range map[string]string{
		`"type":"m.beacon_info","state_key":"@ada:hs.test","content":{"live":true,"description":"Ada's way"}`:                "[live location, which is not followed]",
		`"type":"org.matrix.msc3672.beacon_info","state_key":"@ada:hs.test","content":{"live":true}`:                         "[live location, which is not followed]",
		`"type":"org.matrix.msc3672.beacon_info","state_key":"_@ada:hs.test_DEVICE","content":{"live":true,"timeout":60000}`: "[live location, which is not followed]",
		`"type":"org.matrix.msc3672.beacon_info","state_key":"@ada:hs.test","content":{"live":false}`:                        "",
		`"type":"m.beacon_info","state_key":"@eve:hs.test","content":{"live":true}`:                                          "",
		`"type":"m.beacon_info","content":{"live":true,"body":"words"}`:                                                      "",
		`"type":"m.beacon","content":{"m.location":{"uri":"geo:1,2"}}`:                                                       "",
		`"type":"m.call.invite","state_key":"@ada:hs.test","content":{"lifetime":60000}`:                                     "",
	} {
		e, _ := readEvent([]byte(`{"event_id":"$1","sender":"@ada:hs.test",` + event + "}"))
		for _, encrypted := range []bool{false, true} {
			r := room{id: "!r:hs.test", encrypted: encrypted, members: map[string]member{
				"@bot:hs.test": {membership: "join"}, "@ada:hs.test": {membership: "join", name: "Ada"}}}
			if in, _ := normalise(scene{home: household{self: "@bot:hs.test"}, room: r}, e); in.Text != want || in.Tainted {
				t.Errorf("%s, encrypted %t: got %q, want %q", event, encrypted, in.Text, want)
			}
		}
	}
}

func TestMessage_html(t *testing.T) {
	t.Parallel()
	for source, want := range map[[2]string]string{
		{"see the plan", `see <a href="https://example.com/plan">the plan</a>`}:                                                                      "see [the plan](https://example.com/plan)",
		{"[the plan](https://example.com/plan)", `<a href="https://example.com/plan">the plan</a>`}:                                                  "[the plan](https://example.com/plan)",
		{"it is (spoiler) ok", `it is <span data-mx-spoiler>ok</span>`}:                                                                              "it is ||ok||",
		{"5 euros", `<del>5</del> <strong>6</strong> euros`}:                                                                                         "~~5~~ 6 euros",
		{"Bob: hi", `<a href="https://matrix.to/#/@bob:hs.test">Bob</a>: hi`}:                                                                        "[Bob](https://matrix.to/#/@bob:hs.test): hi",
		{"one\ntwo", `<mx-reply>old</mx-reply><p>one</p><ul><li><a href="https://x.org">two</a></li></ul>`}:                                          "one\n- [two](https://x.org)",
		{"q\nmine", `<blockquote><p>q</p></blockquote><p><s>mine</s></p>`}:                                                                           "> q\n~~mine~~",
		{"/remember the plan", `/remember <a href="https://example.com">the plan</a>`}:                                                               "/remember the plan",
		{"numbers", `<a href="https://x.org">l</a><ol><li>first</li><li>second</li></ol>`}:                                                           "[l](https://x.org)\n1. first\n2. second",
		{"later numbers", `<ol start="4"><li><p>first</p></li><li><p><a href="https://x.org">l</a></p></li></ol>`}:                                   "4. first\n5. [l](https://x.org)",
		{"nested", `<ol><li>a<ul><li>b</li><li><a href="https://x.org">c</a></li></ul></li><li>d</li></ol>`}:                                         "1. a\n   - b\n   - [c](https://x.org)\n2. d",
		{":cat: l", `<img data-mx-emoticon src="mxc://x/y" alt=":cat:" title=":cat:"> <a href="https://x.org">l</a>`}:                                ":cat: [l](https://x.org)",
		{"t", `<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><a href="https://x.org">l</a></td></tr></tbody></table>`}: "a | b\n1 | [l](https://x.org)",
		{"code", `<p><a href="https://x.org">l</a></p><pre><code class="language-go">a := 1
  b := "&lt;"
</code></pre><p>after</p>`}: "[l](https://x.org)\n```go\na := 1\n  b := \"<\"\n```\nafter",
		{"fences", "<a href=\"https://x.org\">l</a><pre><code>```\nx\n```</code></pre>"}:           "[l](https://x.org)\n````\n```\nx\n```\n````",
		{"quoted code", "<blockquote><pre>a\nb</pre></blockquote><a href=\"https://x.org\">l</a>"}: "> ```\n> a\n> b\n> ```\n[l](https://x.org)",
		{"powers", `10<sup>6</sup> of H<sub>2</sub>O, <a href="https://x.org">l</a>`}:              "10^6 of H_2O, [l](https://x.org)",
		{"head", `<h2>Plan</h2><hr><a href="https://x.org">l</a>`}:                                 "## Plan\n---\n[l](https://x.org)",
		{"odd", `</ul></pre><li><td><a href="https://x.org">l</a>`}:                                "- [l](https://x.org)",
		{"plain", `<b>plain</b>`}:                "plain",
		{"open", `<a href="https://x.org">open`}: "[open](https://x.org)",
	} {
		content, _ := json.Marshal(map[string]string{"msgtype": "m.text", "body": source[0],
			"format": "org.matrix.custom.html", "formatted_body": source[1]})
		if in := readContent(t, "m.room.message", string(content)); in.Text != want {
			t.Errorf("%s:\ngot  %q\nwant %q", source[1], in.Text, want)
		}
	}
}

func TestMessage_forwarded(t *testing.T) {
	t.Parallel()
	for mark, want := range map[string]string{
		`"m.forwarded":{"sender":"@bob:hs.test","event_id":"$0"}`: "@bob:hs.test",
		`"com.famedly.app.forwarded":{"event_id":"$0"}`:           "unknown",
		`"org.matrix.msc4553.forwarded":{"sender":"@x:y"}`:        "@x:y",
		`"m.forwarded":"no mark"`:                                 "",
		`"m.mentions":{}`:                                         "",
	} {
		in := readContent(t, "m.room.message", `{"msgtype":"m.text","body":"words",`+mark+`}`)
		if in.ForwardedFrom != want || in.Text != "words" {
			t.Errorf("%s: got %q from %q, want from %q", mark, in.Text, in.ForwardedFrom, want)
		}
	}
}

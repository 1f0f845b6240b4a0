package settings

import (
	"net/http"
	"net/url"
	"testing"
)

func TestSetup_showsWhatIsSetAndWhere(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/setup").Wants(t, http.StatusOK, `href="/setup/model"`, "&lt;demo&gt;", "everthread.yaml", "the &lt;last&gt; one",
		`href="/setup/file"`)
	p.Get("/setup/file").Wants(t, http.StatusOK, "provider: demo")
	model := p.Get("/setup/model")
	model.Wants(t, http.StatusOK, `<option value="demo" selected>`, `name="llm.api_key" type="password" value=""`,
		"fixed-model", "everthread.yaml", "Ollama")
	model.Lacks(t, `name="llm.model"`)
	p.Get("/setup/model?server="+url.QueryEscape("http://127.0.0.1:11434/v1")).Wants(t, http.StatusOK,
		`<option value="openai" selected>`, `value="http://127.0.0.1:11434/v1"`)
	p.Get("/setup/choices").Wants(t, http.StatusOK, "&lt;big&gt;", `name="item" value="&lt;big&gt;"`, `id="new-name"`)
	tools := p.Get("/setup/tools")
	tools.Wants(t, http.StatusOK, "EVERTHREAD_AGENT_MCP_SERVERS")
	tools.Lacks(t, "<button class=\"button primary\"")
	p.Get("/setup/nothing").Wants(t, http.StatusNotFound)
	bob := f.Bob.SignedIn()
	for _, path := range []string{"/setup", "/setup/model", "/setup/file"} {
		bob.Get(path).Wants(t, http.StatusNotFound)
	}
	bob.Post("/setup/model", url.Values{"do": {"save"}, "llm.api_key": {"right"}}).Wants(t, http.StatusNotFound)
	if len(f.setup.asked) != 0 {
		t.Error(f.setup.asked)
	}
}

func TestSetup_testsSavesAndRemoves(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	wrong := p.Post("/setup/model", url.Values{"do": {"save"}, "llm.api_key": {"hunter2"}, "llm.base_url": {` "here" `},
		"llm.model": {"other"}, "data_dir": {"/"}})
	wrong.Wants(t, http.StatusOK, "It does not work: &lt;refused&gt;", `value="&#34;here&#34;"`, `value="force"`,
		`<option value="https://offered.example">`)
	wrong.Lacks(t, "hunter2")
	p.Post("/setup/model", url.Values{"do": {"test"}, "llm.api_key": {"right"}}).Wants(t, http.StatusOK, "It is &lt;some_bot&gt;.")
	again := p.Post("/setup/model", url.Values{"do": {"test"}, "llm.api_key": {"right"}}).Between(t, `name="sealed" value="`, `"`)
	p.Post("/setup/model", url.Values{"do": {"test"}, "llm.api_key": {""}, "sealed": {again}}).Wants(t, http.StatusOK,
		"It is &lt;some_bot&gt;.")
	p.Post("/setup/channel-telegram", url.Values{"do": {"test"}, "token": {""}, "sealed": {again}}).Wants(t, http.StatusOK,
		"&lt;refused&gt;")
	p.Post("/setup/model", url.Values{"do": {"force"}}).Wants(t, http.StatusUnprocessableEntity, "llm.model is empty")
	for part, leads := range map[string]string{"model": "/setup/model", "channel-telegram": "/setup/channel-telegram?saved=1", "choices": "/setup/choices"} {
		key := map[string]string{"model": "llm.api_key", "channel-telegram": "token", "choices": "key"}[part]
		saved := p.Post("/setup/"+part, url.Values{"do": {"save"}, key: {"right"}, "item": {"a"}})
		saved.Wants(t, http.StatusSeeOther)
		if at := saved.Header.Get("Location"); at != leads {
			t.Errorf("%s leads to %s", part, at)
		}
	}
	p.Get("/setup/channel-telegram?saved=1").Wants(t, http.StatusOK, "Connect yourself", `action="/settings/channels/link"`)
	p.Post("/setup/choices", url.Values{"do": {"remove"}, "item": {"<big>"}}).Wants(t, http.StatusSeeOther)
	if last := f.setup.asked[len(f.setup.asked)-1]; last != "remove 1 choices <big>" {
		t.Errorf("asked %q", last)
	}
	p.Post("/setup/tools", url.Values{"do": {"save"}, "item": {"a"}, "key": {"right"}}).Wants(t, http.StatusConflict,
		"EVERTHREAD_AGENT_MCP_SERVERS")
	f.room.checks.take(0)
	p.Post("/setup/model", url.Values{"do": {"test"}}).Wants(t, http.StatusTooManyRequests, "A check is already running")
	f.room.checks.leave(0)
}

// TestSetup_byACode: a channel is set up by a code that a phone scans; the page learns when that was done.
func TestSetup_byACode(t *testing.T) {
	t.Parallel()
	f := newOffice(t)
	p := f.Ana.SignedIn()
	p.Get("/setup/channel-signal").Wants(t, http.StatusOK, `value="scan"`)
	p.Get("/setup/channel-telegram").Lacks(t, `value="scan"`)
	p.Post("/setup/channel-signal", url.Values{"do": {"scan"}}).Wants(t, http.StatusOK, "It does not work: &lt;no address&gt;")
	p.Post("/setup/channel-signal", url.Values{"do": {"scan"}, "address": {`"here"`}}).Wants(t, http.StatusOK, `class="qr"`,
		"&lt;Scan&gt; it.", `data-arrives="/setup/channel-signal/scanned?id=7&amp;had="`,
		`name="address" value="&#34;here&#34;"`)
	const arrived = "/setup/channel-signal/scanned?id="
	p.Get(arrived+"7&had=").Wants(t, http.StatusNoContent)
	p.Get(arrived+"6&had=").Wants(t, http.StatusOK)
	f.setup.linked = "+49301"
	p.Get(arrived+"7&had=").Wants(t, http.StatusOK)
	p.Post("/setup/channel-signal", url.Values{"do": {"scan"}, "address": {"x"}}).Wants(t, http.StatusOK, "id=7&amp;had=%2B49301\"")
	p.Get(arrived+"7&had=%2B49301").Wants(t, http.StatusNoContent)
	f.Bob.SignedIn().Get(arrived+"7&had=").Wants(t, http.StatusNotFound)
}

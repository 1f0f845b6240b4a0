package openai_test

import (
	"strings"
	"testing"
)

// TestChat_badRequests checks that an invalid request is refused with a text and the wrong field, and
// stores nothing.
func TestChat_badRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user := `{"role":"user","content":"a"}`
	with := func(more string) string { return `{"model":"everthread","messages":[` + user + `],` + more + `}` }
	messages := func(m string) string { return `{"model":"everthread","messages":[` + m + `]}` }
	part := func(p string) string { return messages(`{"role":"user","content":[` + p + `]}`) }
	for name, c := range map[string]struct {
		body   string
		status int
		param  string
		want   string
	}{
		"no JSON":  {`{"model"`, 400, "", "not valid JSON"},
		"nothing":  {``, 400, "", "is empty"},
		"an array": {`[]`, 400, "", "one JSON object"},
		"a key twice": {`{"model":"everthread","model":"everthread","messages":[` + user + `]}`, 400,
			"model", "stands twice"},
		"deep nesting": {with(`"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), 400,
			"", "deeper than 64"},
		"very deep nesting": {with(`"x":` + strings.Repeat("[", 1_000_000)), 400, "", "deeper than 64"},
		"ten megabytes":     {with(`"x":"` + strings.Repeat("x", 10<<20) + `"`), 413, "", "larger than 8388608 bytes"},
		"no model":          {`{"messages":[` + user + `]}`, 400, "model", "model is missing"},
		"an unknown model":  {`{"model":"gpt-9","messages":[` + user + `]}`, 404, "model", "no model gpt-9"},
		"an unknown strategy": {`{"model":"everthread-huge","messages":[` + user + `]}`, 404, "model",
			"no model everthread-huge"},
		"a thread without name": {`{"model":"everthread/ ","messages":[` + user + `]}`, 404, "model", "no model"},
		"a model that is none": {`{"model":7,"messages":[` + user + `]}`, 400, "model",
			"model must be a string, not a number."},
		"no messages":            {`{"model":"everthread"}`, 400, "messages", "is empty"},
		"empty messages":         {messages(""), 400, "messages", "is empty"},
		"messages that are none": {`{"model":"everthread","messages":"hi"}`, 400, "messages", "must be an array"},
		"last role assistant": {messages(user + `,{"role":"assistant","content":"b"}`), 400, "messages",
			"nothing to answer"},
		"system only": {messages(`{"role":"system","content":"b"}`), 400, "messages", "nothing to answer"},
		"no role":     {messages(`{"content":"b"}`), 400, "messages[0].role", "has no role"},
		"an unknown role": {messages(user + `,{"role":"robot","content":"b"}`), 400,
			"messages[1].role", "must be user"},
		"a message that is none": {messages(`"b"`), 400, "messages[0]", "must be an object"},
		"no content":             {messages(`{"role":"user"}`), 400, "messages[0].content", "says nothing"},
		"blank content":          {messages(`{"role":"user","content":" \n"}`), 400, "messages[0].content", "says nothing"},
		"content of a number":    {messages(`{"role":"user","content":1}`), 400, "messages[0].content", "string or an array"},
		"a part of a wrong type": {part(`{"type":"text","text":3}`), 400, "messages[0].content.text", "must be a string"},
		"a recording": {part(`{"type":"input_audio","input_audio":{"data":"","format":"wav"}}`), 400,
			"messages[0].content[0]", "is a recording"},
		"a file": {part(`{"type":"file","file":{"file_id":"f"}}`), 400,
			"messages[0].content[0].file", "must bring the file itself"},
		"a file of nothing": {part(`{"type":"file","file":{"file_data":"data:application/pdf;base64,"}}`), 400,
			"messages[0].content[0].file.file_data", "no valid base64"},
		"an unknown part":     {part(`{"type":"video"}`), 400, "messages[0].content[0].type", "text, image_url or file"},
		"a part without type": {part(`{"text":"a"}`), 400, "messages[0].content[0].type", "has no type"},
		"a picture elsewhere": {part(`{"type":"image_url","image_url":{"url":"http://127.0.0.1/a.png"}}`), 400,
			"messages[0].content[0].image_url.url", "data: URL"},
		"a picture in a string": {part(`{"type":"image_url","image_url":"https://example.org/a.png"}`), 400,
			"messages[0].content.image_url", "must be an object"},
		"no base64": {part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,!!"}}`), 400,
			"messages[0].content[0].image_url.url", "no valid base64"},
		"no picture": {part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,aGVsbG8="}}`), 400,
			"messages[0].content[0].image_url.url", "is no picture"},
		"a picture not encoded": {part(`{"type":"image_url","image_url":{"url":"data:image/svg+xml,<svg/>"}}`), 400,
			"messages[0].content[0].image_url.url", "base64"},
		"a long text": {messages(`{"role":"user","content":"` + strings.Repeat("x", 300<<10) + `"}`), 400,
			"messages[0].content", "at most 262144 fit"},
		"long instructions": {messages(`{"role":"system","content":"` + strings.Repeat("x", 70<<10) + `"},` + user), 400,
			"messages", "at most 65536 fit"},
		"a picture as system": {messages(
			`{"role":"system","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + dot + `"}}]},` +
				user), 400, "messages[0].content", "text only"},
		"two answers":            {with(`"n":2`), 400, "n", "n must be 1"},
		"no answer":              {with(`"n":0`), 400, "n", "n must be 1"},
		"no tokens":              {with(`"max_tokens":0`), 400, "max_tokens", "1 or more"},
		"fewer tokens":           {with(`"max_completion_tokens":-5`), 400, "max_completion_tokens", "1 or more"},
		"tokens in words":        {with(`"max_tokens":"many"`), 400, "max_tokens", "whole number"},
		"a stream in words":      {with(`"stream":"yes"`), 400, "stream", "true or false"},
		"a wrong temperature":    {with(`"temperature":"hot"`), 400, "temperature", "a number"},
		"stream options":         {with(`"stream_options":[]`), 400, "stream_options", "an object"},
		"functions":              {with(`"functions":[{}]`), 400, "functions", "send them as tools"},
		"tools that are none":    {with(`"tools":{}`), 400, "tools", "an array"},
		"a tool of another type": {with(`"tools":[{"type":"browser"}]`), 400, "tools", "of the type function"},
		"a tool without name":    {with(`"tools":[{"type":"function","function":{}}]`), 400, "tools", "A tool's name"},
		"two tools of one name": {with(
			`"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]`), 400,
			"tools", "Two tools"},
		"parameters of a string": {with(`"tools":[{"type":"function","function":{"name":"a","parameters":"x"}}]`), 400,
			"tools", "JSON schema"},
		"large tools": {with(`"tools":[{"type":"function","function":{"name":"a","description":"` +
			strings.Repeat("x", 130<<10) + `"}}]`), 400, "tools", "more than 131072 bytes"},
		"an unknown choice":   {with(`"tool_choice":"maybe"`), 400, "tool_choice", "none, auto, required"},
		"a choice of nothing": {with(`"tool_choice":"required"`), 400, "tool_choice", "no tools"},
		"a choice of another": {with(`"tool_choice":{"type":"function","function":{"name":"b"}}`), 400, "tool_choice",
			"not among the tools"},
		"a choice of a number": {with(`"tool_choice":5`), 400, "tool_choice", "none, auto, required"},
	} {
		t.Run(name, func(t *testing.T) {
			res, text := w.chat(c.body)
			e := readError(t, text)
			if res.StatusCode != c.status || e.Param != c.param || !strings.Contains(e.Message, c.want) ||
				e.Type != "invalid_request_error" {
				t.Errorf("%d %s", res.StatusCode, text)
			}
		})
	}
	res, _ := w.chat(hello, "Idempotency-Key", strings.Repeat("k", 256))
	if res.StatusCode != 400 {
		t.Errorf("a long Idempotency-Key: %d", res.StatusCode)
	}
	if n := len(w.questions()); n != 0 {
		t.Errorf("%d messages were accepted", n)
	}
}

// TestChat_ignoredFields checks that fields that the gateway decides itself and unknown fields are not errors.
func TestChat_ignoredFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(
		`{"model":"everthread","messages":[{"role":"user","content":"a","name":"ada","made_up":{}}],"temperature":1,"top_p":null,"seed":4,"presence_penalty":0.1,"frequency_penalty":0,
		"user":"u","stop":["x"],"logit_bias":{},"logprobs":false,"response_format":{"type":"text"},"parallel_tool_calls":true,"store":true,"n":1,"tools":[],"tool_choice":"auto","metadata":null,"reasoning_effort":"low"}`)
	if r := w.questions()[0][0].Request; r.MaxTokens != 0 || len(r.Tools) != 0 || r.Choice != "auto" {
		t.Errorf("%+v", r)
	}
}

package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

// sent is a request as a server sees it.
type sent struct {
	fields map[string]json.RawMessage
	body   struct {
		Messages []sentMessage
		Tools    []json.RawMessage
	}
	size int // of the messages
}

type sentMessage struct {
	Role      string
	ToolCalls []map[string]json.RawMessage `json:"tool_calls"`
	Reasoning json.RawMessage              `json:"reasoning_content"`
}

// server answers requests by rule and keeps them.
type server struct {
	model core.Model
	sent  []sent
}

// asking returns a model whose server answers the n-th request (from 1) with a status and a body.
func asking(t *testing.T, rule func(r sent, n int) (status int, body string)) *server {
	t.Helper()
	s := &server{}
	here := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var one sent
		var raw json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
			t.Error(err)
		}
		if err := errors.Join(json.Unmarshal(raw, &one.fields), json.Unmarshal(raw, &one.body)); err != nil {
			t.Error(err)
		}
		one.size = len(one.fields["messages"])
		s.sent = append(s.sent, one)
		status, body := rule(one, len(s.sent))
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	})
	s.model = New(Options{Model: "some-model", APIKey: key, BaseURL: here.URL})
	return s
}

// fine is a good answer.
const fine = `data: {"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// refusing returns the body of a refusal.
func refusing(message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, message)
}

// prompt returns a request as turns make them: with two messages of the person in a row.
func prompt() core.ModelRequest {
	req := full()
	req.Tools = append(req.Tools, core.ToolSpec{Name: "conversation_search", Description: "Search.",
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)})
	req.Messages = []core.ModelMessage{{Role: core.RoleSystem, Content: "You are kind."},
		{Role: core.RoleUser, Content: "[notes]"}, {Role: core.RoleUser, Content: "what about the boat?"}}
	return req
}

// takesTurns is what the chat templates of Gemma and Mistral demand.
func takesTurns(r sent) bool {
	last := ""
	for _, m := range r.body.Messages {
		role := m.Role
		if role == "tool" {
			role = "user"
		}
		if role == "system" {
			continue
		}
		if role == last {
			return false
		}
		last = role
	}
	return true
}

func (r sent) pictures() bool { return strings.Contains(string(r.fields["messages"]), "image_url") }

func (r sent) toolsInIt() bool {
	return len(r.body.Tools) > 0 || slices.ContainsFunc(r.body.Messages, func(m sentMessage) bool {
		return m.Role == "tool" || len(m.ToolCalls) > 0
	})
}

func (r sent) optional() bool {
	return slices.ContainsFunc([]string{"stream_options", "max_tokens", "user", "tool_choice"}, func(name string) bool {
		return r.fields[name] != nil
	})
}

// TestModel_rolesAlternate: case 16, by the status of vLLM and of llama.cpp.
func TestModel_rolesAlternate(t *testing.T) {
	t.Parallel()
	for status, body := range map[int]string{
		400: `{"object":"error","message":"Conversation roles must alternate user/assistant/user/assistant/...","type":"BadRequestError","param":null,"code":400}`,
		500: `{"error":{"code":500,"message":"Value is not callable: null at row 13: raise_exception('Conversation roles must alternate user/assistant/user/assistant/...')","type":"server_error"}}`,
	} {
		s := asking(t, func(r sent, _ int) (int, string) {
			if !takesTurns(r) {
				return status, body
			}
			return 200, fine
		})
		a := ask(t.Context(), s.model, prompt())
		if a.err != nil || a.text != "fine" || !slices.Contains(a.last.Reduced, core.ReducedRoles) {
			t.Errorf("%d: %+v", status, a)
		}
		before := len(s.sent)
		if a := ask(t.Context(), s.model, prompt()); a.err != nil || len(s.sent) != before+1 ||
			!slices.Equal(a.last.Reduced, []core.Reduction{core.ReducedRoles}) {
			t.Errorf("%d, the next answer: %v after %d requests, %v", status, a.err, len(s.sent)-before, a.last.Reduced)
		}
		content := string(s.sent[before].fields["messages"])
		for _, words := range []string{"You are kind.", "[notes]", "what about the boat?"} {
			if !strings.Contains(content, words) {
				t.Errorf("%q is missing in %s", words, content)
			}
		}
	}
}

// TestModel_smallerRequests: servers that refuse parts of a request, and all of them, in words that nobody knows.
func TestModel_smallerRequests(t *testing.T) {
	t.Parallel()
	refusals := map[core.Reduction]func(sent) bool{
		core.ReducedParameters: sent.optional,
		core.ReducedRoles:      func(r sent) bool { return !takesTurns(r) },
		core.ReducedImages:     sent.pictures,
		core.ReducedTools:      sent.toolsInIt,
		core.ReducedLength:     func(r sent) bool { return r.size > 6000 },
	}
	req := full()
	req.Messages = append([]core.ModelMessage{req.Messages[0], {Role: core.RoleUser, Content: "[notes]"}},
		req.Messages[2:]...)
	for range 10 {
		req.Messages = append(req.Messages,
			core.ModelMessage{Role: core.RoleAssistant, Content: strings.Repeat("long ", 200)},
			core.ModelMessage{Role: core.RoleUser, Content: strings.Repeat("talk ", 200)})
	}
	everything := []core.Reduction{core.ReducedParameters, core.ReducedRoles, core.ReducedImages, core.ReducedTools,
		core.ReducedLength}
	sets := [][]core.Reduction{everything, {core.ReducedParameters, core.ReducedTools}, nil}
	for _, one := range everything {
		sets = append(sets, []core.Reduction{one})
	}
	for _, status := range []int{400, 404, 413, 422, 500, 200} {
		for _, set := range sets {
			s := asking(t, func(r sent, _ int) (int, string) {
				for _, one := range set {
					if refusals[one](r) {
						return status, refusing("zut, ça ne va pas")
					}
				}
				return 200, fine
			})
			for turn := range 5 {
				before := len(s.sent)
				a := ask(t.Context(), s.model, req)
				if n := len(s.sent) - before; a.err != nil || a.text != "fine" || n > 8 {
					t.Fatalf("%d, %v, turn %d: %v after %d requests", status, set, turn, a.err, n)
				}
				exact := status != 413 && len(set) < len(everything) // what is shorter needs less of the rest
				if n := len(s.sent) - before; turn == 4 && (n != 1 || exact && !slices.Equal(a.last.Reduced, set)) {
					t.Errorf("%d, %v: in the end %d requests, reduced %v", status, set, n, a.last.Reduced)
				}
			}
		}
	}
}

// TestModel_forgetsWhatItLearned: after some answers the server is tried with everything again.
func TestModel_forgetsWhatItLearned(t *testing.T) {
	t.Parallel()
	strict := true
	s := asking(t, func(r sent, _ int) (int, string) {
		if strict && r.toolsInIt() {
			return 400, refusing("no")
		}
		return 200, fine
	})
	ask(t.Context(), s.model, prompt())
	strict = false
	for range 60 {
		ask(t.Context(), s.model, prompt())
	}
	if last := s.sent[len(s.sent)-1]; !last.toolsInIt() {
		t.Error("tools are left out for ever")
	}
}

// TestModel_noLadder: refusals that a smaller request does not change are asked once.
func TestModel_noLadder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		kind   core.ModelErrorKind
	}{
		"key":             {401, refusing("bad key"), core.ModelAuth},
		"permission":      {403, refusing("not yours"), core.ModelAuth},
		"money":           {402, refusing("pay"), core.ModelBusy},
		"rate":            {429, refusing("slow down"), core.ModelBusy},
		"rate in a 200":   {200, `{"error":{"message":"Rate limit exceeded","code":429}}`, core.ModelBusy},
		"model":           {404, refusing("The model `x` does not exist"), core.ModelConfig},
		"address":         {404, `{"detail":"Not Found"}`, core.ModelConfig},
		"a page":          {404, "<html>", core.ModelConfig},
		"overloaded":      {503, refusing("overloaded"), core.ModelDown},
		"a proxy":         {500, "<html>", core.ModelDown},
		"Azure's filter":  {400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter"}}`, core.ModelRejected},
		"OpenAI's policy": {400, `{"error":{"message":"Your request was rejected","code":"content_policy_violation"}}`, core.ModelRejected},
		"moderation":      {403, refusing("Your input was flagged by moderation"), core.ModelRejected},
		"Gemini's key":    {400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, core.ModelAuth},
		"xAI's key":       {400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***Qq. You can obtain an API key from https://console.x.ai."}`, core.ModelAuth},
		"an expired key":  {400, refusing("API key expired. Please renew the API key."), core.ModelAuth},
		"no key":          {400, refusing("Missing API key"), core.ModelAuth},
		"a key in a 200":  {200, `{"error":{"message":"invalid api key (2049)"}}`, core.ModelAuth},
		"SiliconFlow":     {403, `{"code":30001,"message":"Sorry, your account balance is insufficient","data":null}`, core.ModelBusy},
		"Zhipu":           {429, `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`, core.ModelBusy},
		"Moonshot":        {429, `{"error":{"message":"Your account is suspended due to insufficient balance, please recharge","type":"exceeded_current_quota_error"}}`, core.ModelBusy},
		"DashScope":       {400, `{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}`, core.ModelBusy},
		"tokens later":    {429, refusing("Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29500, Requested 1723. Please try again in 2.4s."), core.ModelBusy},
		"Groq, later":     {413, refusing("Request too large for model `x` on tokens per minute (TPM): Limit 8,000, Requested 7,059"), core.ModelBusy},
	} {
		s := asking(t, func(sent, int) (int, string) { return c.status, c.body })
		var got *core.ModelError
		if err := ask(t.Context(), s.model, prompt()).err; !errors.As(err, &got) || got.Kind != c.kind || len(s.sent) != 1 {
			t.Errorf("%s: %v after %d requests", name, err, len(s.sent))
		}
	}
}

// TestModel_saysWhatIsMissing: a refusal for want of money says so, and not that the key is wrong or to try later.
func TestModel_saysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status      int
		words, body string
	}{
		{403, "no credit", `{"code":30001,"message":"Sorry, your account balance is insufficient"}`},
		{429, "no credit", `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`},
		{429, "no credit", refusing("insufficient balance")},
		{403, "no credit", refusing("Your credits are exhausted")},
		{429, "rate limit", refusing("slow down")},
		{429, "tokens in a minute", refusing("Request too large on tokens per min (TPM): Limit 3000, Requested 4123")},
		{429, "rate limit", refusing("On tokens per min (TPM): Limit 3000, Used 2000, Requested 1123, try later")},
		{429, "rate limit", refusing("On requests per min (RPM): Limit 3, Used 3, Requested 1")},
	} {
		s := asking(t, func(sent, int) (int, string) { return c.status, c.body })
		if err := ask(t.Context(), s.model, prompt()).err; err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, want %q", c.body, err, c.words)
		}
	}
}

// TestModel_vainLadder: a server with a lasting problem is not asked with ever smaller requests each time.
func TestModel_vainLadder(t *testing.T) {
	t.Parallel()
	s := asking(t, func(sent, int) (int, string) { return 500, refusing("cannot") })
	ask(t.Context(), s.model, prompt())
	before := len(s.sent)
	if before > 8 {
		t.Errorf("%d requests", before)
	}
	var got *core.ModelError
	if err := ask(t.Context(), s.model, prompt()).err; !errors.As(err, &got) || got.Kind != core.ModelDown ||
		len(s.sent) != before+2 {
		t.Errorf("%v after %d requests, want 2", err, len(s.sent)-before)
	}
}

func TestModel_stopEndsTheLadder(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := asking(t, func(_ sent, n int) (int, string) {
		if n == 2 {
			cancel()
		}
		return 400, refusing("no")
	})
	if err := ask(ctx, s.model, prompt()).err; !errors.Is(err, context.Canceled) || len(s.sent) != 2 {
		t.Errorf("%v after %d requests", err, len(s.sent))
	}
}

// TestModel_whatTheProviderWantsBack: case 17, and thoughts within a loop of tools.
func TestModel_whatTheProviderWantsBack(t *testing.T) {
	t.Parallel()
	s := asking(t, func(r sent, n int) (int, string) {
		if n == 1 {
			return 200, `data: {"choices":[{"delta":{"reasoning_content":"Look "}}]}

data: {"choices":[{"delta":{"reasoning_content":"it up.","tool_calls":[{"index":0,"id":"function-call-1","type":"function","function":{"name":"conversation_search","arguments":"{\"query\":\"boat\"}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]},"finish_reason":"tool_calls"}]}

data: [DONE]
`
		}
		return 200, fine
	})
	req := prompt()
	a := ask(t.Context(), s.model, req)
	if a.err != nil || len(a.last.ToolCalls) != 1 || a.text != "" || !a.last.Thought {
		t.Fatalf("%+v", a)
	}
	stored, err := json.Marshal(core.ModelMessage{Role: core.RoleAssistant, ToolCalls: a.last.ToolCalls})
	if err != nil {
		t.Fatal(err)
	}
	var again core.ModelMessage
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, again,
		core.ModelMessage{Role: core.RoleTool, ToolCallID: "function-call-1", Content: "nothing"})
	ask(t.Context(), s.model, req)
	back := s.sent[1].body.Messages[3]
	if string(back.ToolCalls[0]["extra_content"]) != `{"google":{"thought_signature":"c2ln"}}` ||
		string(back.Reasoning) != `"Look it up."` {
		t.Errorf("sent back: %s, %s", back.ToolCalls[0], back.Reasoning)
	}
	req.Messages = append(req.Messages, core.ModelMessage{Role: core.RoleUser, Content: "thanks"})
	ask(t.Context(), s.model, req)
	if back := s.sent[2].body.Messages[3]; back.Reasoning != nil || back.ToolCalls[0]["extra_content"] == nil {
		t.Errorf("in the next turn: %s, %s", back.ToolCalls[0], back.Reasoning)
	}
	other := asking(t, func(sent, int) (int, string) { return 200, fine })
	ask(t.Context(), other.model, req)
	if back := other.sent[0].body.Messages[3]; back.ToolCalls[0]["extra_content"] != nil {
		t.Errorf("another server got %s", back.ToolCalls[0])
	}
}

// TestModel_tooLongInAnyWords: the wordings of case 24, and one that nobody knows.
func TestModel_tooLongInAnyWords(t *testing.T) {
	t.Parallel()
	wordings := map[string]int{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.":                                                                                              400,
		"This model's maximum context length is 2048 tokens. However, you requested 0 output tokens and your prompt contains at least 2049 input tokens, for a total of at least 2049 tokens.":                                                       400,
		"the request exceeds the available context size (4096 tokens), try increasing it":                                                                                                                                                            400,
		"request (5120 tokens) exceeds the available context size (4096 tokens), try increasing it":                                                                                                                                                  400,
		"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input": 400,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":                                                                                                                                                    400,
		"This model's maximum prompt length is 131072 but the request contains 140000 tokens.":                                                                                                                                                       400,
		"prompt is too long: 208310 tokens > 200000 maximum":                                                                                                                                                                                         400,
		"input length and `max_tokens` exceed context limit: 187254 + 20000 > 204798, decrease input length or `max_tokens` and try again":                                                                                                           400,
		"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length":                                                                                                                                     400,
		"tokens in request more than max tokens allowed":                                                                                                                                                                                             400,
		"Prompt exceeds max length":                                      400,
		"Range of input length should be [1, 129024]":                    400,
		"invalid params, context window exceeds limit (2013)":            400,
		"Invalid request: Your request exceeded model token limit: 8192": 400,
		"Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 7059, please reduce your message size and try again.":                                              413,
		"Request too large for gpt-4o-mini in organization org-x on tokens per min (TPM): Limit 3000, Requested 4123. The input or output tokens must be reduced in order to run successfully. Visit https://platform.openai.com/account/rate-limits to learn more.": 429,
		"Request too large on input tokens per minute (TPM): Limit: 30,000, Requested: 41,230": 429,
		"Input is too long for requested model.":                                               400,
		"prompt token count of 70000 exceeds the limit of 64000":                               400,
		"zu lang": 422,
	}
	req := prompt()
	for i := range 6 {
		req.Messages = append(req.Messages, core.ModelMessage{Role: core.RoleAssistant, Content: "ok"},
			core.ModelMessage{Role: core.RoleUser, Content: fmt.Sprint(i, strings.Repeat(" lorem ipsum dolor", 150))})
	}
	req.Messages = append(req.Messages, core.ModelMessage{Role: core.RoleAssistant, Content: "ok"},
		core.ModelMessage{Role: core.RoleUser, Content: "and now?"})
	for message, status := range wordings {
		whole := 0
		s := asking(t, func(r sent, _ int) (int, string) {
			whole = max(whole, r.size)
			if r.size*10 > whole*6 {
				return status, refusing(message)
			}
			return 200, fine
		})
		a := ask(t.Context(), s.model, req)
		if a.err != nil || !slices.Contains(a.last.Reduced, core.ReducedLength) {
			t.Errorf("%s: %v, %v", message, a.err, a.last.Reduced)
			continue
		}
		if kept := string(s.sent[len(s.sent)-1].fields["messages"]); !strings.Contains(kept, "and now?") ||
			!strings.Contains(kept, "You are kind.") {
			t.Errorf("%s: %.300s", message, kept)
		}
		before := len(s.sent)
		if ask(t.Context(), s.model, req); len(s.sent) != before+1 {
			t.Errorf("%s: the next one took %d requests", message, len(s.sent)-before)
		}
		if a := ask(t.Context(), s.model, prompt()); len(a.last.Reduced) > 0 && a.last.Reduced[0] == core.ReducedLength {
			t.Errorf("%s: a short request was shortened", message)
		}
	}
}

// TestModel_chance: case 25, and answers that end by chance before their first word.
func TestModel_chance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"Groq":              {400, `{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=conversation_search={\"query\": \"boat\"}</function>"}}`},
		"Ollama":            {500, `{"error":{"message":"error parsing tool call: raw='{\"query\": \"boat\"', err=unexpected end of JSON input","type":"api_error"}}`},
		"Gemini":            {200, `data: {"choices":[{"delta":{},"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL"}]}` + "\n\n"},
		"a call cut off":    {200, `{"choices":[{"message":{"content":"<tool_call>{\"name\": \"conversation_se"},"finish_reason":"stop"}]}`},
		"an error in a 200": {200, `{"error":{"message":"something went wrong"}}`},
	} {
		s := asking(t, func(_ sent, n int) (int, string) {
			if n == 1 {
				return c.status, c.body
			}
			return 200, fine
		})
		if a := ask(t.Context(), s.model, prompt()); a.err != nil || a.text != "fine" || len(s.sent) != 2 ||
			len(a.last.Reduced) > 0 {
			t.Errorf("%s: %+v after %d requests", name, a, len(s.sent))
		}
	}
}

// TestModel_usageInAnyForm: case 58.
func TestModel_usageInAnyForm(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]core.Usage{
		`{}`: {}, `null`: {}, `[]`: {}, `""`: {}, `7`: {},
		`{"prompt_tokens":12.0,"completion_tokens":3.0,"total_tokens":15.0}`:                                        {Prompt: 12, Completion: 3},
		`{"prompt_tokens":12.5,"completion_tokens":3}`:                                                              {Prompt: 12, Completion: 3},
		`{"prompt_tokens":"12","completion_tokens":"3"}`:                                                            {Prompt: 12, Completion: 3},
		`{"prompt_tokens":-1,"completion_tokens":-1}`:                                                               {},
		`{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":[]}`:                                      {Prompt: 1, Completion: 1},
		`{"prompt_tokens":2,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":"1"}}`:                   {Prompt: 2, Cached: 1, Completion: 1},
		`{"prompt_tokens":2,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":900}}`:                   {Prompt: 2, Cached: 2, Completion: 1},
		`{"prompt_tokens":2,"completion_tokens":{"a":1},"completion_tokens_details":"none"}`:                        {Prompt: 2},
		`{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807,"total_tokens":"1e99999999"}`: {Prompt: -1},
	} {
		s := asking(t, func(sent, int) (int, string) {
			return 200, `data: {"id":7,"created":1.5,"model":null,"choices":[{"index":"0","delta":{"content":"fine"}}],"usage":` + form +
				"}\n\n" + `data: {"system_fingerprint":[],"choices":[{"delta":{"role":7},"finish_reason":"stop"}],"usage":` + form + "}\n\ndata: [DONE]\n\n"
		})
		a := ask(t.Context(), s.model, prompt())
		if a.err != nil || a.text != "fine" || len(s.sent) != 1 {
			t.Errorf("%s: %+v", form, a)
			continue
		}
		got := core.Usage{}
		if a.last.Usage != nil {
			got = *a.last.Usage
		}
		if want.Prompt < 0 { // bounded by what the request and the answer can hold
			if got.Prompt < 100 || got.Prompt > 50_000 || got.Completion < 100 || got.Completion > 300_000 {
				t.Errorf("%s: %+v", form, got)
			}
		} else if got != want {
			t.Errorf("%s: got %+v, want %+v", form, got, want)
		}
	}
}

// TestModel_finishReasons: case 77, and the ends of streams.
func TestModel_finishReasons(t *testing.T) {
	t.Parallel()
	type end struct {
		finish   core.Finish // empty: an error of kind ModelDown
		requests int
	}
	without := map[string]end{
		"content_filter": {core.FinishRefused, 1}, "SAFETY": {core.FinishRefused, 1},
		"PROHIBITED_CONTENT": {core.FinishRefused, 1}, "RECITATION": {core.FinishRefused, 1},
		"content_filter: RECITATION": {core.FinishRefused, 1}, "blocklist": {core.FinishRefused, 1},
		"sensitive": {core.FinishRefused, 1}, "malformed_function_call": {"", 8}, "network_error": {"", 8}, "error": {"", 8},
		"function_call_filter: MALFORMED_FUNCTION_CALL": {"", 8}, "insufficient_system_resource": {"", 8},
		"length": {core.FinishLength, 1}, "stop": {core.FinishStop, 1},
	}
	with := map[string]end{
		"length": {core.FinishLength, 1}, "MAX_TOKENS": {core.FinishLength, 1}, "model_length": {core.FinishLength, 1},
		"SAFETY": {core.FinishRefused, 1}, "RECITATION": {core.FinishRefused, 1}, "content_filter": {core.FinishRefused, 1},
		"network_error": {core.FinishCut, 1}, "error": {core.FinishCut, 1}, "abort": {core.FinishCut, 1},
		"insufficient_system_resource": {core.FinishCut, 1}, "repetition_truncation": {core.FinishCut, 1},
		"stop": {core.FinishStop, 1}, "STOP": {core.FinishStop, 1}, "end_turn": {core.FinishStop, 1},
		"eos": {core.FinishStop, 1}, "COMPLETE": {core.FinishStop, 1},
	}
	for text, cases := range map[string]map[string]end{"": without, "cut off he": with} {
		for reason, want := range cases {
			s := asking(t, func(sent, int) (int, string) {
				return 200, fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n"+
					"data: {\"choices\":[{\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", text, reason)
			})
			a := ask(t.Context(), s.model, prompt())
			var failed *core.ModelError
			down := errors.As(a.err, &failed) && failed.Kind == core.ModelDown
			if a.text != text || a.last.Finish != want.finish || down != (want.finish == "") || len(s.sent) > want.requests {
				t.Errorf("%q after %q: %+v after %d requests", reason, text, a, len(s.sent))
			}
		}
	}
}

// TestModel_limits: case 78.
func TestModel_limits(t *testing.T) {
	t.Parallel()
	chunk := func(delta, finish string) string {
		return `data: {"choices":[{"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
	}
	for name, c := range map[string]struct {
		body, text string
		thought    bool
		calls      int
	}{
		"words":                  {chunk(`{"content":"The three steps are: first, open the"}`, `"length"`), "The three steps are: first, open the", false, 0},
		"nothing":                {chunk(`{}`, `"length"`), "", false, 0},
		"only reasoning_content": {chunk(`{"reasoning_content":"hmm hmm"}`, `"length"`), "", true, 0},
		"only reasoning":         {chunk(`{"reasoning":"hmm hmm"}`, `"length"`), "", true, 0},
		"only <think>":           {chunk(`{"content":"<think>hmm hmm"}`, `"length"`), "", true, 0},
		"hidden thoughts":        {chunk(`{}`, `"length"`) + `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":99,"completion_tokens_details":{"reasoning_tokens":99}}}` + "\n\n", "", true, 0},
		"a call":                 {chunk(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"time_now","arguments":"{\"text\":\"the passport is in the"}}]}`, `"length"`), "", false, 1},
	} {
		s := asking(t, func(sent, int) (int, string) { return 200, c.body })
		a := ask(t.Context(), s.model, prompt())
		if a.err != nil || a.text != c.text || a.last.Finish != core.FinishLength || a.last.Thought != c.thought ||
			len(a.last.ToolCalls) != c.calls || len(s.sent) != 1 {
			t.Errorf("%s: %+v after %d requests", name, a, len(s.sent))
		}
	}
	req := prompt()
	req.MaxTokens = 0
	s := asking(t, func(sent, int) (int, string) { return 200, fine })
	if ask(t.Context(), s.model, req); s.sent[0].fields["max_tokens"] != nil {
		t.Error("a limit was sent")
	}
}

// TestModel_callsInTheText: case 22 as it is streamed, in small pieces; and that thoughts are never passed on.
func TestModel_callsInTheText(t *testing.T) {
	t.Parallel()
	text := "<think>hm</think>\n<tool_call>\n{\"name\": \"conversation_search\", \"arguments\": {\"query\": \"boat\"}}\n</tool_call>"
	var body strings.Builder
	for i := 0; i < len(text); i += 7 {
		fmt.Fprintf(&body, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", text[i:min(i+7, len(text))])
	}
	body.WriteString(`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n")
	s := asking(t, func(sent, int) (int, string) { return 200, body.String() })
	a := ask(t.Context(), s.model, prompt())
	if a.err != nil || a.text != "" || a.last.Finish != core.FinishTools || len(a.last.ToolCalls) != 1 ||
		a.last.ToolCalls[0].Name != "conversation_search" || !a.last.Thought {
		t.Errorf("%+v", a)
	}
}

// TestModel_startlessThoughts: case 21. What was passed on turns out to be thoughts, and the answer begins again.
func TestModel_startlessThoughts(t *testing.T) {
	t.Parallel()
	s := asking(t, func(sent, int) (int, string) {
		return 200, `data: {"choices":[{"delta":{"content":"The user greets me."}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"content":"\n</think>\n\nHello!"},"finish_reason":"stop"}]}` + "\n\n"
	})
	for turn, restarts := range []bool{true, false} {
		var text strings.Builder
		restarted := false
		for d, err := range s.model.Stream(t.Context(), prompt()) {
			if err != nil {
				t.Fatal(err)
			}
			restarted = restarted || d.Restart
			d.AppendTo(&text)
		}
		if text.String() != "Hello!" || restarted != restarts {
			t.Errorf("answer %d: %q, restarted %t", turn+1, text.String(), restarted)
		}
	}
}

// TestModel_noSystemRole: where a template has no system role, the instructions begin the person's first message.
func TestModel_noSystemRole(t *testing.T) {
	t.Parallel()
	s := asking(t, func(r sent, _ int) (int, string) {
		if slices.ContainsFunc(r.body.Messages, func(m sentMessage) bool { return m.Role == "system" }) {
			return 400, refusing("System role not supported")
		}
		return 200, fine
	})
	a := ask(t.Context(), s.model, prompt())
	if a.err != nil || fmt.Sprint(a.last.Reduced) != "[roles]" || len(s.sent) != 2 ||
		!strings.Contains(string(s.sent[1].fields["messages"]), `"You are kind.\n\n[notes]\n\nwhat about the boat?"`) {
		t.Errorf("%+v after %d requests: %s", a, len(s.sent), s.sent[len(s.sent)-1].fields["messages"])
	}
}

// TestModel_anAnswerWithoutEndIsCut checks that a server which repeats itself is not read on for ever, and that what it
// said stays.
func TestModel_anAnswerWithoutEndIsCut(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("again ", 2000)
	sent := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil && sent < 30<<20 {
			n, _ := fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", piece)
			sent += n
		}
	})
	a := ask(t.Context(), New(Options{BaseURL: s.URL, Model: "m"}), prompt())
	if a.err != nil || a.last.Finish != core.FinishLength || len(a.text) < 1<<20 || len(a.text) > 3<<20 {
		t.Errorf("%d bytes, %q, %v", len(a.text), a.last.Finish, a.err)
	}
}

package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
)

// offered are the tools of tests.
var offered = []core.ToolSpec{
	{Name: "conversation_search", Schema: json.RawMessage(`{"properties":{"query":{"type":"string"},"limit":{"type":"integer"}}}`)},
	{Name: "time_now"},
}

// readAll returns what a reader makes of the pieces of an answer.
func readAll(tools []core.ToolSpec, startless string, pieces ...string) string {
	r := newReader(tools, startless)
	text := ""
	keep := func(s string) {
		if r.restart {
			text, r.restart = "", false
		}
		text += s
	}
	for _, p := range pieces {
		keep(r.add(p))
	}
	rest, calls := r.end()
	keep(rest)
	out := fmt.Sprintf("%s|thought %t", strings.TrimSpace(text), r.thought)
	for _, c := range calls {
		out += fmt.Sprintf("|%s %s", c.Name, c.Arguments)
	}
	if r.malformed {
		out += "|malformed"
	}
	return out
}

const boat = `|conversation_search {"query":"boat"}`

// readings are answers and what they are read as. What begins with a space belongs to no tools.
var readings = []struct{ name, text, want string }{
	{"closing tag only", "The user greets me. I should be brief.\n</think>\n\nHello!", "Hello!|thought true"},
	{"closing tag on the line", "The user greets me.</think>Hello!", "Hello!|thought true"},
	{"pair", "<think>hm</think>Hello!", "Hello!|thought true"},
	{"empty pair", "<think>\n\n</think>\n\nHello!", "Hello!|thought false"},
	{"pair after words", "Sure.\n<think>hm, secret plan</think>\nHello!", "Sure.\nHello!|thought true"},
	{"thinking tag", "<thinking>secret plan</thinking>\nHello!", "Hello!|thought true"},
	{"reasoning tag", "<reasoning>secret plan</reasoning>\nHello!", "Hello!|thought true"},
	{"capitals", "<Think>secret</THINK>Hello!", "Hello!|thought true"},
	{"Mistral's thoughts", "[THINK]secret[/THINK]Hello!", "Hello!|thought true"},
	{"never closed", "<think>hm hm", "|thought true"},
	{"never closed after words", "Sure.\n<think>hm", "Sure.|thought true"},
	{"two thoughts", "<think>a</think>One.\n<think>b</think>Two.", "One.\nTwo.|thought true"},
	{"literal in code", "Use `</think>` to close it.", "Use `</think>` to close it.|thought false"},
	{"literal in a fence", "So:\n```\n<think>\nx\n</think>\n```\nDone.", "So:\n```\n<think>\nx\n</think>\n```\nDone.|thought false"},
	{"literal in words", "A model writes <think> first and </think> last.", "A model writes <think> first and </think> last.|thought false"},
	{"less than", "if a < b and [x] then {y}", "if a < b and [x] then {y}|thought false"},
	{"channels", "<|channel|>analysis<|message|>The user greets.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>",
		"Hello!|thought true"},
	{"final channel alone", "<|channel|>final <|constrain|>text<|message|>Hello!", "Hello!|thought false"},
	{"analysis alone", "<|channel|>analysis<|message|>The user", "|thought true"},
	{"call of a channel", `<|channel|>analysis<|message|>Search.<|end|><|start|>assistant<|channel|>commentary ` +
		`to=functions.conversation_search <|constrain|>json<|message|>{"query":"boat"}<|call|>`, "|thought true" + boat},

	{"tool_call tags", "<tool_call>\n{\"name\": \"conversation_search\", \"arguments\": {\"query\":\"boat\"}}\n</tool_call>",
		"|thought false" + boat},
	{"tool_call tags, no end", "<tool_call>\n{\"name\": \"conversation_search\", \"arguments\": {\"query\":\"boat\"}}",
		"|thought false" + boat},
	{"two tool_call tags", "<think>hm</think>\n<tool_call>\n{\"name\": \"conversation_search\", \"arguments\": {\"query\":\"boat\"}}\n</tool_call>\n" +
		"<tool_call>{\"name\": \"time_now\"}</tool_call>", "|thought true" + boat + "|time_now {}"},
	{"a preamble", "Let me look.\n<tool_call>{\"name\": \"conversation_search\", \"arguments\": {\"query\":\"boat\"}}</tool_call>",
		"Let me look.|thought false" + boat},
	{"bare JSON", `{"name": "conversation_search", "arguments": {"query":"boat"}}`, "|thought false" + boat},
	{"bare JSON, text of JSON", `{"name": "conversation_search", "arguments": "{\"query\":\"boat\"}"}`, "|thought false" + boat},
	{"OpenAI's JSON", `{"tool_calls":[{"id":"1","type":"function","function":{"name":"conversation_search","arguments":{"query":"boat"}}}]}`,
		"|thought false" + boat},
	{"fenced JSON", "```json\n{\"name\": \"conversation_search\", \"arguments\": {\"query\":\"boat\"}}\n```", "|thought false" + boat},
	{"function=", `<function=conversation_search>{"query":"boat"}</function>`, "|thought false" + boat},
	{"function= of Groq", `<function=conversation_search={"query":"boat"}</function>`, "|thought false" + boat},
	{"python tag", `<|python_tag|>{"name": "conversation_search", "parameters": {"query":"boat"}}`, "|thought false" + boat},
	{"deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>conversation_search\n```json\n{\"query\":\"boat\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"|thought false" + boat},
	{"deepseek 3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>conversation_search<｜tool▁sep｜>{\"query\":\"boat\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"|thought false" + boat},
	{"kimi", `<|tool_calls_section_begin|><|tool_call_begin|>functions.conversation_search:0<|tool_call_argument_begin|>{"query":"boat"}<|tool_call_end|><|tool_calls_section_end|>`,
		"|thought false" + boat},
	{"mistral", `[TOOL_CALLS][{"name": "conversation_search", "arguments": {"query":"boat"}}]`, "|thought false" + boat},
	{"mistral, newer", `[TOOL_CALLS]conversation_search[ARGS]{"query":"boat"}`, "|thought false" + boat},
	{"qwen's tags", "<tool_call>\n<function=conversation_search>\n<parameter=query>\nboat\n</parameter>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>",
		`|thought false|conversation_search {"limit":3,"query":"boat"}`},
	{"glm's tags", "<tool_call>conversation_search\n<arg_key>query</arg_key>\n<arg_value>42</arg_value>\n</tool_call>",
		`|thought false|conversation_search {"query":"42"}`},
	{"invoke", `<function_calls><invoke name="conversation_search"><parameter name="query">boat</parameter></invoke></function_calls>`,
		"|thought false" + boat},

	{"gemma 4", `<|channel>thought
Search.<channel|><|tool_call>call:conversation_search{query:<|"|>boat<|"|>}<tool_call|>`, "|thought true" + boat},
	{"gemma 4, more", `<|tool_call>call:conversation_search{query:<|"|>a "b", {c: d}<|"|>,limit:3}<tool_call|>` +
		`<|tool_call>call:time_now{}<tool_call|>`, `|thought false|conversation_search {"query":"a \"b\", {c: d}","limit":3}|time_now {}`},
	{"gemma 4, no thoughts", "<|channel>thought\n<channel|>Hello!<turn|>", "Hello!|thought false"},
	{"gemma 4, a broken call", `<|tool_call>call:conversation_search{query:<|"|>boat`, "|thought false|malformed"},
	{"deepseek 4", `<｜DSML｜tool_calls><｜DSML｜invoke name="conversation_search"><｜DSML｜parameter name="query" string="true">boat` +
		`</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>`, "|thought false" + boat},
	{"deepseek 4 after words", "Let me look.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"time_now\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
		"Let me look.|thought false|time_now {}"},
	{"cohere", `<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[{"tool_call_id":"0","tool_name":"conversation_search","parameters":{"query":"boat"}}]<|END_ACTION|>`,
		"|thought true" + boat},
	{"seed", "<seed:tool_call>\n<function=conversation_search>\n<parameter=query>boat</parameter>\n</function>\n</seed:tool_call>",
		"|thought false" + boat},
	{"tool_code", "```tool_code\nprint(default_api.conversation_search(query=\"boat\"))\n```", "|thought false" + boat},
	{"tool_code of Python", "```tool_code\nconversation_search(query='the \"True\" boat\\'s', limit=None)\n```",
		`|thought false|conversation_search {"query":"the \"True\" boat's", "limit":null}`},
	{"tool_code that is an answer", "```tool_code\nfrobnicate(1)\n```\nThat is how.", "```tool_code\nfrobnicate(1)\n```\nThat is how.|thought false"},
	{"a list in Python", `[conversation_search(query="boat")]`, "|thought false" + boat},
	{"a list of two in Python", `[conversation_search(query="boat"), time_now()]`, "|thought false" + boat + "|time_now {}"},
	{"a list that is an answer", `[time_now is a tool](https://x.org)`, `[time_now is a tool](https://x.org)|thought false`},
	{"a list of Python and words", `[time_now()] returns the time.`, `[time_now()] returns the time.|thought false`},
	{"a call on the line", `Let me look. <tool_call>{"name": "conversation_search", "arguments": {"query":"boat"}}</tool_call>`,
		"Let me look.|thought false" + boat},
	{"function= on the line", `Let me look: <function=conversation_search>{"query":"boat"}</function>`, "Let me look:|thought false" + boat},
	{"glm on the line", "Let me look. <tool_call>conversation_search\n<arg_key>query</arg_key>\n<arg_value>boat</arg_value>\n</tool_call>",
		"Let me look.|thought false" + boat},
	{"a tag on the line", "It writes <tool_call> first, and </tool_call> last.", "It writes <tool_call> first, and </tool_call> last.|thought false"},
	{"JSON on the line", `It writes <tool_call>{"a": 1}</tool_call> then.`, `It writes <tool_call>{"a": 1}</tool_call> then.|thought false`},
	{"an answer in tags", "<think>hm</think>\n<answer>\nHello!\n</answer>", "Hello!|thought true"},
	{"an answer in tags, and more", "<answer>Hello!</answer>\nBye.", "Hello!\nBye.|thought false"},
	{"the end of a tag alone", "Hello!</answer>\n", "Hello!|thought false"},
	{"words about tags", "Write <answer> before it.", "Write <answer> before it.|thought false"},
	{"ends of turns", "Hello!<|im_end|>", "Hello!|thought false"},
	{"end of Llama", "Hello!<|eot_id|>\n", "Hello!|thought false"},
	{"end of Gemma", "Hello!<end_of_turn>", "Hello!|thought false"},
	{"end of Mistral", "Hello!</s>", "Hello!|thought false"},
	{"struck words", "It costs <s>5</s> 6 euros.", "It costs <s>5</s> 6 euros.|thought false"},
	{"unknown tokens", "<|im_start|>assistant\nHello <|reserved_special_token_5|><｜begin▁of▁sentence｜>there!<|endoftext|>",
		"Hello there!|thought false"},
	{"a box", "<|begin_of_box|>42<|end_of_box|>", "42|thought false"},
	{"tokens in code", "It is `<|im_end|>`:\n```\n<|eot_id|></s>\n```\nDone.", "It is `<|im_end|>`:\n```\n<|eot_id|></s>\n```\nDone.|thought false"},
	{"operators", "x <| f, a <|> b and x |> f", "x <| f, a <|> b and x |> f|thought false"},

	{"a call cut off", "<tool_call>\n{\"name\": \"conversation_search\", \"argum", "|thought false|malformed"},
	{"an unknown tool by mark", `<|python_tag|>{"name": "nothing", "parameters": {}}`, "|thought false|nothing {}"},
	{"JSON of an unknown tool", `{"name": "Ada", "arguments": {"age": 36}}`, `{"name": "Ada", "arguments": {"age": 36}}|thought false`},
	{"JSON that is an answer", `{"name": "conversation_search", "age": 36}`, `{"name": "conversation_search", "age": 36}|thought false`},
	{"talk about JSON", "Write ```{\"name\": \"conversation_search\", \"arguments\": {}}``` to call it.",
		"Write ```{\"name\": \"conversation_search\", \"arguments\": {}}``` to call it.|thought false"},
	{"JSON and words after it", "{\"name\": \"time_now\", \"arguments\": {}}\nThis is how it is called.",
		"{\"name\": \"time_now\", \"arguments\": {}}\nThis is how it is called.|thought false"},
	{"talk about tags", "It looks like this:\n<tool_call>{\"name\": \"time_now\"}</tool_call>\nThat is all.",
		"It looks like this:\n<tool_call>{\"name\": \"time_now\"}</tool_call>\nThat is all.|thought false"},
	{"code", "```json\n{\"a\": 1}\n```\nDone.", "```json\n{\"a\": 1}\n```\nDone.|thought false"},
	{"code of Go", "```go\nfunc main() {}\n```", "```go\nfunc main() {}\n```|thought false"},
}

func TestReader_thoughtsAndCalls(t *testing.T) {
	t.Parallel()
	for _, c := range readings {
		if got := readAll(offered, "", c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestReader_anySplit cuts each answer at every place, and into single characters.
func TestReader_anySplit(t *testing.T) {
	t.Parallel()
	for _, c := range readings {
		for i := range c.text {
			if got := readAll(offered, "", c.text[:i], c.text[i:]); got != c.want {
				t.Errorf("%s, cut at %d: got %q, want %q", c.name, i, got, c.want)
			}
		}
		if got := readAll(offered, "", strings.Split(c.text, "")...); got != c.want {
			t.Errorf("%s, by character: got %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for i, c := range readings {
		f.Add(c.text, uint(i), uint(i*7))
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint) {
		text = strings.ToValidUTF8(text, "")
		runes := []rune(text)
		i, j := int(a%uint(len(runes)+1)), int(b%uint(len(runes)+1))
		i, j = min(i, j), max(i, j)
		want := readAll(offered, "", text)
		if got := readAll(offered, "", string(runes[:i]), string(runes[i:j]), string(runes[j:])); got != want {
			t.Errorf("%q cut at %d and %d: got %q, want %q", text, i, j, got, want)
		}
	})
}

// TestReader_holdsBackOnlyMarks: plain words, code and single brackets are passed on at once.
func TestReader_holdsBackOnlyMarks(t *testing.T) {
	t.Parallel()
	for text, held := range map[string]string{"Hello": "", "Hello <": "<", "Hello <thin": "<thin", "Hello <b": "",
		"a `": "`", "{\"na": "{\"na", "{\"age": "", "[1, 2": "", "```go\nx": "", "x\n<tool_ca": "<tool_ca", "1 < 2": "",
		"x <|im": "<|im", "x <|im e": "", "a </s": "</s", "[time_": "[time_", "[x](": ""} {
		r := newReader(offered, "")
		if got := r.add(text); got+held != text {
			t.Errorf("%q: %q was passed on, %q should be held", text, got, held)
		}
	}
}

// TestReader_startlessIsRemembered: once thoughts without a beginning were seen, the next ones are never shown.
func TestReader_startlessIsRemembered(t *testing.T) {
	t.Parallel()
	r := newReader(nil, "")
	r.add("I should greet.\n</think>\nHello!")
	if r.startless != "</think>" {
		t.Fatalf("got %q", r.startless)
	}
	second := newReader(nil, r.startless)
	if got := second.add("I should greet."); got != "" {
		t.Errorf("%q was shown", got)
	}
	if got := readAll(nil, r.startless, "Once ", "more.\n</think>Hi!"); got != "Hi!|thought true" {
		t.Errorf("thoughts: %q", got)
	}
	if got := readAll(nil, r.startless, "Nothing ", "to <b>think</b> about."); got != "Nothing to <b>think</b> about.|thought false" {
		t.Errorf("no thoughts: %q", got)
	}
}

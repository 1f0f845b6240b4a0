package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/everthread/everthread/core"
)

// completion is the answer to a request without a stream.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index    int    `json:"index"`
	Message  reply  `json:"message"`
	Logprobs any    `json:"logprobs"`
	Finish   string `json:"finish_reason"`
}

type reply struct {
	Role    string     `json:"role"`
	Content *string    `json:"content"`
	Refusal *string    `json:"refusal"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    *int     `json:"index,omitempty"` // in streams
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type usage struct {
	Prompt     int           `json:"prompt_tokens"`
	Completion int           `json:"completion_tokens"`
	Total      int           `json:"total_tokens"`
	Details    promptDetails `json:"prompt_tokens_details"`
}

type promptDetails struct {
	Cached int `json:"cached_tokens"`
}

// chunk is one piece of a stream.
type chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	// Usage is set in the last chunk only, if requested.
	Usage *usage `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index    int     `json:"index"`
	Delta    delta   `json:"delta"`
	Logprobs any     `json:"logprobs"`
	Finish   *string `json:"finish_reason"`
}

type delta struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

// answerID returns the id of the answer to a request, which is the same for a repeat.
func answerID(event string) string {
	sum := sha256.Sum256([]byte(event))
	return "chatcmpl-" + hex.EncodeToString(sum[:12])
}

func (o outcome) completion(q question, event string, now time.Time) completion {
	if !o.at.IsZero() {
		now = o.at
	}
	r := reply{Role: "assistant", Calls: shownCalls(o.calls, false)}
	if o.text != "" || len(o.calls) == 0 {
		r.Content = &o.text
	}
	return completion{ID: answerID(event), Object: "chat.completion", Created: now.Unix(), Model: q.model,
		Choices: []choice{{Message: r, Finish: o.finish}}, Usage: shownUsage(o.usage)}
}

func shownUsage(u core.Usage) *usage {
	return &usage{u.Prompt, u.Completion, u.Prompt + u.Completion, promptDetails{u.Cached}}
}

func shownCalls(calls []core.ToolCall, numbered bool) []toolCall {
	var out []toolCall
	for n, c := range calls {
		t := toolCall{ID: c.ID, Type: "function", Function: function{c.Name, c.Arguments}}
		if numbered {
			t.Index = &n
		}
		out = append(out, t)
	}
	return out
}

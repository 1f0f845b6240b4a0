package openai_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/everthread/everthread/adapters/openai"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/chat/live"
)

// streamed is a stream read to its end.
type streamed struct {
	t      testing.TB
	chunks []sdk.ChatCompletionStreamResponse
	raw    string
}

func (w *world) events(body string, header ...string) streamed {
	w.t.Helper()
	res, text := w.chat(body, header...)
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") ||
		res.Header.Get("Cache-Control") != "no-cache" {
		w.t.Fatalf("%d %v %s", res.StatusCode, res.Header, text)
	}
	s := streamed{t: w.t, raw: text}
	for event := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok || data == "[DONE]" || strings.HasPrefix(data, `{"error"`) {
			continue
		}
		var c sdk.ChatCompletionStreamResponse
		check(w.t, json.Unmarshal([]byte(data), &c))
		s.chunks = append(s.chunks, c)
	}
	return s
}

// text returns the whole text of a stream.
func (s streamed) text() string {
	var b strings.Builder
	for _, c := range s.chunks {
		for _, ch := range c.Choices {
			b.WriteString(ch.Delta.Content)
		}
	}
	return b.String()
}

// finish returns the finish_reason of a stream.
func (s streamed) finish() string {
	for _, c := range s.chunks {
		if len(c.Choices) > 0 && c.Choices[0].FinishReason != "" {
			return string(c.Choices[0].FinishReason)
		}
	}
	return ""
}

const streaming = `{"model":"everthread","stream":true,"messages":[{"role":"user","content":"hello"}]}`

func TestStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.next = func(_ context.Context, _ []core.Inbound, onText func(string)) (live.Answer, error) {
		for _, s := range []string{"One", "One", "One two", "One two \"<three>\""} {
			onText(s)
		}
		return said(`One two "<three>" four`), nil
	}
	s := w.events(strings.Replace(streaming, "{", `{"stream_options":{"include_usage":true},`, 1))
	if got := s.text(); got != `One two "<three>" four` {
		t.Errorf("said %q", got)
	}
	first, last := s.chunks[0], s.chunks[len(s.chunks)-1]
	if first.Choices[0].Delta.Role != "assistant" || first.Object != "chat.completion.chunk" || first.ID != last.ID ||
		first.Model != "everthread" || first.Created == 0 {
		t.Errorf("begins with %+v", first)
	}
	if len(s.chunks) < 6 || s.finish() != "stop" || last.Usage == nil || last.Usage.TotalTokens != 127 ||
		len(last.Choices) != 0 {
		t.Errorf("ends with %+v", last)
	}
	if !strings.HasSuffix(s.raw, "data: [DONE]\n\n") {
		t.Errorf("%q", s.raw)
	}
	if s = w.events(streaming); s.chunks[len(s.chunks)-1].Usage != nil {
		t.Error("got usage that was not requested")
	}
}

// TestStream_afterTools checks that the text starts again after tool calls, and that the earlier
// text is kept.
func TestStream_afterTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		shown []string
		said  string
		want  string
	}{
		"words before tools": {[]string{"Let me", "Let me look.", "It", "It was"}, "It was Oslo.",
			"Let me look.\n\nIt was Oslo."},
		"another final text":    {[]string{"It was Berg"}, "It was Oslo.", "It was Berg\n\nIt was Oslo."},
		"an older state":        {[]string{"It was", "It"}, "It was Oslo.", "It was Oslo."},
		"nothing in between":    {nil, "It was Oslo.", "It was Oslo."},
		"nothing at all":        {nil, "", ""},
		"all was shown already": {[]string{"Oslo."}, "Oslo.", "Oslo."},
	} {
		t.Run(name, func(t *testing.T) {
			w.next = func(_ context.Context, _ []core.Inbound, onText func(string)) (live.Answer, error) {
				for _, s := range c.shown {
					onText(s)
				}
				return said(c.said), nil
			}
			if got := w.events(streaming).text(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestStream_ofCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.next = func(context.Context, []core.Inbound, func(string)) (live.Answer, error) {
		a := said("")
		a.Calls = []core.ToolCall{{ID: "c1", Name: "a", Arguments: "{}"}, {ID: "c2", Name: "b", Arguments: "{}"}}
		return a, nil
	}
	s := w.events(streaming)
	var calls []sdk.ToolCall
	for _, c := range s.chunks {
		calls = append(calls, c.Choices[0].Delta.ToolCalls...)
	}
	if len(calls) != 2 || *calls[1].Index != 1 || calls[1].ID != "c2" || calls[1].Function.Name != "b" ||
		s.finish() != "tool_calls" {
		t.Errorf("%+v %s", calls, s.raw)
	}
}

// TestStream_keepAlive checks that a waiting stream sends keep-alive lines, and that later failures are
// events.
func TestStream_keepAlive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *openai.Options) { o.KeepAlive = 5 * time.Millisecond })
	seen := make(chan struct{})
	w.next = func(ctx context.Context, _ []core.Inbound, _ func(string)) (live.Answer, error) {
		select {
		case <-seen:
		case <-ctx.Done():
		}
		return live.Answer{}, &live.Failed{Reason: "it is tired"}
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.server.URL+"/v1/chat/completions",
		strings.NewReader(streaming))
	check(t, err)
	r.Header.Set("Authorization", "Bearer "+w.key)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(r)
	check(t, err)
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		check(t, err)
		if line == ": keep-alive\n" {
			break
		}
	}
	close(seen)
	rest, err := io.ReadAll(lines)
	check(t, err)
	at := strings.Index(string(rest), "data: {\"error\"")
	if at < 0 || strings.Contains(string(rest), "[DONE]") {
		t.Fatalf("%q", rest)
	}
	if e := readError(t, strings.TrimPrefix(string(rest[at:]), "data: ")); !strings.Contains(e.Message, "it is tired") {
		t.Errorf("%+v", e)
	}
}

// TestStream_dropped checks that a client that disconnects ends the wait and nothing else.
func TestStream_dropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begun, ended := make(chan struct{}), make(chan error, 1)
	w.next = func(ctx context.Context, _ []core.Inbound, onText func(string)) (live.Answer, error) {
		onText("One")
		close(begun)
		<-ctx.Done()
		for range 100 {
			onText("One two") // nobody receives later text
		}
		ended <- ctx.Err()
		return live.Answer{}, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", w.server.URL+"/v1/chat/completions", strings.NewReader(streaming))
	check(t, err)
	r.Header.Set("Authorization", "Bearer "+w.key)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(r)
	check(t, err)
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	res.Body.Close()
	w.next = nil
	w.ok(hello)
}

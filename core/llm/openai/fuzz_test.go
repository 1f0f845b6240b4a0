package openai

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm"
)

// FuzzAnswer checks that every response ends with exactly one Finish or one ModelError.
func FuzzAnswer(f *testing.F) {
	files, err := filepath.Glob("testdata/*.answer")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	f.Fuzz(func(t *testing.T, body string) {
		ends := 0
		llm.Read(t.Context(), strings.NewReader(body), &assembly{}, func(d core.Delta, err error) bool {
			if ends > 0 {
				t.Error("got a delta after the end")
			}
			var modelErr *core.ModelError
			if err != nil && !errors.As(err, &modelErr) {
				t.Errorf("error %v", err)
			}
			if err != nil || d.Finish != "" {
				ends++
			}
			return true
		})
		if ends != 1 {
			t.Errorf("got %d ends, want 1", ends)
		}
	})
}

func FuzzFailure(f *testing.F) {
	f.Add(`{"error":{"message":"m","code":"c"}}`)
	f.Add(`[{"error":"x"}]`)
	f.Add(`{"detail":[{"msg":1}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		if text := llm.ReadFailure([]byte(body)).Error().Error(); len(text) > 600 {
			t.Errorf("the error has %d bytes", len(text))
		}
	})
}

func BenchmarkEncode25KB(b *testing.B) {
	m := newClient(Options{Model: "gpt-x"})
	req := full()
	for range 60 {
		req.Messages = append(req.Messages, core.ModelMessage{Role: core.RoleUser,
			Content: strings.Repeat("it's 8 o'clock & raining. ", 16)})
	}
	b.ReportAllocs()
	for b.Loop() {
		var body strings.Builder
		encoder := json.NewEncoder(&body)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(m.request(req, false)); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(body.Len()))
	}
}

func BenchmarkAnswer(b *testing.B) {
	body := strings.Repeat(
		"data: {\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n", 200) + "data: [DONE]\n\n"
	b.ReportAllocs()
	for b.Loop() {
		llm.Read(b.Context(), strings.NewReader(body), &assembly{}, func(core.Delta, error) bool { return true })
	}
}

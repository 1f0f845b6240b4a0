package setup

import (
	"context"
	"strings"
	"time"
)

// windowTimeout bounds what it takes to find out how much a model reads.
const windowTimeout = 5 * time.Second

// windows are where servers say how many tokens a model reads at a time: the list of
// models (vLLM, OpenRouter), Ollama's list of what is loaded, llama-server's properties.
type windows struct {
	Data []struct {
		ID      string `json:"id"`
		VLLM    int    `json:"max_model_len"`
		Context int    `json:"context_length"`
	} `json:"data"`
	Models []struct {
		Name    string `json:"name"`
		Context int    `json:"context_length"`
	} `json:"models"`
	Settings struct {
		Slot int `json:"n_ctx"`
	} `json:"default_generation_settings"`
}

// of is what is said of a model; 0: nothing.
func (w windows) of(name string) int {
	for _, m := range w.Data {
		if m.ID == name {
			return max(m.VLLM, m.Context)
		}
	}
	for _, m := range w.Models {
		if m.Name == name || m.Name == name+":latest" {
			return m.Context
		}
	}
	return w.Settings.Slot
}

// Window returns how many tokens a model that has just answered reads at a time, as its
// server says; 0: it does not say.
func (Trier) Window(ctx context.Context, m Model) int {
	if m.Provider != "openai" || m.BaseURL == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, windowTimeout)
	defer cancel()
	base := strings.TrimRight(m.BaseURL, "/")
	root := strings.TrimSuffix(base, "/v1")
	for _, address := range []string{base + "/models", root + "/api/ps", root + "/props"} {
		if n := windowAt(ctx, address, m); n > 0 {
			return n
		}
	}
	return 0
}

func windowAt(ctx context.Context, address string, m Model) int {
	resp, err := m.get(ctx, address)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	var w windows
	if !decode(resp, &w) {
		return 0
	}
	return w.of(m.Name)
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/agent/mcp"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/job"
	llmembed "github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/llm/tokens"
)

// checkEmbeddings embeds two sentences.
func checkEmbeddings(ctx context.Context, c configs.Config) finding {
	e, config, err := engine.Embedder(c, nil)
	if err != nil || e == nil {
		return verdict("embeddings", err,
			"none are configured: search goes by words; set embeddings.provider for search by meaning")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	dimensions, err := llmembed.Check(ctx, e)
	return verdict("embeddings", err, fmt.Sprintf("%s answers with %d dimensions", config, dimensions))
}

// checkVectors looks for texts that could not be embedded.
func checkVectors(ctx context.Context, c configs.Config) finding {
	const good = "no text was refused a vector"
	if c.DatabaseURL == "" && !hasDatabase(c) {
		return fine("vectors", good)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, err := openStore(ctx, c)
	if err != nil {
		return fine("vectors", "not looked for: see database")
	}
	defer st.Close()
	faults, err := st.EmbeddingFaults(ctx, 0)
	if err != nil {
		return fine("vectors", "not looked for: see database")
	}
	if len(faults) > 0 {
		err = fmt.Errorf("%s no vector, and can be found only by words: %s (`everthread embeddings status` tells whose)",
			texts(faults[0].Count), faults[0].Reason)
	}
	return verdict("vectors", err, good)
}

// checkServers connects to the MCP servers.
func checkServers(ctx context.Context, c configs.Config) []finding {
	if len(c.Agent.MCPServers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	client := mcp.New(mcp.Options{Servers: engine.Servers(c.Agent.MCPServers), Version: version, Tokenizer: tokens.New(),
		Log: zap.NewNop(), Now: time.Now, Rand: rand.Float64})
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	for ctx.Err() == nil && slices.ContainsFunc(client.Status(),
		func(s mcp.Status) bool { return !s.Up && s.Error == "" }) {
		job.Wait(ctx, 50*time.Millisecond)
	}
	status := client.Status()
	cancel()
	<-done
	var out []finding
	for _, s := range status {
		var err error
		if !s.Up {
			err = fmt.Errorf("%s; check agent.mcp_servers", s.Error)
		}
		out = append(out, verdict("mcp "+s.Name, err, fmt.Sprintf("answers, %d tools", s.Tools)))
	}
	return out
}

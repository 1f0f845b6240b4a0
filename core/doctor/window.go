package doctor

import (
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/prompt"
	"github.com/everthread/everthread/core/words"
)

// window reports how the window of the models is shared out, and what of the configuration
// does not fit into it. outside are the tools of the MCP servers.
func (e *examination) window(outside []core.Tool) {
	c := e.Config
	if c.LLM.Provider == "demo" {
		return
	}
	r := c.Room()
	number := func(n int) string { return words.Number(e.Language, n) }
	key, wanted := asked(c)
	told, all, err := engine.Offered(c, outside, tokens.New())
	switch {
	case err != nil:
		e.problem("context window", "%s", err.Error())
	case r.Tiny():
		e.problem("context window", e.WindowTiny, number(r.Window), number(max(r.Prompt, 0)))
	case wanted > r.Prompt:
		e.problem("context window", e.WindowOver, key, number(wanted), number(r.Window), number(r.Prompt))
	default:
		e.fine("context window", e.WindowGood, number(r.Window), number(wanted), number(r.Results), number(r.Output),
			told, all)
	}
}

// asked returns the configured size of a prompt, in tokens, and its key.
func asked(c configs.Config) (key string, n int) {
	switch c.Context.Strategy {
	case prompt.Truncate:
		return "context.max_context_tokens", c.Context.MaxContextTokens
	case prompt.Long: // which is bounded by the window itself
		return "context.total_tokens", min(engine.LongBudget(c), c.Room().Prompt)
	}
	return "context.total_tokens", c.Context.TotalTokens
}

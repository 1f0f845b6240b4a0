package configs

// Room is how the window of the models that answer is shared out, in tokens. The rest is a
// margin for models whose tokenizer differs from ours.
type Room struct {
	Window  int // the smallest of the models that may answer
	Output  int // the answer
	Schemas int // descriptions of tools, at most
	Results int // what tools return within a turn, at least
	Prompt  int // everything else before the answer
}

// Shares of a window, and their maxima.
const (
	windowMargin  = 20
	schemasShare  = 5
	mostSchemas   = 3000
	resultsShare  = 6
	outputShare   = 8
	previewsShare = 12
)

// Smallest returns the smallest context window of the models that may answer.
func (l LLM) Smallest() int {
	w := l.ContextWindow
	if w == 0 {
		w = Default().LLM.ContextWindow
	}
	for _, f := range l.Fallbacks {
		if f.ContextWindow > 0 {
			w = min(w, f.ContextWindow)
		}
	}
	return w
}

// Usable returns how much of the window a request may use, with its answer.
func (l LLM) Usable() int { return l.Smallest() - l.Smallest()/windowMargin }

// Room shares out the window of the models that answer.
func (c Config) Room() Room {
	w := c.LLM.Smallest()
	r := Room{Window: w, Output: c.LLM.MaxOutputTokens, Schemas: min(w/schemasShare, mostSchemas),
		Results: min(c.Agent.ToolTokens, w/resultsShare)}
	r.Prompt = c.LLM.Usable() - r.Output - r.Schemas - r.Results
	return r
}

// Extras bounds the instructions and tools of a program.
func (r Room) Extras() int { return r.Prompt + r.Schemas - leastPrompt }

// leastPrompt is the smallest prompt of a conversation.
const leastPrompt = 1000

// Tiny reports whether no conversation has room in the window.
func (r Room) Tiny() bool { return r.Prompt < leastPrompt }

// Short reports whether the defaults do not fit the window, so that they depend on it.
func (r Room) Short() bool { return r.Prompt < Default().Context.TotalTokens }

// Tight reports whether the descriptions of all tools may not fit.
func (r Room) Tight() bool { return r.Schemas < mostSchemas }

// suit chooses the defaults that depend on the window of the models that answer: those that
// do not fit a small window are reduced in proportion. given holds the configured keys.
func (c *Config) suit(window int, given Config) {
	d := Default()
	c.LLM.MaxOutputTokens = min(d.LLM.MaxOutputTokens, window/outputShare)
	c.Agent.ResultTokens = min(d.Agent.ResultTokens, window/resultsShare)
	if given.LLM.MaxOutputTokens == d.LLM.MaxOutputTokens {
		given.LLM.MaxOutputTokens = c.LLM.MaxOutputTokens
	}
	r := given.Room()
	if !r.Short() {
		return
	}
	x := &c.Context
	for _, n := range []*int{&x.TodayRawTokens, &x.TodaySummaryTokens, &x.LastConversationTokens, &x.OpenLoopsTokens,
		&x.TargetTokens} {
		*n = *n * r.Prompt / d.Context.TotalTokens
	}
	x.TotalTokens, x.MaxContextTokens = r.Prompt, min(x.MaxContextTokens, r.Prompt)
	c.Documents.PreviewTokens = min(c.Documents.PreviewTokens, r.Prompt/previewsShare)
}

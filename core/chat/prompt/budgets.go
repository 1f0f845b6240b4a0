package prompt

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// format is incremented when the same rows give different bytes than before.
const format = 3

// Budgets bound a prompt, in tokens unless they say otherwise. A zero value means the default in brackets.
type Budgets struct {
	Raw          int // raw messages at the start of an epoch (4,000)
	TodaySummary int // (500)
	Last         int // last conversation (300)
	Loops        int // open loops (400)
	News         int // one note of news (120)
	Target       int // all parts at the start of an epoch (4,100)
	Cap          int // all parts, ever (6,150)

	MaxHistoryMessages int // truncate: messages (50)
	MaxContextTokens   int // truncate: all parts, ever (6,000)

	LongBudget    int     // long: all parts, ever (150,000)
	LongThreshold float64 // share of LongBudget at which compression starts (0.8)
	LongRaw       int     // newest tokens, which are never compressed (40,000)

	ContextWindow    int // of the model; 0: unknown, no limit
	MaxOutput        int // of the model's answer
	Results          int // for tool results within the turn
	ToolSchemaTokens int
	// SchemaRoom bounds the descriptions of all tools if a client's reduce ours; 0: they do not.
	SchemaRoom int `json:",omitzero"`

	MinTurns int // raw turns after which a new epoch takes no more of earlier days (30)
	KeepLast int // newest messages, which are never dropped (4)

	Silence   time.Duration // after which an epoch is over (30 min)
	PauseMark time.Duration // after which a user message carries its time (30 min)
	Pressure  float64       // share of Cap above which a summary is wanted (0.8)
}

func (b Budgets) orDefault() Budgets {
	for field, value := range map[*int]int{
		&b.Raw: 4000, &b.TodaySummary: 500, &b.Last: 300, &b.Loops: 400, &b.News: 120, &b.Target: 4100, &b.Cap: 6150,
		&b.LongBudget: 150_000, &b.LongRaw: 40_000, &b.MaxHistoryMessages: 50, &b.MaxContextTokens: 6000,
		&b.MinTurns: 30, &b.KeepLast: 4,
	} {
		if *field == 0 {
			*field = value
		}
	}
	b.LongThreshold, b.Pressure = cmp.Or(b.LongThreshold, 0.8), cmp.Or(b.Pressure, 0.8)
	b.Silence, b.PauseMark = cmp.Or(b.Silence, 30*time.Minute), cmp.Or(b.PauseMark, 30*time.Minute)
	return b
}

// hardCap returns the size that no prompt of a strategy exceeds.
func (b Budgets) hardCap(strategy string) int {
	hard := b.Cap
	switch strategy {
	case Truncate:
		hard = b.MaxContextTokens
	case Long:
		hard = b.LongBudget
	}
	if b.ContextWindow > 0 {
		hard = min(hard, b.ContextWindow-b.ToolSchemaTokens-b.MaxOutput-b.Results)
	}
	return hard
}

// schemas returns the size of all tool descriptions, of which client are a client's.
func (b Budgets) schemas(client int) int {
	if client == 0 || b.SchemaRoom == 0 {
		return b.ToolSchemaTokens + client
	}
	return client + min(b.ToolSchemaTokens, max(b.SchemaRoom-client, 0))
}

// target returns the size at which an epoch starts. In a small window, and for truncate, a
// third of the cap is left for growth.
func (b Budgets) target(strategy string) int {
	hard := b.hardCap(strategy)
	if strategy == Long {
		return int(float64(hard) * b.LongThreshold)
	}
	if strategy == Truncate || hard < b.Cap {
		return min(b.Target, hard*2/3)
	}
	return min(b.Target, hard)
}

// longStart bounds the size at which an epoch of long starts. To leave out as little of the
// history as possible, only half of the room above the threshold is left for growth.
func (b Budgets) longStart() int { return (b.target(Long) + b.hardCap(Long)) / 2 }

// Fingerprint identifies what an epoch depends on besides the conversation: settings,
// limits of the model and the static texts. The text of themes is not part of it, only
// whether there are any: an epoch keeps those that it began with.
func (b Budgets) Fingerprint(strategy string, static []Static) string {
	texts := make([][2]string, 0, len(static))
	for _, s := range static {
		if s.Name == partThemes {
			s.Text = ""
		}
		texts = append(texts, [2]string{s.Name, s.Text})
	}
	// Numbers and strings can always be encoded.
	data, _ := json.Marshal([]any{format, strategy, b.orDefault(), texts})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

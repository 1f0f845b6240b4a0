// Package configs is the configuration: one struct, its defaults, where it is
// read from and what is wrong with it. The commented example beside it is the
// documentation, and a test keeps it true.
package configs

import (
	"fmt"
	"time"

	"github.com/everthread/everthread/configs/section"
)

// Config is everything that can be configured. everthread.example.yaml
// explains each key, which can also be given as EVERTHREAD_… in the environment.
type Config struct {
	DatabaseURL      Secret        `yaml:"database_url"`        // holds a password
	DatabaseListen   Secret        `yaml:"database_listen_url"` // the same, without a pooler
	DatabaseConns    int           `yaml:"database_connections"`
	DataDir          string        `yaml:"data_dir"`
	SecretKey        Secret        `yaml:"secret_key"`
	PreviousKey      Secret        `yaml:"previous_secret_key"` // opens what was encrypted with it
	HTTP             HTTP          `yaml:"http"`
	Log              Log           `yaml:"log"`
	DefaultTimezone  string        `yaml:"default_timezone"`
	DefaultLanguage  string        `yaml:"default_language"`
	Access           Access        `yaml:"access"`
	LLM              LLM           `yaml:"llm"`
	SummaryLLM       LLM           `yaml:"summary_llm"` // Provider empty: the same as LLM
	Embeddings       Embeddings    `yaml:"embeddings"`
	Transcription    Transcription `yaml:"transcription"`
	Speech           Speech        `yaml:"speech"`
	AllowPrivateURLs bool          `yaml:"allow_private_urls"` // addresses that the operator did not write may be private
	Egress           Egress        `yaml:"egress"`
	Context          Context       `yaml:"context"`
	Recall           Recall        `yaml:"recall"`
	Summaries        Summaries     `yaml:"summaries"`
	Day              Day           `yaml:"day"`
	Turn             Turn          `yaml:"turn"`
	Agent            Agent         `yaml:"agent"`
	Reminders        Reminders     `yaml:"reminders"`
	Tasks            Tasks         `yaml:"tasks"`
	Standing         Standing      `yaml:"standing"`
	Limits           Limits        `yaml:"limits"`
	Media            Media         `yaml:"media"`
	Documents        Documents     `yaml:"documents"`
	Retention        Retention     `yaml:"retention"`
	Backup           Backup        `yaml:"backup"`
	Channels         Channels      `yaml:"channels"`
}

// HTTP is where the gateway listens.
type HTTP struct {
	Listen         string   `yaml:"listen"`
	MetricsListen  string   `yaml:"metrics_listen"`
	PublicURL      string   `yaml:"public_url"`
	TrustedProxies []string `yaml:"trusted_proxies"`
}

// Log is the form of the log. Format is console or json.
type Log struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

// Access says who may talk to the assistant.
type Access struct {
	Policy   string        `yaml:"policy"`
	Allow    []string      `yaml:"allow"`
	CodeLife time.Duration `yaml:"code_life"`
	MaxCodes int           `yaml:"max_codes"`
	// MaxCodesOrigin bounds the codes of one Matrix server, where addresses are free.
	MaxCodesOrigin int `yaml:"max_codes_per_server"`
}

// LLM is a chat model. Provider is openai, anthropic or demo.
type LLM struct {
	Provider        string        `yaml:"provider"`
	BaseURL         string        `yaml:"base_url"`
	APIKey          Secret        `yaml:"api_key"`
	Model           string        `yaml:"model"`
	ContextWindow   int           `yaml:"context_window"`
	Vision          bool          `yaml:"vision"`
	MaxOutputTokens int           `yaml:"max_output_tokens"`
	Timeout         time.Duration `yaml:"timeout"`
	Fallbacks       []LLM         `yaml:"fallbacks"`
	Prices          Prices        `yaml:"prices"`
	Currency        string        `yaml:"currency"` // of Prices
}

// Prices are the prices of a million tokens; 0: free or unknown.
type Prices struct {
	Prompt     float64 `yaml:"prompt"`
	Cached     float64 `yaml:"cached"` // prompt tokens from the provider's cache
	Completion float64 `yaml:"completion"`
}

// Embeddings is the model that turns text into vectors. Provider is none, llamacpp, ollama,
// openai or custom_http.
type Embeddings struct {
	Provider   string        `yaml:"provider"`
	BaseURL    string        `yaml:"base_url"`
	APIKey     Secret        `yaml:"api_key"`
	Model      string        `yaml:"model"`
	Dimensions int           `yaml:"dimensions"` // 0: the model's own
	Timeout    time.Duration `yaml:"timeout"`
}

// Egress bounds the hosts that may be reached beside those of the configuration, and the
// traffic of a user in a day; 0: no limit.
type Egress struct {
	AllowHosts  []string `yaml:"allow_hosts"` // empty: every public host
	BytesPerDay Size     `yaml:"bytes_per_day"`
	CallsPerDay int      `yaml:"calls_per_day"`
}

// Context bounds prompts, in tokens.
type Context struct {
	Strategy               string        `yaml:"strategy"`
	TodayRawTokens         int           `yaml:"today_raw_tokens"`
	TodaySummaryTokens     int           `yaml:"today_summary_tokens"`
	LastConversationTokens int           `yaml:"last_conversation_tokens"`
	OpenLoopsTokens        int           `yaml:"open_loops_tokens"`
	NewsTokens             int           `yaml:"news_tokens"`
	TargetTokens           int           `yaml:"target_tokens"`
	TotalTokens            int           `yaml:"total_tokens"`
	MaxHistoryMessages     int           `yaml:"max_history_messages"`
	MaxContextTokens       int           `yaml:"max_context_tokens"`
	Long                   Long          `yaml:"long"`
	MinTurns               int           `yaml:"min_turns"`
	Silence                time.Duration `yaml:"silence"`
}

// Long bounds prompts of the strategy long.
type Long struct {
	Budget            int     `yaml:"budget"`             // tokens of a prompt
	CompressThreshold float64 `yaml:"compress_threshold"` // of the budget, above which old messages are compressed
	RawRecentTokens   int     `yaml:"raw_recent_tokens"`  // newest tokens that are never compressed
}

// Recall weighs the results of a search of the conversation.
type Recall struct {
	Languages      []string      `yaml:"languages"` // whose words are stemmed
	SemanticWeight float64       `yaml:"semantic_weight"`
	LexicalWeight  float64       `yaml:"lexical_weight"`
	CoveredPenalty float64       `yaml:"covered_penalty"`
	Candidates     int           `yaml:"candidates"`
	EmbedTimeout   time.Duration `yaml:"embed_timeout"` // of a query
}

// Summaries configures when days are summarised and posted.
type Summaries struct {
	AfterMessages   int           `yaml:"after_messages"`
	Pressure        float64       `yaml:"pressure"`
	FinalizeAt      string        `yaml:"finalize_at"`
	PostForward     string        `yaml:"post_forward"`
	PostAt          string        `yaml:"post_at"`
	PostMinMessages int           `yaml:"post_min_messages"`
	PostExpires     time.Duration `yaml:"post_expires"`
	Attempts        int           `yaml:"attempts"`
}

// Day moves the boundary between days.
type Day struct {
	StartsAt string `yaml:"starts_at"`
}

// Turn configures turns.
type Turn struct {
	Debounce    time.Duration `yaml:"debounce"`
	Workers     int           `yaml:"workers"`
	GiveUpAfter time.Duration `yaml:"give_up_after"`
	Lease       time.Duration `yaml:"lease"`
}

// Agent bounds the loop of model and tools.
type Agent struct {
	MaxSteps        int           `yaml:"max_steps"`
	ToolTokens      int           `yaml:"tool_tokens"`
	ResultTokens    int           `yaml:"result_tokens"`
	ToolTimeout     time.Duration `yaml:"tool_timeout"`
	DelegateTimeout time.Duration `yaml:"delegate_timeout"`
	MaxImages       int           `yaml:"max_images"` // of tool results, in one answer
	Instructions    string        `yaml:"instructions"`
	MCPServers      []MCPServer   `yaml:"mcp_servers"`
}

// MCPServer is a server of tools: a program to start (Command, Args, Env), or an address
// (URL, Headers). Its tools are for the Roles (owner, member; none: owner) and Users (ids)
// named here. Each call needs an approval, except for the tools that Allow lists ("*": all)
// and, with TrustHints, those that the server declares as read-only.
type MCPServer struct {
	Name    string            `yaml:"name"`
	Command string            `yaml:"command"`
	Args    []string          `yaml:"args"`
	Env     map[string]Secret `yaml:"env"`
	URL     string            `yaml:"url"`
	Headers map[string]Secret `yaml:"headers"`

	Roles      []string `yaml:"roles"`
	Users      []int64  `yaml:"users"`
	Allow      []string `yaml:"allow"`
	TrustHints bool     `yaml:"trust_hints"`
}

// Tasks bound the tasks of a user. A task that cannot begin within Expires is skipped.
type Tasks struct {
	Expires   time.Duration `yaml:"expires"`
	MaxActive int           `yaml:"max_active"`
}

// Reminders bound the reminders of a user. DefaultHour is the time of day of a reminder
// without one.
type Reminders struct {
	DefaultHour string        `yaml:"default_hour"`
	MinEvery    time.Duration `yaml:"min_every"`
	MaxActive   int           `yaml:"max_active"`
}

// Standing bounds the standing instructions of a user: their number, and their tokens in a
// prompt.
type Standing struct {
	MaxActive int `yaml:"max_active"`
	MaxTokens int `yaml:"max_tokens"`
}

// Limits bound the use of a user; 0: no limit.
type Limits struct {
	TokensPerDay int `yaml:"tokens_per_day"`
	// AllTokensPerDay bounds all users together, by UTC days; 0: under the policy open
	// OpenTokensPerDay, else no limit; -1: no limit.
	AllTokensPerDay int `yaml:"all_tokens_per_day"`
	TurnsPerMinute  int `yaml:"turns_per_minute"`
	// TaskTokensPerDay bounds the tokens of a user's tasks, in addition to TokensPerDay.
	TaskTokensPerDay int `yaml:"task_tokens_per_day"`
}

// OpenTokensPerDay bounds all users together under the policy open.
const OpenTokensPerDay = 1_000_000

// Media bounds attachments.
type Media struct {
	MaxBytes Size `yaml:"max_bytes"`
	// BytesPerUser bounds all files of a user who is not an owner; 0: no limit.
	BytesPerUser Size          `yaml:"bytes_per_user"`
	Wait         time.Duration `yaml:"wait"`
}

// Documents bounds the reading of documents.
type Documents struct {
	MaxPages      int  `yaml:"max_pages"`
	MaxSeconds    int  `yaml:"max_seconds"`
	MaxMemory     Size `yaml:"max_memory"`
	PreviewTokens int  `yaml:"preview_tokens"`
}

// Retention is how long raw payloads of services and the audit are kept.
type Retention struct {
	Raw   time.Duration `yaml:"raw"`
	Audit time.Duration `yaml:"audit"`
}

// Backup configures when backups are made and how many are kept. Cron is in the default
// time zone; empty: never. Dir is empty for the folder backups of the data folder.
type Backup struct {
	Cron string `yaml:"cron"`
	Keep int    `yaml:"keep"`
	Dir  string `yaml:"dir"`
}

// Channels configures channels and doors. A channel of another service is on if it has
// credentials.
type Channels struct {
	Sections Sections `yaml:"-"` // of channels of other services, each below its key
	Web      Web      `yaml:"web"`
	OpenAI   Switch   `yaml:"openai"`
	MCP      Switch   `yaml:"mcp"`
}

// Sections are the parts of the configuration that channels own.
type Sections []section.Section

// Format writes their keys, whatever the verb: for a wrong verb fmt would show the secrets
// behind a pointer.
func (s Sections) Format(f fmt.State, _ rune) {
	for _, one := range s {
		fmt.Fprint(f, one.Key(), " ")
	}
}

// Web is the web page. A session ends SessionLife after its last use.
type Web struct {
	Enabled          bool          `yaml:"enabled"`
	LinkLife         time.Duration `yaml:"link_life"` // of a sign-in link
	SessionLife      time.Duration `yaml:"session_life"`
	SignInsPerMinute int           `yaml:"sign_ins_per_minute"` // attempts from one address
	LivePages        int           `yaml:"live_pages"`          // open at the same time, of one user
}

// Switch turns a door of the gateway itself on or off.
type Switch struct {
	Enabled bool `yaml:"enabled"`
}

// Transcription is the service that transcribes voice notes; off without a model.
type Transcription struct {
	BaseURL string        `yaml:"base_url"`
	APIKey  Secret        `yaml:"api_key"`
	Model   string        `yaml:"model"`
	Timeout time.Duration `yaml:"timeout"`
	// MaxDuration bounds the recordings that are transcribed.
	MaxDuration time.Duration `yaml:"max_duration"`
}

// Speech is the service that speaks answers; off without a model.
type Speech struct {
	BaseURL       string        `yaml:"base_url"`
	APIKey        Secret        `yaml:"api_key"`
	Model         string        `yaml:"model"`
	Voice         string        `yaml:"voice"`
	Timeout       time.Duration `yaml:"timeout"`
	MaxCharacters int           `yaml:"max_characters"` // of an answer that are spoken
	MaxBytes      Size          `yaml:"max_bytes"`      // of a recording
}

// Size is a number of bytes, written as 20MiB or 20971520.
type Size int64

// Secret is a value that is never shown.
type Secret = section.Secret

// Default returns the defaults. sections are those of the channels, with their own
// defaults; Load writes into them.
func Default(sections ...section.Section) Config {
	return Config{
		DatabaseConns:   16,
		DataDir:         "./data",
		HTTP:            HTTP{Listen: "127.0.0.1:8080", PublicURL: "http://127.0.0.1:8080"},
		Log:             Log{Level: "info", Format: "console"},
		DefaultTimezone: "UTC",
		DefaultLanguage: "en",
		Access:          Access{Policy: "pairing", CodeLife: time.Hour, MaxCodes: 1000, MaxCodesOrigin: 20},
		LLM: LLM{Provider: "demo", ContextWindow: 128_000, MaxOutputTokens: 1024,
			Timeout: 120 * time.Second, Currency: "USD"},
		Embeddings:    Embeddings{Provider: "none", Timeout: 30 * time.Second},
		Transcription: Transcription{Timeout: time.Minute, MaxDuration: 10 * time.Minute},
		Speech:        Speech{Timeout: time.Minute, MaxCharacters: 2000, MaxBytes: 5 << 20},
		Egress:        Egress{BytesPerDay: 1 << 30, CallsPerDay: 5000},
		Recall: Recall{Languages: []string{"en", "fr"}, SemanticWeight: 0.7, LexicalWeight: 0.3,
			CoveredPenalty: 0.85, Candidates: 50, EmbedTimeout: 2 * time.Second},
		Context: Context{Strategy: "continuous", TodayRawTokens: 4000, TodaySummaryTokens: 500, LastConversationTokens: 300,
			OpenLoopsTokens: 400, NewsTokens: 120, TargetTokens: 4100, TotalTokens: 6150, MaxHistoryMessages: 50,
			MaxContextTokens: 6000, Long: Long{Budget: 150_000, CompressThreshold: 0.8, RawRecentTokens: 40_000}, MinTurns: 30,
			Silence: 30 * time.Minute},
		Summaries: Summaries{AfterMessages: 10, Pressure: 0.8, FinalizeAt: "03:00", PostForward: "home",
			PostAt: "08:00", PostMinMessages: 4, PostExpires: 48 * time.Hour, Attempts: 6},
		Day:  Day{StartsAt: "00:00"},
		Turn: Turn{Debounce: 700 * time.Millisecond, Workers: 256, GiveUpAfter: 10 * time.Minute, Lease: time.Minute},
		Agent: Agent{MaxSteps: 8, ToolTokens: 8000, ResultTokens: 4000, ToolTimeout: 30 * time.Second,
			DelegateTimeout: 120 * time.Second, MaxImages: 4},
		Reminders: Reminders{DefaultHour: "09:00", MinEvery: 15 * time.Minute, MaxActive: 100},
		Tasks:     Tasks{Expires: 2 * time.Hour, MaxActive: 20},
		Standing:  Standing{MaxActive: 10, MaxTokens: 200},
		Limits:    Limits{TurnsPerMinute: 20, TaskTokensPerDay: 50_000},
		Media:     Media{MaxBytes: 20 << 20, BytesPerUser: 5 << 30, Wait: 20 * time.Second},
		Documents: Documents{MaxPages: 500, MaxSeconds: 30, MaxMemory: 256 << 20, PreviewTokens: 300},
		Retention: Retention{Raw: 7 * 24 * time.Hour, Audit: 400 * 24 * time.Hour},
		Backup:    Backup{Keep: 7},
		Channels: Channels{
			Sections: sections,
			Web: Web{Enabled: true, LinkLife: 10 * time.Minute, SessionLife: 30 * 24 * time.Hour,
				SignInsPerMinute: 10, LivePages: 30},
			OpenAI: Switch{Enabled: true},
			MCP:    Switch{Enabled: true},
		},
	}
}

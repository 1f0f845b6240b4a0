// Package configs is the configuration: one struct, its defaults, where it is read from and what is wrong with it. The
// commented example beside it is the documentation, and a test keeps it true.
package configs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
)

// Config is everything that can be configured. everthread.example.yaml explains each key, which can also be given as
// EVERTHREAD_… in the environment. Tags hold the default of a field and, for numbers, the range: "1..9", or "1.."
// without an upper end.
type Config struct {
	DatabaseURL      Secret        `yaml:"database_url"`        // holds a password
	DatabaseListen   Secret        `yaml:"database_listen_url"` // the same, without a pooler
	DatabaseConns    int           `yaml:"database_connections" default:"16"`
	DataDir          string        `yaml:"data_dir" default:"./data"`
	SecretKey        Secret        `yaml:"secret_key"`
	PreviousKey      Secret        `yaml:"previous_secret_key"` // opens what was encrypted with it
	SetupCode        Secret        `yaml:"setup_code"`          // lets the owner in at the first start
	HTTP             HTTP          `yaml:"http"`
	Log              Log           `yaml:"log"`
	DefaultTimezone  string        `yaml:"default_timezone" default:"UTC"`
	DefaultLanguage  string        `yaml:"default_language" default:"en"`
	Access           Access        `yaml:"access"`
	LLM              LLM           `yaml:"llm"`
	SummaryLLM       LLM           `yaml:"summary_llm"` // Provider empty: the same as LLM
	Embeddings       Embeddings    `yaml:"embeddings"`
	Transcription    Transcription `yaml:"transcription"`
	Speech           Speech        `yaml:"speech"`
	AllowPrivateURLs bool          `yaml:"allow_private_urls"` // addresses that the operator did not write may be private
	Egress           Egress        `yaml:"egress"`
	Web              Lookup        `yaml:"web"`
	Context          Context       `yaml:"context"`
	Recall           Recall        `yaml:"recall"`
	Summaries        Summaries     `yaml:"summaries"`
	Day              Day           `yaml:"day"`
	Turn             Turn          `yaml:"turn"`
	Agent            Agent         `yaml:"agent"`
	Reminders        Reminders     `yaml:"reminders"`
	Tasks            Tasks         `yaml:"tasks"`
	DayAhead         DayAhead      `yaml:"day_ahead"`
	Standing         Standing      `yaml:"standing"`
	Groups           Groups        `yaml:"groups"`
	Limits           Limits        `yaml:"limits"`
	Media            Media         `yaml:"media"`
	Documents        Documents     `yaml:"documents"`
	Retention        Retention     `yaml:"retention"`
	Backup           Backup        `yaml:"backup"`
	Channels         Channels      `yaml:"channels"`

	// Suited holds what Chosen returns for choices whose window needs other defaults. Load fills it in.
	Suited map[string]Config `yaml:"-"`
	// Origins holds where values come from, by key; those of the defaults are not in it.
	Origins map[string]Origin `yaml:"-"`
}

// HTTP is where the gateway listens.
type HTTP struct {
	Listen         string   `yaml:"listen" default:"127.0.0.1:8080"`
	MetricsListen  string   `yaml:"metrics_listen"`
	PublicURL      string   `yaml:"public_url" default:"http://127.0.0.1:8080"`
	TrustedProxies []string `yaml:"trusted_proxies"`
}

// Log is the form of the log. Format is console or json.
type Log struct {
	Level  string `yaml:"level" default:"info"`
	Format string `yaml:"format" default:"console"`
}

// Access says who may talk to the assistant.
type Access struct {
	Policy   string        `yaml:"policy" default:"pairing"`
	Allow    []string      `yaml:"allow"`
	CodeLife time.Duration `yaml:"code_life" default:"1h" range:"1m.."`
	MaxCodes int           `yaml:"max_codes" default:"1000" range:"1.."`
	// MaxCodesOrigin bounds the codes of one Matrix server, where addresses are free.
	MaxCodesOrigin int `yaml:"max_codes_per_server" default:"20" range:"1.."`
}

// LLM is a chat model. Provider is openai, anthropic or demo.
type LLM struct {
	Provider      string `yaml:"provider" default:"demo"`
	BaseURL       string `yaml:"base_url"`
	APIKey        Secret `yaml:"api_key"`
	Model         string `yaml:"model"`
	ContextWindow int    `yaml:"context_window" default:"128_000"`
	// Vision says whether the model sees pictures: auto (as known of it; so is an empty one), true or false.
	Vision string `yaml:"vision" default:"auto"`
	// ReasoningEffort says how much a model thinks, in its provider's words; empty: it decides.
	ReasoningEffort string        `yaml:"reasoning_effort"`
	MaxOutputTokens int           `yaml:"max_output_tokens" range:"0.."` // 0: no limit
	Timeout         time.Duration `yaml:"timeout" default:"2m" range:"1s.."`
	Fallbacks       []LLM         `yaml:"fallbacks"`
	// Choices are further models by name, which people choose for themselves.
	Choices  map[string]Choice `yaml:"choices"`
	Prices   Prices            `yaml:"prices"`
	Currency string            `yaml:"currency" default:"USD"` // of Prices
}

// Choice is a model that people may choose.
type Choice struct {
	LLM   `yaml:",inline"`
	Users []int `yaml:"users"` // who may; empty: everybody
}

// May reports whether a user may choose the model.
func (c Choice) May(user int) bool { return len(c.Users) == 0 || slices.Contains(c.Users, user) }

// Chosen returns the configuration for people who chose a model: with its window, and the default model as its last
// fallback. ok is false if there is no such choice.
func (c Config) Chosen(name string) (out Config, ok bool) {
	choice, ok := c.LLM.Choices[name]
	if !ok {
		return c, false
	}
	if suited, loaded := c.Suited[name]; loaded {
		c = suited
	}
	first := c.LLM
	rest := first.Fallbacks
	first.Fallbacks, first.Choices = nil, nil
	c.LLM = choice.LLM
	c.LLM.Fallbacks = slices.Concat(choice.Fallbacks, []LLM{first}, rest)
	return c, true
}

// Prices are the prices of a million tokens; 0: free or unknown.
type Prices struct {
	Prompt     float64 `yaml:"prompt" range:"0..1e6"`
	Cached     float64 `yaml:"cached" range:"0..1e6"` // prompt tokens from the provider's cache; 0: as the others
	Completion float64 `yaml:"completion" range:"0..1e6"`
}

// Embeddings is the model that turns text into vectors. Provider is none, llamacpp, ollama, openai or custom_http.
type Embeddings struct {
	Provider   string        `yaml:"provider" default:"none"`
	BaseURL    string        `yaml:"base_url"`
	APIKey     Secret        `yaml:"api_key"`
	Model      string        `yaml:"model"`
	Dimensions int           `yaml:"dimensions"` // 0: the model's own
	Timeout    time.Duration `yaml:"timeout" default:"30s" range:"1s.."`
}

// Lookup is how the web is searched. Search is auto (the first provider that is configured, else DuckDuckGo), the name of a
// provider, or off.
type Lookup struct {
	Search     string `yaml:"search" default:"auto"`
	SearXNGURL string `yaml:"searxng_url"`
	BraveKey   Secret `yaml:"brave_key"`
	TavilyKey  Secret `yaml:"tavily_key"`
	ExaKey     Secret `yaml:"exa_key"`
	KagiKey    Secret `yaml:"kagi_key"`
}

// Provider returns the name of the provider in use, or off.
func (w Lookup) Provider() string {
	if w.Search != "auto" {
		return w.Search
	}
	for _, p := range w.providers() {
		if p.given {
			return p.name
		}
	}
	return "duckduckgo"
}

// searchProvider is a provider that needs something configured, in the order of auto.
type searchProvider struct {
	name, key string
	given     bool
}

func (w Lookup) providers() []searchProvider {
	return []searchProvider{{"searxng", "searxng_url", w.SearXNGURL != ""}, {"brave", "brave_key", w.BraveKey != ""},
		{"tavily", "tavily_key", w.TavilyKey != ""}, {"exa", "exa_key", w.ExaKey != ""}, {"kagi", "kagi_key", w.KagiKey != ""}}
}

// Egress bounds the hosts that may be reached beside those of the configuration, and the
// traffic of a user in a day; 0: no limit.
type Egress struct {
	AllowHosts  []string `yaml:"allow_hosts"` // empty: every public host
	BytesPerDay Size     `yaml:"bytes_per_day" default:"1GiB" range:"0.."`
	CallsPerDay int      `yaml:"calls_per_day" default:"5000" range:"0.."`
}

// Context bounds prompts, in tokens.
type Context struct {
	Strategy               string        `yaml:"strategy" default:"continuous"`
	TodayRawTokens         int           `yaml:"today_raw_tokens" default:"4000" range:"100.."`
	TodaySummaryTokens     int           `yaml:"today_summary_tokens" default:"500" range:"0.."`
	LastConversationTokens int           `yaml:"last_conversation_tokens" default:"300" range:"0.."`
	OpenLoopsTokens        int           `yaml:"open_loops_tokens" default:"400" range:"0.."`
	NewsTokens             int           `yaml:"news_tokens" default:"120" range:"80.."`
	TargetTokens           int           `yaml:"target_tokens" default:"4100" range:"500.."`
	TotalTokens            int           `yaml:"total_tokens" default:"6150"`
	MaxHistoryMessages     int           `yaml:"max_history_messages" default:"50" range:"1.."`
	MaxContextTokens       int           `yaml:"max_context_tokens" default:"6000" range:"500.."`
	Long                   Long          `yaml:"long"`
	MinTurns               int           `yaml:"min_turns" default:"30" range:"0.."`
	Silence                time.Duration `yaml:"silence" default:"30m" range:"0.."`
}

// Long bounds prompts of the strategy long.
type Long struct {
	Budget int `yaml:"budget" default:"150_000" range:"4000.."` // tokens of a prompt
	// CompressThreshold is the share of the budget above which old messages are compressed.
	CompressThreshold float64 `yaml:"compress_threshold" default:"0.8"`
	// RawRecentTokens are the newest tokens that are never compressed.
	RawRecentTokens int `yaml:"raw_recent_tokens" default:"40_000" range:"500.."`
}

// Recall weighs the results of a search of the conversation.
type Recall struct {
	Languages      []string      `yaml:"languages" default:"en,fr"` // whose words are stemmed
	SemanticWeight float64       `yaml:"semantic_weight" default:"0.7" range:"0..1"`
	LexicalWeight  float64       `yaml:"lexical_weight" default:"0.3" range:"0..1"`
	CoveredPenalty float64       `yaml:"covered_penalty" default:"0.85" range:"0..1"`
	Candidates     int           `yaml:"candidates" default:"50" range:"1..1000"`
	EmbedTimeout   time.Duration `yaml:"embed_timeout" default:"2s" range:"100ms..1m"` // of a query
}

// Summaries configures when days are summarised and posted.
type Summaries struct {
	AfterMessages   int           `yaml:"after_messages" default:"10" range:"1.."`
	Pressure        float64       `yaml:"pressure" default:"0.8" range:"0.1..1"`
	FinalizeAt      string        `yaml:"finalize_at" default:"03:00"`
	PostForward     string        `yaml:"post_forward" default:"home"`
	PostAt          string        `yaml:"post_at" default:"08:00"`
	PostMinMessages int           `yaml:"post_min_messages" default:"4" range:"0.."`
	PostExpires     time.Duration `yaml:"post_expires" default:"48h" range:"1m.."`
}

// Day moves the boundary between days.
type Day struct {
	StartsAt string `yaml:"starts_at" default:"00:00"`
}

// Turn configures turns.
type Turn struct {
	Debounce    time.Duration `yaml:"debounce" default:"0s" range:"0..1m"`
	Join        time.Duration `yaml:"join" default:"5s" range:"0..1m"`
	Workers     int           `yaml:"workers" default:"256" range:"1..10_000"`
	GiveUpAfter time.Duration `yaml:"give_up_after" default:"10m" range:"1s.."`
	Lease       time.Duration `yaml:"lease" default:"1m" range:"3s..1h"`
}

// Agent bounds the loop of model and tools.
type Agent struct {
	MaxSteps        int           `yaml:"max_steps" default:"8" range:"1..100"`
	ToolTokens      int           `yaml:"tool_tokens" default:"8000" range:"100.."`
	ResultTokens    int           `yaml:"result_tokens" default:"4000" range:"100.."`
	ToolTimeout     time.Duration `yaml:"tool_timeout" default:"30s" range:"1s.."`
	DelegateTimeout time.Duration `yaml:"delegate_timeout" default:"2m" range:"1s.."`
	MaxImages       int           `yaml:"max_images" default:"4" range:"1..20"` // of tool results, in one answer
	Instructions    string        `yaml:"instructions"`
	MCPServers      []MCPServer   `yaml:"mcp_servers"`
}

// MCPServer is a server of tools: a program to start (Command, Args, Env), or an address (URL, Headers). Its tools are
// for the Roles (owner, member; none: owner) and Users (ids) named here. Each call needs an approval, except for the
// tools that Allow lists ("*": all) and, with TrustHints, those that the server declares as read-only.
type MCPServer struct {
	Name    string            `yaml:"name"`
	Command string            `yaml:"command"`
	Args    []string          `yaml:"args"`
	Env     map[string]Secret `yaml:"env"`
	URL     string            `yaml:"url"`
	Headers map[string]Secret `yaml:"headers"`
	// Auth is oauth for an address that wants OAuth: every person connects it for themselves, with /connect or on the
	// page. Empty: Headers say all.
	Auth  string    `yaml:"auth"`
	OAuth MCPClient `yaml:"oauth"`

	Roles      []string `yaml:"roles"`
	Users      []int64  `yaml:"users"`
	Allow      []string `yaml:"allow"`
	TrustHints bool     `yaml:"trust_hints"`
}

// MCPClient is how we are known to the authorization server of an MCP server. Without ClientID we register ourselves,
// which not every one offers. Scopes are what people are asked to grant (none: what the server wants).
type MCPClient struct {
	ClientID     string   `yaml:"client_id"`
	ClientSecret Secret   `yaml:"client_secret"`
	Scopes       []string `yaml:"scopes"`
}

// Tasks bound the tasks of a user. A task that cannot begin within Expires is skipped.
type Tasks struct {
	Expires   time.Duration `yaml:"expires" default:"2h" range:"1m.."`
	MaxActive int           `yaml:"max_active" default:"20" range:"1..1000"`
}

// DayAhead are the calendars and mailboxes of people. Off without any.
type DayAhead struct {
	Calendars []CalendarSource `yaml:"calendars"`
	Mail      []MailSource     `yaml:"mail"`
}

// CalendarSource is a calendar. URL is an address (https, http or webcal) or the absolute path of a file; it may be all
// that protects the calendar. User is the number of the user whom it is for; 0: the owner.
type CalendarSource struct {
	Name string `yaml:"name"`
	URL  Secret `yaml:"url"`
	User int    `yaml:"user"`
}

// MailSource is a mailbox on a server of IMAP, with a Password or, for OAuth 2, an AccessToken. Folders are those that
// are read (none: INBOX), From the addresses or domains of the only senders that count (none: all). Port 0 is 993.
type MailSource struct {
	Name        string   `yaml:"name"`
	Host        string   `yaml:"host"`
	Port        int      `yaml:"port"`
	Username    string   `yaml:"username"`
	Password    Secret   `yaml:"password"`
	AccessToken Secret   `yaml:"access_token"`
	Folders     []string `yaml:"folders"`
	From        []string `yaml:"from"`
	User        int      `yaml:"user"`
}

// Reminders bound the reminders of a user. DefaultHour is the time of day of a reminder without one.
type Reminders struct {
	DefaultHour string        `yaml:"default_hour" default:"09:00"`
	MinEvery    time.Duration `yaml:"min_every" default:"15m" range:"1m.."`
	MaxActive   int           `yaml:"max_active" default:"100" range:"1..10_000"`
}

// Standing bounds the standing instructions of a user: their number, and their tokens in a prompt.
type Standing struct {
	MaxActive int `yaml:"max_active" default:"10" range:"1..100"`
	MaxTokens int `yaml:"max_tokens" default:"200" range:"100..2000"`
}

// Limits bound the use of a user; 0: no limit.
type Limits struct {
	TokensPerDay int `yaml:"tokens_per_day" range:"0.."`
	// GroupTokensPerDay bounds a group chat instead; 0: as TokensPerDay.
	GroupTokensPerDay int `yaml:"group_tokens_per_day" range:"0.."`
	// AllTokensPerDay bounds all users together, by UTC days; 0: under the policy open
	// OpenTokensPerDay, else no limit; -1: no limit.
	AllTokensPerDay int `yaml:"all_tokens_per_day" range:"-1.."`
	TurnsPerMinute  int `yaml:"turns_per_minute" default:"20" range:"0.."`
	// TaskTokensPerDay bounds the tokens of a user's tasks, in addition to TokensPerDay.
	TaskTokensPerDay int `yaml:"task_tokens_per_day" default:"50_000"`
}

// Groups say how the assistant takes part in group chats.
type Groups struct {
	Enabled bool   `yaml:"enabled"`
	Answer  string `yaml:"answer" default:"mention"` // mention or all
	Listen  string `yaml:"listen" default:"all"`     // all or mentions
}

// Daily returns the tokens that users may use a day.
func (l Limits) Daily() core.DailyTokens {
	return core.DailyTokens{Person: l.TokensPerDay, Group: cmp.Or(l.GroupTokensPerDay, l.TokensPerDay)}
}

// OpenTokensPerDay bounds all users together under the policy open.
const OpenTokensPerDay = 1_000_000

// Media bounds attachments.
type Media struct {
	MaxBytes Size `yaml:"max_bytes" default:"20MiB" range:"0.."`
	// BytesPerUser bounds all files of a user who is not an owner; 0: no limit.
	BytesPerUser Size          `yaml:"bytes_per_user" default:"5GiB" range:"0.."`
	Wait         time.Duration `yaml:"wait" default:"20s" range:"0..10m"`
}

// Documents bounds the reading of documents.
type Documents struct {
	MaxPages      int  `yaml:"max_pages" default:"500" range:"1..10_000"`
	MaxSeconds    int  `yaml:"max_seconds" default:"30" range:"1..600"`
	MaxMemory     Size `yaml:"max_memory" default:"256MiB" range:"192MiB.."`
	PreviewTokens int  `yaml:"preview_tokens" default:"300" range:"0..2000"`
}

// Retention is how long raw payloads of services and the audit are kept.
type Retention struct {
	Raw   time.Duration `yaml:"raw" default:"168h" range:"1h.."`
	Audit time.Duration `yaml:"audit" default:"9600h" range:"24h.."`
}

// Backup configures when backups are made and how many are kept. Cron is in the default
// time zone; empty: never. Dir is empty for the folder backups of the data folder.
type Backup struct {
	Cron string `yaml:"cron"`
	Keep int    `yaml:"keep" default:"7" range:"1.."`
	Dir  string `yaml:"dir"`
	// To is where each backup is put besides: a folder, s3://SERVER/BUCKET/PREFIX, or the address of a WebDAV folder;
	// empty: nowhere. User and Password sign in there; for a bucket they are the access key and the secret key.
	To       string `yaml:"to"`
	User     string `yaml:"user"`
	Password Secret `yaml:"password"`
	Region   string `yaml:"region"` // of a bucket
	// EncryptTo are the recipients (age1…) for whom backups are encrypted before they are put there, and Passphrase is
	// what they are encrypted with instead.
	EncryptTo  []string `yaml:"encrypt_to"`
	Passphrase Secret   `yaml:"passphrase"`
}

// Channels configures channels and doors. A channel of another service is on if it has credentials.
type Channels struct {
	Sections Sections `yaml:"-"` // of channels of other services, each below its key
	Web      Web      `yaml:"web"`
	OpenAI   Switch   `yaml:"openai"`
	MCP      Switch   `yaml:"mcp"`
}

// Sections are the parts of the configuration that channels own.
type Sections []section.Section

// Listed returns who, on a channel, in the form in which access.allow compares people; see section.Lister. It returns
// who as it is if no section knows the channel, such as a network behind a bridge.
func (s Sections) Listed(channel, who string) (string, error) {
	for _, one := range s {
		if l, ok := one.(section.Lister); ok && one.Key() == channel {
			return l.Listed(who)
		}
	}
	return who, nil
}

// Format writes their keys, whatever the verb: for a wrong verb fmt would show the secrets behind a pointer.
func (s Sections) Format(f fmt.State, _ rune) {
	for _, one := range s {
		fmt.Fprint(f, one.Key(), " ")
	}
}

// Web is the web page. A session ends SessionLife after its last use.
type Web struct {
	Enabled          bool          `yaml:"enabled" default:"true"`
	LinkLife         time.Duration `yaml:"link_life" default:"10m"` // of a sign-in link
	SessionLife      time.Duration `yaml:"session_life" default:"720h"`
	SignInsPerMinute int           `yaml:"sign_ins_per_minute" default:"10"` // attempts from one address
	LivePages        int           `yaml:"live_pages" default:"30"`          // open at the same time, of one user
}

// Switch turns a door of the gateway itself on or off.
type Switch struct {
	Enabled bool `yaml:"enabled" default:"true"`
}

// Transcription is the service that transcribes voice notes; off without a model.
type Transcription struct {
	BaseURL string        `yaml:"base_url"`
	APIKey  Secret        `yaml:"api_key"`
	Model   string        `yaml:"model"`
	Timeout time.Duration `yaml:"timeout" default:"1m" range:"1s..10m"`
	// MaxDuration bounds the recordings that are transcribed.
	MaxDuration time.Duration `yaml:"max_duration" default:"10m" range:"1s..24h"`
}

// Speech is the service that speaks answers; off without a model.
type Speech struct {
	BaseURL       string        `yaml:"base_url"`
	APIKey        Secret        `yaml:"api_key"`
	Model         string        `yaml:"model"`
	Voice         string        `yaml:"voice"`
	Timeout       time.Duration `yaml:"timeout" default:"1m" range:"1s..10m"`
	MaxCharacters int           `yaml:"max_characters" default:"2000" range:"100..4096"` // of an answer that are spoken
	MaxBytes      Size          `yaml:"max_bytes" default:"5MiB" range:"64KiB..50MiB"`   // of a recording
}

// Size is a number of bytes, written as 20MiB or 20971520.
type Size int64

// Secret is a value that is never shown.
type Secret = section.Secret

// Default returns the defaults, which the tags of the fields hold. sections are those of the
// channels, with their own defaults; Load writes into them.
func Default(sections ...section.Section) Config {
	c := Config{Channels: Channels{Sections: sections}}
	setDefaults(reflect.ValueOf(&c).Elem())
	c.SummaryLLM = LLM{}
	return c
}

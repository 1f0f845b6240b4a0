package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/adapters/whatsapp"
	"github.com/everthread/everthread/adapters/whatsapp/agent"
	"github.com/everthread/everthread/configs/section"
)

// channels returns the sections of the product.
func channels() []section.Section {
	return []section.Section{telegram.Default(), matrix.Default(), whatsapp.Default(), agent.Default()}
}

// telegramOf returns the section of Telegram.
func telegramOf(c Config) *telegram.Config { return c.Channels.Sections[0].(*telegram.Config) }

// keys returns all keys of the product.
func keys() []string {
	c := Default(channels()...)
	return c.Keys()
}

// write writes a text into a new file.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefault_isValid(t *testing.T) {
	t.Parallel()
	if err := Default(channels()...).Validate(); err != nil {
		t.Error(err)
	}
}

func TestExample_hasEveryKeyWithItsDefault(t *testing.T) {
	t.Parallel()
	c := Config{Channels: Channels{Sections: []section.Section{&telegram.Config{}, &matrix.Config{},
		&whatsapp.Config{}, &agent.Config{}}}}
	if err := c.parse(Example(channels()...)); err != nil {
		t.Fatal(err)
	}
	c.Origins = nil
	if d := cmp.Diff(Default(channels()...), c); d != "" {
		t.Errorf("the example differs from the defaults (-default +example):\n%s", d)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(Example(channels()...), &tree); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys() {
		if !has(tree, strings.Split(key, ".")) {
			t.Errorf("the example does not have %s", key)
		}
	}
}

func has(tree map[string]any, path []string) bool {
	v, ok := tree[path[0]]
	if len(path) == 1 || !ok {
		return ok
	}
	sub, ok := v.(map[string]any)
	return ok && has(sub, path[1:])
}

func TestVariables_areUnambiguous(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range keys() {
		name := leaf{path: key}.variable()
		if other := seen[name]; other != "" {
			t.Errorf("%s names both %s and %s", name, key, other)
		}
		seen[name] = key
	}
}

func TestLoad_environmentOverFileOverDefaults(t *testing.T) {
	t.Parallel()
	path := write(t,
		"llm: {provider: openai, model: from-file, timeout: 5s}\nmedia: {max_bytes: 3MiB}\nturn:\n  debounce: 0s\n")
	secret := write(t, "from-a-file\n")
	c, err := Load(path, []string{
		"PATH=/bin", "EVERTHREAD_LLM_MODEL=from-env", "EVERTHREAD_HTTP_TRUSTED_PROXIES=10.0.0.1, 10.1.0.0/16",
		"EVERTHREAD_CHANNELS_TELEGRAM_TOKEN_FILE=" + secret, "EVERTHREAD_LLM_VISION=true", "EVERTHREAD_LLM_BASE_URL=",
		"EVERTHREAD_CHANNELS_TELEGRAM_RATE_PER_CHAT=0.5", "EVERTHREAD_TEST_ANYTHING=1", "EVERTHREAD_CRASH_AT=sent",
		"EVERTHREAD_LLM_FALLBACKS=[{provider: anthropic, model: m, api_key: k}]",
	}, channels()...)
	if err != nil {
		t.Fatal(err)
	}
	want := Default(channels()...)
	want.LLM.Provider, want.LLM.Model, want.LLM.Timeout, want.LLM.Vision = "openai", "from-env", 5*time.Second, "true"
	want.LLM.Fallbacks = []LLM{{Provider: "anthropic", Model: "m", APIKey: "k", ContextWindow: 128_000,
		Timeout: 5 * time.Second, Currency: "USD"}}
	want.DataDir = c.DataDir // see TestLoad_foldersAreAbsolute
	want.Media.MaxBytes, want.Turn.Debounce = 3<<20, 0
	want.HTTP.TrustedProxies = []string{"10.0.0.1", "10.1.0.0/16"}
	telegramOf(want).Token, telegramOf(want).RatePerChat = "from-a-file", 0.5
	c.Origins = nil
	if d := cmp.Diff(want, c); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLoad_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, file string
		environ    []string
		want       string
	}{
		{"a misspelt key", "log: {level: info}\nchannels:\n  telegram:\n    tokne: x\n", nil,
			"line 4: there is no key channels.telegram.tokne; did you mean channels.telegram.token?"},
		{"a key in the wrong place", "api_url: http://x\n", nil, "line 1: there is no key api_url"},
		{"a key at the root", "telegram: {token: x}\n", nil, "line 1: there is no key telegram"},
		{"a key of a later release", "billing: {model: x}\n", nil, "line 1: there is no key billing"},
		{"a server's key", "agent: {mcp_servers: [{name: a, comand: b}]}\n", nil,
			"there is no key agent.mcp_servers[0].comand; did you mean agent.mcp_servers[0].command?"},
		{"a list for a server's variables", "agent: {mcp_servers: [{env: [a]}]}\n", nil,
			"agent.mcp_servers[0].env wants keys and values"},
		{"a map as a server's variable", "agent: {mcp_servers: [{env: {A: {B: c}}}]}\n", nil,
			"agent.mcp_servers[0].env.A wants one value"},
		{"a word for a number", "turn: {workers: many}\n", nil, `line 1: turn.workers: "many" is not a whole number`},
		{"a duration without unit", "turn: {debounce: 700}\n", nil,
			`"700" is not a duration; write it like 700ms, 10m or 48h`},
		{"a size of nothing", "media: {max_bytes: big}\n", nil, `"big" is not a size; write it like 20MiB`},
		{"a map for a word", "data_dir: {a: b}\n", nil, "data_dir wants one value"},
		{"a word for a map", "http: 127.0.0.1:80\n", nil, "http wants keys and values"},
		{"a word for a list", "access: {allow: telegram:1}\n", nil, "access.allow wants a list, such as [a, b]"},
		{"an alias", "data_dir: &x a\nlog: {level: *x}\n", nil,
			"line 2: log.level: anchors, aliases and tags are not understood"},
		{"a key twice", "data_dir: a\ndata_dir: b\n", nil, "already defined"},
		{"no YAML", "data_dir: [\n", nil, "line 1"},
		{"two documents", "data_dir: a\n---\ndata_dir: b\n", nil, "more than one document"},
		{"a fallback's key", "llm: {fallbacks: [{provder: demo}]}\n", nil,
			"there is no key llm.fallbacks[0].provder; did you mean llm.fallbacks[0].provider?"},
		{"an unknown variable", "", []string{"EVERTHREAD_LLM_APIKEY=x"},
			"EVERTHREAD_LLM_APIKEY means nothing; did you mean EVERTHREAD_LLM_API_KEY?"},
		{"a wrong value in a variable", "", []string{"EVERTHREAD_ALLOW_PRIVATE_URLS=perhaps"},
			`EVERTHREAD_ALLOW_PRIVATE_URLS: "perhaps" is neither true nor false`},
		{"a variable and its file", "", []string{"EVERTHREAD_SECRET_KEY=x", "EVERTHREAD_SECRET_KEY_FILE=y"},
			"both EVERTHREAD_SECRET_KEY and EVERTHREAD_SECRET_KEY_FILE are set; keep one"},
		{"a secret file that is not there", "", []string{"EVERTHREAD_SECRET_KEY_FILE=nowhere"},
			"EVERTHREAD_SECRET_KEY_FILE: read the secret"},
		{"a file variant of something open", "", []string{"EVERTHREAD_DATA_DIR_FILE=x"},
			"EVERTHREAD_DATA_DIR_FILE means nothing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(write(t, c.file), c.environ, channels()...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestLoad_givenFileMustExist(t *testing.T) {
	t.Parallel()
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil, channels()...)
	if err == nil || !strings.Contains(err.Error(), "there is no configuration file") {
		t.Errorf("got %v", err)
	}
}

func TestLoad_errorsQuoteNoSecret(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"channels: {telegram: {token: 1:hunter2, tokn: a}}\n",
		"secret_key: hunter2\n  x: [\n",
		"secret_key: [hunter2]\n",
		"secret_key: \"hunter2\n",
		"llm: {api_key: {hunter2: 1}}\n",
	} {
		_, err := Load(write(t, file), nil, channels()...)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v", file, err)
		}
	}
}

func TestValidate_saysWhatToDo(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		spoil func(c *Config)
		want  string
	}{
		{"zone", func(c *Config) { c.DefaultTimezone = "Europe/Pairs" }, `default_timezone "Europe/Pairs" is not known`},
		{"language", func(c *Config) { c.DefaultLanguage = "French!" }, "default_language"},
		{"time of day", func(c *Config) { c.Summaries.PostAt = "8:00" },
			`summaries.post_at is "8:00"; write a time of day as HH:MM`},
		{"policy", func(c *Config) { c.Access.Policy = "closed" },
			"access.policy is \"closed\"; it must be one of pairing, allowlist, open"},
		{"allow", func(c *Config) { c.Access.Allow = []string{"123"} }, "channel:id"},
		{"openai without key", func(c *Config) { c.LLM.Provider, c.LLM.Model = "openai", "m" },
			"llm.api_key is empty; set it, or llm.base_url"},
		{"openai without model", func(c *Config) { c.LLM.Provider, c.LLM.APIKey = "openai", "k" }, "llm.model is empty"},
		{"anthropic without key", func(c *Config) { c.LLM.Provider, c.LLM.Model = "anthropic", "m" }, "llm.api_key is empty"},
		{"provider", func(c *Config) { c.LLM.Provider = "gpt" }, "llm.provider is \"gpt\""},
		{"fallback", func(c *Config) { c.LLM.Fallbacks = []LLM{{Provider: "x"}} }, "llm.fallbacks[0].provider"},
		{"price", func(c *Config) { c.LLM.Prices.Cached = -1 }, "llm.prices.cached is -1; it must be between 0 and"},
		{"prices without currency", func(c *Config) { c.LLM.Prices.Prompt, c.LLM.Currency = 2.5, "" },
			"llm.currency is \"\"; name it"},
		{"summary model without provider", func(c *Config) { c.SummaryLLM.Model = "m" }, "summary_llm.provider is empty"},
		{"listen", func(c *Config) { c.HTTP.Listen = "8080" }, "http.listen is \"8080\"; write it like 127.0.0.1:8080"},
		{"listen beyond the ports", func(c *Config) { c.HTTP.Listen = "127.0.0.1:99999" }, "write it like 127.0.0.1:8080"},
		{"backups' password without a place", func(c *Config) { c.Backup.Password = "p" }, "backup.to is empty"},
		{"backups elsewhere at home", func(c *Config) { c.Backup.To, c.Backup.Dir = "/srv/b", "/srv/b" },
			"backup.to is the folder where backups are made"},
		{"backups elsewhere at home by default", func(c *Config) { c.Backup.To, c.DataDir = "/srv/backups", "/srv" },
			"backup.to is the folder where backups are made"},
		{"a bucket without its keys", func(c *Config) { c.Backup.To = "s3://s3.example.com/b" },
			"backup.user and backup.password are required"},
		{"backups encrypted twice", func(c *Config) {
			c.Backup.To, c.Backup.EncryptTo, c.Backup.Passphrase = "/srv/b", []string{"age1x"}, "p"
		}, "backup.encrypt_to and backup.passphrase are both set"},
		{"proxies", func(c *Config) { c.HTTP.TrustedProxies = []string{"proxy"} }, "http.trusted_proxies"},
		{"webhook without https", func(c *Config) {
			telegramOf(*c).Token, telegramOf(*c).Mode, telegramOf(*c).WebhookSecret = "1:a", "webhook", "s"
		}, "http.public_url must begin with https://"},
		{"webhook without secret", func(c *Config) {
			telegramOf(*c).Token, telegramOf(*c).Mode, c.HTTP.PublicURL = "1:a", "webhook", "https://x.example"
		}, "channels.telegram.webhook_secret"},
		{"token", func(c *Config) { telegramOf(*c).Token = "hunter2" }, "copy it from @BotFather"},
		{"database without key", func(c *Config) { c.DatabaseURL = "postgres://u:hunter2@h/d" },
			"secret_key is required with database_url"},
		{"database of another kind", func(c *Config) { c.DatabaseURL, c.SecretKey = "mysql://u:hunter2@h/d", "k" },
			"database_url must begin with postgres://"},
		{"context", func(c *Config) { c.Context.TotalTokens = 100 },
			"context.total_tokens is 100; it must be at least context.target_tokens"},
		{"window", func(c *Config) { c.LLM.ContextWindow = 4000 }, "fit into llm.context_window"},
		{"embeddings provider", func(c *Config) { c.Embeddings.Provider = "local" },
			"embeddings.provider is \"local\"; it must be one of none, llamacpp,"},
		{"embeddings without provider", func(c *Config) { c.Embeddings.Model = "m" }, "embeddings.provider is none"},
		{"embeddings without address", func(c *Config) { c.Embeddings.Provider = "llamacpp" },
			"embeddings.base_url is empty"},
		{"embeddings without model", func(c *Config) { c.Embeddings.Provider = "ollama" }, "embeddings.model is empty"},
		{"embeddings without key", func(c *Config) { c.Embeddings.Provider, c.Embeddings.Model = "openai", "m" },
			"embeddings.api_key is empty"},
		{"embeddings address", func(c *Config) { c.Embeddings.Provider, c.Embeddings.BaseURL = "custom_http", "host:1" },
			"embeddings.base_url is no web address"},
		{"dimensions", func(c *Config) { c.Embeddings.Dimensions = 1536 },
			"embeddings.dimensions is 1536; it must be between 1 and 1024"},
		{"search language", func(c *Config) { c.Recall.Languages = []string{"French"} },
			`recall.languages: "French" is no language`},
		{"weights", func(c *Config) { c.Recall.LexicalWeight = 0.7 }, "must make 1 together"},
		{"standing instructions", func(c *Config) { c.Standing.MaxActive = 0 }, "standing.max_active"},
		{"tokens of standing instructions", func(c *Config) { c.Standing.MaxTokens = 20 }, "standing.max_tokens"},
		{"hour of reminders", func(c *Config) { c.Reminders.DefaultHour = "9" }, "reminders.default_hour"},
		{"server without name", servers(MCPServer{URL: "https://x.example"}), "agent.mcp_servers[0].name is \"\""},
		{"server named like our tools", servers(MCPServer{Name: "memory", Command: "a"}),
			"agent.mcp_servers[0].name is \"memory\", which begins the names of built-in tools"},
		{"servers of one name", servers(MCPServer{Name: "a", Command: "a"}, MCPServer{Name: "a", Command: "b"}),
			"agent.mcp_servers[1].name is \"a\", as that of another"},
		{"server of nothing", servers(MCPServer{Name: "a"}), "agent.mcp_servers[0] has neither command nor url"},
		{"server of both", servers(MCPServer{Name: "a", Command: "a", URL: "https://x.example"}), "has both command and url"},
		{"server with useless headers", servers(MCPServer{Name: "a", Command: "a",
			Headers: map[string]Secret{"A": "hunter2"}}), "headers have no effect with command"},
		{"server with useless arguments", servers(MCPServer{Name: "a", URL: "https://x.example", Args: []string{"x"}}),
			"have no effect with url"},
		{"server's address", servers(MCPServer{Name: "a", URL: "x.example"}), "agent.mcp_servers[0].url is no web address"},
		{"server's header", servers(MCPServer{Name: "a", URL: "https://x.example",
			Headers: map[string]Secret{"A": "hunter2\nB: c"}}), "cannot be sent"},
		{"server's variable", servers(MCPServer{Name: "a", Command: "a", Env: map[string]Secret{"A B": "hunter2"}}),
			"no name of a variable"},
		{"server's way of signing in", servers(MCPServer{Name: "a", URL: "https://x.example", Auth: "basic"}),
			"agent.mcp_servers[0].auth is \"basic\"; write oauth"},
		{"a client of no OAuth", servers(MCPServer{Name: "a", URL: "https://x.example", OAuth: MCPClient{ClientID: "x"}}),
			"agent.mcp_servers[0].oauth has no effect without auth: oauth"},
		{"OAuth of a program", servers(MCPServer{Name: "a", Command: "a", Auth: "oauth"}), "OAuth needs a url"},
		{"OAuth without https", servers(MCPServer{Name: "a", URL: "http://x.example", Auth: "oauth"}),
			"agent.mcp_servers[0].url must begin with https://"},
		{"OAuth with a key", servers(MCPServer{Name: "a", URL: "https://x.example", Auth: "oauth",
			Headers: map[string]Secret{"authorization": "Bearer hunter2"}}), "has Authorization, which auth: oauth sets"},
		{"a secret of no client", servers(MCPServer{Name: "a", URL: "https://x.example", Auth: "oauth",
			OAuth: MCPClient{ClientSecret: "hunter2"}}), "client_secret needs a client_id"},
		{"scopes", servers(MCPServer{Name: "a", URL: "https://x.example", Auth: "oauth",
			OAuth: MCPClient{Scopes: []string{"read write"}}}), "oauth.scopes has \"read write\""},
		{"range", func(c *Config) { c.Summaries.Pressure = 2 }, "summaries.pressure is 2; it must be between 0.1 and 1"},
		{"duration", func(c *Config) { c.Turn.Debounce = time.Hour },
			"turn.debounce is 1h0m0s; it must be between 0s and 1m0s"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := Default(channels()...)
			c.spoil(&cfg)
			err := cfg.Validate()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func servers(s ...MCPServer) func(c *Config) {
	return func(c *Config) { c.Agent.MCPServers = s }
}

func TestMCPServers_fromFileAndEnvironment(t *testing.T) {
	t.Parallel()
	want := []MCPServer{
		{Name: "files", Command: "mcp", Args: []string{"-v", "/srv"}, Env: map[string]Secret{"KEY": "hunter2", "N": "1"}},
		{Name: "wiki", URL: "https://wiki.example/mcp", Headers: map[string]Secret{"Authorization": "Bearer hunter2"}},
		{Name: "tracker", URL: "http://127.0.0.1:1/mcp", Auth: "oauth", OAuth: MCPClient{ClientID: "x", ClientSecret: "hunter2",
			Scopes: []string{"read", "write"}}},
	}
	const list = `[{name: files, command: mcp, args: [-v, /srv], env: {KEY: hunter2, N: 1}},
  {name: wiki, url: "https://wiki.example/mcp", headers: {Authorization: Bearer hunter2}},
  {name: tracker, url: "http://127.0.0.1:1/mcp", auth: oauth, oauth: {client_id: x, client_secret: hunter2, scopes: [read, write]}}]`
	file, err := Load(write(t, "agent:\n mcp_servers: "+list), nil, channels()...)
	if err != nil {
		t.Fatal(err)
	}
	environ, err := Load(write(t, ""), []string{"EVERTHREAD_AGENT_MCP_SERVERS=" + list,
		"EVERTHREAD_RECALL_LANGUAGES=de,ru"}, channels()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{file, environ} {
		if d := cmp.Diff(want, c.Agent.MCPServers); d != "" {
			t.Error(d)
		}
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff([]string{"de", "ru"}, environ.Recall.Languages); d != "" {
		t.Error(d)
	}
}

func TestEmbeddings_everyProviderIsValid(t *testing.T) {
	t.Parallel()
	for _, e := range []Embeddings{
		{Provider: "llamacpp", BaseURL: "http://127.0.0.1:8081"},
		{Provider: "ollama", Model: "nomic-embed-text"},
		{Provider: "openai", Model: "text-embedding-3-small", APIKey: "k", Dimensions: 1024},
		{Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1/v1"},
		{Provider: "custom_http", BaseURL: "https://x.example/embed"},
	} {
		c := Default(channels()...)
		c.Embeddings = e
		c.Embeddings.Timeout = time.Minute
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", e.Provider, err)
		}
	}
}

func TestValidate_tellsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	c := Default(channels()...)
	c.DefaultTimezone, c.Access.Policy, c.Turn.Workers = "x", "x", 0
	if n := strings.Count(c.Validate().Error(), "\n") + 1; n != 3 {
		t.Errorf("%d problems, want 3: %v", n, c.Validate())
	}
}

func TestSecret_isNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	c := Default(channels()...)
	c.SecretKey, c.LLM.APIKey, c.SummaryLLM.APIKey, c.DatabaseURL = secret, secret, secret, "postgres://u:hunter2@h/d"
	c.LLM.Fallbacks = []LLM{{APIKey: secret}}
	telegramOf(c).Token, telegramOf(c).WebhookSecret = secret, secret
	c.Embeddings.APIKey = secret
	c.Backup.Password, c.Backup.Passphrase = secret, secret
	c.Agent.MCPServers = []MCPServer{{Env: map[string]Secret{"A": secret}, Headers: map[string]Secret{"A": secret}}}
	shown := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown[verb] = fmt.Sprintf(verb, c) + fmt.Sprintf(verb, &c) + fmt.Sprintf(verb, c.LLM) + fmt.Sprintf(verb,
			telegramOf(c)) + fmt.Sprintf(verb, c.SecretKey)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	shown["json"], shown["yaml"] = string(b), string(y)
	var log bytes.Buffer
	z := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()),
		zapcore.AddSync(&log), zap.DebugLevel))
	z.Info("configuration", zap.Any("config", c), zap.Any("llm", &c.LLM), zap.Any("key", c.SecretKey),
		zap.Stringer("key", c.SecretKey))
	z.Sugar().Infow("configuration", "config", c, "key", c.SecretKey)
	shown["zap"] = log.String()
	for how, text := range shown {
		if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("%s shows a secret: %s", how, text)
		}
		if !strings.Contains(text, "***") && how != "%x" && how != "%d" {
			t.Errorf("%s does not show that there is one: %s", how, text)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"20MiB": 20 << 20, "20 MiB": 20 << 20, "1GB": 1e9, "512": 512,
		"512B": 512, "0": 0} {
		got, err := parseSize(text)
		if err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
		back, err := parseSize(got.String())
		if err != nil || back != want {
			t.Errorf("%q: %s reads back as %d, %v", text, got, back, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Example(channels()...))
	for _, s := range []string{"", "a: b", "llm: {fallbacks: [{provider: demo}]}", "- a\n- b",
		"access:\n  allow: [a, 'b', \"c\"]", "data_dir: |\n  x\n", "? a\n: b", "&a *a", "<<: {a: b}", "!!int x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Default(channels()...)
		if err := c.parse(text); err == nil {
			c.complete()
			_ = c.Validate()
		}
	})
}

func FuzzEnvironment(f *testing.F) {
	for _, key := range keys() {
		f.Add(leaf{path: key}.variable(), "1")
	}
	f.Add("EVERTHREAD_LLM_FALLBACKS", "[{provider: demo}]")
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.HasSuffix(name, "_FILE") {
			return // reads a file
		}
		c := Default(channels()...)
		if err := c.environment([]string{name + "=" + value}); err == nil {
			c.complete()
			_ = c.Validate()
		}
	})
}

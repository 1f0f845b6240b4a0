package configs

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/everthread/everthread/internal/fulltest"
)

// pasted are keys in the format of services; none is real.
var pasted = []string{
	"sk-proj-Zk3vT9wQ2xLmN8bR5yHc7dJf4gPa6sUe",
	"sk-ant-api03-7Jk2mPq9Xv4Lw8Rt6Yb3Nc5Hd1Gf0As-Zx_Qw",
	"sk-or-v1-0f8fad5bd9cb469fa16570867728950e7c9e6679f2bc4d1e",
	"123456789:AAExKq3v8ZpLm2NwRtYb5Hc7dJf4gPa6sUe",
	"EAAGm0PX4ZCpsBO3kqZBz7Qw9vLmTxR2yHc8dJf5gPa6sUeN1bVt",
	"et_3kq7z9vlmtxr2yhc8djf5gpa6suen1bvt4",
	"syt_YWRh_ZkTvQwXLmNbRyHcdJfg_1aBcD3",
	"AIzaSyD3kq7z9VlmTxR2yHc8dJf5gPa6sUeN1bV",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9",
	"0f8fad5bd9cb469fa16570867728950e7c9e6679f2bc4d1e8a7b6c5d4e3f2a10",
	"7c9e6679-7425-40de-944b-e07fc1f90ae7",
	"postgres://ada:Zk3vT9wQ2x@db.example.org/everthread",
}

// secretOf returns the part of a pasted key that must not be shown.
func secretOf(key string) string {
	if _, rest, ok := strings.Cut(key, "://ada:"); ok {
		return rest[:10]
	}
	return key[len(key)-10:]
}

// TestLoad_repeatsNoMisplacedKey pastes keys into every field, in the file and
// in the environment.
func TestLoad_repeatsNoMisplacedKey(t *testing.T) {
	t.Parallel()
	c := Default(channels()...)
	said := 0
	for n, l := range leaves(reflect.ValueOf(&c).Elem(), "") {
		if n%fulltest.Size(4, 1) > 0 {
			continue
		}
		keys := pasted
		if l.path != "llm.provider" && l.path != "turn.workers" { // one each is enough
			keys = pasted[n%len(pasted):][:1]
		}
		for _, key := range keys {
			path := strings.Split(l.path, ".")
			file := strings.Repeat("{", len(path)-1)
			for i, name := range path {
				file += name + ": "
				if i < len(path)-1 {
					file = strings.Replace(file, "{", "", 1) + "{"
				}
			}
			file += `"` + key + `"` + strings.Repeat("}", len(path)-1) + "\n"
			for how, try := range map[string]func() (Config, error){
				"file": func() (Config, error) { return Load(write(t, file), nil, channels()...) },
				"environment": func() (Config, error) {
					return Load("/dev/null", []string{l.variable() + "=" + key},
						channels()...)
				},
				"file of it": func() (Config, error) {
					return Load("/dev/null", []string{l.variable() + "_FILE=" + key}, channels()...)
				},
				"as a key": func() (Config, error) {
					return Load(write(t, strings.ReplaceAll(file, path[len(path)-1]+": ", `"`+key+`": `)), nil, channels()...)
				},
			} {
				cfg, err := try()
				if err == nil {
					err = cfg.Validate()
				}
				if err == nil {
					continue
				}
				if said++; strings.Contains(err.Error(), secretOf(key)) {
					t.Errorf("%s in %s (%s): %v", key, l.path, how, err)
				}
			}
		}
	}
	if said < fulltest.Size(50, 200) {
		t.Errorf("only %d errors were looked at", said)
	}
}

func TestRedact_showsWhatIsNoKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"claude-sonnet-4-5-20250929", "gpt-4o-mini-2024-07-18", "meta-llama/Llama-3.3-70B-Instruct",
		"Qwen2.5-Coder-32B-Instruct-GGUF", "text-embedding-3-large", "EVERTHREAD_CHANNELS_TELEGRAM_WEBHOOK_SECRET_FILE",
		"context.long.compress_threshold", "agent.mcp_servers[0].command", "channels.matrix.bridges",
		"/var/lib/everthread/everthread-20261122-031500.tar.zst",
		"/srv/Documents/MyAssistantConfiguration2026/everthread.yaml", "https://matrix.example.org:8448/_matrix/client/v3",
		"postgres://ada@db.example.org:5432/everthread?sslmode=disable", "Europe/Paris", "America/Argentina/ComodRivadavia",
		"@assistant:matrix.example.org", "2026-11-22T03:15:00Z",
		"the schema has version 20261122, this program wants 20261123: run `everthread migrate up`",
		"TestErrorsNeverQuoteSecrets2903294468", "Llama-2-7B-Chat-GPTQ-4bit-128g", "phi-3.5-mini-instruct-q4_K_M.gguf",
		"schema_v1_2_3_of_2026", "everthread20261122031500",
		"réglez llm.provider, llm.model et llm.api_key pour en avoir un vrai", "et backup.dir sur un dossier",
		"réglez speech.model et speech.base_url", "la clé et sur-le-champ l’adresse", "et cetera, et-cetera-desunt",
		"Bearer authentication is required", "send it as Bearer token-of-the-account", "sk translations et al.",
	} {
		if got := Redact(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestRedact_findsRandomKeys: of keys made of any common alphabet, nearly all are found.
func TestRedact_findsRandomKeys(t *testing.T) {
	t.Parallel()
	alphabets := map[string]func(b []byte) string{
		"hex": hex.EncodeToString, "base64": base64.RawURLEncoding.EncodeToString,
		"base32": func(b []byte) string {
			return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
		},
	}
	for name, encode := range alphabets {
		missed, r := 0, rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			b := make([]byte, 32)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			if key := encode(b); strings.Contains(Redact("it is "+key), key) {
				missed++
			}
		}
		if missed > 60 { // 3%
			t.Errorf("%s: %d of 2000 were not seen", name, missed)
		}
	}
}

// TestRedact_leavesOurOwnTexts: no sentence of a catalogue looks like a key.
func TestRedact_leavesOurOwnTexts(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"en", "fr", "de"} {
		catalogue, err := os.ReadFile("../core/text/i18n/" + language + ".toml")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(catalogue), "\n") {
			if got := Redact(line); got != line && !strings.Contains(line, "://") { // examples of addresses have passwords
				t.Errorf("%s: %s became %s", language, line, got)
			}
		}
	}
}

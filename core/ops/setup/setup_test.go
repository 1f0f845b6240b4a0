package setup_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/signal"
	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/adapters/whatsapp"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/ops/setup"
	"github.com/everthread/everthread/deploy"
)

// world answers trials: one key, one token and one database are right.
type world struct {
	reduced []core.Reduction
	models  []string
	window  int
}

var errRefused = &setup.Fault{Wrong: setup.WrongDatabase, Detail: "it is refused"}

func (w world) Window(context.Context, setup.Model) int { return w.window }

func (w world) Models(_ context.Context, m setup.Model) ([]string, error) {
	if strings.Contains(m.BaseURL, "away") {
		return nil, &setup.Fault{Wrong: setup.WrongUnreached, Where: "away", Reason: setup.ReasonRefused,
			Err: &core.ModelError{Kind: core.ModelDown, Err: errors.New("refused")}}
	}
	if m.Key != "right" {
		return nil, &setup.Fault{Wrong: setup.WrongKey, Where: "models", Detail: "HTTP 401.",
			Err: &core.ModelError{Kind: core.ModelAuth, Err: errors.New("401")}}
	}
	return w.models, nil
}

func (w world) Model(_ context.Context, m setup.Model) ([]core.Reduction, error) {
	if m.Name == "good" || strings.HasPrefix(m.Name, "gpt-5") {
		return w.reduced, nil
	}
	return nil, &setup.Fault{Wrong: setup.WrongModel, Where: "models", Err: &core.ModelError{Kind: core.ModelConfig,
		Err: errors.New("404")}}
}

func (world) Database(_ context.Context, url string) error { return refuse(url != "postgres://right") }

// services are those of the channels: one account of each is right.
type services struct{}

func (services) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusUnauthorized, `{"ok":false,"errcode":"M_FORBIDDEN","description":"it is refused"}`
	said, _ := io.ReadAll(cmp.Or[io.Reader](r.Body, http.NoBody))
	switch right := map[string]string{"/bot1:right/getMe": `{"ok":true,"result":{"username":"some_bot"}}`,
		"/v25.0/123": "{}", "/_matrix/client/v3/account/whoami": `{"user_id":"@a:hs"}`,
		"/_matrix/client/v3/logout": "{}"}[r.URL.Path]; {
	case r.URL.Path == "/_matrix/client/v3/login" && r.Method == http.MethodGet:
		status, body = http.StatusOK, `{"flows":[{"type":"m.login.password"}]}`
	case strings.Contains(string(said), `"password":"right"`):
		status, body = http.StatusOK, `{"access_token":"right"}`
	case right != "" && (strings.HasPrefix(r.URL.Path, "/bot") || r.Header.Get("Authorization") == "Bearer right"):
		status, body = http.StatusOK, right
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// host is the host of channels that are tried.
func host() channel.Host {
	return channel.Host{Client: func(...string) *http.Client { return &http.Client{Transport: services{}} },
		Rand: strings.NewReader(strings.Repeat("k", 100))}
}

// defaults returns the defaults with the sections of channels.
func defaults() configs.Config {
	return configs.Default(telegram.Default(), matrix.Default(), whatsapp.Default())
}

// ofTelegram, ofMatrix and ofWhatsApp are channels that were set up.
func ofTelegram(said string) setup.Channel {
	return setup.Channel{Key: "telegram", Tried: channel.Tried{Said: said, Name: "some_bot", Comment: said,
		Keys: []string{"token", "1:right"}}}
}

func ofMatrix(said string) setup.Channel {
	return setup.Channel{Key: "matrix", Tried: channel.Tried{Said: said, Comment: "docs/matrix.md",
		Keys: []string{"homeserver", "https://hs", "user_id", "@a:hs", "password", "right"}}}
}

func ofWhatsApp(verify, said string) setup.Channel {
	return setup.Channel{Key: "whatsapp", Tried: channel.Tried{Said: fmt.Sprintf(said, verify),
		Comment: "docs/whatsapp.md", Keys: []string{"phone_number_id", "123", "access_token", "right", "app_secret", "secret",
			"verify_token", verify}}}
}

func refuse(wrong bool) error {
	if wrong {
		return errRefused
	}
	return nil
}

// talk runs the wizard with lines, and returns its answers, its output and the number of
// lines that it took.
func talk(t *testing.T, w world, given configs.Config, environ map[string]string, language string,
	lines ...string) (setup.Answers, string, int, error) {
	t.Helper()
	var out bytes.Buffer
	asker := &setup.Counted{Asker: &setup.Plain{In: setup.NewPiped(strings.NewReader(strings.Join(lines, "\n")+"\n"), &out,
		nil), Out: &out, Language: language}}
	z := &setup.Wizard{Asker: asker, Say: func(s string) { out.WriteString(s + "\n") }, Language: language, Given: given,
		Environ: func(name string) string { return environ[name] }, Try: w, Host: host(),
		Rand: strings.NewReader(strings.Repeat("k", 100))}
	z.Zone, z.Now = cmp.Or(environ["TZ"], "Europe/Paris"), time.Date(2026, 11, 19, 8, 0, 0, 0, time.UTC)
	a, err := z.Run(t.Context())
	if environ["TZ"] == "" {
		a.Zone = ""
	}
	return a, out.String(), asker.N, err
}

// TestZone_isAskedWhereTheMachineDoesNotKnow takes a city or a zone, and says when it is neither.
func TestZone_isAskedWhereTheMachineDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ machine, answers, want string }{
		{"UTC", "demo,Paris,,,", "Europe/Paris"}, {"Etc/UTC", "demo,Nowhere,new york,,,", "America/New_York"},
		{"UTC", "demo,,,,", "UTC"}, {"Asia/Tokyo", "demo,,,", "Asia/Tokyo"},
	} {
		a, out, _, err := talk(t, world{}, defaults(), map[string]string{"TZ": c.machine}, "en",
			strings.Split(c.answers, ",")...)
		if err != nil || a.Zone != c.want ||
			strings.Contains(c.answers, "Nowhere") != strings.Contains(out, "I don't know that one") {
			t.Errorf("%s, %s: %q, %v\n%s", c.machine, c.answers, a.Zone, err, out)
		}
	}
}

// TestBack_isAnEmptyAnswer leaves a channel that was chosen out of curiosity, and keeps what was answered before.
func TestBack_isAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{
		{"demo", "1:right", "whatsapp", "", "no"}, {"demo", "1:right", "whatsapp", "+33612345678", "123", "", "no"},
		{"demo", "1:right", "database", "", "no"}, {"demo", "1:right", "matrix", "https://hs", "", "no"},
	} {
		a, out, n, err := talk(t, world{}, defaults(), nil, "en", lines...)
		if err != nil || n != len(lines) && lines[3] != "+33612345678" || len(a.Channels) != 1 || a.Database != "" ||
			!strings.Contains(out, "An empty answer leads back.") && lines[2] != "database" {
			t.Errorf("%q: %d answers, %v, %v\n%s", lines, n, a, err, out)
		}
	}
}

// TestScan_linksAnAccount shows a code, waits until a phone has scanned it, and says when that was too late.
func TestScan_linksAnAccount(t *testing.T) {
	t.Parallel()
	d := signaltest.New()
	t.Cleanup(d.Close)
	d.Unlink()
	given := configs.Default(signal.Default())
	shown := 0
	z := &setup.Wizard{Language: "en", Given: given, Zone: "Europe/Paris", Try: world{},
		Environ: func(string) string { return "" }, Host: channel.Host{Client: func(...string) *http.Client { return http.DefaultClient }}}
	var out bytes.Buffer
	z.Say = func(s string) { out.WriteString(s + "\n") }
	z.Show = func(code string) {
		if shown++; shown == 1 {
			d.Scan("another code")
			return
		}
		d.Scan(code)
	}
	lines := []string{"demo", "signal", "scan", d.URL(), "scan", d.URL(), "no"}
	z.Asker = &setup.Plain{In: setup.NewPiped(strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, nil), Out: &out, Language: "en"}
	a, err := z.Run(t.Context())
	if err != nil || shown != 2 || len(a.Channels) != 1 || a.Channels[0].Keys[1] != signaltest.Account ||
		!strings.Contains(out.String(), "not scanned in time") || !strings.Contains(out.String(), "Linked devices") {
		t.Errorf("%d codes, %+v, %v\n%s", shown, a.Channels, err, &out)
	}
}

// TestBack_leadsToTheModels leaves the question for the address of a server for the list of models.
func TestBack_leadsToTheModels(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{
		{"other", "", "demo", "", ""}, {"other", "no address", "", "demo", "", ""},
		{"other", "", "other", "", "demo", "", ""},
		{"other", "", "http://server/v1", "right", "", "", ""},
	} {
		a, out, _, err := talk(t, world{models: []string{"good"}}, defaults(), nil, "en", lines...)
		if err != nil || (a.LLM.BaseURL == "") != slices.Contains(lines, "demo") ||
			!strings.Contains(out, "An empty answer leads back.") {
			t.Errorf("%q: %+v, %v\n%s", lines, a.LLM, err, out)
		}
	}
	z := &setup.Wizard{Asker: &setup.Prepared{Answers: map[string]string{"provider": "other"}}, Say: func(string) {},
		Language: "en", Given: defaults(), Environ: func(string) string { return "" }, Try: world{}, Now: time.Now()}
	if _, err := z.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"url"`) {
		t.Errorf("without the address: %v", err)
	}
}

// TestUnanswered_saysWhy repeats what is wrong with a prepared answer.
func TestUnanswered_saysWhy(t *testing.T) {
	t.Parallel()
	z := &setup.Wizard{Asker: &setup.Prepared{Answers: map[string]string{"provider": "http://away/v1"}},
		Say: func(string) {}, Language: "en", Given: defaults(), Environ: func(string) string { return "" }, Try: world{},
		Host: host(), Zone: "Europe/Paris", Rand: strings.NewReader(strings.Repeat("k", 100))}
	if _, err := z.Run(t.Context()); !errors.Is(err, setup.ErrUnanswered) ||
		!strings.Contains(err.Error(), "away does not answer") {
		t.Errorf("got %v", err)
	}
}

func TestWizard(t *testing.T) {
	t.Parallel()
	several := world{models: []string{"text-embedding-3", "other", "gpt-5-mini-2025"}}
	inEnvironment := defaults()
	inEnvironment.LLM.Provider, inEnvironment.LLM.Model, inEnvironment.LLM.APIKey = "openai", "good", "right"
	inEnvironment.Channels.Sections[0].(*telegram.Config).Token = "1:right"
	inEnvironment.LLM.BaseURL = "http://models/v1"
	for name, c := range map[string]struct {
		world    world
		given    configs.Config
		environ  map[string]string
		language string
		lines    []string
		answers  int
		want     setup.Answers
		says     []string
	}{
		"nothing at all": {lines: []string{"", "", ""}, answers: 3,
			want: setup.Answers{LLM: setup.Model{Service: "demo", Provider: "demo"}}, says: []string{"The demo answers"}},
		"a number, and the model that is liked": {world: several, lines: []string{"1", "right", "", "1:right", ""},
			answers: 5, want: setup.Answers{LLM: setup.Model{Service: "openai", Provider: "openai", Key: "right",
				Name: "gpt-5-mini-2025"},
				Channels: []setup.Channel{ofTelegram("The bot is @some_bot.")}},
			says: []string{"The bot is @some_bot", "[gpt-5-mini-2025] >"}},
		"a model with a window": {world: world{models: []string{"good"}, window: 32768},
			lines: []string{"http://models/v1", "right", "", ""}, answers: 4,
			want: setup.Answers{LLM: setup.Model{Service: "other", Provider: "openai",
				BaseURL: "http://models/v1", Key: "right", Name: "good", Window: 32768}},
			says: []string{"It reads 32,768 tokens at a time."}},
		"a model without tools": {world: world{models: []string{"good"}, reduced: []core.Reduction{core.ReducedTools}},
			lines: []string{"http://models/v1", "right", "", ""}, answers: 4,
			want: setup.Answers{LLM: setup.Model{Service: "other", Provider: "openai",
				BaseURL: "http://models/v1", Key: "right", Name: "good"}},
			says: []string{"good answers.", "It works with less: it does not use tools"}},
		"a short window": {world: world{models: []string{"good"}, window: 8192},
			lines: []string{"http://models/v1", "right", "", ""}, answers: 4,
			want: setup.Answers{LLM: setup.Model{Service: "other", Provider: "openai",
				BaseURL: "http://models/v1", Key: "right", Name: "good", Window: 8192}},
			says: []string{"It reads 8,192 tokens at a time. That is not much"}},
		"a window that is too small": {world: world{models: []string{"good"}, window: 2048},
			lines: []string{"http://models/v1", "right", "", ""}, answers: 4,
			want: setup.Answers{LLM: setup.Model{Service: "other", Provider: "openai",
				BaseURL: "http://models/v1", Key: "right", Name: "good"}},
			says: []string{"It reads only 2,048 tokens at a time, and at least 4,096 are needed"}},
		"the most that there can be": {world: several, lines: []string{"other", "http://models/v1/chat/completions", "right",
			"good", "1:right", "no"}, answers: 6,
			want: setup.Answers{LLM: setup.Model{Service: "other", Provider: "openai", BaseURL: "http://models/v1", Key: "right",
				Name: "good"}, Channels: []setup.Channel{ofTelegram("The bot is @some_bot.")}}},
		"everything wrong once": {world: several, lines: []string{"99", "nonsense", "http://away", "", "http://models/v1/",
			"wrong", "right", "bad", "good", "none", "1:wrong", "1:right", "7", "no"}, answers: 13,
			want: setup.Answers{LLM: setup.Model{Service: "other", Provider: "openai", BaseURL: "http://models/v1", Key: "right",
				Name: "good"}, Channels: []setup.Channel{ofTelegram("The bot is @some_bot.")}},
			says: []string{"neither in the list", "away does not answer (the connection was refused); check the address",
				"models rejects this key (HTTP 401); copy it again.",
				"models does not know this model, or there is nothing at this address; check both",
				"telegram rejects the token (it is refused)", "That is not a token", "number from 1 to 4"}},
		"a key of the environment": {world: world{models: []string{"good"}},
			environ: map[string]string{"OPENAI_API_KEY": "right"}, lines: []string{"openai", "", ""}, answers: 3,
			want: setup.Answers{LLM: setup.Model{Service: "openai", Provider: "openai", Key: "right", Name: "good"}},
			says: []string{"OPENAI_API_KEY"}},
		"a wrong key of the environment": {world: world{models: []string{"good"}},
			environ: map[string]string{"OPENAI_API_KEY": "wrong"}, lines: []string{"openai", "right", "", ""}, answers: 4,
			want: setup.Answers{LLM: setup.Model{Service: "openai", Provider: "openai", Key: "right", Name: "good"}},
			says: []string{"models rejects this key"}},
		"all in the environment": {given: inEnvironment, lines: []string{""}, answers: 1,
			want: setup.Answers{LLM: setup.Model{Service: "other", Provider: "openai", BaseURL: "http://models/v1", Key: "right",
				Name: "good"}, Channels: []setup.Channel{ofTelegram("The bot is @some_bot.")}}},
		"everything wrong once, in French": {world: several, language: "fr",
			lines:   []string{"http://away", "", "http://models/v1/", "wrong", "right", "bad", "good", "1:wrong", "1:right"},
			answers: 9, want: setup.Answers{Language: "fr", LLM: setup.Model{Service: "other", Provider: "openai",
				BaseURL: "http://models/v1", Key: "right", Name: "good"},
				Channels: []setup.Channel{ofTelegram("Le bot est @some_bot.")}},
			says: []string{"Cela n’a pas fonctionné\u00a0: away ne répond pas (la connexion est refusée)\u00a0; vérifiez l’adresse", "models n’accepte pas cette clé (HTTP 401)\u00a0; recopiez-la.", "ne connaît pas ce modèle, ou il n’y a rien à cette adresse\u00a0; vérifiez", "Telegram refuse le jeton (it is refused)"}},
		"more, in French": {language: "fr", lines: []string{"demo", "", "database", "postgres://wrong", "postgres://right",
			"matrix", "https://hs", "@a:hs", "right", "3", "123", "right", "secret", "non"}, answers: 13,
			want: setup.Answers{Language: "fr", LLM: setup.Model{Service: "demo", Provider: "demo"},
				Database: "postgres://right", Secret: strings.Repeat("6b", 32),
				Channels: []setup.Channel{ofMatrix("Le compte peut se connecter."),
					ofWhatsApp(strings.Repeat("6b", 12),
						"WhatsApp connaît le numéro. Son webhook demande une adresse https (docs/whatsapp.md)\u00a0; le jeton de vérification est %s.")}},
			says: []string{"Quel modèle", "La base répond", "Tapez un des numéros"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.given.LLM.Provider == "" {
				c.given = defaults()
			}
			if c.language == "" {
				c.language, c.want.Language = "en", "en"
			}
			if c.language == "fr" {
				c.lines = append(c.lines, "1")
				c.answers++
			}
			got, out, n, err := talk(t, c.world, c.given, c.environ, c.language, c.lines...)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v\nwant %+v\n%s", got, err, c.want, out)
			}
			for _, want := range c.says {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			if n > c.answers {
				t.Errorf("%d answers, want %d", n, c.answers)
			}
		})
	}
	if _, _, _, err := talk(t, world{}, defaults(), nil, "en", "openai"); !errors.Is(err, setup.ErrUnanswered) {
		t.Errorf("an input that ends: %v", err)
	}
}

func TestPrepared(t *testing.T) {
	t.Parallel()
	answers, err := setup.ReadAnswers(strings.NewReader("# c\nprovider: openai\nkey: \"wrong\"\n\n"), setup.IDs())
	if err != nil || answers["key"] != "wrong" {
		t.Fatalf("got %v, %v", answers, err)
	}
	z := &setup.Wizard{Asker: &setup.Prepared{Answers: answers}, Say: func(string) {}, Language: "en", Given: defaults(),
		Environ: func(string) string { return "" }, Try: world{}}
	if _, err := z.Run(t.Context()); !errors.Is(err, setup.ErrUnanswered) ||
		!strings.Contains(err.Error(), `"key" is wrong`) {
		t.Errorf("a wrong answer: %v", err)
	}
	if _, err := setup.ReadAnswers(strings.NewReader("provder: x"), setup.IDs()); err == nil ||
		!strings.Contains(err.Error(), "line 1") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestAnswers_writtenAsAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := rapid.StringMatching(`[ -~äéß\x{4e00}"'#:{}%\\]{1,30}`)
	rapid.Check(t, func(t *rapid.T) {
		a := setup.Answers{Language: rapid.SampledFrom([]string{"en", "fr"}).Draw(t, "language"), Zone: "Europe/Paris",
			DataDir: filepath.Join(dir, text.Draw(t, "dir")), LLM: setup.Model{Provider: "openai", BaseURL: text.Draw(t, "base"),
				Key: text.Draw(t, "key"), Name: text.Draw(t, "model")},
			Database: text.Draw(t, "database"), Secret: text.Draw(t, "secret"), Listen: "127.0.0.1:8081",
			Channels: []setup.Channel{{Key: "telegram", Tried: channel.Tried{Comment: "b",
				Keys: []string{"token", text.Draw(t, "token")}}},
				{Key: "matrix", Tried: channel.Tried{Comment: "docs/matrix.md", Keys: []string{"homeserver", text.Draw(t, "hs"),
					"user_id", text.Draw(t, "user"), "password", text.Draw(t, "password")}}}}}
		draft, err := setup.NewDraft(filepath.Join(dir, "c.yaml"), a.YAML())
		if err != nil {
			t.Fatal(err)
		}
		defer draft.Drop()
		c, err := configs.Load(draft.Path(), nil, defaults().Channels.Sections...)
		if err != nil {
			t.Fatalf("%v\n%s", err, a.YAML())
		}
		m := c.Channels.Sections[1].(*matrix.Config)
		got := setup.Answers{Language: c.DefaultLanguage, Zone: c.DefaultTimezone, DataDir: c.DataDir, Listen: c.HTTP.Listen,
			LLM: setup.Model{Provider: c.LLM.Provider, BaseURL: c.LLM.BaseURL,
				Key: string(c.LLM.APIKey), Name: c.LLM.Model},
			Database: string(c.DatabaseURL), Secret: string(c.SecretKey), Channels: []setup.Channel{
				{Key: "telegram", Tried: channel.Tried{Comment: "b",
					Keys: []string{"token", string(c.Channels.Sections[0].(*telegram.Config).Token)}}},
				{Key: "matrix", Tried: channel.Tried{Comment: "docs/matrix.md", Keys: []string{"homeserver", m.Homeserver,
					"user_id", m.UserID, "password", string(m.Password)}}}}}
		if !reflect.DeepEqual(got, a) {
			t.Fatalf("got %+v\nwant %+v", got, a)
		}
	})
}

func TestDraft(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	for n, want := range []string{"", file + ".bak", file + ".bak.1"} {
		d, err := setup.NewDraft(file, strings.Repeat("x", n+1))
		if err != nil {
			t.Fatal(err)
		}
		if backup, err := d.Keep(); err != nil || backup != want {
			t.Errorf("got %q, %v, want %q", backup, err, want)
		}
		if err := d.Drop(); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{file: "xxx", file + ".bak": "x", file + ".bak.1": "xx"} {
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(file)); err != nil || len(list) != 3 {
		t.Errorf("left %v, %v", list, err)
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	s := setup.Service{Program: "/opt/my bin/everthread", Config: "/srv/a/100%.yaml", Folder: "/srv/a",
		Data: "/srv/a/data", Port: "8081", UID: 1000, GID: 1000}
	for _, want := range []string{`ExecStart="/opt/my bin/everthread" serve --config /srv/a/100%%.yaml`,
		"WantedBy=default.target"} {
		if !strings.Contains(s.Unit(), want) {
			t.Errorf("nothing of %s in\n%s", want, s.Unit())
		}
	}
	if s.System, s.User = true, "ada"; !strings.Contains(s.Unit(), "User=ada") ||
		!strings.Contains(s.Unit(), "ReadWritePaths=/srv/a/data") {
		t.Errorf("got %s", s.Unit())
	}
	s.User, s.Program = "root", "/run/user/1/everthread"
	for _, want := range []string{"DynamicUser=yes", "LoadCredential=everthread.yaml:/srv/a/100%%.yaml",
		"ExecStart=/run/user/1/everthread serve --config ${CREDENTIALS_DIRECTORY}/everthread.yaml",
		"ProtectHome=tmpfs\nBindReadOnlyPaths=/run/user/1/everthread\n"} {
		if !strings.Contains(s.Unit(), want) {
			t.Errorf("nothing of %s in\n%s", want, s.Unit())
		}
	}
	_, theirs, _ := strings.Cut(deploy.Unit, "[Unit]")
	if s.Program, s.Config = "/usr/local/bin/everthread", "/etc/everthread/everthread.yaml"; !strings.HasSuffix(s.Unit(),
		"\n[Unit]"+theirs) {
		t.Errorf("that of the repository is another:\n%s", s.Unit())
	}
	if local := (setup.Service{Port: "8081", Local: true}).Compose(); !strings.Contains(local, "network_mode: host") ||
		!strings.Contains(local, "EVERTHREAD_HTTP_LISTEN: 127.0.0.1:8081") || strings.Contains(local, "ports:") {
		t.Errorf("a model of this machine is not reached:\n%s", local)
	}
	for _, want := range []string{`user: "1000:1000"`, `source: "/srv/a/data"`, `127.0.0.1:8081:8080`} {
		if !strings.Contains(s.Compose(), want) {
			t.Errorf("nothing of %s in\n%s", want, s.Compose())
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	link := filepath.Join(t.TempDir(), "localtime")
	for zone, want := range map[string]string{"Europe/Paris": "Europe/Paris", ":Asia/Tokyo": "Asia/Tokyo",
		"Mars/Base": "", "": ""} {
		if got := setup.Zone(env("TZ", zone), link); got != want {
			t.Errorf("%s: %s", zone, got)
		}
	}
}

// TestLocal finds the servers that a container in a network of its own does not reach.
func TestLocal(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{"http://127.0.0.1:11434/v1": true, "http://localhost:8008": true,
		"http://[::1]:1/v1": true, "postgres://ada@localhost/everthread": true, "https://api.openai.com/v1": false,
		"http://192.168.1.7:11434/v1": false, "": false, "1:right": false} {
		for _, a := range []setup.Answers{{LLM: setup.Model{BaseURL: address}}, {Database: address},
			{Channels: []setup.Channel{{Tried: channel.Tried{Keys: []string{"homeserver", address}}}}}} {
			if a.Local() != want {
				t.Errorf("%q: %v", address, a.Local())
			}
		}
	}
}

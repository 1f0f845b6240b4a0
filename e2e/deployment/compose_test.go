package deployment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// docker replaces Docker in these tests: `docker compose [-f FILE] up -d` loads the file as Compose
// does, refuses what the engine refuses, and records what it would start.
func docker(args []string) int {
	rest := strings.Join(args, " ")
	var files []string
	if m := regexp.MustCompile(`^compose -f (\S+) `).FindStringSubmatch(rest); m != nil {
		files, rest = []string{m[1]}, strings.Replace(rest, " -f "+m[1], "", 1)
	}
	if rest != "compose up -d" {
		fmt.Fprintln(os.Stderr, "docker: not understood:", rest)
		return 2
	}
	project, err := load(files)
	if err == nil {
		err = refusals(project)
	}
	var text []byte
	if err == nil {
		for name, s := range project.Services {
			s.ExtraHosts = nil // are written in a form that is not read again
			project.Services[name] = s
		}
		text, err = json.Marshal(project)
	}
	if err == nil {
		err = os.WriteFile(os.Getenv("DOCKER_RECORD"), text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// load reads Compose files, by default that of the working directory, with the environment and
// .env.
func load(files []string) (*types.Project, error) {
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv, cli.WithEnvFiles(), cli.WithDotEnv, cli.WithConfigFileEnv,
		cli.WithDefaultConfigPath, cli.WithDefaultProfiles())
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

// refusals returns the errors that Compose reports only when it creates the containers.
func refusals(p *types.Project) error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for name, s := range p.Services {
		for _, secret := range s.Secrets {
			errs = append(errs, refusedFile(p, s, types.FileObjectConfig(p.Secrets[secret.Source]), secret.Source))
		}
		for _, config := range s.Configs {
			errs = append(errs, refusedFile(p, s, types.FileObjectConfig(p.Configs[config.Source]), config.Source))
		}
		for other, d := range s.DependsOn {
			if d.Condition == types.ServiceConditionHealthy && p.Services[other].HealthCheck == nil {
				refuse("%s waits for the health of %s, which has no check", name, other)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind || v.Bind != nil && v.Bind.CreateHostPath {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				refuse("%s: invalid mount config for type \"bind\": %w", name, err)
			}
		}
		if s.Build != nil {
			if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
				refuse("%s cannot be built: %w", name, err)
			}
		}
	}
	return errors.Join(errs...)
}

// refusedFile returns why a secret or a configuration of a service is refused: one that is not a
// file is copied into the container, which fails if that is read-only.
func refusedFile(p *types.Project, s types.ServiceConfig, f types.FileObjectConfig, name string) error {
	if f.File != "" {
		_, err := os.Stat(f.File)
		return err
	}
	if _, ok := p.Environment[f.Environment]; f.Environment != "" && !ok {
		return fmt.Errorf("environment variable %q required by file %q is not set", f.Environment, name)
	}
	if s.ReadOnly {
		return fmt.Errorf("cannot create %q in read-only service %s: `file` is the sole supported option", name, s.Name)
	}
	return nil
}

// host is a machine with only Docker and the usual small programs.
type host struct {
	t      *testing.T
	dir    string // the files of the clone
	bin    string
	record string
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, dir: checkout(t, "docker-compose.yml", "Dockerfile", "deploy"), bin: t.TempDir()}
	h.record = filepath.Join(h.bin, "record.json")
	self, err := os.Executable()
	must(t, err)
	must(t, os.Symlink(self, filepath.Join(h.bin, "docker")))
	for _, name := range []string{"sh", "cat", "chmod", "dirname", "grep", "mkdir", "od", "tail", "tr"} {
		path, err := exec.LookPath(name)
		must(t, err)
		must(t, os.Symlink(path, filepath.Join(h.bin, name)))
	}
	return h
}

// sh runs lines of shell in the clone, with a usual umask.
func (h *host) sh(lines string, env ...string) (string, error) {
	return run(h.dir, append([]string{"PATH=" + h.bin, "HOME=" + h.bin, "DOCKER_RECORD=" + h.record}, env...),
		filepath.Join(h.bin, "sh"), "-ec", "umask 022\n"+lines)
}

func (h *host) mustSh(lines string, env ...string) {
	h.t.Helper()
	if out, err := h.sh(lines, env...); err != nil {
		h.t.Fatalf("%s\n%v\n%s", lines, err, out)
	}
}

// started returns the gateway and the database as Compose would start them.
func (h *host) started() (gateway, postgres types.ServiceConfig) {
	h.t.Helper()
	text, err := os.ReadFile(h.record)
	must(h.t, err)
	var p types.Project
	must(h.t, json.Unmarshal(text, &p))
	return p.Services["gateway"], p.Services["postgres"]
}

// steps returns the block of a Markdown file that contains a command.
func steps(t *testing.T, file, command string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	must(t, err)
	for _, block := range regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], command) {
			return block[1]
		}
	}
	t.Fatalf("%s has no block with %s", file, command)
	return ""
}

// environ returns the environment of a service.
func environ(s types.ServiceConfig) map[string]string {
	out := map[string]string{}
	for name, value := range s.Environment {
		if value != nil {
			out[name] = *value
		}
	}
	return out
}

// asStarted runs the program as a service does, in a folder of the host.
func asStarted(t *testing.T, s types.ServiceConfig, folder string, args ...string) (string, error) {
	t.Helper()
	var env []string
	for name, value := range environ(s) {
		env = append(env, name+"="+value)
	}
	return run(folder, env, program(t), args...)
}

func TestCompose_readmeStepsStart(t *testing.T) {
	t.Parallel()
	h, lines := newHost(t), steps(t, "README.md", "docker compose up")
	if n := len(strings.Split(strings.TrimSpace(lines), "\n")); n > 2 {
		t.Errorf("got %d lines, want two:\n%s", n, lines)
	}
	if out, err := h.sh("docker compose up -d"); err == nil || !strings.Contains(out, "deploy/env.sh") {
		t.Errorf("without .env: %v\n%s", err, out)
	}
	h.mustSh(lines)
	gateway, postgres := h.started()
	first := environ(gateway)
	h.mustSh(lines) // as after a restart of the machine
	gateway, _ = h.started()
	for _, key := range []string{"EVERTHREAD_SECRET_KEY", "PGPASSWORD"} {
		if again := environ(gateway)[key]; len(again) != 64 || again != first[key] {
			t.Errorf("%s was %q, and then %q", key, first[key], again)
		}
	}
	if environ(postgres)["POSTGRES_PASSWORD"] != first["PGPASSWORD"] {
		t.Error("the database and the gateway have different passwords")
	}
	if m := mode(t, filepath.Join(h.dir, ".env")); m != 0o600 {
		t.Errorf(".env is %s", m)
	}
	if out, err := asStarted(t, gateway, t.TempDir(), "config", "check"); err != nil {
		t.Errorf("the program does not take that: %v\n%s", err, out)
	}
	for _, secret := range []string{".env", "config/everthread.yaml"} {
		if _, err := run(root, os.Environ(), "git", "check-ignore", "--no-index", secret); err != nil {
			t.Errorf("git does not ignore %s: %v", secret, err)
		}
	}
}

// TestCompose_signalOnRequest: signal-cli is started with its profile only. It receives while the gateway listens, which
// finds it at its name and port, and nobody else reaches it.
func TestCompose_signalOnRequest(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.mustSh("sh deploy/env.sh && docker compose up -d")
	text, err := os.ReadFile(h.record)
	must(t, err)
	if strings.Contains(string(text), "on-connection") {
		t.Error("signal-cli is started without its profile")
	}
	h.mustSh("echo COMPOSE_PROFILES=signal >>.env; docker compose up -d")
	text, err = os.ReadFile(h.record)
	must(t, err)
	var p types.Project
	must(t, json.Unmarshal(text, &p))
	daemon, ok := p.Services["signal-cli"]
	command := strings.Join(daemon.Command, " ")
	if !ok || len(daemon.Ports) > 0 || !strings.Contains(command, "--receive-mode=on-connection") {
		t.Fatalf("started %+v", daemon)
	}
	_, port, _ := strings.Cut(strings.Fields(command)[1], ":")
	if got := environ(p.Services["gateway"])["EVERTHREAD_CHANNELS_SIGNAL_API_URL"]; got != "http://signal-cli:"+port {
		t.Errorf("the gateway looks for it at %s", got)
	}
}

func TestCompose_everyKeyReachesTheGateway(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.mustSh("sh deploy/env.sh")
	f, err := os.OpenFile(filepath.Join(h.dir, ".env"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	const token = "123456:A$B#C"
	given := map[string]string{"EVERTHREAD_LLM_PROVIDER": "openai", "EVERTHREAD_LLM_MODEL": "large",
		"EVERTHREAD_LLM_API_KEY": token, "EVERTHREAD_SUMMARY_LLM_PROVIDER": "demo",
		"EVERTHREAD_DEFAULT_TIMEZONE": "Europe/Paris", "EVERTHREAD_BACKUP_CRON": "15 3 * * *",
		"EVERTHREAD_HTTP_PUBLIC_URL": "https://chat.example.org"}
	for name, value := range given {
		_, err := fmt.Fprintf(f, "%s='%s'\n", name, value)
		must(t, err)
	}
	must(t, f.Close())
	h.mustSh("docker compose up -d", "PORT=9090")
	gateway, _ := h.started()
	got := environ(gateway)
	for name, want := range given {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	config := ""
	for _, v := range gateway.Volumes {
		if v.Target == gateway.WorkingDir {
			config = v.Source
		}
	}
	if config != filepath.Join(h.dir, "config") {
		t.Fatalf("%s of the gateway is %q, not a folder of the clone", gateway.WorkingDir, config)
	}
	if m := mode(t, config); m&0o005 != 0o005 {
		t.Errorf("the gateway's user cannot read config: %s", m)
	}
	if out, err := asStarted(t, gateway, config, "config", "check"); err != nil {
		t.Errorf("the program does not take that: %v\n%s", err, out)
	}
	must(t, os.WriteFile(filepath.Join(config, "everthread.yaml"), []byte("agent: {max_step: 3}\n"), 0o644))
	if out, err := asStarted(t, gateway, config, "config", "check"); err == nil ||
		!strings.Contains(out, "agent.max_steps") {
		t.Errorf("config/everthread.yaml is not read: %v\n%s", err, out)
	}
}

func TestCompose_keysAreNeverReplaced(t *testing.T) {
	t.Parallel()
	const password, key = "POSTGRES_PASSWORD=<32>\n", "EVERTHREAD_SECRET_KEY=<32>\n"
	made := regexp.MustCompile(`=[0-9a-f]{64}\n`)
	ways := map[string]func(h *host) (string, error){
		"script":  func(h *host) (string, error) { return h.sh("sh deploy/env.sh") },
		"program": func(h *host) (string, error) { return run(h.dir, []string{"LANG=C"}, program(t), "init", "--compose") },
	}
	said := map[string]string{}
	for how, way := range ways {
		for name, c := range map[string]struct{ old, want string }{
			"nothing":     {"", ""}, // the script and the program write the same
			"other lines": {"# mine\nEVERTHREAD_LLM_MODEL=x", "# mine\nEVERTHREAD_LLM_MODEL=x\n" + password + key},
			"one of them": {"export POSTGRES_PASSWORD = 'mine'\n", "export POSTGRES_PASSWORD = 'mine'\n" + key},
			"one that is empty": {"EVERTHREAD_SECRET_KEY=\nPOSTGRES_PASSWORD=mine\n",
				"EVERTHREAD_SECRET_KEY=\nPOSTGRES_PASSWORD=mine\n" + key},
			"one in a comment": {"# EVERTHREAD_SECRET_KEY=x\n", "# EVERTHREAD_SECRET_KEY=x\n" + password + key},
			"both": {"EVERTHREAD_SECRET_KEY=mine\nPOSTGRES_PASSWORD: mine",
				"EVERTHREAD_SECRET_KEY=mine\nPOSTGRES_PASSWORD: mine"},
		} {
			h := newHost(t)
			path := filepath.Join(h.dir, ".env")
			if c.old != "" {
				must(t, os.WriteFile(path, []byte(c.old), 0o644))
			}
			if out, err := way(h); err != nil {
				t.Fatalf("%s, %s: %v\n%s", how, name, err, out)
			}
			text, err := os.ReadFile(path)
			must(t, err)
			got := made.ReplaceAllString(string(text), "=<32>\n")
			if c.want != "" && got != c.want {
				t.Errorf("%s, %s: got\n%s", how, name, got)
			}
			if other, ok := said[name]; ok && other != got {
				t.Errorf("%s: script and program differ:\n%s\n%s", name, got, other)
			}
			if said[name] = got; got != c.old && mode(t, path) != 0o600 {
				t.Errorf("%s, %s: .env is %s", how, name, mode(t, path))
			}
			if m := mode(t, filepath.Join(h.dir, "config")); m != 0o755 {
				t.Errorf("%s, %s: config is %s", how, name, m)
			}
			if name != "one that is empty" { // Compose would read the later line
				h.mustSh("docker compose up -d")
			}
		}
	}
	if out, err := run(t.TempDir(), []string{"LANG=C"}, program(t), "init", "--compose"); err == nil ||
		!strings.Contains(out, "docker-compose.yml") {
		t.Errorf("without docker-compose.yml: %v\n%s", err, out)
	}
}

func TestCompose_filesOfTheWizardStart(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	answers := filepath.Join(h.bin, "answers")
	must(t, os.WriteFile(answers, []byte("provider: demo\nservice: compose\nzone: Europe/Paris\n"), 0o600))
	before, err := os.ReadFile(filepath.Join(h.dir, "docker-compose.yml"))
	must(t, err)
	out, err := run(h.dir, []string{"LANG=C", "EVERTHREAD_HTTP_LISTEN=127.0.0.1:0"}, program(t), "init", "--answers",
		answers, "--wait", "0s")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := regexp.MustCompile(`docker compose -f \S+ up -d`).FindString(out)
	h.mustSh(start)
	after, err := os.ReadFile(filepath.Join(h.dir, "docker-compose.yml"))
	must(t, err)
	if string(after) != string(before) {
		t.Error("it replaced the clone's own file")
	}
}

// TestComposeFileOfTheWizard_reachesAModelOfTheMachine: in a network of its own the container would be its own 127.0.0.1.
func TestComposeFileOfTheWizard_reachesAModelOfTheMachine(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"local"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	h := newHost(t)
	answers := filepath.Join(h.bin, "answers")
	must(t, os.WriteFile(answers, []byte("provider: "+model.URL+"/v1\nkey:\nservice: compose\n"), 0o600))
	out, err := run(h.dir, []string{"LANG=C", "TZ=Europe/Paris", "EVERTHREAD_HTTP_LISTEN=127.0.0.1:18471"}, program(t), "init",
		"--answers", answers, "--wait", "0s")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.mustSh(regexp.MustCompile(`docker compose -f \S+ up -d`).FindString(out))
	text, err := os.ReadFile(h.record)
	must(t, err)
	var p types.Project
	must(t, json.Unmarshal(text, &p))
	got := p.Services["everthread"]
	if at := environ(got)["EVERTHREAD_HTTP_LISTEN"]; got.NetworkMode != "host" || len(got.Ports) > 0 || at != "127.0.0.1:18471" {
		t.Errorf("network %q, ports %v, listens on %s", got.NetworkMode, got.Ports, at)
	}
}

// TestCompose_gatewayReachesTheDatabase passes the password separately, so that it may contain
// any characters.
func TestCompose_gatewayReachesTheDatabase(t *testing.T) {
	t.Parallel()
	dsn := os.Getenv("TEST_POSTGRES_DSN")
	if dsn == "" {
		t.Skip("TEST_POSTGRES_DSN is not set; `make test` starts a PostgreSQL")
	}
	server, err := url.Parse(dsn)
	must(t, err)
	h := newHost(t)
	h.mustSh("sh deploy/env.sh\ndocker compose up -d")
	gateway, _ := h.started()
	configured, err := url.Parse(environ(gateway)["EVERTHREAD_DATABASE_URL"])
	must(t, err)
	if configured.Host != "postgres:5432" || configured.User.String() != "everthread" {
		t.Errorf("the address is %s", configured)
	}
	configured.Host, configured.User, configured.Path = server.Host, url.User(server.User.Username()), server.Path
	address, right := configured.String(), func() string { p, _ := server.User.Password(); return p }()
	for password, reached := range map[string]bool{right: true, "wrong": false} {
		gateway.Environment["EVERTHREAD_DATABASE_URL"], gateway.Environment["PGPASSWORD"] = &address, &password
		out, _ := asStarted(t, gateway, t.TempDir(), "migrate", "status")
		if strings.Contains(out, "password") == reached {
			t.Errorf("right password: %v\n%s", reached, out)
		}
	}
}

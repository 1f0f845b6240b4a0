package deployment

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// promtool returns the path of the program that checks rules as Prometheus reads them.
func promtool(t *testing.T) string {
	t.Helper()
	path := os.Getenv("EVERTHREAD_TEST_PROMTOOL")
	if path == "" {
		t.Skip("EVERTHREAD_TEST_PROMTOOL is not set; scripts/promtool.sh prints it")
	}
	return path
}

// scraped returns the metrics of an idle process.
func scraped(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := ln.Addr().String()
	must(t, ln.Close())
	dir := t.TempDir()
	cmd := exec.Command(program(t), "serve")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "EVERTHREAD_HTTP_LISTEN=" + address, "EVERTHREAD_BACKUP_CRON=15 3 * * *",
		"EVERTHREAD_BACKUP_TO=" + filepath.Join(dir, "elsewhere"), "EVERTHREAD_BACKUP_PASSPHRASE=tomatoes and basil in a row"}
	must(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(
		50 * time.Millisecond) { // a process has no event to wait for
		resp, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return string(body)
		}
	}
	t.Fatal("the process exports nothing")
	return ""
}

// panel is a Grafana panel or variable, with its queries.
type panel struct {
	Title   string
	Targets []struct{ Expr string }
	Panels  []panel
}

// dashboard returns the expressions of the dashboard, by panel, and the query of the process
// picker.
func dashboard(t *testing.T) (exprs map[string][]string, picker string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy/grafana-dashboard.json"))
	must(t, err)
	var d struct {
		Panels     []panel
		Templating struct {
			List []struct {
				Name  string
				Query any
			}
		}
	}
	must(t, json.Unmarshal(text, &d))
	exprs = map[string][]string{}
	filled := strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$instance", ".*")
	for _, p := range d.Panels {
		for _, one := range p.Targets {
			exprs[p.Title] = append(exprs[p.Title], filled.Replace(one.Expr))
		}
	}
	for _, v := range d.Templating.List {
		if v.Name == "instance" {
			picker = v.Query.(map[string]any)["query"].(string)
		}
	}
	return exprs, picker
}

// selector matches a metric in an expression, with its label selector.
var selector = regexp.MustCompile(`\b((?:everthread|process|go)_\w+)(?:\{([^}]*)\})?`)

// exported checks that a process exports the metrics of an expression, with at least one of the
// selected label values.
func exported(t *testing.T, where, expr, series string) {
	t.Helper()
	for _, found := range selector.FindAllStringSubmatch(expr, -1) {
		lines := regexp.MustCompile(`(?m)^`+found[1]+`[{ ].*$`).FindAllString(series, -1)
		if len(lines) == 0 {
			t.Errorf("%s: an idle process does not export %s", where, found[1])
			continue
		}
		for _, m := range regexp.MustCompile(`(\w+)(=~?|!=)"([^"]*)"`).FindAllStringSubmatch(found[2], -1) {
			if m[1] == "instance" || m[1] == "job" { // Prometheus adds them
				continue
			}
			value := regexp.QuoteMeta(m[3])
			if m[2] == "=~" {
				value = "(?:" + m[3] + ")"
			}
			if m[2] != "!=" && !regexp.MustCompile(m[1]+`="`+value+`"`).MatchString(strings.Join(lines, "\n")) {
				t.Errorf("%s: no series of %s has %s", where, found[1], m[0])
			}
		}
	}
}

func TestMonitor_watchesWhatIsExported(t *testing.T) {
	t.Parallel()
	series := scraped(t)
	exprs, picker := dashboard(t)
	exported(t, "the picker of processes", picker, series)
	for title, all := range exprs {
		for _, expr := range all {
			exported(t, title, expr, series)
		}
	}
	for _, about := range []string{"everthread_backup", "everthread_cost_total", "process_resident_memory_bytes",
		"everthread_reminders_total"} {
		if !strings.Contains(fmt.Sprint(exprs), about) {
			t.Errorf("no panel shows %s", about)
		}
	}
	rules, err := os.ReadFile(filepath.Join(root, "deploy/everthread.rules.yml"))
	must(t, err)
	for _, m := range regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(string(rules), -1) {
		exported(t, "rules", m[1], series)
	}
	docs, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	must(t, err)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (everthread_\w+)`).FindAllStringSubmatch(series, -1) {
		if !strings.Contains(string(docs), m[1]) {
			t.Errorf("docs/operations.md does not explain %s", m[1])
		}
	}
}

func TestMonitor_rulesAlert(t *testing.T) {
	t.Parallel()
	tool, dir := promtool(t), t.TempDir()
	for _, name := range []string{"deploy/everthread.rules.yml", "deploy/prometheus.yml",
		"e2e/deployment/testdata/rules_test.yml"} {
		copyFile(t, filepath.Join(root, name), filepath.Join(dir, filepath.Base(name)))
	}
	exprs, _ := dashboard(t)
	var panels strings.Builder // as rules, because promtool reads expressions only there
	panels.WriteString("groups:\n  - name: panels\n    rules:\n")
	for title, all := range exprs {
		for _, expr := range all {
			fmt.Fprintf(&panels, "      - {record: 'a:b', labels: {of: %q}, expr: %q}\n", fmt.Sprint(title, panels.Len()), expr)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "panels.yml"), []byte(panels.String()), 0o644))
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"check", "rules", "everthread.rules.yml",
		"panels.yml"}, {"test", "rules", "rules_test.yml"}} {
		if out, err := run(dir, os.Environ(), tool, args...); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

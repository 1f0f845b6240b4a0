//go:build boot

package deployment

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// box is a systemd machine for one test.
type box struct {
	t          *testing.T
	stage, out string
}

func newBox(t *testing.T) *box {
	t.Helper()
	return &box{t, t.TempDir(), t.TempDir()}
}

// put writes a file, owned by root, to the machine.
func (b *box) put(path, text string, mode os.FileMode) {
	b.t.Helper()
	to := filepath.Join(b.stage, path)
	must(b.t, os.MkdirAll(filepath.Dir(to), 0o755))
	must(b.t, os.WriteFile(to, []byte(text), mode))
	must(b.t, os.Chmod(to, mode))
}

// install copies the program to a path.
func (b *box) install(path string) {
	b.t.Helper()
	text, err := os.ReadFile(program(b.t))
	must(b.t, err)
	b.put(path, string(text), 0o755)
}

// boot starts the machine, which runs a script, and returns the output.
func (b *box) boot(script string) string {
	b.t.Helper()
	b.put("everthread-box/check", script, 0o755)
	var groups []string
	for _, dir := range newGroups(b.t) {
		groups = append(groups, filepath.Join(dir, "cgroup.procs"))
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec",
		`echo $$ | tee "$@" >/dev/null; exec unshare --kill-child -m -p -f -u -i -C -n sh testdata/boot.sh`, "sh")
	cmd.Args = append(cmd.Args, groups...)
	cmd.Env = append(os.Environ(), "STAGE="+b.stage, "OUT="+b.out)
	booted, err := cmd.CombinedOutput()
	said := b.left("check")
	if err != nil || strings.TrimSpace(b.left("code")) != "0" {
		b.t.Fatalf("the machine: %v\n%s\nthe check:\n%s\n%s\nthe journal:\n%s", err, booted, said,
			b.left("status"), b.left("journal"))
	}
	return said
}

// left returns the contents of a file that the script left, or "".
func (b *box) left(name string) string {
	text, err := os.ReadFile(filepath.Join(b.out, name))
	if err != nil {
		return ""
	}
	return string(text)
}

// newGroups creates control groups for a machine, one in each hierarchy that its systemd uses; systemd creates its own
// below them. In a shared group one machine would remove the services of another.
func newGroups(t *testing.T) (dirs []string) {
	t.Helper()
	for _, base := range []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(base); err != nil || len(dirs) > 0 && base == "/sys/fs/cgroup" {
			continue
		}
		dir, err := os.MkdirTemp(base, "everthread-test-")
		must(t, err)
		t.Cleanup(func() { removed(t, dir) })
		dirs = append(dirs, dir)
	}
	return dirs
}

// removed removes a control group, whose killed processes disappear after a moment.
func removed(t *testing.T, dir string) {
	t.Helper()
	for range 100 {
		removeGroups(dir)
		if _, err := os.Stat(dir); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%s was not removed", dir)
}

func removeGroups(dir string) {
	entries, _ := os.ReadDir(dir) // no entries: it is gone
	for _, e := range entries {
		if e.IsDir() {
			removeGroups(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}

// served begins a script that checks a service that was just started.
const served = `
wait_for() { for n in $(seq 300); do "$@" && return; sleep 0.1; done; return 1; }
ready() { [ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/readyz)" = 200 ]; }
journal() { journalctl -u everthread | grep -q "$1"; }
wait_for ready
[ "$(systemctl show -P NRestarts everthread)" = 0 ]
pid=$(systemctl show -P MainPID everthread)
[ "$(awk '/^Uid:/ {print $2}' /proc/$pid/status)" != 0 ]
grep -q '^NoNewPrivs:.1' /proc/$pid/status
grep -q '^CapEff:.0000000000000000' /proc/$pid/status
`

const configured = `llm: {provider: demo}
data_dir: /var/lib/everthread
agent:
  mcp_servers:
    - {name: notes, command: node, args: [/usr/local/lib/notes.mjs]}
`

func TestUnit_servesUnderSystemd(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	unit, err := os.ReadFile(filepath.Join(root, "deploy/everthread.service"))
	must(t, err)
	notes, err := os.ReadFile("testdata/notes.mjs")
	must(t, err)
	b.install("usr/local/bin/everthread")
	b.put("etc/systemd/system/everthread.service", string(unit), 0o644)
	b.put("etc/everthread/everthread.yaml", configured, 0o600)
	b.put("etc/everthread/secrets.env", "EVERTHREAD_DEFAULT_TIMEZONE=Europe/Paris\n", 0o600)
	b.put("usr/local/lib/notes.mjs", string(notes), 0o644)
	must(t, os.Chmod(filepath.Join(b.stage, "etc/everthread"), 0o700))
	b.boot(`systemctl start everthread` + served + `
wait_for journal 'MCP server is up.*notes'
tr '\0' '\n' </proc/$pid/environ | grep -q '^EVERTHREAD_DEFAULT_TIMEZONE=Europe/Paris'
everthread --config /etc/everthread/everthread.yaml doctor || true
everthread --config /etc/everthread/everthread.yaml backup
ls -lnR /var/lib/private/everthread
[ -z "$(find /var/lib/private/everthread -uid 0)" ]
systemctl restart everthread` + served + `
systemctl stop everthread
[ "$(systemctl show -P Result everthread)" = success ]
rm /etc/everthread/everthread.yaml # the defaults will do
systemctl start everthread` + served)
}

func TestUnit_ofInitServesUnderSystemd(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.install("root/bin/everthread")
	b.put("root/assistant/answers", "provider: demo\nservice: system\n", 0o600)
	said := b.boot(`cd /root/assistant
/root/bin/everthread init --answers answers --wait 0s | tee /everthread-box/out/said
! grep -q '^User=root' /etc/systemd/system/everthread.service
sqlite() { stat -c %i "$1/everthread.db"; }
before=$(sqlite data)
sed -n 's/^Start it with: //p' /everthread-box/out/said >start
sh -ex start` + served + `
[ "$(sqlite /var/lib/everthread)" = "$before" ]
/root/bin/everthread users list # the configuration knows where the data went
[ -z "$(find /var/lib/private/everthread -uid 0)" ]
systemd-analyze verify /etc/systemd/system/everthread.service`)
	t.Log(said)
}

func TestUnit_ofAPersonServesUnderSystemd(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.install("home/ada/everthread")
	b.put("home/ada/assistant/answers", "provider: demo\nservice: system\n", 0o644)
	b.put("usr/local/bin/sudo", "#!/bin/sh\nexec \"$@\"\n", 0o755)
	b.boot(`useradd ada
chown -R ada: /home/ada
cd /home/ada/assistant
runuser -u ada -- env HOME=/home/ada /home/ada/everthread init --answers answers --wait 0s | tee /everthread-box/out/said
sed -n 's/^Start it with: //p' /everthread-box/out/said >/root/start
sh -ex /root/start` + served + `
[ "$(awk '/^Uid:/ {print $2}' /proc/$pid/status)" = "$(id -u ada)" ]
runuser -u ada -- /home/ada/everthread users list
[ -z "$(find data ! -user ada)" ]`)
}

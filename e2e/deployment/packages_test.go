package deployment

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// needs skips the test if a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed; `make test` installs it", p)
		}
	}
}

// done runs a command that must succeed, and returns its output.
func done(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := run(dir, append(os.Environ(), env...), name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// TestDebianPackage_installsAndLeaves checks that the Debian package installs program, unit and
// completion where Debian wants them, works from there, starts nothing by itself, and keeps the
// operator's files when it is removed.
func TestDebianPackage_installsAndLeaves(t *testing.T) {
	t.Parallel()
	needs(t, "dpkg", "fakeroot")
	dir := t.TempDir()
	deb, system := filepath.Join(dir, "everthread.deb"), filepath.Join(dir, "system")
	done(t, root, nil, "scripts/nfpm.sh", "0.1.0", runtime.GOARCH, program(t), deb)
	must(t, os.MkdirAll(filepath.Join(system, "var/lib/dpkg/updates"), 0o755))
	must(t, os.MkdirAll(filepath.Join(system, "var/lib/dpkg/info"), 0o755))
	must(t, os.WriteFile(filepath.Join(system, "var/lib/dpkg/status"), nil, 0o644))
	dpkg := func(args ...string) string {
		return done(t, dir, nil, "fakeroot", append([]string{"dpkg", "--root=" + system, "--force-script-chrootless",
			"--log=/dev/null"}, args...)...)
	}
	dpkg("--install", deb)
	in := func(name string) string { return filepath.Join(system, name) }
	for name, want := range map[string]os.FileMode{"usr/bin/everthread": 0o755,
		"usr/lib/systemd/system/everthread.service": 0o644, "usr/share/doc/everthread/copyright": 0o644,
		"usr/share/doc/everthread/changelog.gz":            0o644,
		"usr/share/bash-completion/completions/everthread": 0o644} {
		if got := mode(t, in(name)); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	unit, err := os.ReadFile(in("usr/lib/systemd/system/everthread.service"))
	must(t, err)
	if !strings.Contains(string(unit), "\nExecStart=/usr/bin/everthread serve ") || strings.Contains(string(unit), "/usr/local") {
		t.Errorf("the unit starts another program:\n%s", unit)
	}
	if out := done(t, dir, []string{"LANG=C"}, in("usr/bin/everthread"), "config", "check"); !strings.Contains(out, "is valid") {
		t.Errorf("config check: %s", out)
	}
	own := in("etc/everthread/everthread.yaml")
	must(t, os.WriteFile(own, []byte("log: {level: info}\n"), 0o600))
	dpkg("--purge", "everthread")
	if _, err := os.Stat(own); err != nil {
		t.Errorf("the operator's configuration was removed with the package: %v", err)
	}
	if _, err := os.Stat(in("usr/bin/everthread")); !os.IsNotExist(err) {
		t.Errorf("the program is left behind: %v", err)
	}
}

// formula loads the parts of a Homebrew formula that say what to download.
const formula = `
class Formula
  %i[desc homepage version license].each { |name| define_singleton_method(name) { |*a| } }
  def self.on(here) = here ? yield : nil
  def self.on_macos(&b) = on(ENV["OS"] == "darwin", &b)
  def self.on_linux(&b) = on(ENV["OS"] == "linux", &b)
  def self.on_arm(&b) = on(ENV["ARCH"] == "arm64", &b)
  def self.on_intel(&b) = on(ENV["ARCH"] == "amd64", &b)
  def self.url(value) = puts(value)
  def self.sha256(value) = puts(value)
  def self.service = nil
  def self.test = nil
end
load ARGV[0]
abort "it installs nothing" unless Everthread.method_defined?(:install)
`

func TestFormula_namesTheArchivesOfARelease(t *testing.T) {
	t.Parallel()
	needs(t, "ruby")
	dir := t.TempDir()
	pack := filepath.Join(dir, "pack")
	done(t, root+"/scripts/pack", nil, "go", "build", "-o", pack, ".")
	want, sums := map[string]string{}, ""
	for _, platform := range []string{"darwin-arm64", "darwin-amd64", "linux-arm64", "linux-amd64"} {
		name := "everthread-0.1.0-" + platform + ".tar.gz"
		must(t, os.WriteFile(filepath.Join(dir, "everthread"), []byte(platform), 0o755))
		done(t, root, nil, pack, "archive", filepath.Join(dir, name), "0", "everthread-0.1.0-"+platform,
			filepath.Join(dir, "everthread"), "LICENSE", "README.md")
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		sums += sum + "  " + name + "\n"
		want[platform] = "https://github.com/everthread/everthread/releases/download/v0.1.0/" + name + "\n" + sum + "\n"
	}
	must(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "load.rb"), []byte(formula), 0o644))
	for _, form := range []string{"everthread.rb", "notes.md"} {
		done(t, root, nil, pack, "describe", filepath.Join(dir, form), "deploy/package/"+form+".tmpl", "0.1.0",
			"CHANGELOG.md", filepath.Join(dir, "SHA256SUMS"))
	}
	for platform, want := range want {
		system, arch, _ := strings.Cut(platform, "-")
		got := done(t, dir, []string{"OS=" + system, "ARCH=" + arch}, "ruby", "load.rb", filepath.Join(dir, "everthread.rb"))
		if got != want {
			t.Errorf("%s: the formula downloads\n%swant\n%s", platform, got, want)
		}
	}
	notes, err := os.ReadFile(filepath.Join(dir, "notes.md"))
	must(t, err)
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if !strings.Contains(string(notes), "| `"+name+"` | `"+sum+"` |") {
			t.Errorf("the notes have no checksum of %s", name)
		}
	}
	if !strings.Contains(string(notes), "The first release.") {
		t.Error("the notes do not say what changed")
	}
	// A version that is missing from the changelog is not released.
	if out, err := run(root, os.Environ(), pack, "describe", filepath.Join(dir, "x"), "deploy/package/notes.md.tmpl", "7.7.7",
		"CHANGELOG.md", filepath.Join(dir, "SHA256SUMS")); err == nil || !strings.Contains(out, `"## 7.7.7"`) {
		t.Errorf("a release without an entry in the changelog: %v %s", err, out)
	}
}

// TestGoInstall_makesTheProgram runs `go install` with a module proxy: files that are missing from
// the module fail it, and the program knows its version.
func TestGoInstall_makesTheProgram(t *testing.T) {
	t.Parallel()
	const path = "github.com/everthread/everthread"
	here, err := filepath.Abs(root)
	must(t, err)
	// Go caches a version's compiled packages, which is why a checkout always has the same one, its
	// files, which are removed, and an index of them, which is not used.
	version := fmt.Sprintf("v0.0.0-test.%d", crc32.ChecksumIEEE([]byte(here)))
	proxy, bin := t.TempDir(), t.TempDir()
	at := filepath.Join(proxy, path, "@v")
	must(t, os.MkdirAll(at, 0o755))
	copyFile(t, filepath.Join(root, "go.mod"), filepath.Join(at, version+".mod"))
	must(t, os.WriteFile(filepath.Join(at, version+".info"), []byte(`{"Version":"`+version+`"}`), 0o644))
	must(t, os.WriteFile(filepath.Join(at, "list"), []byte(version+"\n"), 0o644))
	archive, err := os.Create(filepath.Join(at, version+".zip"))
	must(t, err)
	must(t, zip.CreateFromDir(archive, module.Version{Path: path, Version: version}, checkout(t)))
	must(t, archive.Close())

	cache := strings.TrimSpace(done(t, root, nil, "go", "env", "GOMODCACHE"))
	others := strings.TrimSpace(done(t, root, nil, "go", "env", "GOPROXY"))
	remove := func() { // nothing depends on it
		_, _ = run("/", os.Environ(), "chmod", "-R", "u+w", filepath.Join(cache, path+"@"+version))
		_ = os.RemoveAll(filepath.Join(cache, path+"@"+version))
		files, _ := filepath.Glob(filepath.Join(cache, "cache/download", path, "@v", version+".*"))
		for _, file := range files {
			_ = os.Remove(file)
		}
	}
	remove() // a process that was killed may have left it
	t.Cleanup(remove)
	env := []string{"GOPROXY=file://" + proxy + "," + others, "GONOSUMDB=" + path, "GOBIN=" + bin, "CGO_ENABLED=0",
		"GODEBUG=goindex=0"}
	done(t, bin, env, "go", "install", "-tags", "goolm", path+"/cmd/everthread@"+version)
	entries, err := os.ReadDir(bin)
	must(t, err)
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "everthread" }) {
		t.Fatalf("go install made %v", entries)
	}
	if out := done(t, bin, nil, filepath.Join(bin, "everthread"), "version"); !strings.Contains(out, "everthread "+version[1:]+" ") {
		t.Errorf("the program reports version %s", out)
	}
}

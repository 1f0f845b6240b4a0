package deployment

import (
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// entry describes a path of an image.
type entry struct {
	Mode        fs.FileMode // including the type
	User, Group int
}

// picture is an image: its files, below a folder, and its container configuration.
type picture struct {
	Folder     string
	Entries    map[string]entry
	User, Dir  string
	Entrypoint []string
	Cmd        []string
	Env        []string
	Ports      []string
	Volumes    []string
	Health     []string
}

// stage is a stage of a Dockerfile during the build. The absolute paths that its steps write are
// below a folder.
type stage struct {
	t      *testing.T
	image  picture
	args   []string
	ignore *patternmatcher.PatternMatcher
	clone  string
	others map[string]*stage
}

// at returns where a path of the stage is on the host.
func (s *stage) at(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(s.image.Dir, name)
	}
	return filepath.Join(s.image.Folder, name)
}

// build runs the steps of the Dockerfile in a clone, as far as possible without an engine: the host
// serves as the base image.
func build(t *testing.T, clone string) *picture {
	t.Helper()
	f, err := os.Open(filepath.Join(clone, "Dockerfile"))
	must(t, err)
	defer f.Close()
	parsed, err := parser.Parse(f)
	must(t, err)
	stages, global, err := instructions.Parse(parsed.AST, nil)
	must(t, err)
	bases := map[string]string{}
	for _, command := range global {
		for _, arg := range command.Args {
			bases[arg.Key] = arg.ValueString()
		}
	}
	ignored, err := os.Open(filepath.Join(clone, ".dockerignore"))
	must(t, err)
	defer ignored.Close()
	patterns, err := ignorefile.ReadAll(ignored)
	must(t, err)
	matcher, err := patternmatcher.New(patterns)
	must(t, err)
	all, last := map[string]*stage{}, (*stage)(nil)
	for _, described := range stages {
		last = &stage{t: t, clone: clone, ignore: matcher, others: all,
			image: picture{Folder: t.TempDir(), Entries: map[string]entry{}, Dir: "/"}}
		all[described.Name] = last
		if base := os.Expand(described.BaseName, func(name string) string { return bases[name] }); base != "scratch" {
			last.suits(base)
		}
		for _, c := range described.Commands {
			last.do(c)
		}
	}
	return &last.image
}

// suits checks that a base image has the Go version of the module.
func (s *stage) suits(base string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.clone, "go.mod"))
	must(s.t, err)
	_, wanted, _ := strings.Cut(string(text), "\ngo ")
	wanted = strings.Join(strings.SplitN(strings.Fields(wanted)[0], ".", 3)[:2], ".")
	if !strings.HasPrefix(base, "golang:"+wanted+"-") {
		s.t.Errorf("the base image is %s, but go.mod requires Go %s", base, wanted)
	}
}

// do runs one step.
func (s *stage) do(command instructions.Command) {
	s.t.Helper()
	switch c := command.(type) {
	case *instructions.WorkdirCommand:
		s.image.Dir = c.Path
		must(s.t, os.MkdirAll(s.at("."), 0o755))
	case *instructions.ArgCommand:
		for _, a := range c.Args {
			s.args = append(s.args, a.Key+"="+a.ValueString())
		}
	case *instructions.RunCommand:
		s.run(c)
	case *instructions.CopyCommand:
		s.copy(c)
	case *instructions.EnvCommand:
		for _, e := range c.Env {
			s.image.Env = append(s.image.Env, e.Key+"="+e.Value)
		}
	case *instructions.UserCommand:
		s.image.User = c.User
	case *instructions.VolumeCommand:
		s.image.Volumes = c.Volumes
	case *instructions.ExposeCommand:
		s.image.Ports = c.Ports
	case *instructions.HealthCheckCommand:
		s.image.Health = c.Health.Test
	case *instructions.EntrypointCommand:
		s.image.Entrypoint = c.CmdLine
	case *instructions.CmdCommand:
		s.image.Cmd = c.CmdLine
	default:
		s.t.Fatalf("this test does not know the instruction %s", command.Name())
	}
}

// run runs a line of shell. /out is the only folder outside their own that the steps write to.
func (s *stage) run(c *instructions.RunCommand) {
	s.t.Helper()
	line := strings.ReplaceAll(strings.Join(c.CmdLine, " "), "/out", s.at("/out"))
	must(s.t, os.MkdirAll(s.at("/out"), 0o755))
	if out, err := run(s.at("."), append(os.Environ(), s.args...), "/bin/sh", "-c", "umask 022\n"+line); err != nil {
		s.t.Fatalf("%s\n%v\n%s", line, err, out)
	}
}

// copy copies from the clone, without the files named in .dockerignore, or from another stage.
func (s *stage) copy(c *instructions.CopyCommand) {
	s.t.Helper()
	from := func(name string) string { return filepath.Join(s.clone, name) }
	if c.From != "" {
		from = s.others[c.From].at
	}
	for _, source := range c.SourcePaths {
		to := c.DestPath
		if strings.HasSuffix(to, "/") { // the file goes into a folder
			to = path.Join(to, path.Base(source))
		}
		root := from(source)
		must(s.t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			inside, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			if ignored, err := s.ignore.MatchesOrParentMatches(filepath.Join(source, inside)); c.From == "" &&
				(ignored || err != nil) {
				return err
			}
			return s.put(name, path.Join(to, inside), d, c)
		}))
	}
}

// put puts a file or a folder into the stage.
func (s *stage) put(from, to string, d fs.DirEntry, c *instructions.CopyCommand) error {
	info, err := os.Stat(from) // some time zones are links to others
	if err != nil {
		return err
	}
	e := entry{Mode: info.Mode()}
	if c.Chmod != "" && !strings.Contains(strings.TrimPrefix(to, c.DestPath), "/") {
		bits, err := strconv.ParseUint(c.Chmod, 8, 32)
		if err != nil {
			return err
		}
		e.Mode = info.Mode().Type() | fs.FileMode(bits&0o777)
		if bits&0o1000 != 0 {
			e.Mode |= fs.ModeSticky
		}
	}
	if c.Chown != "" {
		if _, err := fmt.Sscanf(c.Chown, "%d:%d", &e.User, &e.Group); err != nil {
			return err
		}
	}
	if d.IsDir() {
		err = os.MkdirAll(s.at(to), 0o755)
	} else if err = os.MkdirAll(filepath.Dir(s.at(to)), 0o755); err == nil {
		if err = os.Link(from, s.at(to)); err != nil { // on another file system
			err = copied(from, s.at(to), info.Mode())
		}
	}
	for parent := path.Dir(to); path.IsAbs(to) && parent != "/"; parent = path.Dir(parent) {
		if _, ok := s.image.Entries[parent]; !ok {
			s.image.Entries[parent] = entry{Mode: fs.ModeDir | 0o755}
		}
	}
	s.image.Entries[to] = e
	return err
}

func copied(from, to string, mode fs.FileMode) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, mode.Perm())
}

// withoutZones returns the image without its time zone files, which depend on the
// host that built it.
func (p picture) withoutZones() picture {
	p.Entries = maps.Clone(p.Entries)
	maps.DeleteFunc(p.Entries, func(name string, _ entry) bool { return strings.HasPrefix(name, "/usr/share/zoneinfo/") })
	p.Folder = ""
	p.Env = slices.DeleteFunc(slices.Clone(p.Env), func(v string) bool {
		return strings.HasPrefix(v, "PATH=") // the engine's default
	})
	return p
}

func TestDockerfile_makesTheImageOfARelease(t *testing.T) {
	t.Parallel()
	made, released := build(t, checkout(t)), unpacked(t, image(t))
	if d := cmp.Diff(made.withoutZones(), released.withoutZones()); d != "" {
		t.Errorf("(-Dockerfile +release)\n%s", d)
	}
	for how, p := range map[string]*picture{"Dockerfile": made, "release": released} {
		if _, ok := p.Entries["/usr/share/zoneinfo/Europe/Paris"]; !ok {
			t.Errorf("%s: no time zones", how)
		}
		info, err := buildinfo.ReadFile(filepath.Join(p.Folder, p.Entrypoint[0]))
		must(t, err)
		for _, want := range []string{"CGO_ENABLED=0", "-tags=goolm", "-trimpath=true", "GOOS=linux",
			"GOARCH=" + runtime.GOARCH} {
			if !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key+"="+s.Value == want }) {
				t.Errorf("%s: the program was not built with %s", how, want)
			}
		}
		t.Run(how, func(t *testing.T) { begins(t, p, p.User) })
		if os.Getuid() == 0 {
			// Engines put a user whom /etc/passwd does not name into group 0.
			t.Run(how+" as any user", func(t *testing.T) { begins(t, p, "12345:0") })
		}
	}
}

package deployment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"go.yaml.in/yaml/v4"
)

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	must(t, err)
	return string(text)
}

// parsed reads a YAML file of the repository; a field that the type does not have fails.
func parsed[T any](t *testing.T, name string) (out T) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(read(t, name)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// released returns the newest version of the changelog, and the image of it.
func released(t *testing.T) (version, image string) {
	t.Helper()
	newest := regexp.MustCompile(`(?m)^## (\S+) - `).FindStringSubmatch(read(t, "CHANGELOG.md"))
	registry := regexp.MustCompile(`const registry = "(\S+)"`).FindStringSubmatch(read(t, "scripts/pack/image.go"))
	if newest == nil || registry == nil {
		t.Fatal("no version in the changelog, or no image in scripts/pack")
	}
	return newest[1], registry[1] + ":" + newest[1]
}

// TestStores_nameTheNewestVersion checks that whatever names a version or an image names that of
// the changelog.
func TestStores_nameTheNewestVersion(t *testing.T) {
	t.Parallel()
	version, image := released(t)
	name, _, _ := strings.Cut(image, ":")
	for file, pattern := range map[string]string{
		"deploy/home-assistant/config.yaml": `(?m)^version: "(.*)"`, "deploy/home-assistant/Dockerfile": name + `:\$\{(.*)\}`,
		"deploy/helm/everthread/Chart.yaml": `(?m)^(?:version|appVersion): (.*)`, "deploy/helm/everthread/values.yaml": `repository: (.*)`,
		"deploy/umbrel/umbrel-app.yml": `(?m)^version: "(.*)"`, "deploy/umbrel/docker-compose.yml": `image: (.*)`,
		"deploy/casaos/docker-compose.yml": `(?m)(?:image:|^  version:) "?([^"\n]*)`, "deploy/truenas/docker-compose.yml": `image: (.*)`,
		"docs/install.md": name + `(:[\d.]+\d)`, "README.md": name + `(:[\d.]+\d)`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, file), -1)
		if len(found) == 0 {
			t.Errorf("%s names no version", file)
		}
		for _, m := range found {
			if !slices.Contains([]string{version, image, ":" + version, name, "BUILD_VERSION"}, m[1]) {
				t.Errorf("%s names %s, want %s", file, m[1], image)
			}
		}
	}
}

// TestStores_iconsAreSquare checks sizes that stores want; package web draws the icons.
func TestStores_iconsAreSquare(t *testing.T) {
	t.Parallel()
	for name, side := range map[string]int{"deploy/icon.png": 256, "deploy/home-assistant/icon.png": 128, "deploy/home-assistant/logo.png": 256} {
		picture, err := png.Decode(strings.NewReader(read(t, name)))
		if err != nil || picture.Bounds().Dx() != side || picture.Bounds().Dy() != side {
			t.Errorf("%s: %v, %v, want %d × %d", name, err, picture.Bounds(), side, side)
		}
	}
}

// addOn is the part of an add-on's configuration that the linter of add-ons knows and this one uses.
type addOn struct {
	Name, Version, Slug, Description, URL, Stage, Webui, Backup string
	Arch                                                        []string
	Init                                                        *bool
	Ingress                                                     bool
	IngressPort                                                 int    `yaml:"ingress_port"`
	IngressStream                                               bool   `yaml:"ingress_stream"`
	PanelIcon                                                   string `yaml:"panel_icon"`
	Environment                                                 map[string]string
	Ports                                                       map[string]int
	Options, Schema                                             map[string]any
}

// translation is a file of an add-on's translations.
type translation struct {
	Configuration map[string]explained
	Network       map[string]string
}

type explained struct {
	Name, Description string
	Fields            map[string]explained `yaml:",omitempty"`
}

func TestHomeAssistant_configurationPassesTheLinter(t *testing.T) {
	t.Parallel()
	const folder = "deploy/home-assistant/"
	c := parsed[addOn](t, folder+"config.yaml")
	for field, value := range map[string]string{"name": c.Name, "version": c.Version, "slug": c.Slug, "description": c.Description} {
		if value == "" {
			t.Errorf("%s is required", field)
		}
	}
	if !regexp.MustCompile(`^[-_.A-Za-z0-9]+$`).MatchString(c.Slug) {
		t.Errorf("slug %q", c.Slug)
	}
	for _, arch := range c.Arch {
		if !slices.Contains([]string{"aarch64", "amd64", "armv7", "armhf", "i386"}, arch) {
			t.Errorf("arch %q", arch)
		}
	}
	if len(c.Arch) != 3 {
		t.Errorf("the add-on is for %v", c.Arch)
	}
	// The linter refuses a value that is the default.
	if !slices.Contains([]string{"experimental", "deprecated", ""}, c.Stage) || c.Backup != "cold" || c.Init == nil || *c.Init {
		t.Errorf("stage %q, backup %q, init %v", c.Stage, c.Backup, c.Init)
	}
	if m := regexp.MustCompile(`^https?://\[HOST\]:\[PORT:(\d+)\]`).FindStringSubmatch(c.Webui); m == nil || c.Ports[m[1]+"/tcp"] == 0 {
		t.Errorf("webui %q opens none of the ports %v", c.Webui, c.Ports)
	}
	// Pages are framed for requests from the Supervisor alone; answers arrive as a stream.
	if !c.Ingress || c.IngressPort != 8080 || !c.IngressStream || !strings.HasPrefix(c.PanelIcon, "mdi:") ||
		c.Environment["EVERTHREAD_HTTP_TRUSTED_PROXIES"] != "172.30.32.2" {
		t.Errorf("ingress: %+v", c)
	}
	if address, err := url.Parse(c.URL); err != nil || address.Scheme != "https" {
		t.Errorf("url %q", c.URL)
	}
	kind := regexp.MustCompile(`^(bool|email|url|port|str|password|int|float|list\([^()]+\))\??$`)
	for name, value := range leaves("", c.Schema) {
		if !kind.MatchString(fmt.Sprint(value)) {
			t.Errorf("schema of %s: %v", name, value)
		}
		if _, given := leaves("", c.Options)[name]; given == strings.HasSuffix(fmt.Sprint(value), "?") {
			t.Errorf("%s is %v, and has a default: %v", name, value, given)
		}
	}
	for _, language := range []string{"en", "fr", "de"} {
		texts := parsed[translation](t, folder+"translations/"+language+".yaml")
		if got, want := explains(t, texts.Configuration), shape(c.Schema); !reflect.DeepEqual(got, want) {
			t.Errorf("%s explains %v, want %v", language, got, want)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(texts.Network)), slices.Sorted(maps.Keys(c.Ports))) {
			t.Errorf("%s explains ports %v", language, texts.Network)
		}
	}
	for _, name := range []string{"DOCS.md", "README.md", "CHANGELOG.md"} {
		if read(t, folder+name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	store := parsed[struct{ Name, URL, Maintainer string }](t, "repository.yaml")
	if store.Name == "" || store.URL != c.URL || store.Maintainer == "" {
		t.Errorf("repository.yaml: %+v", store)
	}
}

// leaves returns the values of nested maps by their path.
func leaves(at string, m map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range m {
		if inner, ok := value.(map[string]any); ok {
			maps.Copy(out, leaves(at+key+".", inner))
			continue
		}
		out[at+key] = value
	}
	return out
}

// shape returns the keys of a schema, with true for an option that has no fields.
func shape(m map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range m {
		out[key] = true
		if inner, ok := value.(map[string]any); ok {
			out[key] = shape(inner)
		}
	}
	return out
}

// explains returns the shape of what a translation explains.
func explains(t *testing.T, all map[string]explained) map[string]any {
	t.Helper()
	out := map[string]any{}
	for key, e := range all {
		if e.Name == "" || e.Description == "" {
			t.Errorf("%s has no name or no description", key)
		}
		out[key] = true
		if len(e.Fields) > 0 {
			out[key] = explains(t, e.Fields)
		}
	}
	return out
}

// TestHomeAssistant_startsWithItsOptions builds the add-on's Dockerfile as far as that is possible
// here, and checks the options, as the Supervisor writes them, with the program.
func TestHomeAssistant_startsWithItsOptions(t *testing.T) {
	t.Parallel()
	tree, err := parser.Parse(strings.NewReader(read(t, "deploy/home-assistant/Dockerfile")))
	must(t, err)
	stages, _, err := instructions.Parse(tree.AST, nil)
	must(t, err)
	c := parsed[addOn](t, "deploy/home-assistant/config.yaml")
	_, image := released(t)
	base := os.Expand(stages[0].BaseName, func(name string) string { return map[string]string{"BUILD_VERSION": c.Version}[name] })
	user, command := "", []string(nil)
	for _, step := range stages[0].Commands {
		switch s := step.(type) {
		case *instructions.UserCommand:
			user = s.User
		case *instructions.CmdCommand:
			command = s.CmdLine
		}
	}
	if base != image || user != "0:0" || !slices.Equal(command, []string{"serve", "--config", "/data/options.json"}) {
		t.Errorf("the add-on is %s as %s with %v", base, user, command)
	}
	for name, zone := range map[string]string{"defaults": "", "all": "Europe/Paris"} {
		options := maps.Clone(c.Options)
		if zone != "" {
			options["default_timezone"] = zone
		}
		dir := t.TempDir()
		text, err := json.Marshal(options)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "options.json"), text, 0o600))
		out, err := run(dir, []string{"LANG=C", "EVERTHREAD_DATA_DIR=" + dir, "EVERTHREAD_HTTP_LISTEN=0.0.0.0:8080"}, program(t),
			"config", "show", "--config", filepath.Join(dir, "options.json"))
		if err != nil || !strings.Contains(out, "http://homeassistant.local:8080") || !strings.Contains(out, zone) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// composed loads a Compose file of a store with the variables that the store gives.
func composed(t *testing.T, file string, env ...string) *types.Project {
	t.Helper()
	files := []string{filepath.Join(root, file)}
	if strings.Contains(read(t, file), "app_proxy:") { // umbrelOS has the rest of this service
		proxy := filepath.Join(t.TempDir(), "proxy.yml")
		must(t, os.WriteFile(proxy, []byte("services: {app_proxy: {image: umbrel/proxy}}\n"), 0o600))
		files = append(files, proxy)
	}
	options, err := cli.NewProjectOptions(files, cli.WithEnv(env), cli.WithName("everthread"))
	must(t, err)
	p, err := options.LoadProject(t.Context())
	must(t, err)
	return p
}

// TestStores_runTheSameContainer checks that the Compose files of stores start the image as the one
// of the wizard does: confined, with its data in /data, in an environment that the program accepts.
func TestStores_runTheSameContainer(t *testing.T) {
	t.Parallel()
	_, image := released(t)
	for file, c := range map[string]struct{ service, user, data string }{
		"deploy/casaos/docker-compose.yml":  {"everthread", "0:0", "/DATA/AppData/everthread/data"},
		"deploy/umbrel/docker-compose.yml":  {"server", "1000:1000", "/umbrel/everthread/data"},
		"deploy/truenas/docker-compose.yml": {"everthread", "568:568", "/mnt/tank/everthread"},
	} {
		s := composed(t, file, "TZ=Europe/Paris", "AppID=everthread", "APP_DATA_DIR=/umbrel/everthread", "DEVICE_DOMAIN_NAME=umbrel.local",
			"APP_PASSWORD="+strings.Repeat("ab", 32)).Services[c.service]
		if s.Image != image || s.User != c.user || len(s.Command)+len(s.Entrypoint) > 0 {
			t.Errorf("%s starts %s as %s with %v", file, s.Image, s.User, s.Command)
		}
		if len(s.Volumes) != 1 || s.Volumes[0].Type != types.VolumeTypeBind || s.Volumes[0].Source != c.data || s.Volumes[0].Target != "/data" {
			t.Errorf("%s: volumes %+v", file, s.Volumes)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.Privileged || s.NetworkMode == "host" ||
			!slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) || !slices.Equal(s.Tmpfs, []string{"/tmp"}) {
			t.Errorf("%s: the container is not confined: %+v", file, s)
		}
		for _, port := range s.Ports {
			if port.Target != 8080 {
				t.Errorf("%s publishes %d of the container", file, port.Target)
			}
		}
		dir := t.TempDir()
		env := []string{"LANG=C", "EVERTHREAD_DATA_DIR=" + dir, "EVERTHREAD_HTTP_LISTEN=0.0.0.0:8080"}
		for name, value := range environ(s) {
			env = append(env, name+"="+value)
		}
		if out, err := run(dir, env, program(t), "config", "check"); err != nil || !strings.Contains(out, "is valid") {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestUmbrel_manifestPassesTheLinter checks what the linter of Umbrel's store does.
func TestUmbrel_manifestPassesTheLinter(t *testing.T) {
	t.Parallel()
	m := parsed[struct {
		ManifestVersion                                                      string `yaml:"manifestVersion"`
		ID, Category, Name, Version, Tagline, Description                    string
		ReleaseNotes                                                         string `yaml:"releaseNotes"`
		Developer, Website, Repo, Support, Icon, Path, Submitter, Submission string
		DefaultUsername                                                      string `yaml:"defaultUsername"`
		DeterministicPassword                                                bool   `yaml:"deterministicPassword"`
		TorOnly                                                              bool   `yaml:"torOnly"`
		Port                                                                 int
		Gallery, Dependencies                                                []string
	}](t, "deploy/umbrel/umbrel-app.yml")
	if m.ManifestVersion != "1" || m.ID != "everthread" || m.Name == "" || m.Description == "" || m.Developer == "" || m.Submitter == "" ||
		m.TorOnly || m.Dependencies == nil || m.Path != "" || m.DefaultUsername != "" || m.ReleaseNotes != "" {
		t.Errorf("%+v", m)
	}
	categories := []string{"files", "bitcoin", "media", "networking", "social", "automation", "finance", "ai", "developer", "crypto"}
	if !slices.Contains(categories, m.Category) || strings.HasSuffix(m.Tagline, ".") || len(m.Tagline) > 100 || m.Port < 1024 || m.Port > 65535 {
		t.Errorf("category %q, tagline %q, port %d", m.Category, m.Tagline, m.Port)
	}
	for _, address := range append(m.Gallery, m.Website, m.Repo, m.Support, m.Submission, m.Icon) {
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" {
			t.Errorf("%q is no address", address)
		}
		if _, name, ok := strings.Cut(address, "/everthread/everthread/main/"); ok && read(t, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	text := read(t, "deploy/umbrel/docker-compose.yml")
	p := composed(t, "deploy/umbrel/docker-compose.yml", "APP_DATA_DIR=/umbrel", "APP_PASSWORD=x", "DEVICE_DOMAIN_NAME=umbrel.local")
	proxy, server := environ(p.Services["app_proxy"]), p.Services["server"]
	if proxy["APP_HOST"] != m.ID+"_server_1" || proxy["APP_PORT"] != "8080" || len(server.Ports) > 0 {
		t.Errorf("the proxy leads to %v, ports of the server are %v", proxy, server.Ports)
	}
	if want := fmt.Sprintf("http://umbrel.local:%d", m.Port); environ(server)["EVERTHREAD_HTTP_PUBLIC_URL"] != want {
		t.Errorf("links lead to %s, want %s", environ(server)["EVERTHREAD_HTTP_PUBLIC_URL"], want)
	}
	if !m.DeterministicPassword || environ(server)["EVERTHREAD_SETUP_CODE"] != "x" {
		t.Error("the code that the page asks for is not the password that Umbrel shows")
	}
	// A folder that is mounted exists in the package, and umbrelOS reads volumes in their short form only.
	if _, err := os.Stat(filepath.Join(root, "deploy/umbrel/data/.gitkeep")); err != nil || !strings.Contains(text, "- ${APP_DATA_DIR}/data:/data\n") {
		t.Errorf("%v\n%s", err, text)
	}
	// A release adds the digest, without which the store takes no image.
	stamp := regexp.MustCompile(`(?m)^sed "(s.*)" deploy/umbrel/docker-compose.yml >`).FindStringSubmatch(read(t, "scripts/release.sh"))
	if stamp == nil {
		t.Fatal("scripts/release.sh does not add the digest")
	}
	digest := "sha256:" + strings.Repeat("0", 64)
	stamped := done(t, root, []string{"version=9.9.9", "digest=" + digest}, "sh", "-c", `sed "`+stamp[1]+`" deploy/umbrel/docker-compose.yml`)
	if !regexp.MustCompile(`(?m)^    image: \S+:9\.9\.9@sha256:0{64}$`).MatchString(stamped) {
		t.Errorf("a release makes\n%s", stamped)
	}
}

// TestCasaOS_manifestPassesTheValidator checks what CasaOS' store asks of an app.
func TestCasaOS_manifestPassesTheValidator(t *testing.T) {
	t.Parallel()
	p := composed(t, "deploy/casaos/docker-compose.yml", "TZ=UTC", "AppID=everthread")
	type texts = map[string]string
	var app struct {
		ID, Main, Index, Scheme, Icon, Author, Developer, Category, Version, Website, Repo, Support, Docs string
		PortMap                                                                                           string   `json:"port_map"`
		Screenshots                                                                                       []string `json:"screenshot_link"`
		Architectures                                                                                     []string
		Title, Tagline, Description                                                                       texts
		Tips                                                                                              map[string]texts
	}
	as(t, p.Extensions["x-casaos"], &app)
	s := p.Services[app.Main]
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`).MatchString(p.Name) || app.ID != p.Name || s.ContainerName != app.Main ||
		app.Category == "" || app.Author == "" || app.Developer == "" || app.Index != "/" || app.Scheme != "http" {
		t.Errorf("%s: %+v", p.Name, app)
	}
	if len(s.Ports) != 1 || s.Ports[0].Published != app.PortMap {
		t.Errorf("the page is at %s, published is %+v", app.PortMap, s.Ports)
	}
	if !slices.Equal(app.Architectures, []string{"amd64", "arm64", "arm"}) {
		t.Errorf("architectures %v", app.Architectures)
	}
	for name, said := range map[string]texts{"tagline": app.Tagline, "description": app.Description, "tips": app.Tips["before_install"]} {
		if said["en_US"] == "" || said["fr_FR"] == "" || said["de_DE"] == "" {
			t.Errorf("%s: %v", name, said)
		}
	}
	for _, address := range append(app.Screenshots, app.Icon) {
		_, name, ok := strings.Cut(address, "https://cdn.jsdelivr.net/gh/everthread/everthread@main/")
		if !ok || read(t, name) == "" {
			t.Errorf("%s is no file of this repository", address)
		}
	}
	var of struct{ Envs, Ports, Volumes []struct{ Container string } }
	as(t, s.Extensions["x-casaos"], &of)
	for _, v := range of.Envs {
		if _, ok := environ(s)[v.Container]; !ok {
			t.Errorf("the variable %s is explained, but not set", v.Container)
		}
	}
	if len(of.Envs) != len(s.Environment) || of.Ports[0].Container != fmt.Sprint(s.Ports[0].Target) || of.Volumes[0].Container != s.Volumes[0].Target {
		t.Errorf("not everything is explained: %+v", of)
	}
}

// as decodes an extension of a Compose file into a type.
func as(t *testing.T, from, into any) {
	t.Helper()
	text, err := json.Marshal(from)
	must(t, err)
	must(t, json.NewDecoder(bytes.NewReader(text)).Decode(into))
}

// TestTrueNAS_portalOpensThePage checks the extensions that TrueNAS reads.
func TestTrueNAS_portalOpensThePage(t *testing.T) {
	t.Parallel()
	p := composed(t, "deploy/truenas/docker-compose.yml")
	var portals []struct {
		Name, Scheme, Host, Path string
		Port                     int
	}
	as(t, p.Extensions["x-portals"], &portals)
	s := p.Services["everthread"]
	if len(portals) != 1 || portals[0].Scheme != "http" || portals[0].Path != "/" || portals[0].Name == "" || portals[0].Host == "" {
		t.Fatalf("portals %+v", portals)
	}
	port := fmt.Sprint(portals[0].Port)
	if len(s.Ports) != 1 || s.Ports[0].Published != port || !strings.HasSuffix(environ(s)["EVERTHREAD_HTTP_PUBLIC_URL"], ":"+port) {
		t.Errorf("the portal opens %s, published are %+v, links lead to %s", port, s.Ports, environ(s)["EVERTHREAD_HTTP_PUBLIC_URL"])
	}
	if notes, _ := p.Extensions["x-notes"].(string); !strings.Contains(notes, "owner code") {
		t.Errorf("the notes say %q", notes)
	}
}

// Package helm tests the Helm chart with Helm itself, as a library: lint, values, and what is
// rendered, as the types of Kubernetes. It is a module of its own, to keep Helm's dependencies
// out of the other tests.
package helm

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

const (
	root   = "../../.."
	folder = root + "/deploy/helm/everthread"
)

type values = map[string]any

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cases are values that operators give.
var cases = map[string]values{
	"defaults": {},
	"ingress": {
		"ingress": values{"enabled": true, "className": "nginx", "host": "chat.example.org", "tlsSecret": "chat-tls",
			"annotations": values{"cert-manager.io/cluster-issuer": "letsencrypt"}, "trustedProxies": []any{"10.0.0.0/8"}},
		"config":  values{"default_timezone": "Europe/Paris", "llm": values{"provider": "openai", "model": "large"}},
		"secrets": []any{"everthread-keys"},
	},
	"several": {
		"replicas": 3, "database": values{"secret": "everthread-database"}, "metrics": values{"enabled": true},
		"persistence": values{"accessMode": "ReadWriteMany", "storageClass": "nfs", "size": "20Gi"},
		"image":       values{"pullSecrets": []any{"registry"}}, "publicURL": "https://chat.example.org",
		"podAnnotations": values{"example.org/team": "home"},
		"nodeSelector":   values{"kubernetes.io/arch": "arm64"},
		"tolerations":    []any{values{"key": "arm", "operator": "Exists"}},
		"affinity": values{"podAntiAffinity": values{"preferredDuringSchedulingIgnoredDuringExecution": []any{values{
			"weight": 1, "podAffinityTerm": values{"topologyKey": "kubernetes.io/hostname"}}}}},
	},
	"own volume": {"persistence": values{"existingClaim": "mine"}},
}

// rendered is what the chart makes.
type rendered struct {
	Deployment apps.Deployment
	Service    core.Service
	Config     core.ConfigMap
	Claim      *core.PersistentVolumeClaim
	Ingress    *networking.Ingress
	Notes      string
}

func (r *rendered) pod() core.PodSpec         { return r.Deployment.Spec.Template.Spec }
func (r *rendered) container() core.Container { return r.pod().Containers[0] }

// env returns the variables of the container; those of Secrets have the Secret's name and key.
func (r *rendered) env() map[string]string {
	out := map[string]string{}
	for _, v := range r.container().Env {
		if out[v.Name] = v.Value; v.ValueFrom != nil {
			out[v.Name] = v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key
		}
	}
	return out
}

// render renders the chart; a field that Kubernetes does not know fails.
func render(given values) (*rendered, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "everthread", Namespace: "home", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return nil, err
	}
	out := &rendered{}
	for name, text := range files {
		base := filepath.Base(name)
		if base == "NOTES.txt" {
			out.Notes = text
			continue
		}
		if strings.TrimSpace(text) == "" || base == "_helpers.tpl" {
			continue
		}
		into := map[string]func() any{
			"deployment.yaml": func() any { return &out.Deployment }, "service.yaml": func() any { return &out.Service },
			"config.yaml":  func() any { return &out.Config },
			"claim.yaml":   func() any { out.Claim = &core.PersistentVolumeClaim{}; return out.Claim },
			"ingress.yaml": func() any { out.Ingress = &networking.Ingress{}; return out.Ingress },
		}[base]
		if into == nil {
			return nil, fmt.Errorf("this test does not know %s", name)
		}
		if err := yaml.UnmarshalStrict([]byte(text), into()); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", name, err, text)
		}
	}
	return out, nil
}

func mustRender(t *testing.T, name string) *rendered {
	t.Helper()
	r, err := render(cases[name])
	must(t, err)
	return r
}

func TestChart_lint(t *testing.T) {
	t.Parallel()
	for name, given := range cases {
		for _, m := range lint.All(folder, given, "home", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

func TestChart_refusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for want, given := range map[string]values{
		"database.secret":        {"replicas": 2},
		"persistence.accessMode": {"replicas": 2, "database": values{"secret": "db"}},
		"ingress.host":           {"ingress": values{"enabled": true}},
		"replica":                {"replica": 2}, // a value that does not exist
		"minimum":                {"replicas": 0},
	} {
		if _, err := render(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error about %q", given, err, want)
		}
	}
}

func TestChart_podIsConfined(t *testing.T) {
	t.Parallel()
	for name := range cases {
		r := mustRender(t, name)
		pod, c := r.pod(), r.container()
		if s := pod.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser != 65532 || *s.FSGroup != 65532 ||
			s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: the pod runs as %+v", name, s)
		}
		if s := c.SecurityContext; *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
			!slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s: the container may %+v", name, s)
		}
		if *pod.AutomountServiceAccountToken || *pod.EnableServiceLinks {
			t.Errorf("%s: the pod gets a token or variables of services", name)
		}
		writable := map[string]string{}
		for _, m := range c.VolumeMounts {
			if !m.ReadOnly {
				writable[m.MountPath] = m.Name
			}
		}
		if !maps.Equal(writable, map[string]string{"/data": "data", "/tmp": "tmp"}) {
			t.Errorf("%s: writable are %v", name, writable)
		}
	}
}

func TestChart_servesAndIsProbed(t *testing.T) {
	t.Parallel()
	for name := range cases {
		r := mustRender(t, name)
		c := r.container()
		for path, p := range map[string]*core.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
			if p.HTTPGet.Path != path || p.HTTPGet.Port.StrVal != "http" {
				t.Errorf("%s: the probe of %s is %+v", name, path, p.HTTPGet)
			}
		}
		if p := c.StartupProbe; p.HTTPGet.Path != "/healthz" || p.PeriodSeconds*p.FailureThreshold < 300 {
			t.Errorf("%s: a start may take %d s", name, p.PeriodSeconds*p.FailureThreshold)
		}
		if c.Ports[0].Name != "http" || c.Ports[0].ContainerPort != 8080 || r.env()["EVERTHREAD_HTTP_LISTEN"] != "0.0.0.0:8080" ||
			r.Service.Spec.Ports[0].TargetPort.StrVal != "http" {
			t.Errorf("%s: ports are %+v, the service's %+v", name, c.Ports, r.Service.Spec.Ports)
		}
		labels := r.Deployment.Spec.Template.Labels
		for _, selector := range []map[string]string{r.Service.Spec.Selector, r.Deployment.Spec.Selector.MatchLabels} {
			for key, value := range selector {
				if labels[key] != value {
					t.Errorf("%s: %s=%s does not select pods with %v", name, key, value, labels)
				}
			}
		}
	}
}

func TestChart_oneProcessOwnsItsVolume(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "defaults")
	if r.Deployment.Spec.Strategy.Type != apps.RecreateDeploymentStrategyType || *r.Deployment.Spec.Replicas != 1 {
		t.Errorf("%+v", r.Deployment.Spec.Strategy)
	}
	if r.Claim.Annotations["helm.sh/resource-policy"] != "keep" || r.pod().Volumes[0].PersistentVolumeClaim.ClaimName != r.Claim.Name {
		t.Errorf("the volume is %+v, the claim %+v", r.pod().Volumes[0], r.Claim.ObjectMeta)
	}
	if r := mustRender(t, "own volume"); r.Claim != nil || r.pod().Volumes[0].PersistentVolumeClaim.ClaimName != "mine" {
		t.Errorf("the volume is %+v, and a claim is made: %v", r.pod().Volumes[0], r.Claim != nil)
	}
	if !strings.Contains(r.Notes, "port-forward service/everthread 8080:8080") {
		t.Errorf("the notes do not say how to reach the page:\n%s", r.Notes)
	}
}

func TestChart_severalProcesses(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "several")
	env := r.env()
	if *r.Deployment.Spec.Replicas != 3 || r.Deployment.Spec.Strategy.Type != apps.RollingUpdateDeploymentStrategyType ||
		env["EVERTHREAD_DATABASE_URL"] != "everthread-database/url" || env["EVERTHREAD_SECRET_KEY"] != "everthread-database/secret_key" {
		t.Errorf("%+v, %v", r.Deployment.Spec.Strategy, env)
	}
	if !slices.Equal(r.Claim.Spec.AccessModes, []core.PersistentVolumeAccessMode{core.ReadWriteMany}) || *r.Claim.Spec.StorageClassName != "nfs" ||
		r.Claim.Spec.Resources.Requests.Storage().String() != "20Gi" {
		t.Errorf("the claim is %+v", r.Claim.Spec)
	}
	if env["EVERTHREAD_HTTP_METRICS_LISTEN"] != "0.0.0.0:9090" || len(r.Service.Spec.Ports) != 1 ||
		r.Deployment.Spec.Template.Annotations["prometheus.io/port"] != "9090" {
		t.Errorf("metrics: %v, %+v", env, r.Service.Spec.Ports)
	}
}

func TestChart_ingress(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "ingress")
	s := r.Ingress.Spec
	if *s.IngressClassName != "nginx" || s.Rules[0].Host != "chat.example.org" || s.TLS[0].SecretName != "chat-tls" ||
		s.Rules[0].HTTP.Paths[0].Backend.Service.Name != r.Service.Name {
		t.Errorf("the ingress is %+v", s)
	}
	if got := r.env()["EVERTHREAD_HTTP_PUBLIC_URL"]; got != "https://chat.example.org" || !strings.Contains(r.Notes, got) {
		t.Errorf("links lead to %q, the notes to\n%s", got, r.Notes)
	}
	if from := r.container().EnvFrom; len(from) != 1 || from[0].SecretRef.Name != "everthread-keys" {
		t.Errorf("secrets are taken from %+v", from)
	}
	if r := mustRender(t, "defaults"); r.Ingress != nil {
		t.Error("an ingress is made that nobody asked for")
	}
}

func TestChart_imageOfItsVersion(t *testing.T) {
	t.Parallel()
	chart, err := loader.Load(folder)
	must(t, err)
	if chart.Metadata.Version != chart.Metadata.AppVersion {
		t.Errorf("chart %s is of version %s", chart.Metadata.Version, chart.Metadata.AppVersion)
	}
	if got := mustRender(t, "defaults").container().Image; got != "ghcr.io/everthread/everthread:"+chart.Metadata.AppVersion {
		t.Errorf("the image is %s", got)
	}
}

// program returns the program that the end-to-end tests share, or builds it.
func program(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("EVERTHREAD_TEST_PROGRAM"); given != "" {
		return given
	}
	path := filepath.Join(t.TempDir(), "everthread")
	build := exec.Command("go", "build", "-tags", "goolm", "-o", path, "./cmd/everthread")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestChart_programTakesTheConfiguration runs `config check` with the file and the variables of
// the container.
func TestChart_programTakesTheConfiguration(t *testing.T) {
	t.Parallel()
	everthread := program(t)
	for name := range cases {
		r := mustRender(t, name)
		dir := t.TempDir()
		file := filepath.Join(dir, "everthread.yaml")
		must(t, os.WriteFile(file, []byte(r.Config.Data["everthread.yaml"]), 0o600))
		env := []string{"LANG=C", "EVERTHREAD_LLM_API_KEY=of-a-secret"}
		for key, value := range r.env() {
			switch key {
			case "EVERTHREAD_DATA_DIR":
				value = dir
			case "EVERTHREAD_DATABASE_URL":
				value = "postgres://everthread@database/everthread"
			case "EVERTHREAD_SECRET_KEY":
				value = strings.Repeat("ab", 32)
			}
			env = append(env, key+"="+value)
		}
		check := exec.Command(everthread, "config", "check", "--config", file)
		check.Dir, check.Env = dir, env
		if out, err := check.CombinedOutput(); err != nil || !strings.Contains(string(out), "is valid") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

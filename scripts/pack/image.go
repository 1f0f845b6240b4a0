package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Types of the OCI image specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// registry is the name under which the image is published.
const registry = "ghcr.io/everthread/everthread"

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Variant      string `json:"variant,omitempty"`
}

// descriptor points to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// layout collects the blobs of an image layout.
type layout struct {
	files []file
	seen  map[string]bool
}

func (l *layout) blob(mediaType string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	if !l.seen[sum] {
		l.seen[sum] = true
		l.files = append(l.files, file{name: "blobs/sha256/" + sum, mode: 0o644, data: data})
	}
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)}
}

func (l *layout) json(mediaType string, v any) (descriptor, error) {
	b, err := json.Marshal(v)
	return l.blob(mediaType, b), err
}

// image writes an image for several architectures as an OCI layout in a tar file:
// what the Dockerfile makes, without an engine. It prints the digest of the image.
func image(out string, at time.Time, version, certificates, zones string, binaries []string) error {
	system, err := base(certificates, zones)
	if err != nil {
		return err
	}
	l := &layout{seen: map[string]bool{}}
	lower, lowerID, err := l.layer(at, system)
	if err != nil {
		return err
	}
	var manifests []descriptor
	for _, b := range binaries {
		name, path, _ := strings.Cut(b, "=")
		arch, variant, _ := strings.Cut(name, "/")
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		upper, upperID, err := l.layer(at, []file{{name: "usr/local/bin/everthread", mode: 0o755, data: data}})
		if err != nil {
			return err
		}
		m, err := l.manifest(at, version, platform{arch, "linux", variant}, []descriptor{lower, upper}, []string{lowerID, upperID})
		if err != nil {
			return err
		}
		manifests = append(manifests, m)
	}
	index, err := l.json(typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests})
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": version,
		"io.containerd.image.name": registry + ":" + version}
	if err := l.write(out, at, index); err != nil {
		return err
	}
	fmt.Println(index.Digest)
	return nil
}

// layer adds a layer and returns it with the digest of what is compressed in it.
func (l *layout) layer(at time.Time, files []file) (descriptor, string, error) {
	var plain, packed bytes.Buffer
	if err := writeTar(&plain, at, files); err != nil {
		return descriptor{}, "", err
	}
	id := fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes()))
	z := gzip.NewWriter(&packed)
	_, err := z.Write(plain.Bytes())
	err = errors.Join(err, z.Close())
	return l.blob(typeLayer, packed.Bytes()), id, err
}

// manifest adds the manifest of one platform. The health check is Docker's: the
// OCI specification has none, and leaves room for it.
func (l *layout) manifest(at time.Time, version string, p platform, layers []descriptor,
	ids []string) (descriptor, error) {
	second := time.Second.Nanoseconds()
	contents := map[string]any{
		"created": at.Format(time.RFC3339), "architecture": p.Architecture, "os": p.OS, "config": map[string]any{
			"User": "65532:65532", "WorkingDir": "/data", "Entrypoint": []string{"/usr/local/bin/everthread"},
			"Cmd": []string{"serve"}, "Env": []string{"PATH=/usr/local/bin", "EVERTHREAD_DATA_DIR=/data",
				"EVERTHREAD_HTTP_LISTEN=0.0.0.0:8080"},
			"ExposedPorts": map[string]any{"8080/tcp": struct{}{}}, "Volumes": map[string]any{"/data": struct{}{}},
			"Labels": labels(at, version),
			"Healthcheck": map[string]any{"Test": []string{"CMD", "/usr/local/bin/everthread", "doctor", "--health"},
				"Interval": 15 * second, "Timeout": 5 * second, "StartPeriod": 30 * second, "Retries": 3},
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": ids},
	}
	if p.Variant != "" {
		contents["variant"] = p.Variant
	}
	config, err := l.json(typeConfig, contents)
	if err != nil {
		return descriptor{}, err
	}
	d, err := l.json(typeManifest, map[string]any{"schemaVersion": 2, "mediaType": typeManifest,
		"config": config, "layers": layers})
	d.Platform = &p
	return d, err
}

// labels are what a registry shows of an image, in the words of the OCI specification.
func labels(at time.Time, version string) map[string]string {
	const of = "org.opencontainers.image."
	return map[string]string{of + "title": "Everthread", of + "version": version, of +
		"description": "Messaging gateway: one person, one assistant, one conversation that never ends", of + "created": at.Format(time.RFC3339), of + "licenses": "MIT", of + "vendor": "Everthread",
		of + "url": project, of + "source": project, of + "documentation": project + "/tree/main/docs"}
}

func (l *layout) write(out string, at time.Time, index descriptor) error {
	top, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{index}})
	if err != nil {
		return err
	}
	files := append([]file{
		{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, data: top},
		{name: "blobs/", mode: 0o755}, {name: "blobs/sha256/", mode: 0o755},
	}, l.files...)
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(f, at, files), f.Close())
}

// base is what the program needs of a system: certificates to call out, zones, a
// user that is not root and a folder that it may write. So may every other user in group
// 0, where engines put a user that /etc/passwd does not name.
func base(certificates, zones string) ([]file, error) {
	const nobody = 65532
	certs, err := os.ReadFile(certificates)
	if err != nil {
		return nil, err
	}
	out := []file{
		{name: "data/", mode: 0o770, user: nobody}, {name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte("everthread:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, data: []byte("everthread:x:65532:65532::/data:/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: certs},
		{name: "tmp/", mode: 0o1777}, {name: "usr/", mode: 0o755}, {name: "usr/local/", mode: 0o755},
		{name: "usr/local/bin/", mode: 0o755},
		{name: "usr/share/", mode: 0o755},
	}
	more, err := unzipped(zones, "usr/share/zoneinfo/")
	return append(out, more...), err
}

// unzipped are the files of a ZIP file, below a folder, with the folders between.
func unzipped(path, below string) ([]file, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	folders := map[string]bool{below: true}
	var out []file
	for _, e := range z.File {
		if strings.HasSuffix(e.Name, "/") {
			continue
		}
		for n, r := range e.Name {
			if r == '/' {
				folders[below+e.Name[:n+1]] = true
			}
		}
		r, err := e.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		out = append(out, file{name: below + e.Name, mode: 0o644, data: data})
	}
	for name := range folders {
		out = append(out, file{name: name, mode: 0o755})
	}
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

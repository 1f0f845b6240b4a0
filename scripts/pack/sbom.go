package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"strings"
	"time"
)

// component is a part of a program in CycloneDX' words.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// sbom writes the bill of materials of a program, from what the linker wrote into
// it, as CycloneDX 1.6.
func sbom(out string, at time.Time, version, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	main := module("application", info.Main.Path, version, "")
	for _, s := range info.Settings {
		if s.Key == "-tags" || s.Key == "CGO_ENABLED" || s.Key == "-trimpath" {
			main.Properties = append(main.Properties, property{"go:build:" + strings.TrimPrefix(s.Key, "-"), s.Value})
		}
	}
	std := module("library", "std", strings.TrimPrefix(info.GoVersion, "go"), "")
	components, refs := []component{std}, []string{std.Ref}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		c := module("library", d.Path, d.Version, d.Sum)
		components, refs = append(components, c), append(refs, c.Ref)
	}
	b, err := json.MarshalIndent(map[string]any{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX",
		"specVersion": "1.6", "version": 1, "metadata": map[string]any{"timestamp": at.Format(time.RFC3339),
			"component": main},
		"components":   components,
		"dependencies": []map[string]any{{"ref": main.Ref, "dependsOn": refs}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(b, '\n'), 0o644)
}

// module is a Go module. sum is the one of go.sum, over its whole tree.
func module(kind, path, version, sum string) component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := component{Type: kind, Ref: url, Name: path, Version: version, PURL: url}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}

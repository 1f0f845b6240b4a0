package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Bash  completionScript `cmd:"" help:"Write the script for bash."`
	Zsh   completionScript `cmd:"" help:"Write the script for zsh."`
	Fish  completionScript `cmd:"" help:"Write the script for fish."`
	Words completionWords  `cmd:"" hidden:"" help:"List what the last word may be, for the scripts."`
}

// completions are the scripts of shells. Each asks the program what the word at the cursor
// may be, given those before it; where there is nothing, it offers files.
//
//go:embed completion
var completions embed.FS

type completionScript struct{}

// Run writes the script of the shell that the command is named after.
func (completionScript) Run(c *console, k *kong.Context) error {
	script, err := completions.ReadFile("completion/everthread." + k.Selected().Name)
	if err == nil {
		_, err = c.out.Write(script)
	}
	return err
}

type completionWords struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"What is typed so far; the last word may be empty."`
}

// Run lists the commands or flags that begin with the last word.
func (w completionWords) Run(c *console, k *kong.Context) error {
	words := w.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, word := range completed(k.Model.Node, words) {
		fmt.Fprintln(c.out, word)
	}
	return nil
}

func completed(n *kong.Node, words []string) (out []string) {
	if len(words) == 0 {
		return nil
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	flags, value := slices.Concat(n.AllFlags(true)...), false
	for _, word := range before {
		if value { // it is that of the flag before it
			value = false
			continue
		}
		if next := child(n, word); next != nil {
			n, flags = next, slices.Concat(next.AllFlags(true)...)
		}
		value = slices.ContainsFunc(flags, func(f *kong.Flag) bool { return word == "--"+f.Name && !f.IsBool() })
	}
	if value {
		return nil
	}
	for _, f := range flags {
		if strings.HasPrefix(last, "-") {
			out = append(out, "--"+f.Name)
		}
	}
	for _, c := range n.Children {
		if !c.Hidden && !strings.HasPrefix(last, "-") {
			out = append(out, c.Name)
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return !strings.HasPrefix(s, last) })
	slices.Sort(out)
	return slices.Compact(out)
}

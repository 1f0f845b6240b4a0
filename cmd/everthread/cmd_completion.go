package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Bash  completionScript `cmd:"" help:"Write the script for bash."`
	Zsh   completionScript `cmd:"" help:"Write the script for zsh."`
	Fish  completionScript `cmd:"" help:"Write the script for fish."`
	Words completionWords  `cmd:"" hidden:"" help:"List what the last word may be. The scripts call it."`
}

type completionScript struct{}

// Run writes the script of the shell that the command is called after.
func (completionScript) Run(c *console, k *kong.Context) error {
	_, err := fmt.Fprint(c.out, completions()[k.Selected().Name])
	return err
}

// completions are the scripts of shells. Each asks the program what the word at the
// cursor may be, given those before it; where there is nothing, it offers files.
func completions() map[string]string {
	return map[string]string{
		"bash": `_everthread() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _everthread everthread
`,
		"zsh": `#compdef everthread
_everthread() {
	local -a found
	found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "${found[1]}" ]]; then
		compadd -a found
	else
		_files
	fi
}
compdef _everthread everthread
`,
		"fish": `complete -c everthread -a '(everthread completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
	}
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

// completed is what the last of some words may be.
func completed(n *kong.Node, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	flags := n.AllFlags(true)
	for i, word := range before {
		if i > 0 && takesValue(flags, before[i-1]) {
			continue
		}
		if next := child(n, word); next != nil {
			n, flags = next, next.AllFlags(true)
		}
	}
	if len(before) > 0 && takesValue(flags, before[len(before)-1]) {
		return nil
	}
	var out []string
	for group := range slices.Values(flags) {
		for _, f := range group {
			if strings.HasPrefix(last, "-") {
				out = append(out, "--"+f.Name)
			}
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

// takesValue reports whether a word is a flag whose value is the next word.
func takesValue(flags [][]*kong.Flag, word string) bool {
	for _, group := range flags {
		for _, f := range group {
			if word == "--"+f.Name {
				return !f.IsBool()
			}
		}
	}
	return false
}

package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// examples are those that --help shows, by command. Each is a command line.
func examples() map[string][]string {
	return map[string][]string{
		"init":         {"everthread init", "everthread init --answers answers.txt --json --wait 0s"},
		"serve":        {"everthread serve", "everthread --config /etc/everthread/everthread.yaml serve"},
		"chat":         {"everthread chat", "everthread chat --user Bob"},
		"doctor":       {"everthread doctor", "everthread doctor --json"},
		"users add":    {"everthread users add Bob"},
		"pair approve": {"everthread pair approve ABCD-EFGH", "everthread pair approve ABCD-EFGH --user Bob"},
		"apikey create": {"everthread apikey create --name notes --scope chat,read",
			"everthread apikey create --user Bob --name editor --scope memory"},
		"audit":     {"everthread audit --since 24h", "everthread audit --user Bob --limit 200 --json"},
		"days list": {"everthread days list", "everthread days list --user Bob --limit 7 --json"},
		"days show": {"everthread days show yesterday", "everthread days show monday",
			`everthread days show "19 nov" --user Bob`},
		"search": {"everthread search the plumber", "everthread search boiler --recency-days 30 --explain",
			"everthread search boiler --day monday --json"},
		"forget": {"everthread forget --message 1234", "everthread forget --day yesterday --yes",
			`everthread forget --verify "the plumber"`},
		"import": {"everthread import telegram export.zip --dry-run",
			"everthread import whatsapp chat.zip --me Ada --zone Europe/Paris",
			"everthread import jsonl everthread-2026-11-19.zip"},
		"export": {"everthread export", "everthread export --user Bob --out bob.zip"},
		"backup": {"everthread backup", "everthread backup --to /srv/backups", "everthread backup list",
			"everthread backup drill --identity /media/stick/everthread.key"},
		"restore": {"everthread restore b.tar.zst", "everthread restore /mnt/nas/everthread",
			"everthread restore s3://s3.example.com/bucket/everthread --identity everthread.key"},
		"completion": {"everthread completion bash > /etc/bash_completion.d/everthread",
			`everthread completion zsh > "${fpath[1]}/_everthread"`,
			"everthread completion fish > ~/.config/fish/completions/everthread.fish"},
	}
}

// addExamples gives the commands of a model their examples.
func addExamples(root *kong.Node) {
	for path, lines := range examples() {
		n := root
		for name := range strings.FieldsSeq(path) {
			n = child(n, name)
		}
		if n != nil {
			n.Detail = "Examples:\n\n    " + strings.Join(lines, "\n    ")
		}
	}
}

// child is the command of a name below another one; nil: there is none.
func child(n *kong.Node, name string) *kong.Node {
	if n == nil {
		return nil
	}
	for _, c := range n.Children {
		if c.Name == name && !c.Hidden {
			return c
		}
	}
	return nil
}

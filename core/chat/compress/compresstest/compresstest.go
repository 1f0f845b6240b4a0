// Package compresstest makes conversations for testing the strategy long: a year of
// small talk, questions, code that is pasted repeatedly, and facts that should still be
// found at its end. The same seed makes the same year.
package compresstest

import (
	_ "embed"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

//go:embed english.txt
var english string

//go:embed french.txt
var french string

//go:embed needles.txt
var needles string

//go:embed code.txt
var code string

// Sizes of a year.
const (
	Messages = 20_000
	Days     = 365
)

// Needle is a fact that is stated once.
type Needle struct {
	Message  core.MessageID // that of Year, whatever the seed
	Role     core.Role      // the speaker
	Question string         // that the fact answers
	Words    string         // that must remain of the message
	text     string
	french   bool
}

// Needles returns the facts that are in every Year.
func Needles() []Needle {
	var out []Needle
	for line := range strings.Lines(needles) {
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if len(parts) != 4 {
			continue
		}
		role, language, _ := strings.Cut(parts[0], " ")
		out = append(out, Needle{Role: core.Role(role), Question: parts[1], Words: parts[2], text: parts[3],
			french: language == "fr"})
	}
	// One in 390 messages of each role, all through the year.
	place := map[core.Role]core.MessageID{core.RoleUser: 101, core.RoleAssistant: 302}
	for i := range out {
		out[i].Message = place[out[i].Role]
		place[out[i].Role] += 390
	}
	return out
}

// Year returns a conversation of 20,000 messages in 365 days, of about two
// million tokens, oldest first. Tokens are counted with t; nil: they are 0.
func Year(seed uint64, t core.Tokenizer) []core.Message {
	y := &year{
		rand:    rand.New(rand.NewPCG(seed, 17)),
		tongues: [2]grammar{parse(english), parse(french)},
		files:   strings.Split(code, "%%%\n"),
		needles: map[core.MessageID]Needle{},
		tokens:  t,
	}
	for _, n := range Needles() {
		y.needles[n.Message] = n
	}
	y.paste[0], y.paste[1] = y.tongues[0]["paragraph"], y.tongues[1]["paragraph"]
	y.at = time.Date(2025, time.March, 1, 7, 30, 0, 0, time.UTC)
	for len(y.out) < Messages {
		y.exchange()
	}
	return y.out
}

// grammar holds the alternatives of each rule.
type grammar map[string][]string

func parse(text string) grammar {
	g, rule := grammar{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch name, isRule := strings.CutSuffix(line, ":"); {
		case line == "":
			rule = ""
		case rule == "" && isRule:
			rule = name
		case rule != "":
			g[rule] = append(g[rule], line)
		}
	}
	return g
}

var slot = regexp.MustCompile(`\{[^{}]+\}`)

// say returns one of the alternatives of a rule with its slots filled.
func (y *year) say(g grammar, rule string) string {
	all := g[rule]
	if len(all) == 0 {
		panic("no such rule: " + rule)
	}
	text := all[y.rand.IntN(len(all))]
	return slot.ReplaceAllStringFunc(text, func(s string) string { return y.fill(g, strings.Trim(s, "{}")) })
}

func (y *year) fill(g grammar, name string) string {
	if from, to, ok := strings.Cut(name, "-"); ok {
		to, step, _ := strings.Cut(to, "/")
		return strconv.Itoa(y.number(from, to, step))
	}
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		r := []rune(y.say(g, rest))
		return strings.ToUpper(string(r[:1])) + string(r[1:])
	}
	return y.say(g, name)
}

func (y *year) number(from, to, step string) int {
	low, _ := strconv.Atoi(from)
	high, _ := strconv.Atoi(to)
	by, err := strconv.Atoi(step)
	if err != nil {
		by = 1
	}
	return low + by*y.rand.IntN((high-low)/by+1)
}

// sentences returns from least to most sentences of a rule.
func (y *year) sentences(g grammar, rule string, least, most int) string {
	var out []string
	for range least + y.rand.IntN(most-least+1) {
		out = append(out, y.say(g, rule))
	}
	return strings.Join(out, " ")
}

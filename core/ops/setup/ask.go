package setup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/trust"
)

// Question is one question of the wizard.
type Question struct {
	ID          string // its name in a file of answers
	Title, Help string
	Options     []Option // to choose from; none: any text
	Free        bool     // any other text is an answer too
	Default     string   // of an empty answer
	// Unattended replaces Default where a file of answers lacks the question.
	Unattended string
	Secret     bool // the answer is not shown
	Empty      bool // the empty answer is valid
	Back       bool // the empty answer of a person leads back
}

// Option is one choice of a question.
type Option struct{ Value, Label string }

// IDs returns the ids of all questions; sections are those of the channels.
func IDs(sections ...section.Section) []string {
	out := []string{"overwrite", "provider", "url", "key", "model", "zone", "more", "database"}
	for _, s := range sections {
		if g, ok := s.(channel.Guided); ok {
			for _, f := range g.Guide("en", channel.Host{}).Fields {
				out = append(out, f.ID)
			}
		}
	}
	return append(out, "service")
}

// Asker asks a person, or a file that answers for them.
type Asker interface {
	// Ask returns the answer, trimmed: an option's value where there are options.
	Ask(ctx context.Context, q Question) (string, error)
}

// ErrUnanswered means that nobody answers.
var ErrUnanswered = errors.New("nobody answers")

// choose returns the value of what was typed; ok reports whether it is an answer.
func (q Question) choose(answer string) (value string, ok bool) {
	answer = strings.TrimSpace(answer)
	if answer == "" {
		return q.Default, q.Default != "" || q.Empty || q.Back
	}
	if len(q.Options) == 0 {
		return answer, true
	}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].Value, true
	}
	for _, o := range q.Options {
		if strings.EqualFold(o.Value, answer) || strings.EqualFold(o.Label, answer) {
			return o.Value, true
		}
	}
	return answer, q.Free
}

// Plain asks in lines of text.
type Plain struct {
	In       LineReader
	Out      io.Writer
	Language string
	Columns  int // of the terminal, at which lines break between words; 0: they do not
}

const shownOptions = 40

// Ask writes a question, and reads lines until one answers it.
func (p *Plain) Ask(ctx context.Context, q Question) (string, error) {
	w := wordsOf(p.Language)
	fmt.Fprintf(p.Out, "\n%s\n", Wrap(q.Title, p.Columns))
	if q.Help != "" {
		fmt.Fprintf(p.Out, "%s\n", Wrap(q.Help, p.Columns))
	}
	for n, o := range q.Options[:min(len(q.Options), shownOptions)] {
		fmt.Fprintf(p.Out, "  %d  %s\n", n+1, trust.Line(o.Label))
	}
	if len(q.Options) > shownOptions {
		fmt.Fprintf(p.Out, "  … "+w.MoreOptions+"\n", len(q.Options)-shownOptions)
	}
	for {
		line, err := p.line(ctx, q)
		if err != nil {
			return "", err
		}
		if answer, ok := q.choose(line); ok {
			return answer, nil
		}
		if len(q.Options) > 0 {
			fmt.Fprintf(p.Out, w.NoOption+"\n", len(q.Options))
			continue
		}
		fmt.Fprintln(p.Out, w.NoAnswer)
	}
}

// Wrap breaks the lines of a text between words so that they fit into columns; 0: it breaks none.
func Wrap(text string, columns int) string {
	var b strings.Builder
	at := 0
	for word := range strings.SplitAfterSeq(text, " ") {
		first, _, more := strings.Cut(word, "\n")
		if width := uniseg.StringWidth(strings.TrimRight(first, " ")); columns > 0 && at > 0 && at+width > columns {
			b.WriteString("\n")
			at = 0
		}
		b.WriteString(word)
		if at += uniseg.StringWidth(word); more {
			at = uniseg.StringWidth(word[strings.LastIndexByte(word, '\n')+1:])
		}
	}
	return b.String()
}

func (p *Plain) line(ctx context.Context, q Question) (string, error) {
	prompt := "> "
	switch {
	case q.Default != "":
		prompt = "[" + trust.Line(q.Default) + "] > "
	case q.Secret:
		prompt = wordsOf(p.Language).NotShown + " > "
	}
	line, err := p.In.ReadLine(ctx, prompt, q.Secret)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: the input ended at the question %q", ErrUnanswered, q.ID)
	}
	return line, err
}

// LineReader reads the lines that answer questions.
type LineReader interface {
	// ReadLine shows a prompt and returns the next line, or io.EOF at the end. A secret is not shown while it is typed.
	ReadLine(ctx context.Context, prompt string, secret bool) (string, error)
}

// Piped reads lines of anything that is not used as a terminal.
type Piped struct {
	lines <-chan string // closed at their end
	out   io.Writer
	hide  func() (show func())
}

// NewPiped reads lines of r and shows prompts on out. hide, which may be nil, hides what is
// typed until show is called. A goroutine reads r until it ends.
func NewPiped(r io.Reader, out io.Writer, hide func() (show func())) *Piped {
	lines := make(chan string)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(r)
		for s.Scan() {
			lines <- s.Text()
		}
	}()
	return &Piped{lines: lines, out: out, hide: hide}
}

// ReadLine reads one line of the input.
func (p *Piped) ReadLine(ctx context.Context, prompt string, secret bool) (string, error) {
	fmt.Fprint(p.out, prompt)
	if secret && p.hide != nil {
		show := p.hide()
		defer func() { show(); fmt.Fprintln(p.out) }()
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-p.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	}
}

// Prepared answers from a list, and with the default of a question that is not in it. An
// answer that is asked for again was wrong.
type Prepared struct {
	Answers map[string]string
	used    []string
}

// Ask answers a question from the prepared answers.
func (p *Prepared) Ask(ctx context.Context, q Question) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	answer, given := p.Answers[q.ID]
	asked := slices.Contains(p.used, q.ID)
	p.used = append(p.used, q.ID)
	switch {
	case given && asked && q.ID == "more":
		return "no", nil
	case given && asked:
		return "", fmt.Errorf("%w: the answer to %q is wrong, and there is no other", ErrUnanswered, q.ID)
	case given:
		if value, ok := q.choose(answer); ok {
			return value, nil
		}
		return "", fmt.Errorf("the answer to %q is none of %s", q.ID, values(q.Options))
	case q.Default == "" && q.Unattended == "" && !q.Empty:
		return "", fmt.Errorf("%w: the answers say nothing of %q", ErrUnanswered, q.ID)
	}
	return cmp.Or(q.Unattended, q.Default), nil
}

func values(options []Option) string {
	var out []string
	for _, o := range options {
		out = append(out, o.Value)
	}
	return strings.Join(out, ", ")
}

// ReadAnswers reads lines of the form "id: answer", where id is one of ids.
func ReadAnswers(r io.Reader, ids []string) (map[string]string, error) {
	out := map[string]string{}
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, answer, ok := strings.Cut(line, ":")
		id = strings.TrimSpace(id)
		if !ok || !slices.Contains(ids, id) {
			return nil, fmt.Errorf("line %d of the answers is no answer: write %q, with one of %s before the colon", n,
				"question: answer", strings.Join(ids, ", "))
		}
		answer = strings.TrimSpace(answer)
		if unquoted, err := strconv.Unquote(answer); err == nil {
			answer = unquoted
		}
		out[id] = answer
	}
	return out, s.Err()
}

// Counted counts the answers that an Asker gives.
type Counted struct {
	Asker
	N int
}

// Ask asks the question and counts it.
func (c *Counted) Ask(ctx context.Context, q Question) (string, error) {
	answer, err := c.Asker.Ask(ctx, q)
	if err == nil {
		c.N++
	}
	return answer, err
}

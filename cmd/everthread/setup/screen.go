package setup

import (
	"context"
	"errors"
	"io"

	"charm.land/huh/v2"
)

// Screen asks on a terminal, with lists to move in.
type Screen struct {
	In       io.Reader
	Out      io.Writer
	Language string
}

// listHeight is how many lines a list takes at most.
const listHeight = 14

// anything is the option of a list that leads to a line to type.
const anything = "\x00anything"

// Ask shows one question until it is answered.
func (s *Screen) Ask(ctx context.Context, q Question) (string, error) {
	if len(q.Options) == 0 {
		return s.text(ctx, q)
	}
	answer := q.Default
	var options []huh.Option[string]
	for _, o := range q.Options {
		options = append(options, huh.NewOption(o.Label, o.Value))
	}
	if q.Free && q.ID == "model" {
		options = append(options, huh.NewOption(wordsOf(s.Language).otherName, anything))
	}
	list := huh.NewSelect[string]().Title(q.Title).Description(q.Help).Options(options...).Value(&answer)
	if len(options) > listHeight {
		list = list.Height(listHeight)
	}
	if err := s.show(ctx, list); err != nil || answer != anything {
		return answer, err
	}
	return s.text(ctx, Question{Title: q.Title})
}

// text asks for a line.
func (s *Screen) text(ctx context.Context, q Question) (string, error) {
	answer := q.Default
	words := wordsOf(s.Language)
	field := huh.NewInput().Title(q.Title).Description(q.Help).Value(&answer).Validate(func(text string) error {
		if _, ok := q.choose(text); !ok {
			return errors.New(words.noAnswer)
		}
		return nil
	})
	if q.Secret {
		field = field.EchoMode(huh.EchoModePassword)
	}
	err := s.show(ctx, field)
	answer, _ = q.choose(answer)
	return answer, err
}

func (s *Screen) show(ctx context.Context, f huh.Field) error {
	err := huh.NewForm(huh.NewGroup(f)).WithInput(s.In).WithOutput(s.Out).WithShowHelp(true).RunWithContext(ctx)
	if errors.Is(err, huh.ErrUserAborted) {
		return context.Canceled
	}
	return err
}

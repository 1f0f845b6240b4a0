package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
)

type usersAgentCmd struct {
	Add    agentAddCmd    `cmd:"" help:"Add the key of a user's WhatsApp personal agent, as the agent's chat info shows it."`
	List   agentListCmd   `cmd:"" help:"List personal agents."`
	Remove agentRemoveCmd `cmd:"" help:"Remove a personal agent; the conversation stays."`
}

type agentAddCmd struct {
	User core.UserID `arg:"" help:"Id of the user, as shown by users list."`
	Name string      `help:"Name in lists." default:"WhatsApp agent"`
	Key  string      `name:"key-file" help:"File that holds the key; default: a prompt, or standard input." type:"existingfile"`
}

// Run stores a key, encrypted.
func (a agentAddCmd) Run(ctx context.Context, d *opened) error {
	key, err := a.read(d)
	if err != nil {
		return err
	}
	k, err := engine.AddAgentKey(ctx, d.cfg, d.store, core.AgentKey{User: a.User, Name: a.Name, CreatedAt: clock()()}, key)
	if err = missing(err, fmt.Errorf("there is no user %d; see `everthread users list`", a.User)); err != nil {
		return err
	}
	return d.said(agentObject(k), d.words().AgentAdded, k.ID, k.User)
}

// read returns the key, from a file, the terminal or standard input.
func (a agentAddCmd) read(d *opened) (string, error) {
	var text []byte
	var err error
	switch fd := int(os.Stdin.Fd()); {
	case a.Key != "":
		text, err = os.ReadFile(a.Key)
	case term.IsTerminal(fd):
		fmt.Fprint(os.Stderr, d.words().AgentAsk)
		text, err = term.ReadPassword(fd)
		fmt.Fprintln(os.Stderr)
	default:
		if text, err = bufio.NewReader(d.in).ReadBytes('\n'); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsAny(key, " \n\t") {
		return "", errUsage{errors.New("this is no key: it is one word, shown in the agent's chat info under API key")}
	}
	return key, nil
}

// agentObject is an agent in JSON, without its key.
func agentObject(k core.AgentKey) object {
	return object{"id", k.ID, "user_id", k.User, "name", k.Name, "created_at", k.CreatedAt}
}

type agentListCmd struct{}

func (agentListCmd) Run(ctx context.Context, d *opened) error {
	keys, err := d.store.AgentKeys(ctx)
	if err != nil {
		return err
	}
	return table(d.console, keys, d.words().AgentsHeader, d.words().AgentsNone, func(k core.AgentKey) (any, []any) {
		return agentObject(k), []any{k.ID, k.User, short(k.Name, 30), k.CreatedAt}
	})
}

type agentRemoveCmd struct {
	User core.UserID `arg:"" help:"Id of the user."`
	ID   int64       `arg:"" help:"Id of the agent, as shown by users agent list."`
}

func (a agentRemoveCmd) Run(ctx context.Context, d *opened) error {
	err := d.store.RemoveAgentKey(ctx, a.User, a.ID)
	err = missing(err, fmt.Errorf("user %d has no agent %d; see `everthread users agent list`", a.User, a.ID))
	if err != nil {
		return err
	}
	return d.said(object{"removed", a.ID}, d.words().AgentGone, a.ID)
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
)

type usersAgentCmd struct {
	Add    agentAddCmd    `cmd:"" help:"Add the key of somebody's WhatsApp personal agent, which they find in the agent's chat info."`
	List   agentListCmd   `cmd:"" help:"List personal agents."`
	Remove agentRemoveCmd `cmd:"" help:"Remove a personal agent; the conversation stays."`
}

type agentAddCmd struct {
	User core.UserID `arg:"" help:"The user whose agent it is; see users list."`
	Name string      `help:"What to call it in lists." default:"WhatsApp agent"`
	Key  string      `name:"key-file" help:"A file that holds the key; without it the key is asked for, or read from standard input." type:"existingfile"`
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
	return d.said(viewAgent(k), d.words().AgentAdded, k.ID, k.User)
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
		var line string
		line, err = bufio.NewReader(d.in).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		text = []byte(line)
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

// agentView is a personal agent as commands show it: never with its key.
type agentView struct {
	ID      int64       `json:"id"`
	User    core.UserID `json:"user_id"`
	Name    string      `json:"name"`
	Created time.Time   `json:"created_at"`
}

func viewAgent(k core.AgentKey) agentView { return agentView{k.ID, k.User, k.Name, k.CreatedAt} }

type agentListCmd struct{}

// Run lists the agents of all users.
func (agentListCmd) Run(ctx context.Context, d *opened) error {
	keys, err := d.store.AgentKeys(ctx)
	if err != nil {
		return err
	}
	return table(d.console, views(keys, viewAgent), d.words().AgentsHeader, d.words().AgentsNone,
		func(v agentView) []any { return []any{v.ID, v.User, short(v.Name, 30), v.Created} })
}

type agentRemoveCmd struct {
	User core.UserID `arg:"" help:"The user whose agent it is."`
	ID   int64       `arg:"" help:"Its number in users agent list."`
}

// Run removes a key.
func (a agentRemoveCmd) Run(ctx context.Context, d *opened) error {
	err := d.store.RemoveAgentKey(ctx, a.User, a.ID)
	err = missing(err, fmt.Errorf("user %d has no agent %d; see `everthread users agent list`", a.User, a.ID))
	if err != nil {
		return err
	}
	return d.said(map[string]any{"removed": a.ID}, d.words().AgentGone, a.ID)
}

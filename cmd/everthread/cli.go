package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/datadir"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust"
)

type cli struct {
	Config string `placeholder:"FILE" help:"Configuration file (or EVERTHREAD_CONFIG); default: everthread.yaml, if it exists."`
	JSON   bool   `name:"json" help:"Write JSON; errors as {\"error\": …} on standard error."`

	ShowVersion kong.VersionFlag `name:"version" help:"Show the version."`

	Init       initCmd       `cmd:"" help:"Create a configuration with a wizard, and connect the first app."`
	Serve      serveCmd      `cmd:"" default:"1" help:"Run the gateway (the default command)."`
	Chat       chatCmd       `cmd:"" help:"Talk in the terminal."`
	Doctor     doctorCmd     `cmd:"" help:"Check configuration, data and services, and say what to do."`
	Users      usersCmd      `cmd:"" help:"Manage users."`
	Pair       pairCmd       `cmd:"" help:"Approve or deny pairing requests."`
	Groups     groupsCmd     `cmd:"" help:"List, approve and deny group chats."`
	Apikey     apikeyCmd     `cmd:"" name:"apikey" help:"Manage API keys of programs."`
	MCP        mcpCmd        `cmd:"" name:"mcp" help:"Serve the Model Context Protocol on standard input and output."`
	Audit      auditCmd      `cmd:"" help:"List changes to accounts, approvals, and effects outside."`
	Days       daysCmd       `cmd:"" help:"List and show days of the conversation, and summarize them."`
	Search     searchCmd     `cmd:"" help:"Search the whole conversation."`
	Forget     forgetCmd     `cmd:"" help:"Remove messages for good, and verify it."`
	Import     importCmd     `cmd:"" help:"Import a conversation from another service, or an export of Everthread."`
	Export     exportCmd     `cmd:"" help:"Export everything of a user into one file."`
	Backup     backupCmd     `cmd:"" help:"Back up everything into one file, while the gateway runs; list and try backups."`
	Restore    restoreCmd    `cmd:"" help:"Restore a backup."`
	Secrets    secretsCmd    `cmd:"" help:"Change the key that stored keys are encrypted with."`
	Embeddings embeddingsCmd `cmd:"" help:"Count or rebuild the vectors for search by meaning."`
	Turns      turnsCmd      `cmd:"" help:"List turns, and show what the model saw."`
	Deliveries deliveriesCmd `cmd:"" help:"List and retry deliveries."`
	Jobs       jobsCmd       `cmd:"" help:"List and retry failed jobs."`
	Migrate    migrateCmd    `cmd:"" help:"Migrate the database, or show its version."`
	Conf       configCmd     `cmd:"" name:"config" help:"Check the configuration, or write the example."`
	Completion completionCmd `cmd:"" help:"Write the completion script of a shell."`
	Version    versionCmd    `cmd:"" help:"Show the version."`
}

// console is the environment of a command. out and err are trust.Screens.
type console struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	file     string // --config
	json     bool
	atEnd    []func()
	// interrupt ends the context of signals, as Ctrl-C does.
	interrupt func()
}

// errUsage marks a wrong use of a command: exit code 2.
type errUsage struct{ error }

// exited ends the parsing after kong printed the help.
type exited int

// run runs the command line and returns the exit code: 0, 1, or 2 for a wrong use.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) (code int) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exited:
			code = int(e)
		default:
			panic(e)
		}
	}()
	con := &console{in: stdin, out: &trust.Screen{W: stdout}, err: &trust.Screen{W: stderr}, environ: environ}
	c, parser := newParser(con)
	parsed, err := parser.Parse(args)
	con.file, con.json = c.Config, c.JSON || err != nil && slices.Contains(args, "--json")
	if err != nil {
		con.complain(errUsage{fmt.Errorf("%w (`everthread --help` lists commands and flags)", err)})
		return 2
	}
	defer con.end()
	err = errors.Join(parsed.BindSingletonProvider(con.signals), parsed.BindSingletonProvider(con.config),
		parsed.BindSingletonProvider(con.open))
	if err == nil {
		err = parsed.Run(con)
	}
	if err == nil {
		return 0
	}
	con.complain(err)
	return exitCode(err)
}

// newParser returns the parser of the command line, and what it fills.
func newParser(con *console) (*cli, *kong.Kong) {
	c := &cli{}
	parser := kong.Must(c, kong.Name("everthread"), kong.Vars{"version": version}, kong.Writers(con.out, con.err),
		kong.Exit(func(n int) { panic(exited(n)) }), kong.Description(
			"One conversation with an assistant, across all your messaging apps."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	addExamples(parser.Model.Node)
	return c, parser
}

func exitCode(err error) int {
	if _, ok := errors.AsType[errUsage](err); ok {
		return 2
	}
	return 1
}

// errSilent ends a command with exit code 1 after it reported the problem itself.
var errSilent = errors.New("reported already")

// complain writes an error, line by line or as one JSON object.
func (c *console) complain(err error) {
	if errors.Is(err, errSilent) {
		return
	}
	if c.json {
		kind, code := "failed", exitCode(err)
		if code == 2 {
			kind = "usage"
		}
		f := object{"message", strings.TrimSpace(err.Error()), "kind", kind, "exit_code", code}
		_ = encode(c.err, object{"error", f}) // the reader may be gone
		return
	}
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintln(c.err, "everthread: "+line)
	}
}

// signals provides the context of commands: it ends with the first signal to stop; a second
// one ends the process immediately.
func (c *console) signals() (context.Context, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	c.atEnd, c.interrupt = append(c.atEnd, stop), stop
	return core.WithActor(ctx, core.Actor{Via: core.ViaOperator, At: clock()()}), nil
}

// end closes what a command opened, in reverse order.
func (c *console) end() {
	for _, f := range slices.Backward(c.atEnd) {
		f()
	}
}

// config loads and validates the configuration of a command.
func (c *console) config() (configs.Config, error) {
	cfg, err := configs.Load(c.configFile(), c.environ, sections()...)
	if err != nil {
		return cfg, err
	}
	if err := cfg.Validate(); err != nil {
		return cfg, err
	}
	c.atEnd = append(c.atEnd, func() {
		if err := datadir.HandOver(cfg.DataDir); err != nil {
			c.complain(fmt.Errorf("files in %s belong to root now: %w", cfg.DataDir, err))
		}
	})
	_, err = engine.NewAnalyzer(cfg)
	_, wrong := newElsewhere(cfg)
	return cfg, errors.Join(err, wrong)
}

// configFile returns the file named by --config or EVERTHREAD_CONFIG.
func (c *console) configFile() string { return cmp.Or(c.file, c.variable("EVERTHREAD_CONFIG")) }

func (c *console) variable(name string) string {
	for _, e := range c.environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

func (c *console) language() string { return i18n.Locale(c.variable) }

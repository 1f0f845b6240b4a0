package main

import (
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
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/words"
)

// cli is the command line.
type cli struct {
	Config string `placeholder:"FILE" help:"Configuration file (or EVERTHREAD_CONFIG); everthread.yaml if it is there."`
	JSON   bool   `name:"json" help:"Write JSON; what went wrong as {\"error\": …} on standard error."`

	Init       initCmd       `cmd:"" help:"Ask what it takes to begin, and write the configuration."`
	Serve      serveCmd      `cmd:"" default:"1" help:"Run everything. This is what happens without a command."`
	Chat       chatCmd       `cmd:"" help:"Talk in the terminal."`
	Doctor     doctorCmd     `cmd:"" help:"Check everything, and say what to do."`
	Users      usersCmd      `cmd:"" help:"The people."`
	Pair       pairCmd       `cmd:"" help:"Strangers who ask to be let in."`
	Apikey     apikeyCmd     `cmd:"" name:"apikey" help:"Keys for programs."`
	MCP        mcpCmd        `cmd:"" name:"mcp" help:"Serve the Model Context Protocol on standard input and output."`
	Audit      auditCmd      `cmd:"" help:"What was done with accounts, who said yes to what, what had effects outside."`
	Days       daysCmd       `cmd:"" help:"The days of the conversation and their summaries."`
	Search     searchCmd     `cmd:"" help:"Search everything that was ever said."`
	Forget     forgetCmd     `cmd:"" help:"Remove messages for good, and prove it."`
	Eval       evalCmd       `cmd:"" help:"Measure recall and continuity."`
	Import     importCmd     `cmd:"" help:"Bring in what was said elsewhere: an export of another service, or of Everthread."`
	Export     exportCmd     `cmd:"" help:"Write everything of a user into one file."`
	Backup     backupCmd     `cmd:"" help:"Write everything into one file, while the gateway works."`
	Restore    restoreCmd    `cmd:"" help:"Put a backup back."`
	Secrets    secretsCmd    `cmd:"" help:"The key that stored keys are encrypted with."`
	Embeddings embeddingsCmd `cmd:"" help:"Vectors, for search by meaning."`
	Turns      turnsCmd      `cmd:"" help:"What the model was shown."`
	Deliveries deliveriesCmd `cmd:"" help:"What was to be sent."`
	Jobs       jobsCmd       `cmd:"" help:"Work that gave up."`
	Migrate    migrateCmd    `cmd:"" help:"The database's schema."`
	Conf       configCmd     `cmd:"" name:"config" help:"The configuration."`
	Completion completionCmd `cmd:"" help:"Complete commands and flags in a shell."`
	Version    versionCmd    `cmd:"" help:"Say which version this is."`
}

// console is what a command talks to: out and err are trust.Screens.
type console struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	file     string // --config
	json     bool
	atEnd    []func()
	// interrupt ends what signals returned, as Ctrl-C does.
	interrupt func()
}

// errUsage marks errors of how a command was called: exit code 2.
type errUsage struct{ error }

// exited is how kong ends the parsing, after it printed the help.
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
		con.complain(errUsage{fmt.Errorf("%w (`everthread --help` lists what there is)", err)})
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

// newParser is the parser of the command line, and what it fills.
func newParser(con *console) (*cli, *kong.Kong) {
	c := &cli{}
	parser := kong.Must(c, kong.Name("everthread"), kong.Writers(con.out, con.err),
		kong.Exit(func(n int) { panic(exited(n)) }), kong.Description(
			"One conversation with an assistant, across all your messaging apps."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}), kong.Vars{"whose": "Whose"})
	addExamples(parser.Model.Node)
	return c, parser
}

// exitCode is 2 for a wrong use, else 1.
func exitCode(err error) int {
	var usage errUsage
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// errSilent ends a command with exit code 1 after it said everything itself.
var errSilent = errors.New("said already")

// failure is an error as programs read it.
type failure struct {
	Message string `json:"message"`
	Kind    string `json:"kind"` // usage: it was called wrongly; failed
	Code    int    `json:"exit_code"`
}

// complain writes an error, each line for itself, or as one JSON object.
func (c *console) complain(err error) {
	if errors.Is(err, errSilent) {
		return
	}
	if c.json {
		f := failure{strings.TrimSpace(err.Error()), "failed", exitCode(err)}
		if f.Code == 2 {
			f.Kind = "usage"
		}
		_ = encode(c.err, map[string]failure{"error": f}) // the reader may be gone
		return
	}
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		fmt.Fprintln(c.err, "everthread: "+line)
	}
}

// signals is the context of commands that ask for one: it ends with the first
// signal to stop; a second one ends the process at once.
func (c *console) signals() (context.Context, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	c.atEnd, c.interrupt = append(c.atEnd, stop), stop
	return core.WithActor(ctx, core.Actor{Via: core.ViaOperator, At: clock()()}), nil
}

// end undoes what a command opened, in reverse.
func (c *console) end() {
	for _, f := range slices.Backward(c.atEnd) {
		f()
	}
}

// config loads the configuration and checks it, for commands that ask for one.
func (c *console) config() (configs.Config, error) {
	cfg, err := configs.Load(c.configFile(), c.environ, sections()...)
	if err != nil {
		return cfg, err
	}
	if err := cfg.Validate(); err != nil {
		return cfg, err
	}
	c.atEnd = append(c.atEnd, func() {
		if err := folder.HandOver(cfg.DataDir); err != nil {
			c.complain(fmt.Errorf("files in %s belong to root now: %w", cfg.DataDir, err))
		}
	})
	_, err = engine.NewAnalyzer(cfg)
	return cfg, err
}

// configFile is the file that was named, by --config or EVERTHREAD_CONFIG.
func (c *console) configFile() string {
	if c.file != "" {
		return c.file
	}
	return c.variable("EVERTHREAD_CONFIG")
}

// variable is a variable of the environment.
func (c *console) variable(name string) string {
	for _, e := range c.environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// language is that of the caller's environment.
func (c *console) language() string { return words.Locale(c.variable) }

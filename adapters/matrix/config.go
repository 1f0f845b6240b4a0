package matrix

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.mau.fi/util/dbutil"
	"maunium.net/go/mautrix/crypto/sql_store_upgrade"
	"maunium.net/go/mautrix/sqlstatestore"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// Config is channels.matrix: an account on a homeserver. Each of Bridges is NETWORK=@BOT:SERVER.
type Config struct {
	Homeserver  string         `yaml:"homeserver"`
	UserID      string         `yaml:"user_id"`
	AccessToken section.Secret `yaml:"access_token"`
	Password    section.Secret `yaml:"password"`
	RecoveryKey section.Secret `yaml:"recovery_key"`
	Autojoin    []string       `yaml:"autojoin"`
	Bridges     []string       `yaml:"bridges"`
	RatePerChat float64        `yaml:"rate_per_chat"`
}

var (
	_ channel.Config  = (*Config)(nil)
	_ channel.Tabler  = (*Config)(nil)
	_ section.Carrier = (*Config)(nil)
)

func Default() *Config { return &Config{} }

//go:embed config.yaml
var example string

func (*Config) Key() string { return Name }

func (*Config) Example() string { return example }

// On reports whether there is an account.
func (c *Config) On() bool { return c.UserID != "" }

var bridgeForm = regexp.MustCompile(`^[a-z0-9_]+=@[^:\s]+:[^\s]+$`)

// Validate checks the values. If any required value is set, all must be.
func (c *Config) Validate(p *section.Problems, _ string) {
	section.AtLeast(p, "channels.matrix.rate_per_chat", c.RatePerChat, 0)
	if c.Homeserver == "" && c.UserID == "" && c.AccessToken == "" && c.Password == "" {
		return
	}
	p.Web("channels.matrix.homeserver", c.Homeserver)
	if !mxid.MatchString(c.UserID) {
		p.Add("channels.matrix.user_id is %q; write it like @assistant:example.org", c.UserID)
	}
	if c.AccessToken == "" && c.Password == "" {
		p.Add("channels.matrix.access_token is empty; set it, or channels.matrix.password")
	}
	for _, a := range c.Autojoin {
		if !mxid.MatchString(a) && !strings.HasPrefix(a, "*:") {
			p.Add("channels.matrix.autojoin: %q is neither a user such as @ada:example.org nor a server such as *:example.org",
				a)
		}
	}
	for _, b := range c.Bridges {
		if !bridgeForm.MatchString(b) {
			p.Add("channels.matrix.bridges: %q is not of the form network=@bot:server, such as signal=@signalbot:example.org", b)
		}
	}
}

// Listed returns a Matrix id in lower case, as servers make them; see section.Lister.
func (*Config) Listed(who string) (string, error) {
	who = strings.ToLower(strings.TrimSpace(who))
	if name, server, ok := strings.Cut(who, ":"); !ok || len(name) < 2 || name[0] != '@' || server == "" ||
		strings.ContainsAny(who, " \t") {
		return "", errors.New("write the whole id, like matrix:@ada:example.org")
	}
	return who, nil
}

func (c *Config) Open(ctx context.Context, h channel.Host) (core.Channel, error) {
	if h.Store == nil {
		return nil, channel.ErrNoStore
	}
	pickle, err := h.Store.Secret(ctx, c.UserID, "pickle_key", 32)
	if err != nil {
		return nil, err
	}
	db, dialect, err := h.Store.Database()
	if err != nil {
		return nil, err
	}
	return New(Options{Config: *c, Keeper: h.Store.Keeper(c.UserID), CryptoDB: db, Dialect: dialect, PickleKey: pickle,
		HTTP: h.Client(c.Homeserver), Log: h.Log, Now: h.Now, Rand: h.Rand})
}

// bridges parses NETWORK=@BOT:SERVER. Each network and bot is allowed once.
func (c *Config) bridges() ([]Bridge, error) {
	var out []Bridge
	taken := []string{Name, c.UserID}
	for _, one := range c.Bridges {
		network, bot, _ := strings.Cut(one, "=")
		if !bridgeForm.MatchString(one) {
			return nil, fmt.Errorf("bridge %s: write it like signal=@signalbot:example.org", one)
		}
		if slices.Contains(taken, network) || slices.Contains(taken, bot) {
			return nil, fmt.Errorf("bridge %s: the network or the bot is listed twice", one)
		}
		taken = append(taken, network, bot)
		out = append(out, Bridge{Network: network, Bot: bot, Prefix: "!" + network, Ghosts: network + "_"})
	}
	return out, nil
}

// Carried returns the networks of the bridges.
func (c *Config) Carried() []string {
	bridges, err := c.bridges()
	if err != nil {
		return nil // Validate says so
	}
	var out []string
	for _, b := range bridges {
		out = append(out, b.Network)
	}
	return out
}

// MakeTables creates the tables of the channel's library in their present form: the
// states of rooms and the keys of encrypted ones.
func (*Config) MakeTables(ctx context.Context, to *sql.DB, dialect string) error {
	db, err := dbutil.NewWithDB(to, dialect)
	if err != nil {
		return err
	}
	db.Log = dbutil.NoopLogger
	keys := db.Child(sql_store_upgrade.VersionTableName, sql_store_upgrade.Table, dbutil.NoopLogger)
	return errors.Join(versions(ctx, db), sqlstatestore.NewSQLStateStore(db, dbutil.NoopLogger, false).Upgrade(ctx),
		keys.Upgrade(ctx))
}

// versions creates the tables that record the versions of mautrix' stores. mautrix itself looks for them in all schemas
// of a database, finds those of others, and then does not create its own.
func versions(ctx context.Context, db *dbutil.Database) error {
	for _, table := range []string{sqlstatestore.VersionTableName, sql_store_upgrade.VersionTableName} {
		if _, err := db.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (version INTEGER, compat INTEGER)"); err != nil {
			return fmt.Errorf("create %s: %w", table, err)
		}
	}
	return nil
}

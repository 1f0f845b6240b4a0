package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/server"
)

type doctorCmd struct {
	Health bool `help:"Only ask the server that runs here whether it is alive; the exit code is the answer."`
}

// finding is the result of one check.
type finding = core.Finding

// checkTimeout bounds each check.
const checkTimeout = 20 * time.Second

// Run checks everything it can and fails if something is wrong.
func (d doctorCmd) Run(ctx context.Context, c *console) error {
	if d.Health {
		return health(ctx, c)
	}
	findings := examine(ctx, c)
	for i, f := range findings { // what a service says may repeat a key that stands where none belongs
		findings[i].Detail = configs.Redact(f.Detail)
	}
	err := c.show(findings, func(w io.Writer) {
		for _, f := range findings {
			mark := "ok     "
			if !f.OK {
				mark = "PROBLEM"
			}
			fmt.Fprintf(w, "%s  %-14s %s\n", mark, f.Check, f.Detail)
		}
	})
	for _, f := range findings {
		if !f.OK {
			return errSilent
		}
	}
	return err
}

// health asks the server of this configuration whether it is alive.
func health(ctx context.Context, c *console) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(cfg.HTTP.Listen)
	if err != nil {
		return err
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := ask(req)
	if err != nil {
		return fmt.Errorf("no server answers on %s: %w", cfg.HTTP.Listen, server.Cause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server on %s answers %s", cfg.HTTP.Listen, resp.Status)
	}
	return nil
}

// examine makes every check. Without a configuration there is nothing else to check.
func examine(ctx context.Context, c *console) []finding {
	cfg, err := c.config()
	if err != nil {
		return []finding{verdict("configuration", err, "")}
	}
	return examineConfig(ctx, cfg)
}

// examineConfig makes every check of a configuration whose keys are right.
func examineConfig(ctx context.Context, cfg configs.Config) []finding {
	out := []finding{fine("configuration", "every key is right"), checkData(cfg), checkStore(ctx, cfg)}
	out = append(out, checkBackups(ctx, cfg, clock()())...)
	out = append(out, checkTokens(ctx, cfg)...)
	out = append(out, checkListening(ctx, cfg)...)
	out = append(out, checkPublic(ctx, cfg)...)
	out = append(out, checkModels(ctx, cfg)...)
	out = append(out, checkEmbeddings(ctx, cfg), checkVectors(ctx, cfg), checkTranscription(ctx, cfg))
	out = append(out, checkServers(ctx, cfg)...)
	out = append(out, checkChannels(ctx, cfg)...)
	if !slices.ContainsFunc(out, func(f finding) bool { return f.Check == clockCheck }) { // a channel compared it
		out = append(out, checkClock(ctx, cfg))
	}
	return out
}

// verdict is a finding from an error, or ok.
func verdict(check string, err error, ok string) finding {
	if err != nil {
		return problem(check, err.Error())
	}
	return fine(check, ok)
}

func fine(check, detail string) finding { return finding{Check: check, OK: true, Detail: detail} }

func problem(check, detail string) finding { return finding{Check: check, Detail: detail} }

func checkData(c configs.Config) finding {
	err := folder.Make(c.DataDir)
	if err != nil {
		err = fmt.Errorf("%s cannot be written (%w): make it writable for this user, or set data_dir",
			c.DataDir, folder.Cause(err))
	}
	return verdict("data folder", err, c.DataDir+" can be written")
}

func checkStore(ctx context.Context, c configs.Config) finding {
	if c.DatabaseURL == "" && !hasDatabase(c) {
		return fine("database", "none yet; the first start makes it")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, err := openStore(ctx, c)
	if err != nil {
		return verdict("database", explainStore(c, err), "")
	}
	defer st.Close()
	if err := st.Ping(ctx); err != nil {
		return verdict("database", explainStore(c, err), "")
	}
	s, err := st.Schema(ctx)
	switch {
	case err != nil:
		return verdict("database", explainStore(c, err), "")
	case s.Current > s.Target:
		return verdict("database", core.ErrNewerSchema, "")
	case s.Current < s.Target:
		err = fmt.Errorf("its schema has version %d, this program wants %d: run `everthread migrate up`", s.Current, s.Target)
	}
	return verdict("database", err, fmt.Sprintf("%s answers, schema version %d", databaseName(c), s.Current))
}

// checkTokens says how much of the day all users have used, where that is limited.
func checkTokens(ctx context.Context, c configs.Config) []finding {
	limit := engine.AllTokensPerDay(c)
	if limit == 0 || c.DatabaseURL == "" && !hasDatabase(c) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, err := openStore(ctx, c)
	if err != nil {
		return nil // the database says so
	}
	defer st.Close()
	now := clock()()
	used, _, err := st.SpentAll(ctx, now.UTC().Format(time.DateOnly), now)
	if err != nil {
		return nil // its schema is told already
	}
	if used*10 >= limit*9 {
		err = fmt.Errorf(
			"%d of %d tokens of today are used: at the limit nobody is answered until 00:00 UTC; raise limits.all_tokens_per_day", used, limit)
	}
	return []finding{verdict("tokens of the day", err,
		fmt.Sprintf("%d of %d are used today by all people together", used, limit))}
}

// checkModels makes one tiny call of each model.
func checkModels(ctx context.Context, c configs.Config) []finding {
	out := []finding{checkModel(ctx, "llm", c.LLM)}
	for i, f := range c.LLM.Fallbacks {
		out = append(out, checkModel(ctx, fmt.Sprintf("llm fallback %d", i+1), f))
	}
	if c.SummaryLLM.Provider != "" {
		out = append(out, checkModel(ctx, "summary_llm", c.SummaryLLM))
	}
	return out
}

func checkModel(ctx context.Context, name string, c configs.LLM) finding {
	m, err := engine.Model(c, tokens.New(), nil)
	if err != nil {
		return verdict(name, err, "")
	}
	ctx, cancel := context.WithTimeout(ctx, max(checkTimeout, min(c.Timeout, time.Minute)))
	defer cancel()
	start := time.Now()
	req := core.ModelRequest{Messages: []core.ModelMessage{{Role: core.RoleUser, Content: "Answer with the word ok."}},
		MaxTokens: 16}
	finished := false
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return verdict(name, err, "")
		}
		finished = finished || d.Finish != ""
	}
	if !finished {
		err = errors.New(
			"the answer was cut off; check base_url, and whether something between here and there buffers or ends streams")
	}
	if c.Provider == "demo" {
		return verdict(name, err,
			"the demo model answers: it understands nothing; set llm.provider, llm.model and llm.api_key for a real one")
	}
	return verdict(name, err, fmt.Sprintf("%s %s answers (%d ms)", c.Provider, c.Model, time.Since(start).Milliseconds()))
}

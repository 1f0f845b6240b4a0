package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/term"

	"github.com/everthread/everthread/cmd/everthread/setup"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/llm/tokens"
	"github.com/everthread/everthread/core/server"
)

// trials finds out whether answers are right. given is what the environment says.
type trials struct{ given configs.Config }

// Models lists what a server offers; nil: it does not tell.
func (trials) Models(ctx context.Context, m setup.Model) ([]string, error) {
	base := baseOf(m)
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil)
	if err != nil {
		return nil, &setup.Fault{Wrong: setup.WrongAddress, Err: &core.ModelError{Kind: core.ModelDown,
			Err: errors.New("the address is wrong")}}
	}
	switch {
	case m.Provider == "anthropic":
		req.Header.Set("x-api-key", m.Key)
		req.Header.Set("anthropic-version", "2023-06-01")
	case m.Key != "":
		req.Header.Set("Authorization", "Bearer "+m.Key)
	}
	resp, err := ask(req)
	if err != nil {
		return nil, unreached(host(base), &core.ModelError{Kind: core.ModelDown, Err: unaddressed(err)})
	}
	defer resp.Body.Close()
	return listed(resp, host(base))
}

// baseOf is the address of a model's provider.
func baseOf(m setup.Model) string {
	if m.BaseURL != "" {
		return m.BaseURL
	}
	return map[string]string{"openai": openai.DefaultBaseURL, "anthropic": "https://api.anthropic.com/v1"}[m.Provider]
}

// listed reads a list of models.
func listed(resp *http.Response, from string) ([]string, error) {
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, &setup.Fault{Wrong: setup.WrongKey, Where: from, Detail: resp.Status,
			Err: &core.ModelError{Kind: core.ModelAuth, Err: errors.New(resp.Status)}}
	default:
		return nil, nil
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	const most = 8 << 20
	if json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(&list) != nil {
		return nil, nil // whatever it is: the model is asked next
	}
	var out []string
	for _, m := range list.Data {
		out = append(out, m.ID)
	}
	return out, nil
}

// unaddressed is an error without the address, which may hold a secret.
func unaddressed(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return server.Cause(err)
}

// unreached is the fault of somebody who does not answer.
func unreached(where string, err error) *setup.Fault {
	f := &setup.Fault{Wrong: setup.WrongUnreached, Where: where, Reason: reason(err), Err: err}
	var m *core.ModelError
	if f.Detail = unaddressed(err).Error(); errors.As(err, &m) {
		f.Detail = m.Err.Error()
	}
	return f
}

// reason is why nobody answers, a database included; empty: it cannot be told.
func reason(err error) setup.Reason {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && (pg.Code == "28P01" || pg.Code == "28000"):
		return setup.ReasonPassword
	case errors.As(err, &pg) && pg.Code == "3D000":
		return setup.ReasonNoDatabase
	}
	return setup.ReasonOf(err)
}

// Model has a model say a word.
func (t trials) Model(ctx context.Context, m setup.Model) error {
	c := t.given.LLM
	c.Provider, c.BaseURL, c.APIKey, c.Model = m.Provider, m.BaseURL, configs.Secret(m.Key), m.Name
	made, err := engine.Model(c, tokens.New(), nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(checkTimeout, min(c.Timeout, time.Minute)))
	defer cancel()
	finished := false
	for d, err := range made.Stream(ctx, core.ModelRequest{Messages: []core.ModelMessage{{Role: core.RoleUser,
		Content: "Answer with the word ok."}}, MaxTokens: 16}) {
		if err != nil {
			return modelFault(host(baseOf(m)), err)
		}
		finished = finished || d.Finish != ""
	}
	if !finished {
		return &setup.Fault{Wrong: setup.WrongModelCutOff, Where: host(baseOf(m))}
	}
	return nil
}

// ofServer is what a model server said, in an error that says what to do in English.
var ofServer = regexp.MustCompile(`\((HTTP [0-9]+)\)(: .*)?$`)

// modelFault is what is wrong with a model that did not answer.
func modelFault(where string, err error) error {
	var m *core.ModelError
	if !errors.As(err, &m) {
		if errors.Is(err, context.DeadlineExceeded) {
			return unreached(where, err)
		}
		return err
	}
	if m.Kind == core.ModelDown && (reason(err) != "" || errors.Is(err, llm.ErrStalled)) {
		return unreached(where, err)
	}
	f := &setup.Fault{Where: where, Err: m, Wrong: map[core.ModelErrorKind]setup.Wrong{
		core.ModelDown: setup.WrongModelDown, core.ModelBusy: setup.WrongModelBusy, core.ModelAuth: setup.WrongKey,
		core.ModelConfig: setup.WrongModel, core.ModelTooLong: setup.WrongModelWindow,
		core.ModelRejected: setup.WrongModelRefuses}[m.Kind]}
	if said := ofServer.FindStringSubmatch(m.Err.Error()); said != nil {
		f.Detail = said[1] + said[2]
	}
	return f
}

// Database connects.
func (t trials) Database(ctx context.Context, address string) error {
	c := t.given
	c.DatabaseURL = configs.Secret(address)
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return &setup.Fault{Wrong: setup.WrongDatabaseURL}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, err := openStore(ctx, c)
	if err == nil {
		defer st.Close()
		err = st.Ping(ctx)
	}
	if err != nil {
		return &setup.Fault{Wrong: setup.WrongDatabase, Reason: reason(err), Detail: err.Error(), Err: err}
	}
	return nil
}

// hide keeps a terminal from showing what is typed.
func hide(f *os.File) (show func()) {
	fd := int(f.Fd())
	was, err := term.GetState(fd)
	if err != nil || noEcho(fd) != nil {
		return func() {}
	}
	return func() { _ = term.Restore(fd, was) }
}

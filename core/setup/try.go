package setup

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/llm/anthropic"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/server"
	"github.com/everthread/everthread/core/trust/egress"
)

// tryTimeout bounds a trial.
const tryTimeout = 20 * time.Second

// Trier tries answers.
type Trier struct {
	Given configs.Config // what the environment says
	// Ping opens the database of a configuration, and has it answer.
	Ping func(ctx context.Context, c configs.Config) error
}

// server returns the server of a model.
func (m Model) server() llm.Server {
	return llm.Server{Provider: m.Provider, BaseURL: baseOf(m), Key: m.Key, Client: (*egress.Gate)(nil).Client}
}

// baseOf returns the address of a model's provider.
func baseOf(m Model) string {
	if m.BaseURL != "" {
		return m.BaseURL
	}
	return map[string]string{"openai": openai.DefaultBaseURL, "anthropic": anthropic.DefaultBaseURL + "/v1"}[m.Provider]
}

// Models lists what a server offers; nil: it does not say.
func (Trier) Models(ctx context.Context, m Model) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	where := host(baseOf(m))
	names, err := m.server().Models(ctx)
	var failed *core.ModelError
	switch {
	case errors.Is(err, llm.ErrAddress):
		return nil, &Fault{Wrong: WrongAddress, Err: &core.ModelError{Kind: core.ModelDown,
			Err: errors.New("the address is wrong")}}
	case errors.As(err, &failed) && failed.Kind == core.ModelAuth:
		return nil, &Fault{Wrong: WrongKey, Where: where, Detail: failed.Err.Error(), Err: failed}
	case errors.As(err, &failed):
		return nil, unreached(where, &core.ModelError{Kind: core.ModelDown, Err: server.Cause(failed.Err)})
	}
	return names, err
}

// Window returns how many tokens a model reads at a time; 0: its server does not say.
func (Trier) Window(ctx context.Context, m Model) int {
	if m.Provider != "openai" || m.BaseURL == "" {
		return 0
	}
	return m.server().Window(ctx, m.Name)
}

// unreached returns the fault of a service that does not answer.
func unreached(where string, err error) *Fault {
	f := &Fault{Wrong: WrongUnreached, Where: where, Reason: reason(err), Detail: err.Error(), Err: err}
	var m *core.ModelError
	if errors.As(err, &m) {
		f.Detail = m.Err.Error()
	}
	return f
}

// Model asks a model for a word.
func (t Trier) Model(ctx context.Context, m Model) error {
	c := t.Given.LLM
	c.Provider, c.BaseURL, c.APIKey, c.Model = m.Provider, m.BaseURL, configs.Secret(m.Key), m.Name
	err := engine.TryModel(ctx, c)
	switch {
	case errors.Is(err, engine.ErrCutOff):
		return &Fault{Wrong: WrongModelCutOff, Where: host(baseOf(m))}
	case err != nil:
		return modelFault(host(baseOf(m)), err)
	}
	return nil
}

// ofServer finds the words of a model server in an error of llm.
var ofServer = regexp.MustCompile(`\((HTTP [0-9]+)\)(: .*)?$`)

// modelFault returns the fault of a model that did not answer.
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
	f := &Fault{Where: where, Err: m, Wrong: map[core.ModelErrorKind]Wrong{
		core.ModelDown: WrongModelDown, core.ModelBusy: WrongModelBusy, core.ModelAuth: WrongKey,
		core.ModelConfig: WrongModel, core.ModelTooLong: WrongModelWindow,
		core.ModelRejected: WrongModelRefuses}[m.Kind]}
	if said := ofServer.FindStringSubmatch(m.Err.Error()); said != nil {
		f.Detail = said[1] + said[2]
	}
	return f
}

// Database connects to a database.
func (t Trier) Database(ctx context.Context, address string) error {
	c := t.Given
	c.DatabaseURL = configs.Secret(address)
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return &Fault{Wrong: WrongDatabaseURL}
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	if err := t.Ping(ctx, c); err != nil {
		return &Fault{Wrong: WrongDatabase, Reason: reason(err), Detail: err.Error(), Err: err}
	}
	return nil
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

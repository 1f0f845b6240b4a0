package setup

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/server"
	"github.com/everthread/everthread/core/trust/egress"
)

// tryTimeout bounds a trial.
const tryTimeout = 20 * time.Second

// Trier finds out whether answers are right.
type Trier struct {
	Given configs.Config // what the environment says
	// Ping opens the database of a configuration, and has it answer.
	Ping func(ctx context.Context, c configs.Config) error
}

// Models lists what a server offers; nil: it does not tell.
func (Trier) Models(ctx context.Context, m Model) ([]string, error) {
	base := baseOf(m)
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	resp, err := m.get(ctx, strings.TrimRight(base, "/")+"/models")
	switch {
	case errors.Is(err, errAddress):
		return nil, &Fault{Wrong: WrongAddress, Err: &core.ModelError{Kind: core.ModelDown,
			Err: errors.New("the address is wrong")}}
	case err != nil:
		return nil, unreached(host(base), &core.ModelError{Kind: core.ModelDown, Err: unaddressed(err)})
	}
	defer resp.Body.Close()
	return listed(resp, host(base))
}

// get asks the server of a model for an address, which is errAddress if it is none.
func (m Model) get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errAddress
	}
	switch {
	case m.Provider == "anthropic":
		req.Header.Set("x-api-key", m.Key)
		req.Header.Set("anthropic-version", "2023-06-01")
	case m.Key != "":
		req.Header.Set("Authorization", "Bearer "+m.Key)
	}
	req.Close = true
	return (*egress.Gate)(nil).Client(address).Do(req)
}

// decode reads what a server answered, as far as it is good for anything.
func decode(resp *http.Response, into any) bool {
	const most = 8 << 20
	return resp.StatusCode == http.StatusOK && json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(into) == nil
}

// baseOf is the address of a model's provider.
func baseOf(m Model) string {
	if m.BaseURL != "" {
		return m.BaseURL
	}
	return map[string]string{"openai": openai.DefaultBaseURL, "anthropic": "https://api.anthropic.com/v1"}[m.Provider]
}

// listed reads a list of models.
func listed(resp *http.Response, from string) ([]string, error) {
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return nil, &Fault{Wrong: WrongKey, Where: from, Detail: resp.Status,
			Err: &core.ModelError{Kind: core.ModelAuth, Err: errors.New(resp.Status)}}
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if !decode(resp, &list) {
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

// unreached is the fault of a service that does not answer.
func unreached(where string, err error) *Fault {
	f := &Fault{Wrong: WrongUnreached, Where: where, Reason: reason(err), Err: err}
	var m *core.ModelError
	if f.Detail = unaddressed(err).Error(); errors.As(err, &m) {
		f.Detail = m.Err.Error()
	}
	return f
}

// reason is why nobody answers, a database included; empty: it cannot be told.
func reason(err error) Reason {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && (pg.Code == "28P01" || pg.Code == "28000"):
		return ReasonPassword
	case errors.As(err, &pg) && pg.Code == "3D000":
		return ReasonNoDatabase
	}
	return ReasonOf(err)
}

// Model has a model say a word.
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
	f := &Fault{Where: where, Err: m, Wrong: map[core.ModelErrorKind]Wrong{
		core.ModelDown: WrongModelDown, core.ModelBusy: WrongModelBusy, core.ModelAuth: WrongKey,
		core.ModelConfig: WrongModel, core.ModelTooLong: WrongModelWindow,
		core.ModelRejected: WrongModelRefuses}[m.Kind]}
	if said := ofServer.FindStringSubmatch(m.Err.Error()); said != nil {
		f.Detail = said[1] + said[2]
	}
	return f
}

// Database connects.
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

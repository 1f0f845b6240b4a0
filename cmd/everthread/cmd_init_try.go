package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/everthread/everthread/cmd/everthread/setup"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/openai"
	"github.com/everthread/everthread/core/llm/tokens"
)

// trials finds out whether answers are right. given is what the environment says.
type trials struct{ given configs.Config }

// Models lists what a server offers; nil: it does not tell.
func (trials) Models(ctx context.Context, m setup.Model) ([]string, error) {
	base := m.BaseURL
	if base == "" {
		base = map[string]string{"openai": openai.DefaultBaseURL, "anthropic": "https://api.anthropic.com/v1"}[m.Provider]
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil)
	if err != nil {
		return nil, &core.ModelError{Kind: core.ModelDown, Err: errors.New("the address is wrong")}
	}
	switch {
	case m.Provider == "anthropic":
		req.Header.Set("x-api-key", m.Key)
		req.Header.Set("anthropic-version", "2023-06-01")
	case m.Key != "":
		req.Header.Set("Authorization", "Bearer "+m.Key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, &core.ModelError{Kind: core.ModelDown, Err: fmt.Errorf("%s does not answer (%w); check the address, and whether the server runs", host(base), unaddressed(err))}
	}
	defer resp.Body.Close()
	return listed(resp, host(base))
}

// listed reads a list of models.
func listed(resp *http.Response, from string) ([]string, error) {
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, &core.ModelError{Kind: core.ModelAuth, Err: fmt.Errorf("%s does not take this key (%s); copy it once more", from, resp.Status)}
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
	return cause(err)
}

// Model has a model say a word.
func (t trials) Model(ctx context.Context, m setup.Model) error {
	c := t.given.LLM
	c.Provider, c.BaseURL, c.APIKey, c.Model = m.Provider, m.BaseURL, configs.Secret(m.Key), m.Name
	made, err := model(c, tokens.New())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(checkTimeout, min(c.Timeout, time.Minute)))
	defer cancel()
	finished := false
	for d, err := range made.Stream(ctx, core.ModelRequest{Messages: []core.ModelMessage{{Role: core.RoleUser, Content: "Answer with the word ok."}}, MaxTokens: 16}) {
		if err != nil {
			return err
		}
		finished = finished || d.Finish != ""
	}
	if !finished {
		return errors.New("the answer was cut off; check the address, and whether something between here and there ends streams")
	}
	return nil
}

// Bot tells the name of the bot that a token is of.
func (t trials) Bot(ctx context.Context, token string) (string, error) {
	c := t.given
	c.Channels.Telegram.Token = configs.Secret(token)
	var me struct {
		Username string `json:"username"`
	}
	return me.Username, errors.Join(askTelegram(ctx, c, "getMe", &dates{}, &me))
}

// Database connects.
func (t trials) Database(ctx context.Context, address string) error {
	c := t.given
	c.DatabaseURL = configs.Secret(address)
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return errors.New("it is no address of a database; write it like postgres://user:password@host/database")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, err := openStore(ctx, c)
	if err != nil {
		return explainStore(c, err)
	}
	defer st.Close()
	if err := st.Ping(ctx); err != nil {
		return explainStore(c, err)
	}
	return nil
}

// WhatsApp asks Meta for the number.
func (t trials) WhatsApp(ctx context.Context, w setup.WhatsApp) error {
	c := t.given.Channels.WhatsApp
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.APIURL, "/")+"/"+c.APIVersion+"/"+url.PathEscape(w.Number)+"?fields=id", nil)
	if err != nil {
		return errors.New("the id of the number is wrong")
	}
	req.Header.Set("Authorization", "Bearer "+w.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s is not reached (%w); check the network", host(c.APIURL), unaddressed(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the number is not found (%s); check the id of the number, and that the token may use it", resp.Status)
	}
	return nil
}

// Matrix asks whether the homeserver lets passwords in; signing in would make a
// device that nobody uses.
func (trials) Matrix(ctx context.Context, m setup.Matrix) error {
	if !strings.HasPrefix(m.User, "@") || !strings.Contains(m.User, ":") {
		return fmt.Errorf("%s is no account; write it like @assistant:example.org", m.User)
	}
	a, err := get(ctx, strings.TrimRight(m.Homeserver, "/")+"/_matrix/client/v3/login")
	if err != nil {
		return fmt.Errorf("%s is not reached (%w); check the address of the homeserver", m.Homeserver, cause(err))
	}
	if a.resp.StatusCode != http.StatusOK || !strings.Contains(string(a.body), "m.login.password") {
		return fmt.Errorf("%s is no homeserver that lets in with a password (%s)", m.Homeserver, a.resp.Status)
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

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/engine"
	ports "github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
)

// newStored returns the settings of a new store.
func newStored(t *testing.T, environ ...string) *storedSettings {
	t.Helper()
	dir := t.TempDir()
	c, err := configs.Load("", append(environ, "EVERTHREAD_DATA_DIR="+dir), sections()...)
	if err != nil {
		t.Fatal(err)
	}
	c.SecretKey = "secret"
	return (&console{environ: environ}).newSettings(sqlitetest.Open(t, dir), c, nil)
}

// owner makes the owner.
func owner(t *testing.T, s *storedSettings) core.UserID {
	t.Helper()
	u, err := s.store.AddUser(t.Context(), core.User{Name: "Ada", Role: core.RoleOwner})
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

func TestStored_savesWhatIsRightAndBeginsAnew(t *testing.T) {
	t.Parallel()
	s := newStored(t, "EVERTHREAD_LLM_MODEL=fixed")
	user := owner(t, s)
	if c, err := s.begin(t.Context()); err != nil || c.LLM.Provider != "demo" {
		t.Fatalf("%+v, %v", c.LLM, err)
	}
	for key, text := range map[string]string{"llm.provider": "openay", "web.search": "somewhere", "turn.debounce": "soon",
		"data_dir": "/elsewhere", "agent.mcp_servers": "[{name: a, command: sh}]"} {
		if err := s.Save(t.Context(), user, map[string]string{key: text}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %s was saved: %v", key, text, err)
		}
	}
	select {
	case <-s.saved:
		t.Error("it begins anew although nothing was saved")
	default:
	}
	ctx := core.WithActor(t.Context(), core.Actor{Via: core.ViaSession, At: time.Now()})
	err := s.Save(ctx, user, map[string]string{"llm.provider": "openai", "llm.api_key": "hunter2", "llm.model": "typed"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.watch(t.Context()); !errors.Is(err, errChanged) {
		t.Errorf("got %v", err)
	}
	rows, err := s.store.Audit(t.Context(), ports.AuditQuery{User: user, Limit: 10})
	var keys []string
	for _, r := range rows {
		if r.What == audit.Setup {
			keys = append(keys, r.Tool)
		}
	}
	if slices.Sort(keys); err != nil || !slices.Equal(keys, []string{"llm.api_key", "llm.model", "llm.provider"}) {
		t.Errorf("the audit has %q, %v", keys, err)
	}
	c, err := s.begin(t.Context())
	if err != nil || c.LLM.Provider != "openai" || c.LLM.Model != "fixed" || string(c.LLM.APIKey) != "hunter2" {
		t.Errorf("%+v, %v", c.LLM, err)
	}
	values, err := s.store.States(t.Context(), "settings")
	if err != nil || len(values) != 3 {
		t.Fatalf("%d values, %v", len(values), err)
	}
	for key, sealed := range values {
		if strings.Contains(sealed, "hunter2") || strings.Contains(sealed, "openai") {
			t.Errorf("%s is not sealed: %s", key, sealed)
		}
	}
}

func TestStored_otherKeyIsAFault(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	user := owner(t, s)
	if err := s.Save(t.Context(), user, map[string]string{"web.search": "off"}); err != nil {
		t.Fatal(err)
	}
	s.without.SecretKey = "another"
	if _, err := s.begin(t.Context()); !errors.Is(err, engine.ErrOtherKey) || !strings.HasPrefix(err.Error(), "web.search, set on the page: ") {
		t.Errorf("got %v", err)
	}
}

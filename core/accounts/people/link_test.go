package people_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

// house is an embedded store with an owner.
type house struct {
	*sqlite.Store
	*people.People
	t     *testing.T
	now   time.Time
	owner core.User
	home  core.Address
	n     int
}

func newHouse(t *testing.T, policy people.Policy) *house {
	t.Helper()
	st := sqlitetest.Open(t, t.TempDir())
	h := &house{Store: st, t: t, now: time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC),
		home: core.Address{Channel: "telegram", Account: "42", External: "111"}}
	h.People = &people.People{Store: st, Rand: rand.Reader, Log: zap.NewNop(), Now: func() time.Time { return h.now },
		Channels: abroad{},
		Settings: people.Settings{Policy: policy, CodeLife: time.Hour, MaxCodes: 3, Language: "en"}}
	var err error
	h.owner, err = st.AddUserAt(t.Context(), core.User{Name: "Ada", Role: core.RoleOwner, CreatedAt: h.now},
		core.Identity{Address: h.home, LastUsed: h.now})
	must(t, err)
	return h
}

// written returns the text of a part, with code in backticks.
func written(p core.Part) string {
	tick := func(s core.Span) string { return map[core.SpanKind]string{core.SpanCode: "`"}[s.Kind] }
	r := markup.Renderer{Open: tick, Close: tick, Escape: func(text string, _ core.Span) string { return text }}
	return r.Render(markup.Text{Text: p.Text, Spans: p.Spans})
}

// abroad describes every channel: all but the built-in ones can receive unprompted messages.
type abroad struct{}

func (abroad) Capabilities(channel string) core.Capabilities {
	return core.Capabilities{Push: !people.Own(channel)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// code stores a new link code of the owner and returns it.
func (h *house) code() string {
	h.t.Helper()
	code, err := h.NewLinkCode()
	must(h.t, err)
	if len(code) != people.LinkCodeSigns {
		h.t.Fatalf("got code %q", code)
	}
	_, err = h.Store.Note(h.t.Context(), store.Note{User: h.owner.ID, Now: h.now,
		Effects: []core.Effect{effect.NewLink{Code: effect.Code{Hash: trust.CodeHash(code), Address: h.home,
			Created: h.now, Expires: h.now.Add(10 * time.Minute)}}}})
	must(h.t, err)
	return code
}

// stranger sends a message from an unknown address, and reports whether the address is known
// afterwards.
func (h *house) stranger(external, text, language string) bool {
	h.t.Helper()
	h.n++
	known, err := h.Stranger(h.t.Context(), core.Inbound{Address: core.Address{Channel: "telegram", Account: "42",
		External: external}, Kind: core.InMessage,
		Name: "Mallory", EventID: fmt.Sprint("e", h.n), NativeID: fmt.Sprint("n", h.n), Text: text,
		Language: language, SentAt: h.now})
	must(h.t, err)
	return known
}

// accept approves the open question as the owner.
func (h *house) accept() {
	h.t.Helper()
	must(h.t, h.AskLinks(h.t.Context())) // again, although it was asked already
	at, _, err := h.Store.Identify(h.t.Context(), h.home)
	must(h.t, err)
	open, passed, err := h.OpenApprovals(h.t.Context(), h.owner.ID, at.ID, h.now)
	must(h.t, err)
	if len(open) != 1 || open[0].Word != "OWNER" || passed {
		h.t.Fatalf("asked %+v, passed %v", open, passed)
	}
	var l effect.LinkSubject
	must(h.t, json.Unmarshal([]byte(open[0].Subject), &l))
	_, err = h.Store.Note(h.t.Context(), store.Note{User: h.owner.ID, Now: h.now, Effects: []core.Effect{
		effect.Decide{Approval: open[0].ID, Identity: at.ID, Yes: true, At: h.now}, effect.AcceptLink{Subject: l, At: h.now}}})
	must(h.t, err)
}

// said delivers the texts that are due, and returns them.
func (h *house) said() string {
	h.t.Helper()
	refs, _, err := h.Due(h.t.Context(), []string{core.QueueDeliver + "telegram"}, h.now, 100, store.Share{})
	must(h.t, err)
	var all []string
	for _, ref := range refs {
		d, err := h.ClaimDelivery(h.t.Context(), ref, store.Claim{Worker: "w", Now: h.now, Until: h.now.Add(time.Minute)})
		must(h.t, err)
		all = append(all, written(d.Parts[0].Part))
		_, err = h.FinishPart(h.t.Context(), d, 0, store.PartResult{State: core.DeliverySent,
			Receipt: core.Receipt{NativeID: fmt.Sprint("s", d.ID)}}, h.now)
		must(h.t, err)
	}
	return strings.Join(all, "\n")
}

func TestStranger_links(t *testing.T) {
	t.Parallel()
	for _, policy := range []people.Policy{people.Pairing, people.Allowlist, people.Open} {
		for _, form := range []string{"/link %s", "!link %s", "/link@some_bot  %s", "/LINK %s"} {
			h := newHouse(t, policy)
			code := h.code()
			text := fmt.Sprintf(form, strings.ToLower(code[:4])+"-"+code[4:])
			if h.stranger("900", text, "en") {
				t.Fatalf("%s: %q linked without a question", policy, form)
			}
			if got := h.said(); !strings.Contains(got, "I've asked") || !strings.Contains(got, "`900`, `Mallory`") ||
				!strings.Contains(got, "hands over the gateway itself") {
				t.Fatalf("%s: said %q", policy, got)
			}
			h.accept()
			_, u, err := h.Store.Identify(t.Context(), core.Address{Channel: "telegram", Account: "42", External: "900"})
			must(t, err)
			if u.ID != h.owner.ID || h.said() != "" {
				t.Errorf("%s: the address belongs to user %d", policy, u.ID)
			}
			if h.stranger("901", text, "en") {
				t.Errorf("%s: the code was used twice", policy)
			}
		}
	}
}

// A list is compared by what its entries mean, with all addresses of a sender.
func TestAllowlist(t *testing.T) {
	t.Parallel()
	for n, c := range []struct {
		entry, external, alias string
		want                   bool
	}{
		{"line:a b", "ab", "", true},
		{"line:a b", "x", "AB", true},
		{"line:AB", "a b", "", true},
		{"line:a b", "abc", "", false},
		{"other:ab", "ab", "", false},
		{"line:!", "!", "", true}, // of a form that nobody has, it is compared as it is
	} {
		h := newHouse(t, people.Allowlist)
		h.Settings.Allow = []string{"telegram:1", c.entry}
		h.Settings.Listed = func(_, who string) (string, error) {
			if who == "!" {
				return "", errors.New("nobody")
			}
			return strings.ToLower(strings.ReplaceAll(who, " ", "")), nil
		}
		in := core.Inbound{Address: core.Address{Channel: "line", Account: "42", External: c.external},
			Kind: core.InMessage, Name: "Eve", EventID: fmt.Sprint("w", n), Text: "hello", SentAt: h.now}
		if c.alias != "" {
			in.Aliases = []string{c.alias}
		}
		if known, err := h.Stranger(t.Context(), in); err != nil || known != c.want {
			t.Errorf("%s, %s: admitted %t, %v, want %t", c.entry, c.external, known, err, c.want)
		}
	}
}

func TestStranger_guesses(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Allowlist)
	for n := range core.LinkTries {
		if h.stranger("900", "/link WRONG222", "fr") {
			t.Fatal("a wrong code was accepted")
		}
		want := "pas valable"
		if n == core.LinkTries-1 {
			want = "dans 60 min"
		}
		if got := h.said(); !strings.Contains(got, want) {
			t.Errorf("try %d: got %q, want %q", n, got, want)
		}
	}
	h.now = h.now.Add(59 * time.Minute)
	code := h.code()
	if h.stranger("900", "/link "+code, "en") || !strings.Contains(h.said(), "in 1 min") {
		t.Error("a locked address may try again")
	}
	if h.stranger("901", "/link "+code, "en"); !strings.Contains(h.said(), "I've asked") {
		t.Error("another address is locked as well")
	}
	if h.stranger("902", "hello", "en") || h.stranger("902", "/link", "en") || h.said() != "" {
		t.Error("other messages are answered or admitted")
	}
}

func TestMerger(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Open)
	if !h.stranger("900", "hello", "fr") {
		t.Fatal("a stranger is not admitted")
	}
	bo, u, err := h.Store.Identify(t.Context(), core.Address{Channel: "telegram", Account: "42", External: "900"})
	must(t, err)
	_, err = h.Store.Note(t.Context(), store.Note{User: u.ID, Now: h.now,
		Effects: []core.Effect{effect.UseLink{Hash: trust.CodeHash(h.code()), Identity: bo.ID, At: h.now}}})
	must(t, err)
	h.accept()
	h.said()
	h.now = h.now.Add(time.Minute) // nothing under way is waited for
	v := &people.Merger{Store: h.Store, Channels: abroad{}, Language: "en", Leases: alone{}, Poll: time.Millisecond,
		Log: zap.NewNop(), Now: func() time.Time { return h.now }, Standing: besides{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error)
	go func() { done <- v.Run(ctx) }()
	for ctx.Err() == nil {
		list, err := h.Merges(ctx, 1)
		must(t, err)
		if len(list) == 0 {
			stop()
		}
	}
	must(t, <-done)
	_, who, err := h.Store.Identify(t.Context(), bo.Address)
	must(t, err)
	if who.ID != h.owner.ID {
		t.Errorf("got user %d", who.ID)
	}
	if got := h.said(); !strings.Contains(got, "n'en font plus qu'une") ||
		!strings.HasSuffix(got, fmt.Sprintf("\n\nBesides, %d (fr).", who.ID)) {
		t.Errorf("got %q", got)
	}
}

func TestMerger_accountGoesToTheHeir(t *testing.T) {
	t.Parallel()
	h := newHouse(t, people.Open)
	if !h.stranger("900", "hello", "en") {
		t.Fatal("a stranger is not admitted")
	}
	at := core.Address{Channel: "telegram", Account: "42", External: "900"}
	bo, gone, err := h.Store.Identify(t.Context(), at)
	must(t, err)
	id, err := h.Ask(t.Context(), store.Merge{From: gone.ID, Into: h.owner.ID, Identity: bo.ID,
		AskedAt: h.now})
	must(t, err)
	must(t, people.Carry(t.Context(), h.Store, id, func() time.Time { return h.now.Add(time.Minute) }))
	in := core.Inbound{Address: core.Address{Channel: "whatsapp_agent", Account: "1", External: "user:1"},
		Kind: core.InMessage, EventID: "1", For: gone.ID, Text: "hi"}
	if known, err := h.Stranger(t.Context(), in); err != nil || !known {
		t.Fatalf("known %v, %v", known, err)
	}
	_, u, err := h.Store.Identify(t.Context(), in.Address)
	must(t, err)
	all, err := h.Store.Users(t.Context())
	must(t, err)
	if u.ID != h.owner.ID || len(all) != 1 {
		t.Errorf("the address belongs to user %d, of %d users", u.ID, len(all))
	}
}

type alone struct{}

func (alone) While(ctx context.Context, _ string, f func(context.Context) error) error { return f(ctx) }

// besides has a note on standing instructions for every user.
type besides struct{}

func (besides) Beyond(_ context.Context, u core.UserID, language string) (string, error) {
	return fmt.Sprintf("Besides, %d (%s).", u, language), nil
}

// Package client holds what the interfaces for programs share: authentication by API keys,
// the addresses of programs, and the decoding of their JSON.
package client

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// Form of an API key. Fixed.
const (
	prefix  = "et_"
	signs   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	length  = 40 // random characters
	hint    = 7  // characters that lists show
	maxName = 100
)

// NewKey returns a new API key of a user. secret is the key itself, which is shown once and stored nowhere. scopes are
// names. It returns core.ErrRefused if a scope is unknown or not for this user, or the name is invalid.
func NewKey(random io.Reader, u core.User, name string, scopes []string,
	now time.Time) (k core.APIKey, secret string, err error) {
	name = strings.Join(strings.Fields(name), " ")
	if name == "" || len(name) > maxName {
		return k, "", core.Refuse("a key has a name of 1 to %d bytes, such as the program that it is for", maxName)
	}
	granted, err := readScopes(u, scopes)
	if err != nil {
		return k, "", err
	}
	secret, err = newSecret(random)
	if err != nil {
		return k, "", err
	}
	return core.APIKey{User: u.ID, Name: name, Hash: Hash(secret), Hint: secret[:hint], Scopes: granted, CreatedAt: now},
		secret, nil
}

// Hash returns the stored form of an API key: hex SHA-256.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Scopes returns all scopes, in the order in which they are shown.
func Scopes() []core.Capability {
	return []core.Capability{core.CanTalk, core.CanRead, core.CanMemory, core.CanAdmin, core.OwnWords}
}

// readScopes returns scopes in their order, each once.
func readScopes(u core.User, names []string) ([]core.Capability, error) {
	names = slices.Clone(names)
	for i, n := range names {
		if n == "talk" {
			names[i], n = string(core.CanTalk), string(core.CanTalk)
		}
		if !slices.Contains(Scopes(), core.Capability(n)) {
			return nil, core.Refuse("%q is no scope; there are chat, read, memory, admin and own", n)
		}
	}
	if slices.Equal(slices.Compact(names), []string{string(core.OwnWords)}) || len(names) == 0 {
		return nil, core.Refuse("a key needs at least one scope: chat, read, memory or admin; own is in addition")
	}
	if slices.Contains(names, string(core.CanAdmin)) && u.Role != core.RoleOwner {
		return nil, core.Refuse("only the owner's keys may have the scope admin")
	}
	return slices.DeleteFunc(Scopes(), func(s core.Capability) bool { return !slices.Contains(names, string(s)) }), nil
}

// newSecret returns a key. It skips bytes that would bias the characters.
func newSecret(random io.Reader) (string, error) {
	const fair = 256 - 256%len(signs)
	out := []byte(prefix)
	for b := make([]byte, 1); len(out) < len(prefix)+length; {
		if _, err := io.ReadFull(random, b); err != nil {
			return "", fmt.Errorf("make a key: %w", err)
		}
		if int(b[0]) < fair {
			out = append(out, signs[int(b[0])%len(signs)])
		}
	}
	return string(out), nil
}

// KeyStore is the part of a store that a Guard uses.
type KeyStore interface {
	// APIKey returns the key with a hash and its user, or core.ErrNotFound.
	APIKey(ctx context.Context, hash string) (core.APIKey, core.User, error)
	// UseAPIKey records the last use of a key.
	UseAPIKey(ctx context.Context, user core.UserID, id int64, at time.Time) error
}

// GuardOptions configure a Guard. All but Proxies are required.
type GuardOptions struct {
	Store   KeyStore
	Proxies Proxies
	Log     *zap.Logger
	Now     func() time.Time
}

// wrongPerMinute is how many wrong keys an address may send within a minute.
const wrongPerMinute = 10

// Guard authenticates requests by their API key. It is safe for concurrent use.
//
// After too many wrong keys within a minute an address is refused without reading the store, except for keys that were
// valid here before: programs behind one proxy do not lock each other out.
type Guard struct {
	GuardOptions
	mu    sync.Mutex
	wrong map[string][]time.Time // by address, within the last minute
	used  map[string]time.Time   // by hash of a valid key: when its use was recorded
}

// NewGuard returns a guard.
func NewGuard(o GuardOptions) *Guard {
	return &Guard{GuardOptions: o, wrong: map[string][]time.Time{}, used: map[string]time.Time{}}
}

// Caller is a program and the user for whom it acts.
type Caller struct {
	Key  core.APIKey
	User core.User
}

// Refusal is the error of a request that is not admitted, or not answered. Message is a
// sentence for the author of the program.
type Refusal struct {
	Status  int
	Code    string
	Message string
	After   time.Duration // how long to wait; 0: unknown
}

// Error returns the message.
func (e *Refusal) Error() string { return e.Message }

// Head sets the headers of a refusal with a status.
func Head(w http.ResponseWriter, status int, after time.Duration) {
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
}

// Event returns the id of a request. With an idempotency key it is the same for every repeat.
func (c Caller) Event(random io.Reader, key string) (string, error) {
	if key != "" {
		sum := sha256.Sum256([]byte(key))
		return fmt.Sprintf("%d:again:%x", c.Key.ID, sum[:16]), nil
	}
	id := make([]byte, 16)
	if _, err := io.ReadFull(random, id); err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return fmt.Sprintf("%d:once:%x", c.Key.ID, id), nil
}

// usedEvery is how often the use of a key is recorded.
const usedEvery = time.Minute

// Acting returns a request whose context names the program as the actor for the store.
func (c Caller) Acting(r *http.Request, now time.Time) *http.Request {
	return r.WithContext(core.WithActor(r.Context(), core.Actor{Via: core.ViaKey, ID: c.Key.ID, At: now}))
}

// Admit returns the caller of a request that needs a scope. Errors are a *Refusal, or the store's.
func (g *Guard) Admit(r *http.Request, scope core.Capability) (Caller, error) {
	c, err := g.Identify(r)
	if err == nil && !c.Allows(scope) {
		err = &Refusal{Status: http.StatusForbidden, Code: "missing_scope", Message: fmt.Sprintf("This API key may not do that: it lacks the scope %s. Make a key that has it with `everthread apikey create --scope %s`.", scope, scope)}
	}
	return c, err
}

// Allows reports whether a program has a scope. Only the owner's keys can have core.CanAdmin.
func (c Caller) Allows(s core.Capability) bool {
	return c.Key.Allows(s) && (s != core.CanAdmin || c.User.Role == core.RoleOwner)
}

// Identify returns the caller of a request, whatever its scopes.
func (g *Guard) Identify(r *http.Request) (Caller, error) {
	secret, ok := bearer(r)
	if !ok {
		return Caller{}, &Refusal{Status: http.StatusUnauthorized, Code: "missing_api_key",
			Message: "There is no API key. Send one in the header Authorization: Bearer et_…; `everthread apikey create` makes one."}
	}
	hash, now, from := Hash(secret), g.Now(), g.Proxies.Origin(r).String()
	if wait := g.locked(from, hash, now); wait > 0 {
		return Caller{}, &Refusal{Status: http.StatusTooManyRequests, Code: "too_many_wrong_keys", After: wait,
			Message: "Too many wrong API keys came from this address. Wait a minute, and check the key."}
	}
	k, u, err := g.find(r.Context(), secret, hash)
	if errors.Is(err, core.ErrNotFound) {
		g.miss(from, hash, now)
		g.Log.Info("wrong API key", zap.String("address", from))
		return Caller{}, &Refusal{Status: http.StatusUnauthorized, Code: "invalid_api_key",
			Message: "This API key is not valid: it is wrong, or it was revoked. `everthread apikey list` shows the keys that there are."}
	}
	if err != nil {
		return Caller{}, fmt.Errorf("find the API key: %w", err)
	}
	g.record(r.Context(), k, now)
	return Caller{Key: k, User: u}, nil
}

func (g *Guard) find(ctx context.Context, secret, hash string) (core.APIKey, core.User, error) {
	rest, ok := strings.CutPrefix(secret, prefix)
	if !ok || len(rest) != length ||
		strings.ContainsFunc(rest, func(r rune) bool { return !strings.ContainsRune(signs, r) }) {
		return core.APIKey{}, core.User{}, core.ErrNotFound
	}
	k, u, err := g.Store.APIKey(ctx, hash)
	if err == nil && subtle.ConstantTimeCompare([]byte(k.Hash), []byte(hash)) != 1 {
		err = core.ErrNotFound
	}
	return k, u, err
}

// bearer returns the key of a request.
func bearer(r *http.Request) (string, bool) {
	kind, key, ok := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	key = strings.TrimSpace(key)
	return key, ok && strings.EqualFold(kind, "Bearer") && key != ""
}

// locked returns how long an address must wait.
func (g *Guard) locked(from, hash string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, good := g.used[hash]; good {
		return 0
	}
	recent := g.recent(from, now)
	if len(recent) < wrongPerMinute {
		return 0
	}
	return recent[len(recent)-wrongPerMinute].Add(time.Minute).Sub(now)
}

// recent returns the times of an address's wrong keys within the last minute.
func (g *Guard) recent(from string, now time.Time) []time.Time {
	return slices.DeleteFunc(g.wrong[from], func(at time.Time) bool { return now.Sub(at) >= time.Minute })
}

// maxKnown bounds the addresses and the keys in memory.
const maxKnown = 10_000

// miss records a wrong key, and forgets those older than a minute.
func (g *Guard) miss(from, hash string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.used, hash)
	if len(g.wrong) >= maxKnown {
		for other := range g.wrong {
			if g.wrong[other] = g.recent(other, now); len(g.wrong[other]) == 0 {
				delete(g.wrong, other)
			}
		}
	}
	if len(g.wrong) >= maxKnown {
		clear(g.wrong) // so many addresses are not guesses of one
	}
	g.wrong[from] = append(g.recent(from, now), now)
}

// record records the use of a key, in the store at most once a minute.
func (g *Guard) record(ctx context.Context, k core.APIKey, now time.Time) {
	g.mu.Lock()
	last, known := g.used[k.Hash]
	due := !known || now.Sub(last) >= usedEvery
	if due {
		if len(g.used) >= maxKnown {
			clear(g.used)
		}
		g.used[k.Hash] = now
	}
	g.mu.Unlock()
	if !due || now.Sub(k.UsedAt) < usedEvery {
		return
	}
	if err := g.Store.UseAPIKey(ctx, k.User, k.ID, now); err != nil && ctx.Err() == nil {
		g.Log.Warn("use of an API key not recorded", zap.Int64("user", int64(k.User)), zap.Error(err))
	}
}

package storetest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlstore"
)

func userCases() []testCase {
	return []testCase{{"every statement of a turn names its user", testTurnNamesUser}}
}

// testTurnNamesUser checks that every statement of a turn names its user.
func testTurnNamesUser(b *bench) {
	ran := &statements{all: map[string][]any{}}
	s := b.open()
	s.Trace(ran.note)
	b.takeTurns(s)
	if len(ran.all) < 30 {
		b.t.Errorf("recorded %d statements, want those of several turns", len(ran.all))
	}
	for query := range ran.all {
		if tables := nameless(query); len(tables) > 0 {
			b.t.Errorf("no parameter names the user of the rows of %v: %s", tables, query)
		}
	}
}

// TestTurnOnOneServer takes turns on a store that fails on a statement that involves several
// servers. strict opens it on the database of open.
func TestTurnOnOneServer(t *testing.T, open Open, strict func(t testing.TB) Store) {
	b := newBench(t, open)
	b.takeTurns(strict(t))
	Check(t, b.DB())
}

// takeTurns runs turns on s in every way that a turn can end.
func (b *bench) takeTurns(s Store) {
	on := *b
	on.Store = s
	for range 2 { // the second continues what the first began
		_, _, err := s.Identify(b.ctx, b.at.Address)
		b.must(err)
		on.takeTurn(on.turn("hello"))
		on.now = on.now.Add(time.Second)
		b.now = on.now
	}
	on.say(false, "and tomorrow?")
	turn, _, err := s.ClaimTurn(b.ctx, b.only(turns), b.claim(),
		store.Budget{TokensPerDay: 1000, Reserve: 10, Day: "2026-11-19"})
	b.must(err)
	_, err = s.Commit(b.ctx, b.reply(turn, "sun"), nil)
	b.must(err)
	d, err := s.ClaimDelivery(b.ctx, b.only(deliveries), b.claim())
	b.must(err)
	on.sent(d)
	on.receipt("r1", "n"+itoa(int(d.ID))+"-0", core.Status{State: core.DeliveryRead})
	turn = on.turn("wait")
	b.must(s.RetryTurn(b.ctx, turn, b.now, "down"))
}

// takeTurn completes a claimed turn.
func (b *bench) takeTurn(t *core.Turn) {
	b.t.Helper()
	w, err := b.Window(b.ctx, t, query())
	b.must(err)
	b.must(b.Extend(b.ctx, t.User, t.Lease, b.now.Add(2*time.Minute)))
	b.must(b.Record(b.ctx, t.User, store.CallRecord{Turn: t.ID, Tool: "weather", Text: "rain", At: b.now}))
	_, _, err = b.Lookup(b.ctx, t.User, t.ID, 0, 0)
	b.must(err)
	r := b.reply(t, "one", "two")
	if w.Epoch == nil {
		r.Epoch = &store.Epoch{ID: t.ID, UsedAt: b.now, Start: 1, Budgets: query().Budgets}
	}
	claim := b.claim()
	out, err := b.Commit(b.ctx, r, &claim)
	b.must(err)
	b.sent(out.Delivery)
}

var (
	mention = regexp.MustCompile(`\b(FROM|JOIN|UPDATE|INTO) (\w+)( AS)?( [a-z]\w*)?`)
	given   = ` ?(\+ 0 )?= (ANY\()?(\$\d|0\b|CAST\(\$\d)`
	bare    = regexp.MustCompile(`(^|[ (])user_id` + given)
	stored  = regexp.MustCompile(`INTO \w+ \((user_id|id)\b[^)]*\) ((VALUES \(|SELECT )(CAST\()?\$\d|SELECT (d\.)?user_id)`)
	// rehomed matches statements that give rows to another user.
	rehomed = regexp.MustCompile(`^UPDATE (\w+) .*?SET ([^=]*=[^=]*, )*user_id =`)
)

// nameless lists the tables of users' rows that a statement touches without a parameter for the
// user.
func nameless(query string) (tables []string) {
	query = strings.Join(strings.Fields(query), " ")
	unnamed := 0
	for _, m := range mention.FindAllStringSubmatch(query, -1) {
		table, alias := m[2], strings.TrimSpace(m[4])
		if !ofUsers(table) {
			continue
		}
		column := "user_id"
		if table == "users" {
			column = "id"
		}
		var named bool
		switch {
		case m[1] == "INTO":
			named = stored.MatchString(query)
		case table == "users" && alias == "":
			named = regexp.MustCompile(`users( SET .*)? WHERE (users\.)?id` + given).MatchString(query)
		default:
			named = regexp.MustCompile(`\b` + cmp.Or(alias, table) + `\.` + column + given).MatchString(query)
			if !named { // each needs a condition of its own
				unnamed++
				named = table != "users" && len(bare.FindAllString(query, -1)) >= unnamed
			}
		}
		if !named {
			tables = append(tables, table)
		}
	}
	return tables
}

// ofUsers reports whether the rows of a table are stored with their users.
func ofUsers(table string) bool {
	return table == "users" || slices.ContainsFunc(sqlstore.Tables(),
		func(t sqlstore.Table) bool { return t.Name == table && t.Owner != "" && !t.Shared })
}

// testUsersNamed checks every statement that the suite ran. With whole, it also fails for
// exceptions that no statement needs.
func testUsersNamed(t *testing.T, s *statements, whole bool) {
	used := map[string]bool{}
	for query := range s.all {
		flat := strings.Join(strings.Fields(query), " ")
		if m := rehomed.FindStringSubmatch(flat); m != nil && ofUsers(m[1]) {
			t.Errorf("it changes the owner of a row: %s", query)
		}
		tables := nameless(query)
		if len(tables) == 0 {
			continue
		}
		excused := false
		for part := range everybodys() {
			if strings.Contains(flat, part) {
				used[part], excused = true, true
			}
		}
		if !excused {
			t.Errorf("no parameter names the user of the rows of %v: %s", tables, query)
		}
	}
	for part := range everybodys() {
		if whole && !used[part] {
			t.Errorf("no statement without a user contains %q", part)
		}
	}
}

// everybodys returns parts of statements that belong to no single user, with the reason. None
// belongs to a turn; those of the clock query all servers.
func everybodys() map[string]string {
	const (
		clock   = "due for any user"
		owner   = "the owner asks about all users"
		swept   = "expired rows of every user are deleted"
		started = "a process starts or ends"
		indexes = "users to be indexed"
		groups  = "the few groups: the owner lists them, and a person those in which they have written"
	)
	return map[string]string{
		`queue, key, ref FROM jobs WHERE queue =`:             clock,
		`SELECT (SELECT MIN(run_at) FROM jobs WHERE queue`:    clock,
		`WHERE k.state = 'active' AND k.due_at <= $1`:         clock,
		`FROM approvals WHERE state = 'open' AND expires_at`:  clock,
		`FROM segments WHERE post = 'due'`:                    clock,
		`FROM segments WHERE state = 'open' AND finalize_at`:  clock,
		`FROM segments WHERE state = 'final' AND stale = 1`:   clock,
		`FROM segments WHERE retry_at > 0`:                    clock,
		`FROM segments g WHERE g.backlog = 1`:                 clock,
		`SELECT u.id FROM users u WHERE u.id > $1`:            indexes,
		`SELECT id FROM users WHERE index_version`:            indexes,
		`SELECT id FROM users WHERE unindexed = 1`:            indexes,
		`UPDATE deliveries SET state = 'expired'`:             swept,
		`IN (SELECT hash FROM sessions WHERE expires_at`:      swept,
		`DELETE FROM sessions WHERE expires_at`:               swept,
		`IN (SELECT kind, hash FROM codes WHERE expires_at`:   swept,
		`DELETE FROM codes WHERE expires_at`:                  swept,
		`DELETE FROM journal WHERE message_id > 0 AND at`:     swept,
		`DELETE FROM once WHERE at`:                           swept,
		`DELETE FROM audit WHERE at`:                          swept,
		`UPDATE events SET payload = NULL, state = 'done'`:    swept,
		`FROM segments WHERE raw = 1 AND ends_at`:             swept,
		`UPDATE jobs SET lease_until = 0 WHERE state`:         started,
		`SELECT COUNT(*) FROM users WHERE role = 'owner'`:     started,
		`FROM agent_keys ORDER BY user_id`:                    started,
		`FROM users WHERE id > 0 AND role <> 'none'`:          owner,
		`FROM users WHERE role = 'group'`:                     groups,
		`FROM deliveries WHERE state IN ('failed', 'unknown'`: owner,
		`FROM embeddings WHERE user_id > 0 AND state`:         owner,
		`FROM jobs GROUP BY queue, state`:                     owner,
		`FROM sessions WHERE push <> '' AND expires_at >`:     owner,
		`FROM jobs WHERE state = 'dead' ORDER BY run_at`:      owner,
		`FROM codes WHERE kind = $1 AND (expires_at`:          owner,
		`FROM usage g JOIN users u ON u.id = g.user_id`:       owner,
		`FROM usage_parts p JOIN users u ON u.id = p.user_id`: owner,
		`FROM audit WHERE at >= $1`:                           owner,
	}
}

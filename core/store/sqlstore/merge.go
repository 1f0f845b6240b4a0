package sqlstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/store"
)

// How long a merge waits for what is under way.
const (
	mergeWaits  = 10 * time.Second       // for running turns, and for due deliveries; others run again afterwards
	mergePoll   = 100 * time.Millisecond // between two attempts
	pausedUntil = time.Second            // for jobs of a paused user
)

const mergeColumns = `id, from_user, into_user, identity_id, phase, asked_at`

func scanMerge(row scanner) (m store.Merge, err error) {
	return m, found(row.Scan(&m.ID, &m.From, &m.Into, &m.Identity, &m.Phase, asTime(&m.AskedAt)))
}

// Ask stores a request to merge two users; see store.MergeStore.
func (s *Store) Ask(ctx context.Context, m store.Merge) (store.MergeID, error) {
	var id store.MergeID
	err := s.update(ctx, "ask for a merge", m.From, func(t *tx) {
		id = t.askMerge(m)
		t.did(audit.Merge, "user", int64(m.Into))
	})
	return id, err
}

// askMerge stores a request to merge the user or into the user, who pauses immediately, so that messages after the
// answer are kept for both.
func (t *tx) askMerge(m store.Merge) (id store.MergeID) {
	if m.From == m.Into || m.From == 0 || m.Into == 0 {
		t.fail(core.ErrRefused)
		return 0
	}
	for _, user := range []core.UserID{m.From, m.Into} {
		if valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM users WHERE id = $1 AND role = 'group')`, user) {
			t.fail(core.ErrRefused)
			return 0
		}
	}
	t.asUser(0, func(zero *tx) {
		id = store.MergeID(zero.nextID())
		zero.exec(`INSERT INTO merges (id, from_user, into_user, identity_id, phase, asked_at) VALUES ($1, $2, $3, $4, 'asked', $5)`,
			id, m.From, m.Into, m.Identity, ms(m.AskedAt))
	})
	t.pause()
	t.wake = append(t.wake, core.TopicMerges)
	return id
}

// Merges lists unfinished merges.
func (s *Store) Merges(ctx context.Context, limit int) ([]store.Merge, error) {
	return list(s.one(ctx), scanMerge, `SELECT `+mergeColumns+` FROM merges WHERE phase <> 'done' ORDER BY id LIMIT $1`, limit)
}

// Merge returns a merge, or ErrNotFound.
func (s *Store) Merge(ctx context.Context, id store.MergeID) (store.Merge, error) {
	m, err := scanMerge(s.one(ctx).row(`SELECT `+mergeColumns+` FROM merges WHERE id = $1`, id))
	return m, wrap("read merge", err)
}

// Told ends MergeTold; see store.MergeStore.
func (s *Store) Told(ctx context.Context, id store.MergeID) error {
	return s.execShared(ctx, "told of a merge", `UPDATE merges SET phase = 'done' WHERE id = $1 AND phase = 'told'`, id)
}

// Carry merges the users of a merge, or pauses them; see store.MergeStore.
func (s *Store) Carry(ctx context.Context, id store.MergeID, now time.Time) (store.Merge, time.Duration, error) {
	asked, err := s.Merge(ctx, id)
	if err != nil || asked.Phase != store.MergeAsked {
		return asked, 0, err
	}
	out, wait := asked, time.Duration(0)
	first, second := min(asked.From, asked.Into), max(asked.From, asked.Into)
	err = s.transact(ctx, "merge", tx{user: first, long: true}, func(t *tx) {
		other := t.forUser(second)
		other.enter()
		m := &merger{tx: t, from: t, into: other}
		if asked.From != t.user {
			m.from, m.into = other, t
		}
		out, wait = m.carry(asked, now)
	})
	if errors.Is(err, core.ErrNotFound) {
		return s.dropMerge(ctx, asked, err)
	}
	return out, wait, err
}

// carry merges both users unless the merge still waits, or has changed since it was read.
func (m *merger) carry(asked store.Merge, now time.Time) (store.Merge, time.Duration) {
	is := rowOf(m, scanMerge, `SELECT `+mergeColumns+` FROM merges WHERE id = $1`, asked.ID)
	if m.err != nil || is.Phase != store.MergeAsked {
		return is, 0
	}
	if is.From != asked.From || is.Into != asked.Into { // one of them was merged with somebody else
		return is, mergePoll
	}
	if m.from.role == string(core.RoleOwner) {
		m.from, m.into = m.into, m.from
	}
	m.from.pause()
	m.into.pause()
	if m.sending(now) || now.Before(is.AskedAt.Add(mergeWaits)) && m.underWay(now) {
		return is, mergePoll
	}
	m.join(now)
	if is.From == m.from.user && is.Identity != 0 {
		is.Identity += core.IdentityID(m.numbers.id)
	}
	is.From, is.Into, is.Phase = m.from.user, m.into.user, store.MergeTold
	m.exec(`UPDATE merges SET from_user = $2, into_user = $3, identity_id = $4, phase = 'told' WHERE id = $1`, is.ID, is.From,
		is.Into, is.Identity)
	return is, 0
}

// dropMerge ends a merge if one of its users is gone, and resumes the other. cause is why it is tried.
func (s *Store) dropMerge(ctx context.Context, m store.Merge, cause error) (store.Merge, time.Duration, error) {
	var left []core.UserID
	for _, id := range []core.UserID{m.From, m.Into} {
		switch _, err := s.User(ctx, id); {
		case err == nil:
			left = append(left, id)
		case !errors.Is(err, core.ErrNotFound):
			return m, 0, err
		}
	}
	if len(left) == 2 {
		return m, 0, cause
	}
	var err error
	for user := range until(&err, left) {
		err = s.resume(ctx, user, m.ID)
	}
	if err == nil {
		err = s.execShared(ctx, "drop a merge", `UPDATE merges SET phase = 'done', into_user = from_user
			WHERE id = $1 AND from_user = $2 AND into_user = $3 AND phase = 'asked'`, m.ID, m.From, m.Into)
	}
	if err != nil {
		return m, 0, err
	}
	m, err = s.Merge(ctx, m.ID)
	return m, 0, err
}

// resume ends the pause of a user, unless a merge of theirs besides m is asked for.
func (s *Store) resume(ctx context.Context, user core.UserID, m store.MergeID) error {
	err := s.update(ctx, "end a pause", user, func(t *tx) {
		if !valueOf[bool](t, `SELECT EXISTS (SELECT 1 FROM merges WHERE id <> $2 AND phase = 'asked' AND (from_user = $1 OR into_user = $1))`,
			t.user, m) {
			t.exec(`UPDATE users SET merging = 0 WHERE id = $1`, t.user)
		}
	})
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// pause marks the user as being merged: nothing of theirs begins.
func (t *tx) pause() {
	if !t.merging {
		t.exec(`UPDATE users SET merging = 1 WHERE id = $1`, t.user)
		t.merging = true
	}
}

// waits reports whether a job of a queue waits until the user is merged. Deliveries continue.
func (t *tx) waits(queue string) bool {
	return t.merging && slices.Contains([]string{core.QueueTurn, core.QueueSummarize, core.QueueEmbed, core.QueueCompress,
		core.QueueSpeak}, queue)
}

// postponeJob makes a job wait while the user is merged.
func (t *tx) postponeJob(id core.JobID, now time.Time) {
	t.exec(`UPDATE jobs SET state = 'ready', run_at = $3 WHERE user_id = $1 AND id = $2 AND (state = 'ready' OR state = 'running' AND lease_until <= $4)`,
		t.user, id, ms(now.Add(pausedUntil)), ms(now))
}

// sending reports whether a delivery of the source user is in progress.
func (m *merger) sending(now time.Time) bool {
	return valueOf[bool](m, `SELECT EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND state = 'running' AND lease_until > $2 AND queue LIKE 'deliver:%')`,
		m.from.user, ms(now))
}

// underWay reports whether turns of either user are running, or deliveries to the source user are due.
func (m *merger) underWay(now time.Time) bool {
	for _, t := range []*tx{m.from, m.into} {
		if valueOf[bool](m, `SELECT EXISTS (SELECT 1 FROM jobs WHERE user_id = $1 AND queue = 'turn' AND state = 'running' AND lease_until > $2)`,
			t.user, ms(now)) {
			return true
		}
	}
	return valueOf[bool](m, `SELECT EXISTS (SELECT 1 FROM deliveries d JOIN jobs j ON j.ref = d.id AND j.queue = 'deliver:' || d.channel
		WHERE d.user_id = $1 AND d.state IN ('pending', 'sending') AND j.user_id = $1 AND j.state IN ('ready', 'running') AND j.run_at <= $2)`,
		m.from.user, ms(now))
}

// Became returns the target user of a merged user; see store.LinkStore.
func (s *Store) Became(ctx context.Context, user core.UserID) (core.UserID, error) {
	into := user
	for seen := map[core.UserID]bool{}; !seen[into]; {
		seen[into] = true
		err := found(s.one(ctx).row(`SELECT into_user FROM merges WHERE from_user = $1 AND into_user <> from_user AND phase IN ('told', 'done')
			AND NOT EXISTS (SELECT 1 FROM users WHERE id = $1) ORDER BY id DESC LIMIT 1`, into).Scan(&into))
		if errors.Is(err, core.ErrNotFound) && into != user {
			return into, nil
		}
		if err != nil {
			return 0, wrap("follow merges", err)
		}
	}
	return 0, core.ErrNotFound
}

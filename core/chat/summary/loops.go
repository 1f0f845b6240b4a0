package summary

import (
	"context"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Bounds of the open loops of a request.
const (
	mostLoops = 30
	lookLoops = 200
)

// readLoops reads the open loops that were opened by the end of the day, and the numbers of those that the previous
// summary settled.
func (s *Summarizer) readLoops(ctx context.Context, w *work) error {
	open, err := s.Store.Loops(ctx, w.user.ID, lookLoops)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(l core.Loop) bool { return !l.OpenedAt.Before(w.segment.Day.End) })
	w.loops, w.closed = open[:min(len(open), mostLoops)], map[core.LoopID]bool{}
	if w.previous == nil {
		return nil
	}
	for _, id := range w.previous.Settled() {
		w.closed[id] = true
	}
	return nil
}

// lines returns the open loops of the request.
func (w *work) lines() []loopLine {
	var out []loopLine
	for _, l := range w.loops {
		out = append(out, loopLine{l.ID, l.Text})
	}
	return out
}

// listed returns the numbers that an answer may name.
func (w *work) listed() map[core.LoopID]bool {
	out := map[core.LoopID]bool{}
	for _, l := range w.loops {
		out[l.ID] = true
	}
	for id := range w.closed {
		out[id] = true
	}
	return out
}

// settle returns the loops that a summary closes: listed ones for which it names a message that the user or the
// assistant wrote and that is not older than the loop's last mention. It removes all other bullets of that section,
// except those of the summary so far, and what the summary still calls open of the closed ones.
func (s *Summarizer) settle(ctx context.Context, w *work, d *draft) ([]core.LoopID, error) {
	if !slices.ContainsFunc(d.bullets, func(b bullet) bool { return b.section == settled }) {
		return nil, nil
	}
	allowed := map[core.MessageID]bool{}
	for _, b := range d.bullets {
		for _, id := range b.refs {
			allowed[id] = true
		}
	}
	said, err := s.said(ctx, w, allowed)
	if err != nil {
		return nil, err
	}
	var ids []core.LoopID
	var gone []core.Loop
	d.bullets = slices.DeleteFunc(d.bullets, func(b bullet) bool {
		if b.section != settled {
			return false
		}
		i := slices.IndexFunc(w.loops, func(l core.Loop) bool { return l.ID == b.loop })
		if i < 0 {
			return b.loop == 0 || !w.closed[b.loop]
		}
		if !closes(b, w.loops[i], said) {
			return true
		}
		ids, gone = append(ids, b.loop), append(gone, w.loops[i])
		return false
	})
	d.bullets = slices.DeleteFunc(d.bullets, func(b bullet) bool {
		if b.section != openLoops || len(gone) == 0 {
			return false
		}
		if b.loop != 0 {
			return slices.Contains(ids, b.loop)
		}
		_, same := s.SameLoop(b.text, gone)
		return same
	})
	return ids, nil
}

// closes reports whether a bullet closes a loop.
func closes(b bullet, l core.Loop, said []core.Message) bool {
	own, newest := false, time.Time{}
	for i := range said {
		if m := &said[i]; slices.Contains(b.refs, m.ID) {
			own = own || !m.Foreign()
			if m.SentAt.After(newest) {
				newest = m.SentAt
			}
		}
	}
	return own && !newest.Before(l.Mentioned.Truncate(time.Second))
}

// named returns the open loops of a summary that rest on messages.
func (s *Summarizer) named(w *work, d draft) []store.NamedLoop {
	var out []store.NamedLoop
	for _, b := range d.bullets {
		if b.section == openLoops && len(b.refs) > 0 {
			out = append(out, store.NamedLoop{Loop: b.loop, Text: b.text, Sources: b.refs,
				Due: s.Due(w.user.Settings, w.segment.Day.Start, b.text, s.language(w.user))})
		}
	}
	return out
}

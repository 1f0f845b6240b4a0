package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/markup"
	"github.com/everthread/everthread/core/trust"
)

// recentApprovals bounds the newest questions of a user that are checked.
const recentApprovals = 50

// Sure reports whether a user has just approved a change that a browser requests. If so, one transaction uses the yes
// up, makes the change by effects (on change.User, if it is set) and notifies all identities; only a deletion is left
// to the caller. If not, it asks the user, on another identity than the one through which the browser was signed in, if
// there is one. asked is that identity.
func (p *People) Sure(ctx context.Context, u core.User, s store.Session, change effect.AccountSubject,
	effects ...core.Effect) (asked core.Identity, sure bool, err error) {
	change.Session = s.ID
	subject, err := json.Marshal(change)
	if err != nil {
		return asked, false, err
	}
	now := p.Now()
	all, err := p.Approvals(ctx, u.ID, 0, recentApprovals)
	if err != nil {
		return asked, false, err
	}
	for _, a := range all {
		if a.Kind != effect.ApproveAccount || a.Subject != string(subject) {
			continue
		}
		if a.State == effect.ApprovalYes && now.Before(a.DecidedAt.Add(core.AccountLife)) {
			if made, err := p.change(ctx, u, change, a.ID, effects, now); made || err != nil {
				return asked, made, err
			}
		}
		if !a.Open(now) {
			continue
		}
		if at, there, err := p.identity(ctx, u.ID, a.Identity); there || err != nil {
			return at, false, err
		}
	}
	asked, err = p.askAccount(ctx, u, s, change, string(subject), now)
	return asked, false, err
}

// change uses a yes up and makes its change. It returns false if the yes was used meanwhile.
func (p *People) change(ctx context.Context, u core.User, change effect.AccountSubject, yes core.ApprovalID,
	effects []core.Effect, now time.Time) (bool, error) {
	p.Crash.At("sure")
	if change.Change == effect.ChangeDelete {
		return true, nil
	}
	n, err := p.changeNote(ctx, u, change, "", now)
	if err != nil {
		return false, err
	}
	if change.User != 0 {
		other, err := p.User(ctx, change.User)
		if err != nil {
			return false, err
		}
		theirs, err := p.changeNote(ctx, other, change, "", now)
		if err != nil {
			return false, err
		}
		theirs.Effects = effects
		effects = []core.Effect{store.Also{Note: theirs}}
	}
	n.Effects = append([]core.Effect{effect.UseYes{Approval: yes, At: now}}, effects...)
	if _, err = p.Note(ctx, n); errors.Is(err, core.ErrRefused) {
		return false, nil
	}
	p.Crash.At("changed")
	return err == nil, err
}

// identity returns the identity where an open question was asked; false: the user does not
// have it any more, and nobody can answer.
func (p *People) identity(ctx context.Context, user core.UserID, id core.IdentityID) (core.Identity, bool, error) {
	ids, err := p.Identities(ctx, user)
	n := slices.IndexFunc(ids, func(i core.Identity) bool { return i.ID == id })
	if err != nil || n < 0 {
		return core.Identity{}, false, err
	}
	return ids[n], true, nil
}

func (p *People) askAccount(ctx context.Context, u core.User, s store.Session, change effect.AccountSubject,
	subject string, now time.Time) (core.Identity, error) {
	at, err := p.trusted(ctx, u, s.Identity)
	if err != nil {
		return at, err
	}
	code, err := p.Code(8)
	if err != nil {
		return at, err
	}
	a := effect.Approval{Code: "A" + code, Kind: effect.ApproveAccount, Identity: at.ID, Subject: subject, AskedAt: now,
		Expires: now.Add(core.ApprovalLife)}
	to := core.Target{Identity: at, Why: "an identity that was trusted before"}
	browser := Browser(p.language(u), s.Browser)
	n := p.question(u, to, a, accountQuestion(p.language(u), browser, change))
	if change.Change == effect.ChangeDelete {
		warned, err := p.others(ctx, u, at.ID, fmt.Sprintf(say(p.language(u)).DeletionAsked, plain(browser),
			trust.AddressName(at.Address, at.Name)))
		if err != nil {
			return at, err
		}
		n.Deliveries = append(n.Deliveries, warned...)
	}
	_, err = p.Store.Note(ctx, n)
	if err == nil {
		p.Log.Info("asked about an account change", zap.Int64("user", int64(u.ID)), zap.String("change", string(change.Change)), zap.String("channel", at.Address.Channel))
	}
	return at, err
}

// trusted returns the identity that is asked about a change: the home, else the one used
// last, of those that can be written to. The one through which the browser was signed in
// comes last; the page itself is used only if there is no identity on another channel.
func (p *People) trusted(ctx context.Context, u core.User, through core.IdentityID) (core.Identity, error) {
	ids, err := p.Identities(ctx, u.ID)
	if err != nil {
		return core.Identity{}, err
	}
	ids = slices.DeleteFunc(ids, func(i core.Identity) bool { return Own(i.Address.Channel) })
	if len(ids) == 0 {
		return p.Door(ctx, u.ID, "web")
	}
	rank := func(i core.Identity) int {
		return 4*bit(i.Blocked) + 2*bit(i.ID == through) + bit(i.ID != u.Settings.Home)
	}
	slices.SortStableFunc(ids, func(a, b core.Identity) int { return cmp.Compare(rank(a), rank(b)) })
	return ids[0], nil
}

// plain returns a foreign name as a part of a line.
func plain(s string) string {
	return text.Within(strings.ReplaceAll(trust.Line(s), "`", "'"), 80)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// accountQuestion returns the question whether the user wants a change.
func accountQuestion(language, browser string, c effect.AccountSubject) string {
	w := say(language)
	wants := map[effect.AccountChange]string{
		effect.ChangeAdminKey: fmt.Sprintf(w.WantsAdminKey, plain(c.Name)),
		effect.ChangeSignIn:   fmt.Sprintf(w.WantsSignIn, plain(c.Name)), effect.ChangeDelete: w.WantsDelete,
		effect.ChangeExport: w.WantsExport,
	}
	return fmt.Sprintf(w.AccountQuestion, plain(browser), wants[c.Change])
}

// changeNote returns the note that makes an account change, and notifies all identities of
// a user of it and of how to undo it.
func (p *People) changeNote(ctx context.Context, u core.User, c effect.AccountSubject, browser string,
	now time.Time) (store.Note, error) {
	n := store.Note{User: u.ID, Now: now}
	text := changeMade(p.language(u), browser, c)
	var err error
	if n.Deliveries, err = p.others(ctx, u, 0, text); err == nil && len(n.Deliveries) > 0 {
		n.Messages = []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now}}
	}
	return n, err
}

// Made makes a change that a user requested in a browser and that lasts longer than it, and notifies all of the user's
// identities, in one transaction.
func (p *People) Made(ctx context.Context, u core.User, s store.Session, change effect.AccountSubject,
	effects ...core.Effect) error {
	n, err := p.changeNote(ctx, u, change, s.Browser, p.Now())
	if err != nil {
		return err
	}
	n.Effects = effects
	_, err = p.Note(ctx, n)
	return err
}

// others returns deliveries of a text to all identities of a user on push channels, except one.
func (p *People) others(ctx context.Context, u core.User, but core.IdentityID,
	text string) ([]core.NewDelivery, error) {
	ids, err := p.Identities(ctx, u.ID)
	var out []core.NewDelivery
	for _, i := range ids {
		if i.ID != but && p.Channels.Capabilities(i.Address.Channel).Push {
			out = append(out, core.NewDelivery{To: i.Address, Identity: i.ID, Kind: core.DeliverNotice,
				Why: "told to all identities", Parts: markup.Parts(text, p.Channels.Capabilities(i.Address.Channel))})
		}
	}
	return out, err
}

// changeMade returns the text that an account change was made.
func changeMade(language, browser string, c effect.AccountSubject) string {
	switch w := say(language); c.Change {
	case effect.ChangeAdminKey:
		return fmt.Sprintf(w.MadeAdminKey, plain(c.Name))
	case effect.ChangeKey:
		return fmt.Sprintf(w.MadeKey, plain(browser), plain(c.Name))
	case effect.ChangeAgent:
		return fmt.Sprintf(w.MadeAgent, plain(browser), plain(c.Name))
	case effect.ChangeSignIn:
		return fmt.Sprintf(w.MadeSignIn, plain(c.Name))
	default:
		return w.MadeExport
	}
}

package command

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

// link answers with a new code, or uses one.
func (c *Commands) link(ctx context.Context, r *request) (core.Outcome, error) {
	if r.arg == "" {
		return c.newLink(r)
	}
	hash := trust.CodeHash(r.arg)
	l, err := c.Store.LinkCode(ctx, hash, r.at.Address, r.now)
	if err != nil {
		return core.Outcome{}, err
	}
	switch l.State {
	case store.LinkOwn:
		return r.say(r.words.LinkOwn), nil
	case store.LinkSame:
		return r.say(r.words.LinkSame), nil
	case store.LinkTaken:
		if l.User == r.user.ID {
			return r.say(r.words.Linked), nil
		}
		return r.say(r.words.LinkWaits), nil
	case store.LinkLocked:
		return r.sayf(r.words.LinkLocked, minutes(l.Until.Sub(r.now))), nil
	case store.LinkValid:
		return c.askJoin(r, hash, l)
	}
	out := r.say(r.words.LinkWrong)
	if l.Tries+1 >= core.LinkTries {
		out = r.sayf(r.words.LinkLocked, minutes(core.LinkLock))
	}
	return out.With(effect.WrongLink{Address: r.at.Address, At: r.now}), nil
}

// minutes returns a wait in whole minutes, at least one.
func minutes(d time.Duration) int { return max(1, int(d.Round(time.Minute).Minutes())) }

// web answers with a link that signs in to the web page.
func (c *Commands) web(_ context.Context, r *request) (core.Outcome, error) {
	if c.NewWebLink == nil {
		return r.say(r.words.Unavailable), nil
	}
	address, code, err := c.NewWebLink(r.user.ID)
	if err != nil {
		return core.Outcome{}, err
	}
	link, err := url.Parse(address)
	if err != nil {
		return core.Outcome{}, err
	}
	code.Address = r.at.Address
	out := r.sayf(r.words.WebLink, address, minutes(code.Expires.Sub(r.now)))
	if c.elsewhere(r, link) {
		out.Text += "\n\n" + r.words.WebHere
	}
	return out.With(effect.NewWebLink{Code: code}), nil
}

// elsewhere reports whether a link opens only on the machine of the gateway, and the person may be on another.
func (c *Commands) elsewhere(r *request, link *url.URL) bool {
	return here(link.Hostname()) && c.Channels.Capabilities(r.at.Address.Channel).Push
}

// export answers with a link that signs in and downloads the export, if the link can work where the person is.
func (c *Commands) export(_ context.Context, r *request) (core.Outcome, error) {
	if c.NewWebLink == nil {
		return r.sayf(r.words.ExportNoPage, r.user.ID), nil
	}
	address, code, err := c.NewWebLink(r.user.ID)
	if err != nil {
		return core.Outcome{}, err
	}
	link, err := url.Parse(address)
	if err != nil {
		return core.Outcome{}, err
	}
	if c.elsewhere(r, link) {
		return r.sayf(r.words.ExportHere, r.user.ID), nil
	}
	q := link.Query()
	q.Set("next", "/settings/export")
	link.RawQuery = q.Encode()
	code.Address = r.at.Address
	return r.sayf(r.words.ExportLink, link, minutes(code.Expires.Sub(r.now))).With(effect.NewWebLink{Code: code}), nil
}

// here reports whether a host is the local machine, which a phone cannot reach.
func here(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

func (c *Commands) newLink(r *request) (core.Outcome, error) {
	if c.NewCode == nil {
		return r.say(r.words.Unavailable), nil
	}
	code, err := c.NewCode()
	if err != nil {
		return core.Outcome{}, err
	}
	return r.sayf(r.words.LinkCode, code, code).With(effect.NewLink{Code: effect.Code{Kind: effect.CodeLink,
		Hash: trust.CodeHash(code), Address: r.at.Address, Name: r.at.Name, Created: r.now,
		Expires: r.now.Add(core.LinkLife)}}), nil
}

// unlink detaches an address: this one, or one of the list that it shows. The last one
// needs a confirmation.
func (c *Commands) unlink(ctx context.Context, r *request) (core.Outcome, error) {
	all, err := c.Store.Identities(ctx, r.user.ID)
	if err != nil {
		return core.Outcome{}, err
	}
	slices.SortFunc(all, func(a, b core.Identity) int { return int(a.ID - b.ID) })
	a := readUnlink(r.arg)
	if a.list {
		return c.linkedList(r, all), nil
	}
	i, ok := a.pick(all, r.at)
	switch {
	case !ok:
		return r.say(r.words.UnlinkWhich), nil
	case len(all) == 1 && !a.sure:
		return r.say(r.words.UnlinkLast), nil
	}
	out := r.sayf(r.words.Unlinked, placeName(i))
	sessions, err := c.Store.Sessions(ctx, r.user.ID, r.now)
	if slices.ContainsFunc(sessions, func(s store.Session) bool { return s.EndsWithout(i.ID) }) {
		out.Text += " " + r.words.UnlinkedBrowsers
	}
	return out.With(effect.Unlink{Identity: i.ID, At: r.now}), err
}

// unlinking holds the arguments of /unlink.
type unlinking struct {
	list, sure bool
	which      string // a number or name; empty: this address
}

func readUnlink(arg string) unlinking {
	var a unlinking
	var rest []string
	for _, w := range strings.Fields(strings.ToLower(arg)) {
		switch word := strings.Trim(w, "-—"); {
		case means(word, yes):
			a.sure = true
		case means(word, func(t *typed) []string { return t.List }):
			a.list = true
		default:
			rest = append(rest, w)
		}
	}
	a.which = strings.Join(rest, " ")
	return a
}

// pick returns the address that is meant.
func (a unlinking) pick(all []core.Identity, here core.Identity) (core.Identity, bool) {
	if a.which == "" {
		return here, true
	}
	if n, err := strconv.Atoi(a.which); err == nil && n > 0 && n <= len(all) {
		return all[n-1], true
	}
	var found []core.Identity
	for _, i := range all {
		if slices.Contains([]string{strings.ToLower(i.Address.Channel), strings.ToLower(i.Name),
			strings.ToLower(i.Address.External), strings.ToLower(i.Address.Channel + ":" + i.Address.External)}, a.which) {
			found = append(found, i)
		}
	}
	return append(found, core.Identity{})[0], len(found) == 1
}

// linkedList lists the addresses of a person with the numbers that /unlink takes.
func (c *Commands) linkedList(r *request, all []core.Identity) core.Outcome {
	n := 0
	return list(r.words.LinkedTitle, all, func(i core.Identity) string {
		n++
		line := fmt.Sprintf("%d. %s", n, placeName(i))
		if i.ID == r.at.ID {
			line += " · " + r.words.Here
		}
		return line
	}, "", r.words.LinkedMore)
}

// placeName returns an address as it is shown: the channel, and the name or address there.
func placeName(i core.Identity) string {
	who := cmp.Or(title(i.Name), i.Address.External)
	return bold(i.Address.Channel) + " (" + strings.ReplaceAll(who, "`", "'") + ")"
}

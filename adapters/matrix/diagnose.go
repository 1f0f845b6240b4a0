package matrix

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/everthread/everthread/core"
)

// Diagnose looks at the account from outside: homeserver, login, device,
// encryption, rooms, bridges and clock. It changes nothing but may log in.
func (c *Channel) Diagnose(ctx context.Context) []core.Finding {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ask, err := c.newSession("", "")
	if err != nil {
		return []core.Finding{{Detail: "matrix: " + err.Error()}}
	}
	var versions struct {
		Versions []string `json:"versions"`
	}
	if err := ask.call(ctx, showTimeout, request{method: http.MethodGet, path: []any{"versions"},
		result: &versions}); err != nil {
		return []core.Finding{{Detail: "matrix: " + err.Error() + "; check channels.matrix.homeserver"}}
	}
	out := []core.Finding{{OK: true, Detail: fmt.Sprintf("matrix: %s answers, newest version %s", c.opts.Homeserver,
		last(versions.Versions))}, c.clock(ctx)}
	s, err := c.enter(ctx)
	if err != nil {
		return append(out, core.Finding{Detail: "matrix: " + err.Error()})
	}
	out = append(out, core.Finding{OK: true, Detail: fmt.Sprintf("matrix: logged in as %s, device %s", c.opts.UserID,
		s.cli.DeviceID)}, c.encryption(ctx, s))
	out = append(out, c.copies(ctx)...)
	if len(c.opts.Autojoin) == 0 && len(c.opts.Bridges) == 0 {
		out = append(out,
			core.Finding{Detail: "matrix: no invitation is accepted; set channels.matrix.autojoin, or channels.matrix.bridges"})
	}
	return append(out, c.inspect(ctx, s)...)
}

func last(list []string) string {
	if len(list) == 0 {
		return "unknown"
	}
	return list[len(list)-1]
}

// clock compares ours with the server's.
func (c *Channel) clock(ctx context.Context) core.Finding {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.opts.Homeserver+"/_matrix/client/versions", nil)
	if err != nil {
		return core.Finding{Detail: "matrix: " + err.Error()}
	}
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return core.Finding{Detail: "matrix: the homeserver cannot be reached"}
	}
	_ = resp.Body.Close()
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return core.Finding{OK: true, Detail: "matrix: the homeserver does not tell its clock"}
	}
	off := c.now().Sub(theirs).Round(time.Second)
	if off.Abs() > time.Minute {
		return core.Finding{Detail: fmt.Sprintf(
			"matrix: our clock is %s off the homeserver's; set it (systemd-timesyncd, chrony)", off)}
	}
	return core.Finding{OK: true, Detail: "matrix: the clocks agree"}
}

func (c *Channel) encryption(ctx context.Context, s *session) core.Finding {
	switch {
	case !cryptoBuilt:
		return core.Finding{Detail: "matrix: encrypted rooms cannot be read; use a build with -tags goolm (releases and make have it)"}
	case c.opts.CryptoDB == nil:
		return core.Finding{Detail: "matrix: encrypted rooms cannot be read; no database was given for their keys"}
	}
	text, ok := c.cryptoStatus(ctx, s)
	return core.Finding{OK: ok, Detail: "matrix: " + text}
}

// inspect looks at the rooms and, in them, for the bridges.
func (c *Channel) inspect(ctx context.Context, s *session) []core.Finding {
	var got struct {
		Rooms []string `json:"joined_rooms"`
	}
	if err := s.call(ctx, callTimeout, request{method: http.MethodGet, path: []any{"v3", "joined_rooms"},
		result: &got}); err != nil {
		return []core.Finding{{Detail: "matrix: " + err.Error()}}
	}
	if err := c.rooms.loadAll(ctx, s, got.Rooms); err != nil {
		return []core.Finding{{Detail: "matrix: " + err.Error()}}
	}
	kinds := map[kind]int{}
	portals := map[string]int{}
	for _, id := range got.Rooms {
		r, _ := c.rooms.get(id)
		k := r.kind(c.rooms.home)
		kinds[k]++
		if p, ok := r.portal(); ok && k == kindPortal {
			portals[p.bridge.Network]++
		}
	}
	out := []core.Finding{{OK: true, Detail: fmt.Sprintf("matrix: %d rooms, %d direct chats, %d of bridges, %d groups",
		len(got.Rooms), kinds[kindNative], kinds[kindPortal], kinds[kindGroup]+kinds[kindBridged])}}
	if n := kinds[kindWaiting]; n > 0 {
		out = append(out,
			core.Finding{Detail: fmt.Sprintf(
				"matrix: %d rooms have ghosts of a bridge but no bridge state by its bot; check that channels.matrix.bridges names the right bot", n)})
	}
	for _, b := range c.opts.Bridges {
		out = append(out, c.inspectBridge(ctx, s, b, portals[b.Network])...)
	}
	return out
}

func (c *Channel) inspectBridge(ctx context.Context, s *session, b Bridge, portals int) []core.Finding {
	var profile struct {
		Name string `json:"displayname"`
	}
	if err := s.call(ctx, showTimeout, request{method: http.MethodGet, path: []any{"v3", "profile", b.Bot},
		result: &profile}); err != nil {
		return []core.Finding{{Detail: fmt.Sprintf(
			"%s: the homeserver does not know %s; is the bridge registered and running? (%v)", b.Network, b.Bot, err)}}
	}
	out := []core.Finding{{OK: true, Detail: fmt.Sprintf("%s: %s is %q, %d chats", b.Network, b.Bot,
		profile.Name, portals)}}
	states := []loginState{c.memory.login(b.Network)}
	if b.ProvisioningSecret != "" {
		var err error
		if states, err = b.ask(ctx, c.opts.HTTP, url.QueryEscape(c.opts.UserID)); err != nil {
			return append(out, core.Finding{Detail: b.Network + ": " + err.Error()})
		}
		if len(states) == 0 {
			return append(out, core.Finding{Detail: fmt.Sprintf("%s: nobody is logged in; open the chat with %s and send: login",
				b.Network, b.Bot)})
		}
	}
	for _, st := range states {
		if err := b.problem(st); err != nil {
			return append(out, core.Finding{Detail: err.Error()})
		}
	}
	if portals == 0 {
		out = append(out, core.Finding{OK: true, Detail: fmt.Sprintf(
			"%s: there is no chat yet; if the account is linked, write to its number", b.Network)})
	}
	return out
}

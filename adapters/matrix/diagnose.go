package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// findings are the texts of Diagnose in one language. The comments list the values for the formatting verbs in order.
type findings struct {
	NoInvitation, Copies, NoCrypto, NoKeys, SigningNone, NotVerified, NotVerifiedYet, Verified, BackupNone, BackupGood,
	Sick, Away string
	Homeserver, NoVersion                                                               string // its address, version
	NoHomeserver, KeysUnreadable, KeysLater, SigningUnread, RecoveryWrong, BackupClosed string // why
	Login                                                                               string // user, device
	ClockUnknown, ClockOff, ClockGood                                                   string // how far
	Rooms                                                                               string // all, direct chats, of bridges, groups
	Ghosts                                                                              string // rooms
	NoBot                                                                               string // network, bot, why
	Bridge                                                                              string // network, bot, its name, chats
	NoChat                                                                              string // network
	LoggedOut                                                                           string // bot
}

func finding(ok bool, detail string) core.Finding {
	return core.Finding{OK: ok, Detail: "matrix: " + detail}
}

// Diagnose checks the account from outside: homeserver, login, device, encryption, rooms,
// bridges and clock. It changes nothing but may log in.
func (c *Channel) Diagnose(ctx context.Context, language string) []core.Finding {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	w := &say(language).Findings
	ask, err := c.newSession("", "")
	if err != nil {
		return []core.Finding{finding(false, err.Error())}
	}
	var versions mautrix.RespVersions
	date, err := within(ctx, showTimeout, func(ctx context.Context) (string, error) {
		_, resp, err := ask.cli.MakeFullRequestWithResp(ctx, mautrix.FullRequest{Method: http.MethodGet,
			URL: ask.cli.BuildClientURL("versions"), ResponseJSON: &versions})
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		return resp.Header.Get("Date"), nil
	})
	if err != nil {
		return []core.Finding{finding(false, fmt.Sprintf(w.NoHomeserver, err))}
	}
	newest := cmp.Or(versions.GetLatest().String(), w.NoVersion)
	out := []core.Finding{finding(true, fmt.Sprintf(w.Homeserver, c.opts.Homeserver, newest)),
		c.clock(date, w)}
	s, err := c.enter(ctx)
	if err != nil {
		return append(out, finding(false, channel.Said(err, language)))
	}
	out = append(out, finding(true, fmt.Sprintf(w.Login, c.opts.UserID, s.cli.DeviceID)), c.encryption(ctx, s, w))
	if errors.Is(c.twin(ctx), errTwin) {
		out = append(out, finding(false, w.Copies))
	}
	if len(c.opts.Autojoin) == 0 && len(c.opts.Bridges) == 0 {
		out = append(out, finding(false, w.NoInvitation))
	}
	return append(out, c.inspect(ctx, s, w)...)
}

func (c *Channel) clock(date string, w *findings) core.Finding {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return finding(true, w.ClockUnknown)
	}
	off := c.now().Sub(theirs).Round(time.Second)
	if off.Abs() > time.Minute {
		return finding(false, fmt.Sprintf(w.ClockOff, off))
	}
	return finding(true, w.ClockGood)
}

func (c *Channel) encryption(ctx context.Context, s *session, w *findings) core.Finding {
	switch {
	case !cryptoBuilt:
		return finding(false, w.NoCrypto)
	case c.opts.CryptoDB == nil:
		return finding(false, w.NoKeys)
	}
	text, ok := c.cryptoStatus(ctx, s, w)
	return finding(ok, text)
}

func (c *Channel) inspect(ctx context.Context, s *session, w *findings) []core.Finding {
	joined, err := s.joinedRooms(ctx)
	if err == nil {
		err = c.rooms.loadAll(ctx, s, joined)
	}
	if err != nil {
		return []core.Finding{finding(false, err.Error())}
	}
	kinds := map[kind]int{}
	portals := map[string]int{}
	for _, id := range joined {
		r, _ := c.rooms.Get(id)
		k := r.kind(c.rooms.home)
		kinds[k]++
		if p, ok := r.portal(); ok && k == kindPortal {
			portals[p.bridge.Network]++
		}
	}
	out := []core.Finding{finding(true, fmt.Sprintf(w.Rooms,
		len(joined), kinds[kindNative], kinds[kindPortal], kinds[kindGroup]+kinds[kindBridged]))}
	if n := kinds[kindWaiting]; n > 0 {
		out = append(out, finding(false, fmt.Sprintf(w.Ghosts, n)))
	}
	for _, b := range c.rooms.home.bridges {
		out = append(out, c.inspectBridge(ctx, s, w, b, portals[b.Network])...)
	}
	return out
}

func (c *Channel) inspectBridge(ctx context.Context, s *session, w *findings, b Bridge,
	portals int) []core.Finding {
	profile, err := within(ctx, showTimeout, func(ctx context.Context) (*mautrix.RespUserProfile, error) {
		return s.cli.GetProfile(ctx, id.UserID(b.Bot))
	})
	if err != nil {
		return []core.Finding{{Detail: fmt.Sprintf(w.NoBot, b.Network, b.Bot, err)}}
	}
	out := []core.Finding{{OK: true, Detail: fmt.Sprintf(w.Bridge, b.Network, b.Bot, profile.DisplayName, portals)}}
	login, _ := c.memory.logins.Get(b.Network)
	if err := b.problem(login, w); err != nil {
		return append(out, core.Finding{Detail: err.Error()})
	}
	if portals == 0 {
		out = append(out, core.Finding{OK: true, Detail: fmt.Sprintf(w.NoChat, b.Network)})
	}
	return out
}

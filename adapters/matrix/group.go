package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"maunium.net/go/mautrix"
	mevent "maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/everthread/everthread/core"
)

// group fills in an event of a room of several people, or of a bridged group: what its members write, and, once, that
// there are several. Everything else in such rooms is ignored.
func group(s scene, in core.Inbound, e event, who role) (core.Inbound, bool) {
	in.Address = core.Address{Channel: Name, Account: s.home.self, External: s.room.id}
	in.Group = &core.Group{Title: s.room.title(s.home), Speaker: e.Sender}
	next := text(e.fields()["replacement_room"])
	switch {
	case e.is(typeTombstone) && strings.HasPrefix(next, "!"):
		in.Kind, in.Target = core.InMoved, next
		return in, true
	case e.is(typeMember) && s.room.kind(s.home) == kindGroup &&
		text(e.fields()["membership"]) == "join" && text(object(e.Prev)["membership"]) != "join":
		in.Kind, in.EventID = core.InGroup, "group:"+s.room.id
		return in, true
	case who != roleOther || !s.room.in(e.Sender):
		return in, false
	case e.Type == typeRedaction:
		return redaction(s, in, e, rolePerson)
	case e.Type != typeMessage || !s.room.believes(e):
		return in, false
	}
	in = message(s, in, e)
	in.Group.Addressed = s.addressed(e, in)
	if name := s.called(in.Text); in.Group.Addressed && name != "" {
		in.Text = name
	}
	return in, in.Kind != core.InUnsupported
}

// addressed reports whether a message mentions the account or replies to it.
func (s scene) addressed(e event, in core.Inbound) bool {
	if in.Quote != nil && in.Quote.Mine {
		return true
	}
	f := e.fields()
	if e.relation().kind == "m.replace" {
		f = object(f["m.new_content"])
	}
	var mentions struct {
		Users []string `json:"user_ids"`
	}
	if json.Unmarshal(f["m.mentions"], &mentions) == nil && slices.Contains(mentions.Users, s.home.self) {
		return true
	}
	return strings.Contains(in.Text, s.home.self) || s.called(in.Text) != ""
}

// called returns a text without the account's name at its beginning; empty: it does not begin with that.
func (s scene) called(text string) string {
	local, _, _ := strings.Cut(strings.TrimPrefix(s.home.self, "@"), ":")
	for _, name := range []string{s.home.self, s.room.members[s.home.self].name, "@" + local, local} {
		if len(name) < 2 || len(text) <= len(name) || !strings.EqualFold(text[:len(name)], name) {
			continue
		}
		rest := strings.TrimLeft(text[len(name):], ":, ")
		if rest != "" && !unicode.IsLetter([]rune(text[len(name):])[0]) {
			return rest
		}
	}
	return ""
}

// title returns the name of a room, or the names of some of its members.
func (r room) title(h household) string {
	if r.name != "" {
		return valid(r.name)
	}
	people, _, _ := r.people(h)
	var names []string
	for _, p := range people[:min(len(people), 3)] {
		if n := r.members[p].name; n != "" {
			p = n
		}
		names = append(names, valid(p))
	}
	return strings.Join(names, ", ")
}

// moderator is the power level of those who may change a room.
const moderator = 50

// Membership returns what somebody is in a room at present: who moderates it administers it.
func (c *Channel) Membership(ctx context.Context, chat core.Address, speaker string) (core.Membership, error) {
	s, err := c.login(ctx)
	if err != nil {
		return core.Outsider, err
	}
	return within(ctx, showTimeout, func(ctx context.Context) (core.Membership, error) {
		var member mevent.MemberEventContent
		err := s.cli.StateEvent(ctx, id.RoomID(chat.External), mevent.StateMember, speaker, &member)
		switch {
		case errors.Is(err, mautrix.MNotFound), err == nil && member.Membership != mevent.MembershipJoin:
			return core.Outsider, nil
		case err != nil:
			return core.Outsider, fmt.Errorf("read who is in the room: %w", err)
		}
		var levels mevent.PowerLevelsEventContent
		if err := s.cli.StateEvent(ctx, id.RoomID(chat.External), mevent.StatePowerLevels, "", &levels); err != nil {
			return core.Outsider, fmt.Errorf("read who moderates the room: %w", err)
		}
		if levels.GetUserLevel(id.UserID(speaker)) >= moderator {
			return core.Administrator, nil
		}
		return core.Member, nil
	})
}

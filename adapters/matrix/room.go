package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mau.fi/util/exsync"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
)

// household holds the account and its bridges, to classify the members of rooms.
type household struct {
	self    string
	bridges []Bridge
}

// bot returns the bridge of a bot, or nil.
func (h household) bot(user string) *Bridge {
	for i := range h.bridges {
		if h.bridges[i].Bot == user {
			return &h.bridges[i]
		}
	}
	return nil
}

// ghost returns the bridge and remote id of a ghost, or nil. Only users on the bridge's
// own server count, as names on other servers prove nothing.
func (h household) ghost(user string) (*Bridge, string) {
	local, server, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	for i := range h.bridges {
		b := &h.bridges[i]
		_, home, _ := strings.Cut(b.Bot, ":")
		if remote, ok := strings.CutPrefix(local, b.Ghosts); ok && server == home && user != b.Bot {
			return b, remote
		}
	}
	return nil, ""
}

type kind int

const (
	kindGone       kind = iota // the account is not in it
	kindEmpty                  // nobody else is in it
	kindSpace                  // a folder of rooms
	kindManagement             // only the account and a bridge's bot
	kindWaiting                // has ghosts, but no trusted bridge state
	kindGroup                  // several people
	kindOpen                   // anybody can read it or join it
	kindBridged                // a bridged room that is not a direct chat
	kindNative                 // one Matrix user
	kindPortal                 // one person of a bridged network
)

// portal is trusted bridge state.
type portal struct {
	bridge   Bridge
	remote   string // id of the chat; in a direct one, of the person
	receiver string // the account's own id on the network
	roomType string
}

type member struct {
	membership, name string
	at               int64 // time of the membership, in milliseconds
}

// room is the part of a room's state that determines its kind. It is a value: apply returns a new one.
type room struct {
	id               string
	members          map[string]member
	service          []string
	serviceBy        string            // sender of service
	portals          map[string]portal // by type and state key
	space, encrypted bool
	history, joins   string // who can read it and who can join it, as the state says
	successor        string
	name             string
}

// apply returns the room after a state event.
func (r room) apply(h household, e event) room {
	f := e.fields()
	switch {
	case e.is(typeMember):
		r.members = maps.Clone(r.members)
		r.members[*e.StateKey] = member{membership: text(f["membership"]), name: text(f["displayname"]), at: e.TS}
	case e.is(typeCreate):
		r.space = text(f["type"]) == "m.space"
	case e.is(typeEncryption):
		r.encrypted = r.encrypted || text(f["algorithm"]) != ""
	case e.is(typeHistory):
		r.history = text(f["history_visibility"])
	case e.is(typeJoins):
		r.joins = text(f["join_rule"])
	case e.is(typeName):
		r.name = text(f["name"])
	case e.is(typeTombstone):
		r.successor = text(f["replacement_room"])
	case e.is(typeService):
		r.service, r.serviceBy = nil, e.Sender
		_ = json.Unmarshal(f["service_members"], &r.service)
	case e.is(typeBridge), e.is(typeHalfShot):
		r.portals = maps.Clone(r.portals)
		key := e.Type + " " + *e.StateKey
		delete(r.portals, key)
		if p, ok := readPortal(h, e.Sender, e.Content); ok {
			r.portals[key] = p
		}
	}
	return r
}

// ofOthers reports whether e is a membership other than the account's.
func (e event) ofOthers(h household) bool { return e.is(typeMember) && *e.StateKey != h.self }

// rewind returns the room with the memberships of others before events, which determine for whom a message was.
func (r room) rewind(h household, events []event) room {
	for _, e := range slices.Backward(events) {
		if e.ofOthers(h) {
			before := e
			before.Content = e.Prev
			r = r.apply(h, before)
		}
	}
	return r
}

// readPortal parses bridge state. It trusts only the bot configured for the network, as
// anybody with power in a room can set such state.
func readPortal(h household, sender string, content json.RawMessage) (portal, bool) {
	f := object(content)
	b := h.bot(sender)
	channel := object(f["channel"])
	id := text(channel["id"])
	if b == nil || id == "" || text(object(f["protocol"])["id"]) != b.Network {
		return portal{}, false
	}
	if bot := text(f["bridgebot"]); bot != "" && bot != sender {
		return portal{}, false
	}
	kind := cmp.Or(text(f["com.beeper.room_type.v2"]), text(f["com.beeper.room_type"]))
	return portal{bridge: *b, remote: id, receiver: text(channel["fi.mau.receiver"]), roomType: kind}, true
}

// portal returns the trusted bridge state, preferably of the newer type.
func (r room) portal() (portal, bool) {
	keys := slices.Sorted(maps.Keys(r.portals)) // m.bridge before uk.half-shot.bridge
	if len(keys) == 0 {
		return portal{}, false
	}
	return r.portals[keys[0]], true
}

func (r room) in(user string) bool {
	m := r.members[user].membership
	return m == "join" || m == "invite"
}

// open reports whether people can read the room whom no member has invited.
func (r room) open() bool {
	return r.history == "world_readable" || !slices.Contains([]string{"", "invite", "private", "knock"}, r.joins)
}

// helper reports whether a bridge's bot set a member as one that is no person.
func (r room) helper(h household, user string) bool {
	return h.bot(r.serviceBy) != nil && slices.Contains(r.service, user)
}

// people returns the other joined or invited members, sorted, without bridges' bots,
// ghosts and helpers, and reports whether there are ghosts and bots.
func (r room) people(h household) (people []string, ghosts, bots bool) {
	for user := range r.members {
		b, _ := h.ghost(user)
		switch {
		case user == h.self || !r.in(user):
		case h.bot(user) != nil:
			bots = true
		case b != nil:
			ghosts = true
		case !r.helper(h, user):
			people = append(people, user)
		}
	}
	slices.Sort(people)
	return people, ghosts, bots
}

// kind classifies the room by who can read it: by its bridge state and its members, and by its rules.
func (r room) kind(h household) kind {
	if r.members[h.self].membership != "join" {
		return kindGone
	}
	if r.space {
		return kindSpace
	}
	people, ghosts, bots := r.people(h)
	p, bridged := r.portal()
	switch k := p.kind(); {
	case bridged && k != kindPortal:
		return k
	case bridged && len(people) > 0:
		return kindGroup
	case bridged && r.open():
		return kindOpen
	case bridged:
		return kindPortal
	case ghosts:
		return kindWaiting
	case len(people) == 0 && bots:
		return kindManagement
	case len(people) == 0:
		return kindEmpty
	case len(people) > 1:
		return kindGroup
	case r.open():
		return kindOpen
	}
	return kindNative
}

func (p portal) kind() kind {
	switch {
	case strings.Contains(p.roomType, "space"):
		return kindSpace
	case p.roomType == "dm" && p.remote != p.receiver: // else a note to self
		return kindPortal
	}
	return kindBridged
}

// person returns the address of the person in a direct chat.
func (r room) person(h household) (core.Address, bool) {
	switch r.kind(h) {
	case kindNative:
		people, _, _ := r.people(h)
		return core.Address{Channel: Name, Account: h.self, External: people[0]}, true
	case kindPortal:
		p, _ := r.portal()
		return core.Address{Channel: p.bridge.Network, Account: h.self, External: p.remote}, true
	}
	return core.Address{}, false
}

type role int

const (
	roleOther  role = iota // ignored
	roleSelf               // the account
	roleOwn                // ghost of the account's own user on the bridged network
	roleBot                // a bridge's bot
	rolePerson             // the person of a direct chat
)

// role classifies a sender. In portals only the network's ghosts count. Which ghost does
// not matter in a direct chat, as the chat's id names the person.
func (r room) role(h household, sender string) role {
	switch {
	case sender == h.self:
		return roleSelf
	case h.bot(sender) != nil:
		return roleBot
	}
	switch r.kind(h) {
	case kindNative:
		if people, _, _ := r.people(h); people[0] == sender {
			return rolePerson
		}
	case kindPortal:
		p, _ := r.portal()
		b, remote := h.ghost(sender)
		switch {
		case b == nil || b.Network != p.bridge.Network:
			return roleOther
		case r.serviceBy == p.bridge.Bot && slices.Contains(r.service, sender), sameID(remote, p.receiver) &&
			!sameID(remote, p.remote):
			return roleOwn
		}
		return rolePerson
	}
	return roleOther
}

// sameID compares the remote id in a ghost's MXID, which is in lower case and escaped, with the id itself.
func sameID(inMXID, id string) bool {
	return id != "" && strings.EqualFold(plainID(inMXID), plainID(id))
}

func plainID(s string) string {
	s, _, _ = strings.Cut(s, "@") // 4912345@s.whatsapp.net
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			return r
		}
		return -1
	}, s)
}

// rooms caches rooms by their ids.
type rooms struct {
	*exsync.Map[string, room]
	home   household
	change *exsync.Map[string, *int] // another pointer after each change by the sync
}

func newRooms(h household) *rooms {
	return &rooms{exsync.NewMap[string, room](), h, exsync.NewMap[string, *int]()}
}

func (rs *rooms) drop(id string) {
	rs.touch(id)
	rs.Delete(id)
}

func (rs *rooms) touch(id string) { rs.change.Set(id, new(int)) }

// with returns the newest direct chat with the person at a, other than not.
func (rs *rooms) with(a core.Address, not string) (room, bool) {
	var found []room
	for id, r := range rs.CopyData() {
		if p, ok := r.person(rs.home); ok && p == a && id != not && r.successor == "" {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return room{}, false
	}
	newest := func(x, y room) int { return int(x.members[rs.home.self].at - y.members[rs.home.self].at) }
	return slices.MaxFunc(found, newest), true
}

// load returns a room, and reads its state unless it is cached. A room to which the account has no access is kindGone.
func (rs *rooms) load(ctx context.Context, s *session, id string) (room, error) {
	if r, ok := rs.Get(id); ok {
		return r, nil
	}
	for range 3 {
		before := rs.change.GetDefault(id, nil)
		r, err := rs.read(ctx, s, id)
		if err != nil {
			return room{}, err
		}
		if rs.change.GetDefault(id, nil) == before {
			rs.Set(id, r)
			return r, nil
		}
	}
	return rs.read(ctx, s, id) // it changes too often to be cached
}

func (rs *rooms) read(ctx context.Context, s *session, id string) (room, error) {
	r := room{id: id, members: map[string]member{}, portals: map[string]portal{}}
	var state []json.RawMessage
	err := s.get(ctx, callTimeout, nil, &state, "v3", "rooms", id, "state")
	switch {
	case forGood(err):
		return r, nil
	case err != nil:
		return r, fmt.Errorf("read room state: %w", err)
	}
	for _, e := range readEvents(state) {
		r = r.apply(rs.home, e)
	}
	return r, nil
}

// loadAll loads many rooms, several at a time.
func (rs *rooms) loadAll(ctx context.Context, s *session, ids []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, id := range ids {
		group.Go(func() error {
			_, err := rs.load(ctx, s, id)
			return err
		})
	}
	return group.Wait()
}

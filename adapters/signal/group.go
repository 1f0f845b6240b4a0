package signal

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// groupPrefix marks the External of a group; the service's id of it follows.
const groupPrefix = "group:"

// groupInfo is the group of a message.
type groupInfo struct {
	ID   string `json:"groupId"`
	Name string `json:"groupName"`
}

// groupOf returns the service's id of a group's External.
func groupOf(external string) (id string, ok bool) {
	id, ok = strings.CutPrefix(external, groupPrefix)
	raw, err := base64.StdEncoding.DecodeString(id)
	return id, ok && err == nil && len(raw) > 0
}

// group fills in the group of a message, and whether it addresses the account: by a mention, or as a reply.
func (r *reader) group(in *core.Inbound, d *data) {
	in.Group = &core.Group{Title: strings.TrimSpace(d.Group.Name), Speaker: in.Address.External}
	in.Address.External, in.Aliases = groupPrefix+d.Group.ID, nil
	in.Group.Addressed = d.Quote != nil && r.isSelf(d.Quote.AuthorUUID, d.Quote.AuthorNumber) ||
		slices.ContainsFunc(d.Mentions, func(m mention) bool { return r.isSelf(m.UUID, m.Number) })
}

// spoken returns the text of a group's message without the mention of the account at its beginning.
func (r *reader) spoken(d *data, text string) string {
	for _, m := range d.Mentions {
		name := "@" + cmp.Or(r.name(m.UUID), m.Number, "somebody")
		if rest, ok := strings.CutPrefix(text, name); m.Start == 0 && ok && r.isSelf(m.UUID, m.Number) {
			if rest = strings.TrimLeft(rest, " ,:"); rest != "" {
				return rest
			}
		}
	}
	return text
}

// native returns the id of a message: its time, and in a group its author, whom a reply to it has to name.
func native(in *core.Inbound, timestamp int64, author string) string {
	at := strconv.FormatInt(timestamp, 10)
	if in.Group == nil {
		return at
	}
	return at + ":" + author
}

// identified returns the time and, in a group, the author of a message with an id.
func identified(id string) (timestamp int64, author string, err error) {
	at, author, _ := strings.Cut(id, ":")
	timestamp, err = strconv.ParseInt(at, 10, 64)
	return timestamp, author, err
}

// writer returns the person who wrote an event.
func writer(in *core.Inbound) string {
	if in.Group != nil {
		return in.Group.Speaker
	}
	return in.Address.External
}

// recipient adds the recipient of a message to its parameters, and reports whether there is one.
func (p params) recipient(external string) bool {
	if id, ok := groupOf(external); ok {
		p["groupId"] = id
		return true
	}
	p["recipient"] = []string{external}
	return isPerson(external)
}

// memberOf is somebody in a group.
type memberOf struct {
	UUID   string `json:"uuid"`
	Number string `json:"number"`
}

// Membership returns what somebody is in a group at present.
func (c *Channel) Membership(ctx context.Context, chat core.Address, speaker string) (core.Membership, error) {
	id, ok := groupOf(chat.External)
	if !ok || speaker == "" {
		return core.Outsider, nil
	}
	var groups []struct {
		ID      string     `json:"id"`
		Members []memberOf `json:"members"`
		Admins  []memberOf `json:"admins"`
	}
	if err := c.api.call(ctx, showTimeout, "listGroups", params{"groupId": []string{id}}, maxAnswer, &groups); err != nil {
		return core.Outsider, fmt.Errorf("ask signal for the group: %w", err)
	}
	meant := func(m memberOf) bool { return strings.ToLower(cmp.Or(m.UUID, m.Number)) == speaker }
	for _, g := range groups {
		switch {
		case g.ID != id:
		case slices.ContainsFunc(g.Admins, meant):
			return core.Administrator, nil
		case slices.ContainsFunc(g.Members, meant):
			return core.Member, nil
		}
	}
	return core.Outsider, nil
}

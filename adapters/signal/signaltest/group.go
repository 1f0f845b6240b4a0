package signaltest

import (
	"slices"
	"strings"
)

// Gather lets a person write to a group, at times with other fields. Mentions of the account stand as "@" in text.
func (s *Server) Gather(group, person, text string, more map[string]any) int64 {
	fields := map[string]any{"message": text, "groupInfo": map[string]any{"groupId": group, "groupName": "Family",
		"revision": 3, "type": "DELIVER"}}
	if at := strings.IndexByte(text, '@'); at >= 0 {
		fields["message"] = text[:at] + "\uFFFC" + text[at+1:]
		fields["mentions"] = []any{map[string]any{"uuid": Self, "number": Account, "start": at, "length": 1}}
	}
	for name, value := range more {
		fields[name] = value
	}
	return s.Write(person, fields)
}

// Administers makes a person an administrator of a group.
func (s *Server) Administers(group, person string) {
	s.Lock()
	defer s.Unlock()
	s.admins[group] = append(s.admins[group], person)
}

// Leaves makes a person leave a group.
func (s *Server) Leaves(group, person string) {
	s.Lock()
	defer s.Unlock()
	s.left[group] = append(s.left[group], person)
}

// groups returns the groups of a call.
func (s *Server) groups(c *call) []any {
	var found []any
	for _, id := range c.recipients() {
		admins, members := []any{}, []any{}
		for _, person := range s.admins[id] {
			admins = append(admins, map[string]any{"uuid": person, "number": nil})
		}
		for person := range s.names {
			if !slices.Contains(s.left[id], person) {
				members = append(members, map[string]any{"uuid": person, "number": nil})
			}
		}
		found = append(found, map[string]any{"id": id, "isMember": true, "members": members, "admins": admins})
	}
	return found
}

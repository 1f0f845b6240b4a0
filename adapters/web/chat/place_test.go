package chat

import (
	"testing"
	"time"

	"github.com/everthread/everthread/core"
)

// A page shows messages in the order in which they make sense, whatever was read when.
func TestMessages_standInOrder(t *testing.T) {
	t.Parallel()
	said := func(id core.MessageID, role core.Role, kind core.MessageKind, second, position int64) core.Message {
		return core.Message{ID: id, Role: role, Kind: kind, SentAt: time.Unix(second, 0), Position: position * 1e6}
	}
	const user, agent = core.RoleUser, core.RoleAssistant
	for name, ms := range map[string][]core.Message{ // in the expected order
		"read and answered": {said(1, user, core.KindChat, 10, 11), said(2, agent, core.KindChat, 20, 12)},
		"sent while the answer was written": {said(1, user, core.KindChat, 10, 10), said(3, agent, core.KindChat, 30, 30),
			said(2, user, core.KindChat, 20, 0)},
		"two sent meanwhile, by clocks that differ": {said(1, user, core.KindChat, 10, 10),
			said(4, agent, core.KindChat, 30, 30), said(2, user, core.KindChat, 25, 0), said(3, user, core.KindChat, 21, 0)},
		"a notice of a failure, while its question waits": {said(1, user, core.KindChat, 10, 0),
			said(2, agent, core.KindNotice, 20, 0), said(3, user, core.KindChat, 30, 0)},
		"a notice of a failure, once its question was read with a later one": {said(1, user, core.KindChat, 10, 40),
			said(2, agent, core.KindNotice, 20, 0), said(3, user, core.KindChat, 30, 41), said(4, agent, core.KindChat, 50, 50)},
		"a command between, with its notice": {said(1, user, core.KindChat, 10, 40), said(2, user, core.KindCommand, 20, 0),
			said(3, agent, core.KindNotice, 20, 0), said(4, agent, core.KindChat, 50, 50)},
		"a reminder after everything": {said(1, user, core.KindChat, 10, 10), said(2, agent, core.KindChat, 20, 20),
			said(3, agent, core.KindReminder, 60, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := []core.Message{}
			for i := range ms {
				got = append(got, ms[len(ms)-1-i])
			}
			sortShown(got)
			for i := range ms {
				if got[i].ID != ms[i].ID {
					t.Fatalf("message %d stands at %d", got[i].ID, i)
				}
			}
		})
	}
}

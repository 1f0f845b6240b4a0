package matrix

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// status fills in a bridge's status event about a sent message.
func status(s scene, in core.Inbound, e event) (core.Inbound, bool) {
	f := e.fields()
	states := map[string]core.DeliveryState{
		"SUCCESS": core.DeliveryDelivered, "FAIL_RETRIABLE": core.DeliveryPending, "FAIL_PERMANENT": core.DeliveryFailed,
	}
	state, ok := states[text(f["status"])]
	rel := e.relation()
	if !ok || rel.target == "" {
		return in, false
	}
	in.Kind, in.Target = core.InReceipt, rel.target
	in.Status = &core.Status{State: state, Key: s.renewal.key(text(f["relates_to_txn_id"]))}
	if state != core.DeliveryDelivered {
		in.Status.Error = strings.TrimSpace(text(f["reason"]) + " " + text(f["message"]))
	}
	return in, true
}

// notice fills in a notice of a bridge's bot that a sent message failed. Other notices
// are ignored.
func notice(in core.Inbound, e event) (core.Inbound, bool) {
	f := e.fields()
	body := text(f["body"])
	rel := e.relation()
	if rel.reply == "" || rel.kind == "m.replace" || !strings.HasPrefix(body, "\u26a0") ||
		!strings.Contains(body, "bridged") {
		return in, false
	}
	in.Kind, in.Target = core.InReceipt, rel.reply
	in.Status = &core.Status{State: core.DeliveryFailed, Error: valid(strings.TrimLeft(body, "\u26a0\ufe0f "))}
	return in, true
}

// receipts turns the read marks of a room into Inbounds: the person's, and those of a
// bridge's bot, which mean that a message was handed over. latest returns the last sent
// message that is not after an event, or "".
func receipts(s scene, raw json.RawMessage, latest func(event string) string) []core.Inbound {
	address, direct := s.room.person(s.home)
	if !direct {
		return nil
	}
	var out []core.Inbound
	for id, kinds := range object(raw) {
		for user, mark := range object(object(kinds)["m.read"]) {
			in := core.Inbound{
				Address: address, Kind: core.InReceipt, Target: latest(id),
				Status: &core.Status{State: core.DeliveryRead, Through: true}, EventID: "read:" + id + ":" + user,
				SentAt: event{TS: number(object(mark)["ts"])}.time(), ReceivedAt: s.now,
			}
			switch s.room.role(s.home, user) {
			case roleBot:
				in.Status = &core.Status{State: core.DeliveryDelivered}
			case rolePerson:
			default:
				continue
			}
			if in.Target != "" {
				in.Raw, _ = json.Marshal(map[string]string{"event_id": id, "user_id": user})
				out = append(out, in)
			}
		}
	}
	slices.SortFunc(out, func(a, b core.Inbound) int { return strings.Compare(a.EventID, b.EventID) })
	return out
}

// loginState is the state of a bridge's connection to the network.
type loginState struct {
	State   string // CONNECTED, BAD_CREDENTIALS, …
	Message string
	At      time.Time
}

// readState parses the login state in a notice of a bridge's bot.
func readState(e event) (loginState, bool) {
	f := object(e.fields()["fi.mau.bridge_state"])
	st := loginState{State: text(f["state_event"]), Message: cmp.Or(text(f["message"]), text(f["error"])), At: e.time()}
	return st, st.State != ""
}

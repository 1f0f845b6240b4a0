//go:build e2e

package e2etest

// Shown returns what a person sees of a sender's messages in a room: the first text of
// each, and its last edit.
func (a *Account) Shown(room, sender string) (firsts, lasts []string) {
	a.h.t.Helper()
	index := map[string]int{}
	for _, e := range a.timeline(room) {
		if e.Sender != sender || e.Type != "m.room.message" {
			continue
		}
		relation, _ := e.Content["m.relates_to"].(map[string]any)
		fresh, _ := e.Content["m.new_content"].(map[string]any)
		if target, _ := relation["event_id"].(string); fresh != nil {
			if i, ok := index[target]; ok {
				lasts[i], _ = fresh["body"].(string)
			}
			continue
		}
		index[e.ID] = len(firsts)
		firsts, lasts = append(firsts, e.Body()), append(lasts, e.Body())
	}
	return firsts, lasts
}

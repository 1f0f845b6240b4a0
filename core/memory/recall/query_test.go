package recall

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// TestUnderstand_namedSpeakers checks which speakers and channels a query boosts, and how its words are weighted.
func TestUnderstand_namedSpeakers(t *testing.T) {
	t.Parallel()
	a := newAnalyzer(t)
	names := map[string]core.Role{"Ana Lucía Silva": core.RoleUser, "Béatrice": core.RoleAssistant, "Al": core.RoleUser,
		"": core.RoleUser, "X": core.RoleUser}
	channels := []string{"telegram", "signal", "matrix"}
	set := Default()
	for _, c := range []struct{ query, who, words string }{
		{"the cat", "", "cat"},
		{"what did Ana say about the cat", "user", "ana*0.3 say*0.3 cat"},
		{"Ana's cat", "user", "ana*0.3 cat"},
		{"ANA LUCIA SILVA and the cat", "user", "ana*0.3 lucia*0.3 silva*0.3 cat"},
		{"Silva's cat", "", "silva cat"},
		{"the cat of beatrice", "assistant", "cat beatrice*0.3"},
		{"analysis", "", "analysis"},
		{"what did I say about cats", "user", "say*0.3 cats"},
		{"what did you tell me about cats", "assistant", "tell*0.3 cats"},
		{"what have I ever told you", "user", "told*0.3"},
		{"did you suggest a film", "assistant", "suggest*0.3 film"},
		{"I like cats", "", "cats"},
		{"my cat", "", "cat"},
		{"qu'est-ce que j'ai dit sur le chat", "user", "dit*0.3 chat"},
		{"que m'as-tu dit du chat", "assistant", "dit*0.3 chat"},
		{"tu m’avais recommandé un film", "assistant", "recommande*0.3 film"},
		{"ce que je t'ai demandé", "user", "demande*0.3"},
		{"was habe ich gesagt", "user", "habe ich gesagt*0.3"},
		{"the user mentioned a cat", "user", "user*0.3 mentioned*0.3 cat"},
		{"user cat preferences", "user", "user*0.3 cat preferences"},
		{"a user manual", "", "user manual"},
		{"what the assistant said", "assistant", "assistant*0.3 said*0.3"},
		{"cat on Signal", "signal", "cat signal*0.3"},
		{"the signal of the cat", "", "signal cat"},
		{"sur telegram le chat", "telegram", "telegram*0.3 chat"},
		{"telegram cat", "telegram", "telegram*0.3 cat"},
		{"cat on whatsapp", "", "cat whatsapp"},
		{"what did Ana tell you on Matrix", "user matrix", "ana*0.3 tell*0.3 matrix*0.3"},
	} {
		in := a.understand(c.query, names, &store.Directory{Channels: channels}, saturday, nil, &set)
		var who []string
		for i, role := range []string{"user", "assistant", "tool"} {
			if in.speakers.roles[i] {
				who = append(who, role)
			}
		}
		who = append(who, in.speakers.channels...)
		if got := strings.Join(who, " "); got != c.who {
			t.Errorf("%q: got %q, want %q", c.query, got, c.who)
		}
		if got := wordText(in.words); got != c.words {
			t.Errorf("%q: got words %q, want %q", c.query, got, c.words)
		}
	}
}

func TestSpeakers_factor(t *testing.T) {
	t.Parallel()
	channels := []string{"telegram", "signal"}
	s := speakers{roles: [3]bool{true, false, false}, channels: []string{"signal"}}
	for _, c := range []struct {
		e    store.DirectoryEntry
		want float64
	}{
		{store.DirectoryEntry{Role: 0, Channel: 0}, 2}, {store.DirectoryEntry{Role: 1, Channel: 1}, 2},
		{store.DirectoryEntry{Role: 0, Channel: 1}, 4}, {store.DirectoryEntry{Role: 1, Channel: 0}, 1},
		{store.DirectoryEntry{Role: 9, Channel: 9}, 1},
	} {
		if got := s.of(c.e, channels, 2); got != c.want {
			t.Errorf("%s: got %v, want %v", fmt.Sprintf("%+v", c.e), got, c.want)
		}
	}
}

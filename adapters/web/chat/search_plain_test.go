package chat

import "testing"

func TestASnippetIsReadWithoutSigns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"## Summary A boat. ## Goals - Sail to Groix [#12] - Rest [#3, #4]": "Summary A boat. Goals · Sail to Groix · Rest",
		"C# and #12 stay": "C# and #12 stay",
		"plain":           "plain",
	} {
		if got := plainly(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

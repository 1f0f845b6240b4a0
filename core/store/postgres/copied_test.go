package postgres

import (
	"maps"
	"strings"
	"testing"
)

func TestCopied_countsRows(t *testing.T) {
	t.Parallel()
	text := `SET client_encoding = 'UTF8';
CREATE TABLE public.messages (id bigint);
COPY public.messages (user_id, id, body) FROM stdin;
1\t1\tCOPY public.users (id) FROM stdin;
1\t2\ta line\\nand another
\.

COPY public.empty (id) FROM stdin;
\.
COPY "my schema"."odd ""name.x" (id) FROM stdin;
` + strings.Repeat("x", 5000) + `
\.
COPY is a word, and public.nothing (id) follows
SELECT 1;
`
	want := map[string]int64{"messages": 2, "empty": 0, `odd "name.x`: 1}
	for _, size := range []int{1, 7, 512, len(text)} {
		c := &copied{rows: map[string]int64{}}
		for rest := text; rest != ""; {
			piece := rest[:min(size, len(rest))]
			if n, err := c.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
			rest = rest[len(piece):]
		}
		if !maps.Equal(c.rows, want) {
			t.Errorf("in pieces of %d: got %v, want %v", size, c.rows, want)
		}
	}
}

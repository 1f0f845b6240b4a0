package sqlstore

import "slices"

// Table says what a table of the schema holds. Whatever concerns all that a user has
// (account deletion, forgetting a message, merges and splits, looking for traces, new
// keys, the checks of the contract) goes by Tables; a test reads the schema itself and
// fails for a table or column that is not named here.
type Table struct {
	Name string
	// Owner is the column of the user whose rows these are; empty: they are nobody's.
	Owner string
	// Row is the column that a trace names a row by; empty: 0 stands for it.
	Row string
	// Words are the columns with words of people, or with what was made of them.
	Words []string
	// Sealed are the columns that may hold what the secret key encrypted.
	Sealed []string
	// Shared tables say whose something is. Their keys are those of the whole gateway;
	// the keys of all others begin with the owner.
	Shared bool
	// Leads is the table that a shared one without an index by user leads to: a user's
	// rows in it are those that their rows there name, by the columns of Key, which both have.
	Leads string
	// Key are the columns after the owner by which pages of a user's rows are copied and
	// deleted in a merge. Of a table without one nothing is left by then.
	Key string
	// Refs are the columns that name a row of another table of the same user, which
	// exists as long as the row does; 0 names none.
	Refs map[string]string
	// Loose are columns like Refs, whose rows may be gone.
	Loose []string
	// Plain are the other columns of text: states, keys, digests, addresses.
	Plain []string
	// Merge says what becomes of the rows of a user who becomes a part of another.
	Merge MergeRule
	// Page is how many rows are copied at a time where nothing but numbers changes. All
	// columns are named then, Numbers being those that are named nowhere else.
	Page    int
	Numbers []string
	// Split says which of these rows go along with an identity: came, cameWith, …;
	// empty: none.
	Split string
	// Forget says what becomes of words when a message is forgotten.
	Forget ForgetRule
	// Export names the file of an export that holds the words, or the folder if it ends
	// with a slash; a dash and a reason if none does.
	Export string
}

// ForgetRule says what becomes of the words of a table when a message is forgotten.
type ForgetRule string

// Rows whose message_id is the message are deleted, or their words become NULL; what
// was made of the message is found by redact itself; other words do not come from
// messages.
const (
	ForgetRows  ForgetRule = "rows"
	ForgetWords ForgetRule = "words"
	ForgetMade  ForgetRule = "made"
	ForgetNone  ForgetRule = "none"
)

// deleteAll returns what deletes the rows of user $1.
func (t Table) deleteAll() string {
	if t.Leads == "" {
		return `DELETE FROM ` + t.Name + ` WHERE ` + t.Owner + ` = $1`
	}
	return `DELETE FROM ` + t.Name + ` WHERE (` + t.Key + `) IN (SELECT ` + t.Key + ` FROM ` + t.Leads +
		` WHERE ` + t.Owner + ` = $1)`
}

// textual reports whether a column holds text.
func (t Table) textual(column string) bool {
	return slices.Contains(slices.Concat(t.Words, t.Sealed, t.Plain), column)
}

// MergeRule says what becomes of rows in a merge.
type MergeRule string

// Copied rows get new numbers at the target user; switched ones are taken over in
// one step with the user; ended ones are deleted; remade ones are made again of
// what was copied.
const (
	MergeCopied   MergeRule = "copied"
	MergeSwitched MergeRule = "switched"
	MergeEnded    MergeRule = "ended"
	MergeRemade   MergeRule = "remade"
)

// Tables are all tables of the schema but those of the indexes, which a Dialect keeps.
func Tables() []Table {
	return slices.Concat(tablesOfPeople(), tablesOfConversation(), tablesBeside())
}

// tablesOfPeople say who somebody is and what signs them in.
func tablesOfPeople() []Table {
	return []Table{
		{Name: "users", Export: "profile.json", Forget: ForgetNone, Words: []string{"name", "settings"},
			Sealed: []string{"settings"}, Plain: []string{"role", "index_version"}},
		owned(Table{Name: "identities", Export: "profile.json", Key: "id", Forget: ForgetNone, Row: "id",
			Words: []string{"name"}, Refs: refs("thread_id", "threads"), Plain: []string{"channel", "account", "external",
				"aliases"}, Merge: MergeSwitched}),
		owned(Table{Name: "addresses", Shared: true, Row: "identity_id", Refs: refs("identity_id", "identities"),
			Plain: []string{"channel", "account", "external"}, Merge: MergeSwitched}),
		owned(Table{Name: "agent_keys", Export: "- what signs in is not taken along", Forget: ForgetNone, Row: "id",
			Words: []string{"name"}, Sealed: []string{"sealed"}, Merge: MergeEnded}),
		owned(Table{Name: "sessions", Export: "- what signs in is not taken along", Forget: ForgetNone, Row: "id",
			Words: []string{"browser"}, Loose: []string{"identity_id"}, Plain: []string{"hash"}, Merge: MergeEnded}),
		owned(Table{Name: "api_keys", Export: "- what signs in is not taken along", Forget: ForgetNone, Row: "id",
			Words: []string{"name"}, Plain: []string{"hash", "hint", "scopes"}, Merge: MergeEnded}),
		owned(Table{Name: "tokens", Shared: true, Row: "id", Plain: []string{"kind", "hash"}, Merge: MergeEnded}),
	}
}

// tablesOfConversation hold what was said, and how it was answered.
func tablesOfConversation() []Table {
	return []Table{
		owned(Table{Name: "threads", Export: "threads/", Key: "id", Forget: ForgetNone, Row: "id",
			Words: []string{"title", "name"}, Loose: []string{"epoch_id"}, Plain: []string{"mode"}, Merge: MergeSwitched}),
		owned(Table{Name: "messages", Export: "messages.jsonl", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"body", "extra"}, Refs: refs("thread_id", "threads", "segment_id", "segments", "turn_id", "turns",
				"identity_id", "identities"),
			Plain: []string{"channel", "role", "kind"}, Merge: MergeCopied}),
		owned(Table{Name: "revisions", Export: "messages.jsonl", Key: "message_id", Forget: ForgetRows, Page: 500,
			Split: cameWith, Numbers: []string{"revision", "replaced_at"}, Row: "message_id", Words: []string{"body"},
			Refs: refs("message_id", "messages"), Merge: MergeCopied}),
		owned(Table{Name: "file_pages", Export: "files.jsonl", Key: "id", Forget: ForgetRows, Row: "id",
			Words: []string{"name", "title", "body"}, Refs: refs("message_id", "messages"), Plain: []string{"kind"},
			Numbers: []string{"part", "number", "tokens"}, Merge: MergeCopied}),
		owned(Table{Name: "refs", Key: "identity_id, native_id", Page: 1500, Split: came, Row: "message_id",
			Refs: refs("message_id", "messages", "identity_id", "identities"), Plain: []string{"native_id"},
			Merge: MergeCopied}),
		owned(Table{Name: "event_ids", Shared: true, Leads: "events", Key: "channel, account, event_id",
			Plain: []string{"channel", "account", "event_id"}, Merge: MergeCopied}),
		owned(Table{Name: "events", Export: "- messages are made of it", Forget: ForgetWords, Row: "message_id",
			Words: []string{"payload"}, Refs: refs("message_id", "messages"), Plain: []string{"channel", "account", "event_id",
				"external", "state"}, Merge: MergeCopied}),
		owned(Table{Name: "segments", Export: "- the program says it", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"error"}, Refs: refs("thread_id", "threads"), Plain: []string{"label", "zone", "state", "post"},
			Merge: MergeSwitched}),
		owned(Table{Name: "summaries", Export: "summaries.jsonl", Key: "segment_id", Forget: ForgetMade, Row: "segment_id",
			Words: []string{"body"}, Refs: refs("segment_id", "segments"), Plain: []string{"label", "covers", "model", "usage"},
			Merge: MergeSwitched}),
		owned(Table{Name: "loops", Export: "loops.jsonl", Key: "id", Forget: ForgetMade, Row: "id", Words: []string{"body"},
			Plain: []string{"state", "sources"}, Merge: MergeCopied}),
		owned(Table{Name: "turns", Export: "- prompts are made of the rest", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"snapshot", "error"}, Refs: refs("thread_id", "threads"),
			Loose: []string{"identity_id", "segment_id", "epoch_id", "task_id"},
			Plain: []string{"state", "inputs", "day", "worker"}, Merge: MergeCopied}),
		owned(Table{Name: "answers", Key: "message_id, turn_id", Page: 500, Split: cameWith, Row: "message_id",
			Refs:  refs("message_id", "messages", "first_message", "messages", "last_message", "messages", "turn_id", "turns"),
			Merge: MergeCopied}),
		owned(Table{Name: "epochs", Export: "- prompts are made of the rest", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"data"}, Refs: refs("thread_id", "threads"), Merge: MergeCopied}),
		owned(Table{Name: "deliveries", Export: "- the program says it", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"error"}, Refs: refs("message_id", "messages"), Loose: []string{"identity_id"},
			Plain: []string{"channel", "account", "external", "kind", "state", "why", "born", "worker"}, Merge: MergeCopied}),
		owned(Table{Name: "delivery_parts", Export: "- it is a message once more", Key: "delivery_id", Forget: ForgetMade,
			Row: "delivery_id", Words: []string{"body", "error"}, Refs: refs("delivery_id", "deliveries"),
			Plain: []string{"state", "native_id"}, Merge: MergeCopied}),
		owned(Table{Name: "jobs", Export: "- the program says it", Forget: ForgetMade, Row: "id",
			Words: []string{"payload", "error"}, Plain: []string{"queue", "key", "state", "worker", "day"},
			Merge: MergeSwitched}),
	}
}

// tablesBeside hold what was made of it, and the work of the gateway.
func tablesBeside() []Table {
	return []Table{
		owned(Table{Name: "usage", Key: "day", Plain: []string{"day"}, Merge: MergeCopied}),
		owned(Table{Name: "once", Key: "key", Page: 500, Numbers: []string{"at"}, Plain: []string{"key"},
			Merge: MergeCopied}),
		owned(Table{Name: "imported", Key: "key", Page: 500, Row: "message_id", Refs: refs("message_id", "messages"),
			Plain: []string{"key"}, Merge: MergeCopied}),
		owned(Table{Name: "codes", Export: "- what signs in is not taken along", Forget: ForgetNone, Words: []string{"name"},
			Plain: []string{"kind", "hash", "hint", "channel", "account", "external"}, Merge: MergeEnded}),
		owned(Table{Name: "journal", Export: "- it ends with its turn", Forget: ForgetMade, Row: "turn_id",
			Words: []string{"body"}, Refs: refs("turn_id", "turns"), Plain: []string{"name"}, Merge: MergeSwitched}),
		owned(Table{Name: "windows", Key: "id", Row: "id", Refs: refs("segment_id", "segments"), Plain: []string{"passages"},
			Merge: MergeCopied}),
		owned(Table{Name: "embeddings", Export: "- the program says it", Forget: ForgetMade, Row: "id",
			Words: []string{"error"}, Plain: []string{"kind", "config", "state"}, Merge: MergeRemade}),
		owned(Table{Name: "themes", Export: "themes.jsonl", Key: "slug", Forget: ForgetMade,
			Words: []string{"slug", "name", "description"}, Merge: MergeRemade}),
		owned(Table{Name: "items", Export: "memory.jsonl", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"theme", "content", "tags", "history"}, Plain: []string{"type", "digest", "status"},
			Merge: MergeCopied}),
		owned(Table{Name: "reminders", Export: "reminders.jsonl", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"body"}, Loose: []string{"message_id"}, Plain: []string{"cron", "zone", "state"},
			Merge: MergeCopied}),
		owned(Table{Name: "task_runs", Key: "task_id, due_at", Page: 500, Split: setWith, Row: "task_id",
			Refs: refs("task_id", "tasks"), Loose: []string{"message_id", "turn_id"}, Plain: []string{"state", "cause", "day"},
			Numbers: []string{"due_at", "passed", "reserved", "started_at", "ended_at"}, Merge: MergeCopied}),
		owned(Table{Name: "tasks", Export: "tasks.jsonl", Key: "id", Forget: ForgetRows, Page: 250, Row: "id",
			Split: cameWith, Words: []string{"body"}, Loose: []string{"message_id"}, Plain: []string{"cron", "zone", "state"},
			Numbers: []string{"due_at", "created_at", "tainted", "failures", "last_due"}, Merge: MergeCopied}),
		owned(Table{Name: "standing", Export: "standing.jsonl", Key: "id", Forget: ForgetRows, Row: "id",
			Words: []string{"body"}, Loose: []string{"message_id"}, Plain: []string{"digest"}, Merge: MergeCopied}),
		owned(Table{Name: "approvals", Export: "- messages ask and answer it", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"subject"}, Loose: []string{"identity_id", "message_id", "turn_id"},
			Plain: []string{"code", "kind", "state", "word"}, Merge: MergeCopied}),
		owned(Table{Name: "audit", Key: "id", Row: "id", Loose: []string{"via_id"}, Plain: []string{"via", "what", "object",
			"ids", "tool", "result"}, Merge: MergeCopied}),
		owned(Table{Name: "pages", Row: "id", Refs: refs("thread_id", "threads"), Loose: []string{"segment_id"},
			Plain: []string{"sizes"}, Merge: MergeRemade}),
		owned(Table{Name: "page_forms", Export: "- it is made of messages", Forget: ForgetMade, Row: "page_id",
			Words: []string{"body"}, Refs: refs("page_id", "pages"), Merge: MergeRemade}),
		owned(Table{Name: "prints", Row: "message_id", Refs: refs("message_id", "messages"), Merge: MergeRemade}),
		owned(Table{Name: "repeats", Row: "message_id", Loose: []string{"message_id", "original_id"}, Merge: MergeRemade}),
		owned(Table{Name: "move_positions", Key: "message_id", Row: "message_id", Loose: []string{"message_id"},
			Merge: MergeEnded}),
		owned(Table{Name: "move_segments", Key: "segment_id", Row: "segment_id", Loose: []string{"segment_id", "into_id"},
			Merge: MergeEnded}),
		{Name: "moves", Loose: []string{"identity_id"}, Plain: []string{"kind", "phase", "cursor", "plan"}},
		{Name: "tries", Plain: []string{"address"}},
		{Name: "leases", Plain: []string{"name", "worker"}},
		{Name: "states", Sealed: []string{"value"}, Plain: []string{"account", "key"}},
		{Name: "rates", Plain: []string{"key"}},
		{Name: "grants", Plain: []string{"day", "worker"}},
		{Name: "heads", Plain: []string{"hash", "body"}}, // what the gateway says to all
	}
}

// tableOf is a table by its name.
func tableOf(name string) Table {
	all := Tables()
	return all[slices.IndexFunc(all, func(t Table) bool { return t.Name == name })]
}

// owned is a table whose rows belong to users.
func owned(t Table) Table {
	t.Owner = "user_id"
	return t
}

// refs makes Refs of pairs of a column and the table that it names a row of.
func refs(pairs ...string) map[string]string {
	out := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		out[pair[0]] = pair[1]
	}
	return out
}

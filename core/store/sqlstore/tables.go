package sqlstore

import "slices"

// Table describes a table of the schema. All operations on everything that a user has (account deletion, redaction,
// merges and splits, the search for traces, new keys, the checks of the contract) rely on Tables. A test reads the
// schema itself, and fails for a table or column that is not named here.
type Table struct {
	Name string
	// Owner is the column of the owning user; empty: rows have no owner.
	Owner string
	// Row is the column that identifies a row in a trace; empty: none.
	Row string
	// Words lists the columns with words of people, or derived from them.
	Words []string
	// Sealed lists the columns that may hold values encrypted with the secret key.
	Sealed []string
	// Shared tables map something to its owner. Their keys are unique in the whole gateway;
	// the keys of all others begin with the owner.
	Shared bool
	// Leads is the table through which the rows of a shared table without an index by user
	// are found: both have the columns of Key.
	Leads string
	// Key lists the columns after the owner that order the pages of a user's rows in a
	// merge. A table without one is empty by then.
	Key string
	// Refs maps columns to the tables that they refer to. The row of the same user exists
	// as long as the referring one; 0 refers to none.
	Refs map[string]string
	// Loose lists columns like Refs, whose rows may be gone.
	Loose []string
	// Plain lists the other columns of text: states, keys, digests, addresses.
	Plain []string
	// Merge says what happens to the rows of the source user of a merge.
	Merge MergeRule
	// Page is how many rows are copied at a time, for tables whose rows change only in their
	// ids. Such a table names all columns; Numbers lists those not named elsewhere.
	Page    int
	Numbers []string
	// Split is the condition of rows that a split transfers: came, cameWith, …; empty: none.
	Split string
	// Forget says what happens to words when a message is redacted.
	Forget ForgetRule
	// Export names the file of an export that holds the words, or the folder if it ends
	// with a slash; otherwise it is a dash and the reason why none does.
	Export string
}

// ForgetRule says what happens to the words of a table when a message is redacted.
type ForgetRule string

// With ForgetRows, rows with its message_id are deleted; with ForgetWords their words become NULL. With ForgetMade,
// redact itself finds words made from the message. With ForgetNone, the words do not come from messages.
const (
	ForgetRows  ForgetRule = "rows"
	ForgetWords ForgetRule = "words"
	ForgetMade  ForgetRule = "made"
	ForgetNone  ForgetRule = "none"
)

// deleteAll returns the statement that deletes the rows of user $1.
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

// MergeRule says what happens to rows in a merge.
type MergeRule string

// Copied rows get new ids at the target user; switched ones are transferred in the switch;
// ended ones are deleted; remade ones are made again from copied rows.
const (
	MergeCopied   MergeRule = "copied"
	MergeSwitched MergeRule = "switched"
	MergeEnded    MergeRule = "ended"
	MergeRemade   MergeRule = "remade"
)

// Tables returns all tables of the schema, except those of the indexes in a Dialect.
func Tables() []Table {
	return slices.Concat(tablesOfPeople(), tablesOfConversation(), tablesBeside(), tablesOfWork())
}

// tablesOfPeople returns the tables of users, identities and credentials.
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

// tablesOfConversation returns the tables of messages and their answers.
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
			Words: []string{"error"}, Refs: refs("thread_id", "threads"),
			Plain: []string{"label", "zone", "state", "post", "failed_with"},
			Merge: MergeSwitched}),
		owned(Table{Name: "summaries", Export: "summaries.jsonl", Key: "segment_id", Forget: ForgetMade, Row: "segment_id",
			Words: []string{"body"}, Refs: refs("segment_id", "segments"), Plain: []string{"label", "covers", "model", "usage"},
			Merge: MergeSwitched}),
		owned(Table{Name: "loops", Export: "loops.jsonl", Key: "id", Forget: ForgetMade, Row: "id", Words: []string{"body"},
			Plain: []string{"state", "sources"}, Merge: MergeCopied}),
		owned(Table{Name: "turns", Export: "- prompts are made of the rest", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"snapshot", "error"}, Refs: refs("thread_id", "threads"),
			Loose: []string{"identity_id", "segment_id", "epoch_id", "task_id", "delivery_id"},
			Plain: []string{"state", "inputs", "day"}, Merge: MergeCopied}),
		owned(Table{Name: "answers", Key: "message_id, turn_id", Page: 500, Split: cameWith, Row: "message_id",
			Refs:  refs("message_id", "messages", "first_message", "messages", "last_message", "messages", "turn_id", "turns"),
			Merge: MergeCopied}),
		owned(Table{Name: "epochs", Export: "- prompts are made of the rest", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"data"}, Refs: refs("thread_id", "threads"), Merge: MergeCopied}),
		owned(Table{Name: "deliveries", Export: "- the program says it", Key: "id", Forget: ForgetMade, Row: "id",
			Words: []string{"error"}, Refs: refs("message_id", "messages"), Loose: []string{"identity_id"},
			Plain: []string{"channel", "account", "external", "kind", "state", "why", "born"}, Merge: MergeCopied}),
		owned(Table{Name: "delivery_parts", Export: "- it is a message once more", Key: "delivery_id", Forget: ForgetMade,
			Row: "delivery_id", Words: []string{"body", "error"}, Refs: refs("delivery_id", "deliveries"),
			Plain: []string{"state", "native_id"}, Merge: MergeCopied}),
		owned(Table{Name: "jobs", Export: "- the program says it", Forget: ForgetMade, Row: "id",
			Words: []string{"payload", "error"}, Plain: []string{"queue", "key", "state", "worker", "day"},
			Merge: MergeSwitched}),
	}
}

// tablesBeside returns the tables of derived data, and of what a user keeps beside the conversation.
func tablesBeside() []Table {
	return []Table{
		owned(Table{Name: "usage", Key: "day", Plain: []string{"day"}, Merge: MergeCopied}),
		owned(Table{Name: "once", Key: "key", Page: 500, Numbers: []string{"at"}, Plain: []string{"key"},
			Merge: MergeCopied}),
		owned(Table{Name: "imported", Key: "key", Page: 500, Row: "message_id", Refs: refs("message_id", "messages"),
			Plain: []string{"key"}, Merge: MergeCopied}),
		owned(Table{Name: "codes", Export: "- what signs in is not taken along", Forget: ForgetNone, Words: []string{"name"},
			Plain: []string{"kind", "hash", "hint", "channel", "account", "external"}, Merge: MergeEnded}),
		owned(Table{Name: "journal", Export: "- it ends with its turn, or a week later", Forget: ForgetMade, Row: "turn_id",
			Words: []string{"body"}, Refs: refs("turn_id", "turns", "message_id", "messages"),
			Plain: []string{"name"}, Merge: MergeSwitched}),
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
	}
}

// tablesOfWork returns the tables of the gateway's work.
func tablesOfWork() []Table {
	return []Table{
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
	}
}

// tableOf returns a table by its name.
func tableOf(name string) Table {
	all := Tables()
	return all[slices.IndexFunc(all, func(t Table) bool { return t.Name == name })]
}

// owned returns a table whose rows belong to users.
func owned(t Table) Table {
	t.Owner = "user_id"
	return t
}

// refs returns Refs from pairs of a column and its table.
func refs(pairs ...string) map[string]string {
	out := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		out[pair[0]] = pair[1]
	}
	return out
}

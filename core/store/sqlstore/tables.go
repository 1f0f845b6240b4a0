package sqlstore

import "slices"

// Table describes a table of the schema. All operations on everything that a user has (account deletion, redaction,
// merges, the search for traces, new keys, the checks of the contract) rely on Tables. A test reads the
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
	// Key lists the columns of a shared table that Leads has, too.
	Key string
	// Refs maps columns to the tables that they refer to. The row of the same user exists
	// as long as the referring one; 0 refers to none.
	Refs map[string]string
	// Loose lists columns like Refs, whose rows may be gone. Those of messages and threads have that in their names.
	Loose []string
	// Plain lists the other columns of text: states, keys, digests, addresses.
	Plain []string
	// Merge says what happens to the rows of the source user of a merge.
	Merge MergeRule
	// Numbers lists the columns not named elsewhere, for tables with MergeShifted.
	Numbers []string
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

// MergeRule says what happens to rows in a merge.
type MergeRule string

// Shifted rows change only in their ids, and copied ones in more, which the merge says; ended ones are deleted; remade
// ones are made again from copied rows.
const (
	MergeShifted MergeRule = "shifted"
	MergeCopied  MergeRule = "copied"
	MergeEnded   MergeRule = "ended"
	MergeRemade  MergeRule = "remade"
)

// Tables returns all tables of the schema, except those of the indexes in a Dialect.
func Tables() []Table {
	return slices.Concat(tablesOfPeople(), tablesOfConversation(), tablesBeside(), tablesOfWork())
}

// tablesOfPeople returns the tables of users, identities and credentials.
func tablesOfPeople() []Table {
	return []Table{
		{Name: "users", Export: "profile.json", Forget: ForgetNone, Words: []string{"name", "settings"},
			Sealed: []string{"settings"}, Plain: []string{"role", "index_version", "services"}},
		owned(Table{Name: "identities", Export: "profile.json", Forget: ForgetNone, Row: "id",
			Words: []string{"name"}, Refs: refs("thread_id", "threads"), Plain: []string{"channel", "account", "external",
				"aliases"}, Numbers: []string{"blocked", "last_used", "window_until", "teased", "detached"}, Merge: MergeShifted}),
		owned(Table{Name: "addresses", Shared: true, Row: "identity_id", Refs: refs("identity_id", "identities"),
			Plain: []string{"channel", "account", "external"}, Merge: MergeCopied}),
		owned(Table{Name: "agent_keys", Export: "- what signs in is not taken along", Forget: ForgetNone, Row: "id",
			Words: []string{"name"}, Sealed: []string{"sealed"}, Merge: MergeCopied}),
		owned(Table{Name: "mcp_grants", Row: "id", Sealed: []string{"sealed"}, Plain: []string{"service"},
			Numbers: []string{"version", "expires_at", "taken_until", "created_at"}, Merge: MergeShifted}),
		owned(Table{Name: "sessions", Export: "- what signs in is not taken along", Forget: ForgetNone, Row: "id",
			Words: []string{"browser", "push_error"}, Sealed: []string{"push"}, Loose: []string{"identity_id"},
			Plain: []string{"hash"}, Merge: MergeEnded}),
		owned(Table{Name: "api_keys", Export: "- what signs in is not taken along", Forget: ForgetNone, Row: "id",
			Words: []string{"name"}, Plain: []string{"hash", "hint", "scopes"}, Merge: MergeEnded}),
		owned(Table{Name: "tokens", Shared: true, Row: "id", Plain: []string{"kind", "hash"}, Merge: MergeEnded}),
	}
}

// tablesOfConversation returns the tables of messages and their answers.
func tablesOfConversation() []Table {
	return []Table{
		owned(Table{Name: "threads", Export: "threads/", Forget: ForgetNone, Row: "id",
			Words: []string{"title", "name"}, Loose: []string{"epoch_id"}, Plain: []string{"mode"}, Merge: MergeCopied}),
		owned(Table{Name: "messages", Export: "messages.jsonl", Forget: ForgetMade, Row: "id",
			Words: []string{"body", "extra"}, Refs: refs("thread_id", "threads", "segment_id", "segments", "turn_id", "turns",
				"identity_id", "identities"),
			Plain: []string{"channel", "role", "kind"}, Merge: MergeCopied}),
		owned(Table{Name: "revisions", Export: "messages.jsonl", Forget: ForgetRows, Row: "message_id",
			Numbers: []string{"revision", "replaced_at"}, Words: []string{"body"},
			Refs: refs("message_id", "messages"), Merge: MergeShifted}),
		owned(Table{Name: "file_pages", Export: "files.jsonl", Forget: ForgetRows, Row: "id",
			Words: []string{"name", "title", "body"}, Refs: refs("message_id", "messages"), Plain: []string{"kind"},
			Numbers: []string{"part", "number", "tokens"}, Merge: MergeShifted}),
		owned(Table{Name: "refs", Row: "message_id",
			Refs: refs("message_id", "messages", "identity_id", "identities"), Plain: []string{"native_id"},
			Merge: MergeShifted}),
		owned(Table{Name: "event_ids", Shared: true, Leads: "events", Key: "channel, account, event_id",
			Plain: []string{"channel", "account", "event_id"}, Merge: MergeCopied}),
		owned(Table{Name: "events", Export: "- messages are made of it", Forget: ForgetWords, Row: "message_id",
			Words: []string{"payload"}, Refs: refs("message_id", "messages"), Plain: []string{"channel", "account", "event_id",
				"external", "state"}, Merge: MergeCopied}),
		owned(Table{Name: "segments", Export: "- the program says it", Forget: ForgetMade, Row: "id",
			Words: []string{"error"}, Refs: refs("thread_id", "threads"),
			Plain: []string{"label", "zone", "state", "post", "failed_with"},
			Merge: MergeCopied}),
		owned(Table{Name: "summaries", Export: "summaries.jsonl", Forget: ForgetMade, Row: "segment_id",
			Words: []string{"body"}, Refs: refs("segment_id", "segments"), Plain: []string{"label", "covers", "model", "usage"},
			Merge: MergeCopied}),
		owned(Table{Name: "speakers", Export: "- messages name who wrote them", Forget: ForgetNone, Row: "id", Words: []string{"name"},
			Loose: []string{"last_message"}, Plain: []string{"key"}, Merge: MergeEnded}),
		owned(Table{Name: "loops", Export: "loops.jsonl", Forget: ForgetMade, Row: "id", Words: []string{"body"},
			Plain: []string{"state", "sources"}, Merge: MergeCopied}),
		owned(Table{Name: "turns", Export: "- prompts are made of the rest", Forget: ForgetMade, Row: "id",
			Words: []string{"snapshot", "error"}, Refs: refs("thread_id", "threads"),
			Loose: []string{"identity_id", "segment_id", "epoch_id", "task_id", "delivery_id"},
			Plain: []string{"state", "inputs", "day"}, Merge: MergeCopied}),
		owned(Table{Name: "answers", Row: "message_id",
			Refs:  refs("message_id", "messages", "first_message", "messages", "last_message", "messages", "turn_id", "turns"),
			Merge: MergeShifted}),
		owned(Table{Name: "epochs", Export: "- prompts are made of the rest", Forget: ForgetMade, Row: "id",
			Words: []string{"data"}, Refs: refs("thread_id", "threads"), Merge: MergeCopied}),
		owned(Table{Name: "deliveries", Export: "- the program says it", Forget: ForgetMade, Row: "id",
			Words: []string{"error"}, Refs: refs("message_id", "messages"), Loose: []string{"identity_id"},
			Plain: []string{"channel", "account", "external", "kind", "state", "why", "born"}, Merge: MergeCopied}),
		owned(Table{Name: "delivery_parts", Export: "- it is a message once more", Forget: ForgetMade,
			Row: "delivery_id", Words: []string{"body", "error"}, Refs: refs("delivery_id", "deliveries"),
			Plain: []string{"state", "native_id"}, Numbers: []string{"n", "repeats", "resent", "sent_at"}, Merge: MergeShifted}),
		owned(Table{Name: "jobs", Export: "- the program says it", Forget: ForgetMade, Row: "id",
			Words: []string{"payload", "error"}, Plain: []string{"queue", "key", "state", "worker", "day"},
			Merge: MergeCopied}),
	}
}

// tablesBeside returns the tables of derived data, and of what a user keeps beside the conversation.
func tablesBeside() []Table {
	return []Table{
		owned(Table{Name: "usage", Plain: []string{"day"}, Merge: MergeCopied}),
		owned(Table{Name: "usage_parts", Plain: []string{"day", "model", "purpose"}, Merge: MergeCopied}),
		owned(Table{Name: "once", Numbers: []string{"at"}, Plain: []string{"key"},
			Merge: MergeShifted}),
		owned(Table{Name: "imported", Row: "message_id", Refs: refs("message_id", "messages"),
			Plain: []string{"key"}, Merge: MergeShifted}),
		owned(Table{Name: "codes", Export: "- what signs in is not taken along", Forget: ForgetNone, Words: []string{"name"},
			Plain: []string{"kind", "hash", "hint", "channel", "account", "external"}, Merge: MergeEnded}),
		owned(Table{Name: "journal", Export: "- it ends with its turn, or a week later", Forget: ForgetMade, Row: "turn_id",
			Words: []string{"body"}, Refs: refs("turn_id", "turns", "message_id", "messages"), Plain: []string{"name"},
			Numbers: []string{"step", "call", "at"}, Merge: MergeShifted}),
		owned(Table{Name: "windows", Row: "id", Refs: refs("segment_id", "segments"), Plain: []string{"passages"},
			Merge: MergeCopied}),
		owned(Table{Name: "embeddings", Export: "- the program says it", Forget: ForgetMade, Row: "id",
			Words: []string{"error"}, Plain: []string{"kind", "config", "state"}, Merge: MergeRemade}),
		owned(Table{Name: "themes", Export: "themes.jsonl", Forget: ForgetMade,
			Words: []string{"slug", "name", "description"}, Merge: MergeRemade}),
		owned(Table{Name: "items", Export: "memory.jsonl", Forget: ForgetMade, Row: "id",
			Words: []string{"theme", "content", "tags", "history"}, Plain: []string{"type", "digest", "status"},
			Loose:   []string{"source_thread", "source_message"},
			Numbers: []string{"created_at", "updated_at", "tainted", "noted"}, Merge: MergeShifted}),
		owned(Table{Name: "plan_runs", Row: "plan_id",
			Refs: refs("plan_id", "plans"), Loose: []string{"message_id", "turn_id"}, Plain: []string{"state", "cause", "day"},
			Numbers: []string{"due_at", "passed", "reserved", "started_at", "ended_at"}, Merge: MergeShifted}),
		owned(Table{Name: "plans", Export: "reminders.jsonl tasks.jsonl", Forget: ForgetMade, Row: "id",
			Words: []string{"body"}, Loose: []string{"source_message"}, Plain: []string{"kind", "cron", "zone", "state", "model"},
			Numbers: []string{"due_at", "created_at", "tainted", "failures", "last_due"}, Merge: MergeShifted}),
		owned(Table{Name: "standing", Export: "standing.jsonl", Forget: ForgetRows, Row: "id",
			Words: []string{"body"}, Loose: []string{"message_id"}, Plain: []string{"digest"},
			Numbers: []string{"tokens", "noted", "created_at"}, Merge: MergeShifted}),
		owned(Table{Name: "approvals", Export: "- messages ask and answer it", Forget: ForgetMade, Row: "id",
			Words: []string{"subject"}, Loose: []string{"identity_id", "message_id", "turn_id"},
			Plain:   []string{"code", "kind", "state", "word"},
			Numbers: []string{"asked_at", "expires_at", "decided_at"}, Merge: MergeShifted}),
		owned(Table{Name: "audit", Row: "id", Loose: []string{"via_id"}, Plain: []string{"via", "what", "object",
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
		{Name: "merges", Loose: []string{"identity_id"}, Plain: []string{"phase"}},
		{Name: "tries", Plain: []string{"address"}},
		{Name: "leases", Plain: []string{"name", "worker"}},
		{Name: "states", Sealed: []string{"value"}, Plain: []string{"account", "key"}},
		{Name: "rates", Plain: []string{"key"}},
		{Name: "grants", Plain: []string{"day", "worker"}},
	}
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

-- +goose Up
ANALYZE; -- makes the table of statistics, which is filled below

-- Times are UTC milliseconds, positions and shown are microseconds, JSON is
-- text, flags are 0 or 1. Every table is led by its user, so that it can be
-- partitioned or distributed by it. User 0 stands for strangers.
CREATE TABLE users (
	id            bigint PRIMARY KEY,
	name          text   NOT NULL,
	role          text   NOT NULL,
	settings      text   NOT NULL DEFAULT '{}',
	last_message  bigint NOT NULL DEFAULT 0,
	last_id       bigint NOT NULL DEFAULT 0,
	-- indexed: messages up to it are in the full-text index. index_version: of the
	-- analyzer that indexed them; while another one does it anew, reindexed says how far.
	indexed       bigint NOT NULL DEFAULT 0,
	reindexed     bigint NOT NULL DEFAULT 0,
	index_version text   NOT NULL DEFAULT '',
	-- merging: a merge waits for what is under way; nothing else begins.
	merging       bigint NOT NULL DEFAULT 0,
	created_at    bigint NOT NULL,
	-- News of an epoch: what changed since its head was fixed. users.news counts such
	-- changes, and changed says which of them was the last of a row. threads.news is
	-- how far the thread's prompt has told of them.
	news          bigint NOT NULL DEFAULT 0,
	standing      bigint NOT NULL DEFAULT 0,
	-- services: the names of the services in mcp_grants, for the tools that the user has.
	services      text   NOT NULL DEFAULT '[]',
	filed         bigint NOT NULL DEFAULT 0,
	-- users.unindexed: the user has messages that are not indexed yet. It changes when the index
	-- falls behind and when it has caught up, not with each message, as the condition of the
	-- index that it replaces did. How many turns began within a minute is read from the newest.
	unindexed     bigint NOT NULL DEFAULT 0
);
CREATE INDEX users_version ON users (index_version);
CREATE INDEX users_own ON users (id) WHERE settings LIKE '%"embeddings":{%';
CREATE INDEX users_groups ON users (id) WHERE role = 'group';
CREATE INDEX users_behind ON users (id) WHERE unindexed = 1;
INSERT INTO users (id, name, role, created_at) VALUES (0, 'strangers', 'none', 0);

CREATE TABLE identities (
	user_id      bigint NOT NULL,
	id           bigint NOT NULL,
	channel      text   NOT NULL,
	account      text   NOT NULL,
	external     text   NOT NULL,
	name         text   NOT NULL,
	thread_id    bigint NOT NULL DEFAULT 0,
	blocked      bigint NOT NULL DEFAULT 0,
	last_used    bigint NOT NULL,
	-- until when it may be written to (0: always), and whether it was asked since.
	window_until bigint NOT NULL DEFAULT 0,
	teased       bigint NOT NULL DEFAULT 0,
	aliases      text   NOT NULL DEFAULT '[]',
	-- a detached one is kept for what came through it; nobody is found by it.
	detached     bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;

CREATE TABLE agent_keys (
	user_id    bigint NOT NULL,
	id         bigint NOT NULL,
	name       text   NOT NULL,
	sealed     text   NOT NULL,
	created_at bigint NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;

-- Browsers that are signed in to the web page. Ids are unique among all users.
-- The access that a user granted to a service, a server of tools with OAuth. id is of
-- the grant; version counts how often its tokens were renewed, and until taken_until one
-- process may renew them.
CREATE TABLE mcp_grants (
	user_id     bigint NOT NULL,
	service     text   NOT NULL,
	id          bigint NOT NULL,
	version     bigint NOT NULL DEFAULT 0,
	sealed      text   NOT NULL,
	expires_at  bigint NOT NULL,
	taken_until bigint NOT NULL DEFAULT 0,
	created_at  bigint NOT NULL,
	PRIMARY KEY (user_id, service)
) WITHOUT ROWID;

CREATE TABLE sessions (
	user_id     bigint NOT NULL,
	id          bigint NOT NULL,
	hash        text   NOT NULL,
	browser     text   NOT NULL,
	created_at  bigint NOT NULL,
	used_at     bigint NOT NULL,
	expires_at  bigint NOT NULL,
	-- Through which identity a browser was signed in; 0: it was not recorded.
	identity_id bigint NOT NULL DEFAULT 0,
	-- Where its notifications are sent, encrypted; whether they show texts; when and why the last one failed.
	push        text   NOT NULL DEFAULT '',
	push_texts  bigint NOT NULL DEFAULT 0,
	push_failed bigint NOT NULL DEFAULT 0,
	push_error  text   NOT NULL DEFAULT '',
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE INDEX sessions_used ON sessions (user_id, used_at, id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Keys of programs that act for a user. Ids are unique among all users.
CREATE TABLE api_keys (
	user_id    bigint NOT NULL,
	id         bigint NOT NULL,
	name       text   NOT NULL,
	hash       text   NOT NULL,
	hint       text   NOT NULL,
	scopes     text   NOT NULL,
	created_at bigint NOT NULL,
	used_at    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;

CREATE TABLE threads (
	user_id       bigint NOT NULL,
	id            bigint NOT NULL,
	mode          text   NOT NULL,
	title         text   NOT NULL,
	-- own: the person wrote the title.
	own           bigint NOT NULL DEFAULT 0,
	-- what a client of the HTTP interfaces calls it; empty: none does.
	name          text   NOT NULL DEFAULT '',
	last_position bigint NOT NULL DEFAULT 0,
	edits         bigint NOT NULL DEFAULT 0,
	summaries     bigint NOT NULL DEFAULT 0,
	epoch_id      bigint NOT NULL DEFAULT 0,
	epoch_used    bigint NOT NULL DEFAULT 0,
	created_at    bigint NOT NULL,
	-- failed: messages up to it that wait for a turn were read by one that failed.
	-- They are shown where that one read them, above the notice of it.
	failed        bigint NOT NULL DEFAULT 0,
	news          bigint NOT NULL DEFAULT 0,
	-- How often the compression of old messages has made something that a new prompt
	-- of the thread would show.
	compressed    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX threads_continuous ON threads (user_id) WHERE mode = 'continuous';
CREATE UNIQUE INDEX threads_name ON threads (user_id, name) WHERE name <> '';

CREATE TABLE messages (
	user_id     bigint NOT NULL,
	id          bigint NOT NULL,
	thread_id   bigint NOT NULL,
	segment_id  bigint NOT NULL,
	turn_id     bigint NOT NULL,
	identity_id bigint NOT NULL,
	channel     text   NOT NULL,
	role        text   NOT NULL,
	kind        text   NOT NULL,
	body        text   NOT NULL,
	tokens      bigint NOT NULL,
	extra       text   NOT NULL,
	position    bigint NOT NULL,
	shown       bigint NOT NULL,
	sent_at     bigint NOT NULL,
	platform_at bigint NOT NULL,
	revision    bigint NOT NULL DEFAULT 0,
	redacted    bigint NOT NULL DEFAULT 0,
	covered     bigint NOT NULL DEFAULT 0,
	solo        bigint NOT NULL DEFAULT 0,
	-- refused: the model's server refused the turn that read the message, which waits again: no
	-- turn reads it until its sender says more or asks for it.
	refused     bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX messages_position ON messages (user_id, thread_id, position) WHERE position > 0;
CREATE INDEX messages_pending ON messages (user_id, thread_id, id) WHERE kind = 'chat' AND role <> 'assistant' AND turn_id = 0 AND position = 0 AND redacted = 0;
CREATE INDEX messages_segment ON messages (user_id, segment_id, id) WHERE segment_id > 0;
CREATE INDEX messages_extra ON messages (user_id, id) WHERE extra <> '{}';
CREATE INDEX messages_shown ON messages (user_id, thread_id, shown, id) WHERE shown <> position;

CREATE TABLE revisions (
	user_id     bigint NOT NULL,
	message_id  bigint NOT NULL,
	revision    bigint NOT NULL,
	body        text   NOT NULL,
	replaced_at bigint NOT NULL,
	PRIMARY KEY (user_id, message_id, revision)
) WITHOUT ROWID;

CREATE TABLE refs (
	user_id     bigint NOT NULL,
	identity_id bigint NOT NULL,
	native_id   text   NOT NULL,
	message_id  bigint NOT NULL,
	PRIMARY KEY (user_id, identity_id, native_id)
) WITHOUT ROWID;

CREATE TABLE segments (
	user_id       bigint NOT NULL,
	id            bigint NOT NULL,
	thread_id     bigint NOT NULL,
	label         text   NOT NULL,
	zone          text   NOT NULL,
	starts_at     bigint NOT NULL,
	ends_at       bigint NOT NULL,
	finalize_at   bigint NOT NULL,
	post_at       bigint NOT NULL,
	state         text   NOT NULL,
	first_message bigint NOT NULL,
	last_message  bigint NOT NULL DEFAULT 0,
	messages      bigint NOT NULL DEFAULT 0,
	since_summary bigint NOT NULL DEFAULT 0,
	stale         bigint NOT NULL DEFAULT 0,
	hidden        bigint NOT NULL DEFAULT 0,
	version       bigint NOT NULL DEFAULT 0,
	error         text   NOT NULL DEFAULT '',
	post          text   NOT NULL DEFAULT '',
	-- windowed: messages up to it are in windows; unwindowed: there may be others.
	windowed      bigint NOT NULL DEFAULT 0,
	unwindowed    bigint NOT NULL DEFAULT 1,
	-- backlog: it came with an import, and its summary waits behind all others.
	backlog       bigint NOT NULL DEFAULT 0,
	-- A turn writes two index pages less. with_day: the raw payload of an event is removed with the day of its message,
	-- whose segment has raw = 1, and not by its own time. direct: a delivery is found through its turn, which has
	-- delivery_id, and not by its message.
	raw           bigint NOT NULL DEFAULT 0,
	-- A segment whose last summary failed stays due: from retry_at on, or as soon as the model's configuration is no
	-- longer failed_with. failed_at: when it began to fail. due_at: the end of the day that a loop names; asked: the
	-- person was asked about it since.
	failed_at     bigint NOT NULL DEFAULT 0,
	retry_at      bigint NOT NULL DEFAULT 0,
	failed_with   text   NOT NULL DEFAULT '',
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX segments_label ON segments (user_id, thread_id, label);
CREATE INDEX segments_due ON segments (finalize_at) WHERE state = 'open';
CREATE INDEX segments_post ON segments (post_at) WHERE post = 'due';
CREATE INDEX segments_unwindowed ON segments (user_id, id) WHERE unwindowed = 1;
CREATE INDEX segments_import_due ON segments (user_id, label) WHERE backlog = 1;
CREATE INDEX segments_raw ON segments (ends_at) WHERE raw = 1;
CREATE INDEX segments_stale ON segments (finalize_at) WHERE state = 'final' AND stale = 1 AND retry_at = 0 AND backlog = 0;
CREATE INDEX segments_retry ON segments (retry_at) WHERE retry_at > 0;

CREATE TABLE summaries (
	user_id    bigint NOT NULL,
	segment_id bigint NOT NULL,
	version    bigint NOT NULL,
	label      text   NOT NULL,
	body       text   NOT NULL,
	tokens     bigint NOT NULL,
	covers     text   NOT NULL,
	model      text   NOT NULL,
	usage      text   NOT NULL,
	ungrounded bigint NOT NULL,
	final      bigint NOT NULL,
	created_at bigint NOT NULL,
	-- Where something comes from. 1: it was made from words that the person did not
	-- write (forwarded, imported, of outside tools, or made from such); 2: a turn that
	-- had read such words archived, closed or cancelled it; 3: both.
	tainted    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, segment_id, version)
) WITHOUT ROWID;

-- Who wrote in a group chat. key is the service's id of the member, last_message their newest message.
CREATE TABLE speakers (
	user_id      bigint NOT NULL,
	id           bigint NOT NULL,
	key          text   NOT NULL,
	name         text   NOT NULL,
	last_message bigint NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX speakers_key ON speakers (user_id, key);
CREATE INDEX speakers_name ON speakers (user_id, name);

CREATE TABLE loops (
	user_id      bigint NOT NULL,
	id           bigint NOT NULL,
	body         text   NOT NULL,
	state        text   NOT NULL,
	sources      text   NOT NULL,
	opened_at    bigint NOT NULL,
	mentioned_at bigint NOT NULL,
	changed      bigint NOT NULL DEFAULT 0,
	tainted      bigint NOT NULL DEFAULT 0,
	due_at       bigint NOT NULL DEFAULT 0,
	asked        bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE INDEX loops_open ON loops (user_id, mentioned_at) WHERE state = 'open';
CREATE INDEX loops_changed ON loops (user_id, changed);

CREATE TABLE turns (
	user_id     bigint NOT NULL,
	id          bigint NOT NULL,
	thread_id   bigint NOT NULL,
	identity_id bigint NOT NULL,
	segment_id  bigint NOT NULL,
	state       text   NOT NULL,
	inputs      text   NOT NULL,
	stop        bigint NOT NULL DEFAULT 0,
	restarts    bigint NOT NULL DEFAULT 0,
	failures    bigint NOT NULL DEFAULT 0,
	error       text   NOT NULL DEFAULT '',
	reserved    bigint NOT NULL DEFAULT 0,
	day         text   NOT NULL DEFAULT '',
	started_at  bigint NOT NULL,
	ended_at    bigint NOT NULL DEFAULT 0,
	epoch_id    bigint NOT NULL DEFAULT 0,
	snapshot    text   NOT NULL DEFAULT '',
	task_id     bigint NOT NULL DEFAULT 0,
	task_due    bigint NOT NULL DEFAULT 0,
	delivery_id bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE INDEX turns_running ON turns (user_id, thread_id) WHERE state = 'running';

CREATE TABLE epochs (
	user_id   bigint NOT NULL,
	id        bigint NOT NULL,
	thread_id bigint NOT NULL,
	data      text   NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;

CREATE TABLE deliveries (
	user_id     bigint NOT NULL,
	id          bigint NOT NULL,
	message_id  bigint NOT NULL,
	identity_id bigint NOT NULL,
	channel     text   NOT NULL,
	account     text   NOT NULL,
	external    text   NOT NULL,
	kind        text   NOT NULL,
	state       text   NOT NULL,
	why         text   NOT NULL,
	error       text   NOT NULL DEFAULT '',
	created_at  bigint NOT NULL,
	expires_at  bigint NOT NULL,
	-- user-id under which it was made, if another: the keys of its parts stay the same.
	born        text   NOT NULL DEFAULT '',
	direct      bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE INDEX deliveries_born ON deliveries (user_id, born) WHERE born <> '';
CREATE INDEX deliveries_parked ON deliveries (user_id, identity_id, id) WHERE state = 'parked';
CREATE INDEX deliveries_trouble ON deliveries (created_at) WHERE state IN ('failed', 'unknown', 'parked', 'expired');
CREATE INDEX deliveries_user_trouble ON deliveries (user_id, id) WHERE state IN ('failed', 'unknown', 'parked', 'expired');
CREATE INDEX deliveries_under_way ON deliveries (user_id, id) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_expiry ON deliveries (expires_at) WHERE expires_at > 0 AND state IN ('pending', 'parked');
CREATE INDEX deliveries_message ON deliveries (user_id, message_id) WHERE message_id > 0 AND direct = 0;

CREATE TABLE delivery_parts (
	user_id     bigint NOT NULL,
	delivery_id bigint NOT NULL,
	n           bigint NOT NULL,
	body        text   NOT NULL,
	state       text   NOT NULL,
	native_id   text   NOT NULL DEFAULT '',
	repeats     bigint NOT NULL DEFAULT 0,
	resent      bigint NOT NULL DEFAULT 0, -- how often the service said that it may be sent again
	sent_at     bigint NOT NULL DEFAULT 0,
	error       text   NOT NULL DEFAULT '',
	PRIMARY KEY (user_id, delivery_id, n)
) WITHOUT ROWID;

CREATE TABLE jobs (
	user_id     bigint NOT NULL,
	id          bigint NOT NULL,
	queue       text   NOT NULL,
	key         text   NOT NULL,
	ref         bigint NOT NULL,
	payload     text   NOT NULL,
	state       text   NOT NULL,
	run_at      bigint NOT NULL,
	attempt     bigint NOT NULL DEFAULT 0,
	lease_until bigint NOT NULL DEFAULT 0,
	worker      text   NOT NULL DEFAULT '',
	error       text   NOT NULL DEFAULT '',
	failures    bigint NOT NULL DEFAULT 0,
	reserved    bigint NOT NULL DEFAULT 0, -- tokens, of the budget of day
	day         text   NOT NULL DEFAULT '',
	since       bigint NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
-- The guarantee that one job per key runs: one head per key.
CREATE UNIQUE INDEX jobs_head ON jobs (user_id, key) WHERE state IN ('ready', 'running');
CREATE INDEX jobs_waiting ON jobs (user_id, key, id) WHERE state = 'waiting';
CREATE INDEX jobs_due ON jobs (queue, run_at) WHERE state = 'ready';
CREATE INDEX jobs_running ON jobs (queue, lease_until) WHERE state = 'running';
CREATE INDEX jobs_summary ON jobs (user_id, ref) WHERE queue = 'summarize';
CREATE INDEX jobs_dead ON jobs (run_at) WHERE state = 'dead';

CREATE TABLE usage (
	user_id       bigint NOT NULL,
	day           text   NOT NULL,
	reserved      bigint NOT NULL DEFAULT 0,
	prompt        bigint NOT NULL DEFAULT 0,
	cached        bigint NOT NULL DEFAULT 0,
	completion    bigint NOT NULL DEFAULT 0,
	turns         bigint NOT NULL DEFAULT 0,
	-- What went out for a user on a day: requests, and bytes in both directions.
	calls         bigint NOT NULL DEFAULT 0,
	bytes         bigint NOT NULL DEFAULT 0,
	task_tokens   bigint NOT NULL DEFAULT 0,
	task_reserved bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, day)
) WITHOUT ROWID;
CREATE INDEX usage_day ON usage (day, user_id);

-- The same tokens by the model that answered, and by what for. amount is what speech is
-- measured in: seconds that were heard, or characters that were spoken.
CREATE TABLE usage_parts (
	user_id    bigint NOT NULL,
	day        text   NOT NULL,
	model      text   NOT NULL,
	purpose    text   NOT NULL,
	calls      bigint NOT NULL,
	prompt     bigint NOT NULL,
	cached     bigint NOT NULL,
	completion bigint NOT NULL,
	amount     bigint NOT NULL,
	PRIMARY KEY (user_id, day, model, purpose)
) WITHOUT ROWID;
CREATE INDEX usage_parts_day ON usage_parts (day, user_id);

CREATE TABLE once (
	user_id bigint NOT NULL,
	key     text   NOT NULL,
	at      bigint NOT NULL,
	PRIMARY KEY (user_id, key)
) WITHOUT ROWID;
CREATE INDEX once_at ON once (at);

-- What was imported, by a digest of where it stood: it comes in once, and stays
-- out when it was redacted since.
CREATE TABLE imported (
	user_id    bigint NOT NULL,
	key        text   NOT NULL,
	message_id bigint NOT NULL,
	PRIMARY KEY (user_id, key)
) WITHOUT ROWID;

-- Wrong codes of an address.
CREATE TABLE tries (
	address text   PRIMARY KEY,
	count   bigint NOT NULL,
	until   bigint NOT NULL
) WITHOUT ROWID;

-- Merges that both sides have agreed to, and who became whom.
CREATE TABLE merges (
	id          bigint PRIMARY KEY,
	from_user   bigint NOT NULL,
	into_user   bigint NOT NULL,
	identity_id bigint NOT NULL,
	phase       text   NOT NULL,
	asked_at    bigint NOT NULL
);
CREATE INDEX merges_open ON merges (id) WHERE phase <> 'done';

CREATE TABLE leases (
	name   text   PRIMARY KEY,
	worker text   NOT NULL,
	fence  bigint NOT NULL,
	until  bigint NOT NULL
) WITHOUT ROWID;

-- What channels must know after a restart.
CREATE TABLE states (
	account text NOT NULL,
	key     text NOT NULL,
	value   text NOT NULL,
	PRIMARY KEY (account, key)
) WITHOUT ROWID;

-- at is in microseconds.
CREATE TABLE rates (
	key text   PRIMARY KEY,
	at  bigint NOT NULL
) WITHOUT ROWID;

CREATE TABLE journal (
	user_id bigint NOT NULL,
	turn_id bigint NOT NULL,
	step    bigint NOT NULL,
	call    bigint NOT NULL,
	name    text   NOT NULL,
	body    text   NOT NULL,
	-- message_id: the newest message that the turn answers, of calls that may change something; these stay for
	-- a while, as another turn may answer the same message.
	message_id bigint NOT NULL DEFAULT 0,
	at      bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, turn_id, step, call)
) WITHOUT ROWID;
CREATE INDEX journal_message ON journal (user_id, message_id) WHERE message_id > 0;
CREATE INDEX journal_at ON journal (at) WHERE message_id > 0;

-- Stretches of old messages as prompts of the strategy long show them. first and
-- last are positions; a stale page has no forms until it is made anew.
CREATE TABLE pages (
	user_id    bigint NOT NULL,
	id         bigint NOT NULL,
	thread_id  bigint NOT NULL,
	segment_id bigint NOT NULL,
	first      bigint NOT NULL,
	last       bigint NOT NULL,
	messages   bigint NOT NULL,
	original   bigint NOT NULL,
	tier       bigint NOT NULL,
	stale      bigint NOT NULL DEFAULT 0,
	-- sizes: what the form of each tier holds.
	sizes      text   NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX pages_position ON pages (user_id, thread_id, last);

CREATE TABLE page_forms (
	user_id bigint NOT NULL,
	page_id bigint NOT NULL,
	tier    bigint NOT NULL,
	body    text   NOT NULL,
	PRIMARY KEY (user_id, page_id, tier)
) WITHOUT ROWID;

-- Fingerprints of what users pasted or wrote at length, and which of their
-- messages are shown as what they change of an earlier one.
CREATE TABLE prints (
	user_id    bigint NOT NULL,
	band       bigint NOT NULL,
	message_id bigint NOT NULL,
	piece      bigint NOT NULL,
	PRIMARY KEY (user_id, band, message_id, piece)
) WITHOUT ROWID;
CREATE INDEX prints_message ON prints (user_id, message_id);

CREATE TABLE repeats (
	user_id     bigint NOT NULL,
	original_id bigint NOT NULL,
	message_id  bigint NOT NULL,
	PRIMARY KEY (user_id, original_id, message_id)
) WITHOUT ROWID;
CREATE INDEX repeats_message ON repeats (user_id, message_id);

CREATE TABLE windows (
	user_id       bigint NOT NULL,
	id            bigint NOT NULL,
	segment_id    bigint NOT NULL,
	first_message bigint NOT NULL,
	last_message  bigint NOT NULL,
	tokens        bigint NOT NULL,
	-- The vectors of a window's passages, packed; empty: there are none.
	passages      blob   NOT NULL DEFAULT x'',
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE INDEX windows_messages ON windows (user_id, segment_id, first_message);

-- What has a vector, or waits for one: windows and memory items.
CREATE TABLE embeddings (
	user_id    bigint NOT NULL,
	kind       text   NOT NULL,
	id         bigint NOT NULL,
	config     text   NOT NULL,
	state      text   NOT NULL,
	error      text   NOT NULL DEFAULT '',
	revision   bigint NOT NULL DEFAULT 0,
	updated_at bigint NOT NULL,
	PRIMARY KEY (user_id, kind, id)
) WITHOUT ROWID;
CREATE INDEX embeddings_pending ON embeddings (user_id, kind, id) WHERE state = 'pending';
-- What has no vector because of an error, by what was tried.
CREATE INDEX embeddings_error ON embeddings (user_id, config) WHERE state = 'error';

CREATE TABLE themes (
	user_id     bigint NOT NULL,
	slug        text   NOT NULL,
	name        text   NOT NULL,
	description text   NOT NULL DEFAULT '',
	active      bigint NOT NULL DEFAULT 0,
	created_at  bigint NOT NULL,
	updated_at  bigint NOT NULL,
	changed     bigint NOT NULL DEFAULT 0,
	tainted     bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, slug)
) WITHOUT ROWID;

CREATE TABLE items (
	user_id        bigint NOT NULL,
	id             bigint NOT NULL,
	theme          text   NOT NULL,
	type           text   NOT NULL,
	content        text   NOT NULL,
	tags           text   NOT NULL,
	digest         text   NOT NULL,
	source_thread  bigint NOT NULL,
	source_message bigint NOT NULL,
	status         text   NOT NULL,
	created_at     bigint NOT NULL,
	updated_at     bigint NOT NULL,
	tainted        bigint NOT NULL DEFAULT 0,
	-- What a person did to memory. history: earlier wordings of an item, oldest first, each
	-- with when it was replaced; noted: the assistant added the item, not the person.
	history        text   NOT NULL DEFAULT '[]',
	noted          bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX items_digest ON items (user_id, digest) WHERE status = 'active';
CREATE INDEX items_created ON items (user_id, created_at, id);
CREATE INDEX items_theme ON items (user_id, theme, created_at, id);
CREATE INDEX items_source ON items (user_id, source_message) WHERE source_message > 0;

-- The full-text indexes hold terms only, as the analyzer made them, each led by
-- its user's id. A rowid is the user's id << 28 | the document's, so a user's
-- documents are one range.
CREATE VIRTUAL TABLE message_terms USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'");

CREATE VIRTUAL TABLE summary_terms USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'");

CREATE VIRTUAL TABLE item_terms USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'");

-- Vectors, by the same rowids.
CREATE VIRTUAL TABLE window_vectors USING vec0(id integer PRIMARY KEY, user_id integer partition key, embedding float[1024] distance_metric=cosine);

CREATE VIRTUAL TABLE item_vectors USING vec0(id integer PRIMARY KEY, user_id integer partition key, embedding float[1024] distance_metric=cosine);

-- Questions that something waits for: a call of a tool, a change of an account.
-- subject says what exactly a yes runs.
CREATE TABLE approvals (
	user_id     bigint NOT NULL,
	id          bigint NOT NULL,
	code        text   NOT NULL,
	kind        text   NOT NULL,
	state       text   NOT NULL,
	identity_id bigint NOT NULL,
	message_id  bigint NOT NULL,
	turn_id     bigint NOT NULL,
	word        text   NOT NULL,
	subject     text   NOT NULL,
	asked_at    bigint NOT NULL,
	expires_at  bigint NOT NULL,
	decided_at  bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
);
CREATE INDEX approvals_open ON approvals (user_id, identity_id, id) WHERE state = 'open';
CREATE INDEX approvals_message ON approvals (user_id, message_id);
CREATE INDEX approvals_turn ON approvals (user_id, turn_id) WHERE turn_id > 0;
CREATE INDEX approvals_late ON approvals (expires_at) WHERE state = 'open';

-- What was done with an account, who said yes to what, and what had effects
-- outside. Rows hold ids and fixed words, never words of a person.
CREATE TABLE audit (
	user_id bigint NOT NULL,
	id      bigint NOT NULL,
	at      bigint NOT NULL,
	via     text   NOT NULL,
	via_id  bigint NOT NULL,
	what    text   NOT NULL,
	object  text   NOT NULL,
	ids     text   NOT NULL,
	tool    text   NOT NULL,
	result  text   NOT NULL,
	PRIMARY KEY (user_id, id)
);
CREATE INDEX audit_user ON audit (user_id, at, id);
CREATE INDEX audit_at ON audit (at, user_id, id);

-- What each process may spend of a day's tokens of all users: what is granted to it
-- counts until its lease ends, and then only what it said it had used.
CREATE TABLE grants (
	day     text   NOT NULL,
	worker  text   NOT NULL,
	granted bigint NOT NULL,
	used    bigint NOT NULL,
	until   bigint NOT NULL,
	PRIMARY KEY (day, worker)
);

-- Every key is led by its user, so that rows can live with their user. Beside them
-- stand the few tables of the whole gateway that say whose an address, a token or an
-- event is, and that each is only once.

-- Whose address it is. A detached identity has none.
CREATE TABLE addresses (
	channel     text   NOT NULL,
	account     text   NOT NULL,
	external    text   NOT NULL,
	user_id     bigint NOT NULL,
	identity_id bigint NOT NULL,
	PRIMARY KEY (channel, account, external)
) WITHOUT ROWID;
CREATE UNIQUE INDEX addresses_identity ON addresses (user_id, identity_id);

-- Whom the hash of a secret belongs to: of a session or an API key, whose id it
-- names, or of a code, by the code's kind.
CREATE TABLE tokens (
	kind    text   NOT NULL,
	hash    text   NOT NULL,
	user_id bigint NOT NULL,
	id      bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (kind, hash)
) WITHOUT ROWID;
CREATE INDEX tokens_user ON tokens (user_id, kind);

-- Whose event it is; user 0 stands for strangers.
CREATE TABLE event_ids (
	channel  text   NOT NULL,
	account  text   NOT NULL,
	event_id text   NOT NULL,
	user_id  bigint NOT NULL,
	PRIMARY KEY (channel, account, event_id)
) WITHOUT ROWID;

CREATE TABLE codes (
	user_id    bigint NOT NULL,
	kind       text   NOT NULL,
	hash       text   NOT NULL,
	hint       text   NOT NULL,
	channel    text   NOT NULL,
	account    text   NOT NULL,
	external   text   NOT NULL,
	name       text   NOT NULL,
	created_at bigint NOT NULL,
	expires_at bigint NOT NULL,
	-- grouped: the request is of a group chat.
	grouped    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, kind, hash)
) WITHOUT ROWID;

CREATE TABLE events (
	user_id     bigint NOT NULL,
	message_id  bigint NOT NULL,
	channel     text   NOT NULL,
	account     text   NOT NULL,
	event_id    text   NOT NULL,
	external    text   NOT NULL,
	state       text   NOT NULL,
	received_at bigint NOT NULL,
	payload     blob   ,
	with_day    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, message_id, channel, account, event_id)
) WITHOUT ROWID;
CREATE INDEX events_held ON events (user_id, channel, account, external, received_at) WHERE state = 'held';
CREATE INDEX events_raw ON events (received_at) WHERE payload IS NOT NULL AND with_day = 0;

-- Answers that were not chosen: the turn that gave one, and the numbers between which
-- lie the messages that it said. message_id is the last message that the turn read.
CREATE TABLE answers (
	user_id       bigint NOT NULL,
	message_id    bigint NOT NULL,
	turn_id       bigint NOT NULL,
	first_message bigint NOT NULL,
	last_message  bigint NOT NULL,
	PRIMARY KEY (user_id, message_id, turn_id)
) WITHOUT ROWID;

-- Standing instructions: what a person wants always. users.standing counts their changes,
-- so that a turn of somebody who never had any reads nothing. message_id is the message
-- that asked for one, 0 if none did; noted: the assistant proposed it.
CREATE TABLE standing (
	user_id    bigint NOT NULL,
	id         bigint NOT NULL,
	body       text   NOT NULL,
	digest     text   NOT NULL,
	tokens     bigint NOT NULL,
	message_id bigint NOT NULL DEFAULT 0,
	noted      bigint NOT NULL DEFAULT 0,
	created_at bigint NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX standing_digest ON standing (user_id, digest);

-- Plans: what a person wants at a time, a reminder or a task. A time of one is a row of
-- plan_runs, written when it is claimed, so none comes twice. failures counts those in a row;
-- last_due is the newest run, source_message what asked for the plan (0: none). What a run
-- took of the day's tokens for tasks stands in usage, beside the day's own.
CREATE TABLE plans (
	user_id        bigint NOT NULL,
	id             bigint NOT NULL,
	kind           text   NOT NULL,
	body           text   NOT NULL,
	due_at         bigint NOT NULL,
	cron           text   NOT NULL,
	zone           text   NOT NULL,
	state          text   NOT NULL,
	source_message bigint NOT NULL DEFAULT 0,
	created_at     bigint NOT NULL,
	tainted        bigint NOT NULL DEFAULT 0,
	failures       bigint NOT NULL DEFAULT 0,
	last_due       bigint NOT NULL DEFAULT 0,
	model          text   NOT NULL DEFAULT '',
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE INDEX plans_due ON plans (due_at) WHERE state = 'active';
CREATE INDEX plans_open ON plans (user_id, due_at) WHERE state IN ('active', 'paused');
CREATE INDEX plans_source ON plans (user_id, source_message) WHERE source_message > 0;

CREATE TABLE plan_runs (
	user_id    bigint NOT NULL,
	plan_id    bigint NOT NULL,
	due_at     bigint NOT NULL,
	state      text   NOT NULL,
	cause      text   NOT NULL DEFAULT '',
	passed     bigint NOT NULL DEFAULT 0,
	message_id bigint NOT NULL DEFAULT 0,
	turn_id    bigint NOT NULL DEFAULT 0,
	reserved   bigint NOT NULL DEFAULT 0,
	day        text   NOT NULL DEFAULT '',
	started_at bigint NOT NULL,
	ended_at   bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, plan_id, due_at)
) WITHOUT ROWID;
CREATE INDEX plan_runs_message ON plan_runs (user_id, message_id) WHERE message_id > 0;

-- The text of documents, page by page. message_id and part are the attachment that carried
-- it. users.filed is how far pages are indexed by another version of the analyzer.
CREATE TABLE file_pages (
	user_id    bigint NOT NULL,
	id         bigint NOT NULL,
	message_id bigint NOT NULL,
	part       bigint NOT NULL,
	number     bigint NOT NULL,
	name       text   NOT NULL,
	kind       text   NOT NULL,
	title      text   NOT NULL,
	body       text   NOT NULL,
	tokens     bigint NOT NULL,
	PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX file_pages_number ON file_pages (user_id, message_id, part, number);

CREATE VIRTUAL TABLE file_terms USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'");

CREATE VIRTUAL TABLE file_vectors USING vec0(id integer PRIMARY KEY, user_id integer partition key, embedding float[1024] distance_metric=cosine);

-- The planner's statistics are fixed, as of a store with a long history: without
-- them it reads all that a user has where a partial index holds a few rows. They
-- are never gathered, as the samples that come with that make every statement be
-- prepared again whenever its arguments change.
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('addresses', 'addresses', '3000 1500 1500 1'),
	('addresses', 'addresses_identity', '3000 3 1'),
	('answers', 'answers', '1000 100 2 1'),
	('api_keys', 'api_keys', '1000 2 1'),
	('codes', 'codes', '10 2 2 1'),
	('deliveries', 'deliveries', '5000000 5000 1'),
	('deliveries', 'deliveries_born', '100000 100 1'),
	('deliveries', 'deliveries_expiry', '100 10'),
	('deliveries', 'deliveries_message', '1000000 1000 1'),
	('deliveries', 'deliveries_parked', '100 5 5 1'),
	('deliveries', 'deliveries_trouble', '1000 2'),
	('deliveries', 'deliveries_under_way', '100 2 1'),
	('deliveries', 'deliveries_user_trouble', '1000 5 1'),
	('delivery_parts', 'delivery_parts', '6000000 6000 2 1'),
	('embeddings', 'embeddings', '500000 500 250 1'),
	('embeddings', 'embeddings_error', '1000 10 5'),
	('embeddings', 'embeddings_pending', '1000 10 5 1'),
	('epochs', 'epochs', '100000 100 1'),
	('event_ids', 'event_ids', '5000000 2500000 2500000 1'),
	('events', 'events', '5000000 5000 2 2 2 1'),
	('events', 'events_held', '100 100 50 50 10 2'),
	('events', 'events_raw', '100000 2'),
	('file_pages', 'file_pages', '100000 1000 1'),
	('file_pages', 'file_pages_number', '100000 1000 20 20 1'),
	('identities', 'identities', '3000 3 1'),
	('imported', 'imported', '1000000 1000 1'),
	('items', 'items', '100000 100 1'),
	('items', 'items_created', '100000 100 1 1'),
	('items', 'items_digest', '100000 100 1'),
	('items', 'items_source', '100000 100 1'),
	('items', 'items_theme', '100000 100 10 1 1'),
	('jobs', 'jobs', '1000 5 1'),
	('jobs', 'jobs_dead', '10 2'),
	('jobs', 'jobs_due', '300 60 2'),
	('jobs', 'jobs_head', '500 3 1'),
	('jobs', 'jobs_running', '200 40 2'),
	('jobs', 'jobs_summary', '50 2 1'),
	('jobs', 'jobs_waiting', '300 3 2 1'),
	('journal', 'journal', '5000 50 2 2 1'),
	('journal', 'journal_message', '2000 20 1'),
	('journal', 'journal_at', '2000 2'),
	('loops', 'loops', '20000 20 1'),
	('loops', 'loops_changed', '20000 20 1'),
	('loops', 'loops_open', '5000 5 2'),
	('merges', 'merges_open', '2 1'),
	('messages', 'messages', '10000000 10000 1'),
	('messages', 'messages_extra', '1000000 1000 1'),
	('messages', 'messages_pending', '100 2 2 1'),
	('messages', 'messages_position', '10000000 10000 5000 1'),
	('messages', 'messages_segment', '10000000 10000 50 1'),
	('messages', 'messages_shown', '100000 100 50 2 1'),
	('once', 'once', '5000 5 1'),
	('once', 'once_at', '5000 2'),
	('page_forms', 'page_forms', '300000 1200 3 1'),
	('pages', 'pages', '100000 400 1'),
	('pages', 'pages_position', '100000 400 400 1'),
	('prints', 'prints', '500000 500 2 1 1'),
	('prints', 'prints_message', '500000 500 20'),
	('plan_runs', 'plan_runs', '1000000 1000 100 1'),
	('plan_runs', 'plan_runs_message', '1000000 1000 1'),
	('plans', 'plans', '10000 10 1'),
	('plans', 'plans_due', '1000 1'),
	('plans', 'plans_open', '1000 3 1'),
	('plans', 'plans_source', '10000 10 1'),
	('refs', 'refs', '10000000 10000 5000 1'),
	('repeats', 'repeats', '5000 10 2 1'),
	('repeats', 'repeats_message', '5000 10 2'),
	('revisions', 'revisions', '10000 10 1 1'),
	('segments', 'segments', '300000 300 1'),
	('segments', 'segments_due', '1000 10'),
	('segments', 'segments_import_due', '1000 100 1'),
	('segments', 'segments_label', '300000 300 300 1'),
	('segments', 'segments_post', '100 10'),
	('segments', 'segments_raw', '10000 2'),
	('segments', 'segments_retry', '100 2'),
	('segments', 'segments_stale', '10 2'),
	('segments', 'segments_unwindowed', '1000 1 1'),
	('sessions', 'sessions', '3000 3 1'),
	('sessions', 'sessions_expiry', '3000 1'),
	('sessions', 'sessions_used', '3000 3 1 1'),
	('standing', 'standing', '10000 10 1'),
	('standing', 'standing_digest', '10000 10 1 1'),
	('summaries', 'summaries', '1000000 1000 3 1'),
	('themes', 'themes', '10000 10 1'),
	('threads', 'threads', '20000 20 1'),
	('threads', 'threads_continuous', '1000 1'),
	('threads', 'threads_name', '10000 10 1'),
	('tokens', 'tokens', '4000 2000 1'),
	('tokens', 'tokens_user', '4000 4 3'),
	('turns', 'turns', '5000000 5000 1'),
	('turns', 'turns_running', '50 1 1'),
	('usage', 'usage', '300000 300 1'),
	('usage', 'usage_day', '300000 800 1'),
	('usage_parts', 'usage_parts', '1200000 1200 4 2 1'),
	('usage_parts', 'usage_parts_day', '1200000 3200 4 2 1'),
	('users', 'users', '1000 1'),
	('users', 'users_behind', '100 1'),
	('users', 'users_own', '10 1'),
	('users', 'users_version', '1000 500'),
	('windows', 'windows', '500000 500 1'),
	('windows', 'windows_messages', '500000 500 5 1');
ANALYZE sqlite_schema;

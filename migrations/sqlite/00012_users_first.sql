-- +goose Up
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
INSERT INTO addresses (channel, account, external, user_id, identity_id)
	SELECT channel, account, external, user_id, id FROM identities WHERE detached = 0 ORDER BY channel, account, external;
CREATE UNIQUE INDEX addresses_identity ON addresses (user_id, identity_id);
DROP INDEX identities_address;

-- Whom the hash of a secret belongs to: of a session or an API key, whose id it
-- names, or of a code, by the code's kind.
CREATE TABLE tokens (
	kind    text   NOT NULL,
	hash    text   NOT NULL,
	user_id bigint NOT NULL,
	id      bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (kind, hash)
) WITHOUT ROWID;
INSERT INTO tokens (kind, hash, user_id, id)
	SELECT 'session', hash, user_id, id FROM sessions
	UNION ALL SELECT 'key', hash, user_id, id FROM api_keys
	UNION ALL SELECT kind, hash, user_id, 0 FROM codes;
CREATE INDEX tokens_user ON tokens (user_id, kind);
DROP INDEX sessions_hash;
DROP INDEX api_keys_hash;

-- Whose event it is; user 0 stands for strangers.
CREATE TABLE event_ids (
	channel  text   NOT NULL,
	account  text   NOT NULL,
	event_id text   NOT NULL,
	user_id  bigint NOT NULL,
	PRIMARY KEY (channel, account, event_id)
) WITHOUT ROWID;
INSERT INTO event_ids (channel, account, event_id, user_id)
	SELECT channel, account, event_id, user_id FROM events ORDER BY channel, account, event_id;

CREATE TABLE codes_by_user (
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
	PRIMARY KEY (user_id, kind, hash)
) WITHOUT ROWID;
INSERT INTO codes_by_user (user_id, kind, hash, hint, channel, account, external, name, created_at, expires_at)
	SELECT user_id, kind, hash, hint, channel, account, external, name, created_at, expires_at FROM codes ORDER BY user_id, kind, hash;
DROP TABLE codes;
ALTER TABLE codes_by_user RENAME TO codes;

CREATE TABLE events_by_user (
	user_id     bigint NOT NULL,
	message_id  bigint NOT NULL,
	channel     text   NOT NULL,
	account     text   NOT NULL,
	event_id    text   NOT NULL,
	external    text   NOT NULL,
	state       text   NOT NULL,
	received_at bigint NOT NULL,
	payload     blob,
	PRIMARY KEY (user_id, message_id, channel, account, event_id)
) WITHOUT ROWID;
INSERT INTO events_by_user (user_id, message_id, channel, account, event_id, external, state, received_at, payload)
	SELECT user_id, message_id, channel, account, event_id, external, state, received_at, payload FROM events
	ORDER BY user_id, message_id, channel, account, event_id;
DROP TABLE events;
ALTER TABLE events_by_user RENAME TO events;
CREATE INDEX events_held ON events (user_id, channel, account, external, received_at) WHERE state = 'held';
CREATE INDEX events_raw ON events (received_at) WHERE payload IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('addresses', 'addresses', '3000 1500 1500 1'),
	('addresses', 'addresses_identity', '3000 3 1'),
	('tokens', 'tokens', '4000 2000 1'),
	('tokens', 'tokens_user', '4000 4 3'),
	('event_ids', 'event_ids', '5000000 2500000 2500000 1'),
	('codes', 'codes', '10 2 2 1'),
	('events', 'events', '5000000 5000 2 2 2 1'),
	('events', 'events_held', '100 100 50 50 10 2'),
	('events', 'events_raw', '100000 2');
ANALYZE sqlite_schema;

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
	PRIMARY KEY (channel, account, external) INCLUDE (user_id, identity_id)
);
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
	PRIMARY KEY (kind, hash) INCLUDE (user_id, id)
);
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
	PRIMARY KEY (channel, account, event_id) INCLUDE (user_id)
);
INSERT INTO event_ids (channel, account, event_id, user_id)
	SELECT channel, account, event_id, user_id FROM events ORDER BY channel, account, event_id;

ALTER TABLE codes DROP CONSTRAINT codes_pkey, ADD PRIMARY KEY (user_id, kind, hash);
ALTER TABLE events DROP CONSTRAINT events_pkey, ADD PRIMARY KEY (user_id, message_id, channel, account, event_id);
DROP INDEX events_held;
DROP INDEX events_message;
CREATE INDEX events_held ON events (user_id, channel, account, external, received_at) WHERE state = 'held';

-- +goose Up
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
ALTER TABLE users ADD COLUMN standing bigint NOT NULL DEFAULT 0;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('standing', 'standing', '10000 10 1'),
	('standing', 'standing_digest', '10000 10 1 1');
ANALYZE sqlite_schema;

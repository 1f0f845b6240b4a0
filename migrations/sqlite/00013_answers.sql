-- +goose Up
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
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('answers', 'answers', '1000 100 2 1');
ANALYZE sqlite_schema;

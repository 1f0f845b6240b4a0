-- +goose Up
-- users.unindexed: the user has messages that are not indexed yet. It changes when the index
-- falls behind and when it has caught up, not with each message, as the condition of the
-- index that it replaces did. How many turns began within a minute is read from the newest.
ALTER TABLE users ADD COLUMN unindexed bigint NOT NULL DEFAULT 0;
UPDATE users SET unindexed = 1 WHERE indexed < last_message;
CREATE INDEX users_behind ON users (id) WHERE unindexed = 1;
DROP INDEX users_unindexed;
DROP INDEX turns_started;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('users', 'users_behind', '100 1');
ANALYZE sqlite_schema;

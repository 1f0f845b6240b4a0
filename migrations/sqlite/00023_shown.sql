-- +goose Up
-- Most messages are displayed at their position: only the others need an index.
DROP INDEX messages_shown;
CREATE INDEX messages_shown ON messages (user_id, thread_id, shown, id) WHERE shown <> position;
DELETE FROM sqlite_stat1 WHERE tbl = 'messages' AND idx = 'messages_shown';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('messages', 'messages_shown', '100000 100 50 2 1');
ANALYZE sqlite_schema;

-- +goose Up
-- Most messages are displayed at their position: only the others need an index.
DROP INDEX messages_shown;
CREATE INDEX messages_shown ON messages (user_id, thread_id, shown, id) WHERE shown <> position;

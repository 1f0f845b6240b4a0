-- +goose Up
-- Messages that no summary covers are found by their day. Without an index on covered, a
-- message is stored and covered with fewer writes.
DROP INDEX messages_uncovered;
ANALYZE sqlite_schema;

-- +goose Up
-- Messages that no summary covers are found by their day. Without an index on covered, and
-- with some room on each page, covering a message leaves its other indexes alone.
DROP INDEX messages_uncovered;
ALTER TABLE messages SET (fillfactor = 85);

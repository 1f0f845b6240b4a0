-- +goose Up
-- failed: messages up to it that wait for a turn were read by one that failed.
-- They are shown where that one read them, above the notice of it.
ALTER TABLE threads ADD COLUMN failed bigint NOT NULL DEFAULT 0;

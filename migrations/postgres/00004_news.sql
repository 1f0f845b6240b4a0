-- +goose Up
-- News of an epoch: what changed since its head was fixed. users.news counts such
-- changes, and changed says which of them was the last of a row. threads.news is
-- how far the thread's prompt has told of them.
ALTER TABLE users ADD COLUMN news bigint NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN news bigint NOT NULL DEFAULT 0;
ALTER TABLE loops ADD COLUMN changed bigint NOT NULL DEFAULT 0;
ALTER TABLE themes ADD COLUMN changed bigint NOT NULL DEFAULT 0;
CREATE INDEX loops_changed ON loops (user_id, changed);

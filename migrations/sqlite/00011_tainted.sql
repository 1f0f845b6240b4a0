-- +goose Up
-- Where something comes from. 1: it was made from words that the person did not
-- write (forwarded, imported, of outside tools, or made from such); 2: a turn that
-- had read such words archived, closed or cancelled it; 3: both.
ALTER TABLE summaries ADD COLUMN tainted bigint NOT NULL DEFAULT 0;
ALTER TABLE loops ADD COLUMN tainted bigint NOT NULL DEFAULT 0;
ALTER TABLE themes ADD COLUMN tainted bigint NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN tainted bigint NOT NULL DEFAULT 0;
ALTER TABLE reminders ADD COLUMN tainted bigint NOT NULL DEFAULT 0;

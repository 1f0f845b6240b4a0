-- +goose Up
-- How often the compression of old messages has made something that a new prompt
-- of the thread would show.
ALTER TABLE threads ADD COLUMN compressed bigint NOT NULL DEFAULT 0;

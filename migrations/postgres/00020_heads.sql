-- +goose Up
-- Texts of heads of prompts that are the same for many users, each once, by the hash that
-- epochs name it by. epochs.whole: the row has these texts itself, as one of an earlier
-- version; they are moved in the background when no process of such a version is left.
CREATE TABLE heads (
	hash text NOT NULL PRIMARY KEY,
	body text NOT NULL
);
ALTER TABLE epochs ADD COLUMN whole bigint NOT NULL DEFAULT 1;
CREATE INDEX epochs_whole ON epochs (user_id, id) WHERE whole = 1;

-- +goose Up
-- What a later release may do: add. The release before goes on beside it.
ALTER TABLE messages ADD COLUMN mood text NOT NULL DEFAULT '';
CREATE TABLE moods (
	user_id bigint NOT NULL,
	mood    text   NOT NULL,
	PRIMARY KEY (user_id, mood)
);
CREATE INDEX messages_mood ON messages (user_id, mood) WHERE mood <> '';

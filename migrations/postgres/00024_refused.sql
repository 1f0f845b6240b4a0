-- +goose Up
-- refused: the model's server refused the turn that read the message, which waits again: no
-- turn reads it until its sender says more or asks for it.
ALTER TABLE messages ADD COLUMN refused bigint NOT NULL DEFAULT 0;

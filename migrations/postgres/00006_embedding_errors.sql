-- +goose Up
-- What has no vector because of an error, by what was tried.
CREATE INDEX embeddings_error ON embeddings (user_id, config) WHERE state = 'error';

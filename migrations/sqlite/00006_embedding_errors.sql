-- +goose Up
-- What has no vector because of an error, by what was tried.
CREATE INDEX embeddings_error ON embeddings (user_id, config) WHERE state = 'error';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('embeddings', 'embeddings_error', '1000 10 5');
ANALYZE sqlite_schema;

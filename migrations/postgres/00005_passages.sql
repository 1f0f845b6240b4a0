-- +goose Up
-- The vectors of a window's passages, packed; empty: there are none. They do not
-- become smaller by being compressed.
ALTER TABLE windows ADD COLUMN passages bytea NOT NULL DEFAULT '';
ALTER TABLE windows ALTER COLUMN passages SET STORAGE EXTERNAL;

-- +goose Up
-- The vectors of a window's passages, packed; empty: there are none.
ALTER TABLE windows ADD COLUMN passages blob NOT NULL DEFAULT x'';

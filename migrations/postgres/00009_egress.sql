-- +goose Up
-- What went out for a user on a day: requests, and bytes in both directions.
ALTER TABLE usage ADD COLUMN calls bigint NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN bytes bigint NOT NULL DEFAULT 0;

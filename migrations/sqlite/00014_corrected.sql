-- +goose Up
-- What a person did to memory. history: earlier wordings of an item, oldest first, each
-- with when it was replaced; noted: the assistant added the item, not the person.
ALTER TABLE items ADD COLUMN history text NOT NULL DEFAULT '[]';
ALTER TABLE items ADD COLUMN noted bigint NOT NULL DEFAULT 0;

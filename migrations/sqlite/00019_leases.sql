-- +goose Up
-- A turn and a delivery that are claimed as they are stored keep their lease in their own
-- row; lease_until 0: a job has it. Whatever looks at the jobs of their user makes it one.
ALTER TABLE turns ADD COLUMN worker text NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN lease_until bigint NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN worker text NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN lease_until bigint NOT NULL DEFAULT 0;

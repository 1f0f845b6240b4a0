-- +goose Up
-- A segment whose last summary failed stays due: from retry_at on, or as soon as the model's configuration is no
-- longer failed_with. failed_at: when it began to fail. due_at: the end of the day that a loop names; asked: the
-- person was asked about it since.
ALTER TABLE segments ADD COLUMN failed_at bigint NOT NULL DEFAULT 0;
ALTER TABLE segments ADD COLUMN retry_at bigint NOT NULL DEFAULT 0;
ALTER TABLE segments ADD COLUMN failed_with text NOT NULL DEFAULT '';
DROP INDEX segments_stale;
CREATE INDEX segments_stale ON segments (finalize_at) WHERE state = 'final' AND stale = 1 AND retry_at = 0 AND backlog = 0;
CREATE INDEX segments_retry ON segments (retry_at) WHERE retry_at > 0;
ALTER TABLE loops ADD COLUMN due_at bigint NOT NULL DEFAULT 0;
ALTER TABLE loops ADD COLUMN asked bigint NOT NULL DEFAULT 0;
DELETE FROM sqlite_stat1 WHERE tbl = 'segments' AND idx = 'segments_stale';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('segments', 'segments_stale', '10 2'),
	('segments', 'segments_retry', '100 2');
ANALYZE sqlite_schema;

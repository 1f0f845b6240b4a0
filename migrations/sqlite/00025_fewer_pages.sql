-- +goose Up
-- A turn writes two index pages less. with_day: the raw payload of an event is removed with the day of its message,
-- whose segment has raw = 1, and not by its own time. direct: a delivery is found through its turn, which has
-- delivery_id, and not by its message.
ALTER TABLE segments ADD COLUMN raw bigint NOT NULL DEFAULT 0;
CREATE INDEX segments_raw ON segments (ends_at) WHERE raw = 1;
ALTER TABLE events ADD COLUMN with_day bigint NOT NULL DEFAULT 0;
DROP INDEX events_raw;
CREATE INDEX events_raw ON events (received_at) WHERE payload IS NOT NULL AND with_day = 0;
ALTER TABLE turns ADD COLUMN delivery_id bigint NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN direct bigint NOT NULL DEFAULT 0;
DROP INDEX deliveries_message;
CREATE INDEX deliveries_message ON deliveries (user_id, message_id) WHERE message_id > 0 AND direct = 0;
DELETE FROM sqlite_stat1 WHERE idx IN ('segments_raw', 'events_raw', 'deliveries_message');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('segments', 'segments_raw', '10000 2'),
	('events', 'events_raw', '100000 2'),
	('deliveries', 'deliveries_message', '1000000 1000 1');
ANALYZE sqlite_schema;

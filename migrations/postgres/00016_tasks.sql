-- +goose Up
-- Tasks: what a person wants to be done at a time. A time of one is a row of task_runs,
-- written when it is claimed, so none comes twice. failures counts those in a row; last_due
-- is the newest run, message_id what asked for the task (0: none). What a run took of the
-- day's tokens for tasks stands in usage, beside the day's own.
CREATE TABLE tasks (
	user_id    bigint NOT NULL,
	id         bigint NOT NULL,
	body       text   NOT NULL,
	due_at     bigint NOT NULL,
	cron       text   NOT NULL,
	zone       text   NOT NULL,
	state      text   NOT NULL,
	message_id bigint NOT NULL DEFAULT 0,
	created_at bigint NOT NULL,
	tainted    bigint NOT NULL DEFAULT 0,
	failures   bigint NOT NULL DEFAULT 0,
	last_due   bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
);
CREATE INDEX tasks_due ON tasks (due_at) WHERE state = 'active';
CREATE INDEX tasks_open ON tasks (user_id, due_at) WHERE state IN ('active', 'paused');
CREATE INDEX tasks_source ON tasks (user_id, message_id) WHERE message_id > 0;
CREATE TABLE task_runs (
	user_id    bigint NOT NULL,
	task_id    bigint NOT NULL,
	due_at     bigint NOT NULL,
	state      text   NOT NULL,
	cause      text   NOT NULL DEFAULT '',
	passed     bigint NOT NULL DEFAULT 0,
	message_id bigint NOT NULL DEFAULT 0,
	turn_id    bigint NOT NULL DEFAULT 0,
	reserved   bigint NOT NULL DEFAULT 0,
	day        text   NOT NULL DEFAULT '',
	started_at bigint NOT NULL,
	ended_at   bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, task_id, due_at)
);
CREATE INDEX task_runs_message ON task_runs (user_id, message_id) WHERE message_id > 0;
ALTER TABLE turns ADD COLUMN task_id bigint NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN task_due bigint NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN task_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN task_reserved bigint NOT NULL DEFAULT 0;

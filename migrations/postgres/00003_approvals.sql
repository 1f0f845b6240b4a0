-- +goose Up
-- Questions that something waits for: a call of a tool, a change of an account.
-- subject says what exactly a yes runs.
CREATE TABLE approvals (
	user_id     bigint NOT NULL,
	id          bigint NOT NULL,
	code        text   NOT NULL,
	kind        text   NOT NULL,
	state       text   NOT NULL,
	identity_id bigint NOT NULL,
	message_id  bigint NOT NULL,
	turn_id     bigint NOT NULL,
	word        text   NOT NULL,
	subject     text   NOT NULL,
	asked_at    bigint NOT NULL,
	expires_at  bigint NOT NULL,
	decided_at  bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, id)
);
CREATE INDEX approvals_open ON approvals (user_id, identity_id, id) WHERE state = 'open';
CREATE INDEX approvals_message ON approvals (user_id, message_id);
CREATE INDEX approvals_turn ON approvals (user_id, turn_id) WHERE turn_id > 0;
-- Through which identity a browser was signed in; 0: it was not recorded.
ALTER TABLE sessions ADD COLUMN identity_id bigint NOT NULL DEFAULT 0;

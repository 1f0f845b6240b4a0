-- +goose Up
-- What was done with an account, who said yes to what, and what had effects
-- outside. Rows hold ids and fixed words, never words of a person.
CREATE TABLE audit (
	user_id bigint NOT NULL,
	id      bigint NOT NULL,
	at      bigint NOT NULL,
	via     text   NOT NULL,
	via_id  bigint NOT NULL,
	what    text   NOT NULL,
	object  text   NOT NULL,
	ids     text   NOT NULL,
	tool    text   NOT NULL,
	result  text   NOT NULL,
	PRIMARY KEY (user_id, id)
);
CREATE INDEX audit_user ON audit (user_id, at, id);
CREATE INDEX audit_at ON audit (at, user_id, id);
CREATE INDEX approvals_late ON approvals (expires_at) WHERE state = 'open';

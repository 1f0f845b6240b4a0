-- +goose Up
-- What each process may spend of a day's tokens of all users: what is granted to it
-- counts until its lease ends, and then only what it said it had used.
CREATE TABLE grants (
	day     text   NOT NULL,
	worker  text   NOT NULL,
	granted bigint NOT NULL,
	used    bigint NOT NULL,
	until   bigint NOT NULL,
	PRIMARY KEY (day, worker)
);

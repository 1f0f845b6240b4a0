-- +goose Up
-- The text of documents, page by page. message_id and part are the attachment that carried
-- it. users.filed is how far pages are indexed by another version of the analyzer.
CREATE TABLE file_pages (
	user_id    bigint NOT NULL,
	id         bigint NOT NULL,
	message_id bigint NOT NULL,
	part       bigint NOT NULL,
	number     bigint NOT NULL,
	name       text   NOT NULL,
	kind       text   NOT NULL,
	title      text   NOT NULL,
	body       text   NOT NULL,
	tokens     bigint NOT NULL,
	PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX file_pages_number ON file_pages (user_id, message_id, part, number);
CREATE TABLE file_terms (
	user_id bigint   NOT NULL,
	id      bigint   NOT NULL,
	terms   tsvector NOT NULL,
	PRIMARY KEY (user_id, id)
);
CREATE INDEX file_terms_gin ON file_terms USING gin (terms) WITH (gin_pending_list_limit = 128);
ALTER TABLE users ADD COLUMN filed bigint NOT NULL DEFAULT 0;

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
) WITHOUT ROWID;
CREATE UNIQUE INDEX file_pages_number ON file_pages (user_id, message_id, part, number);
CREATE VIRTUAL TABLE file_terms USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE file_vectors USING vec0(id integer PRIMARY KEY, user_id integer partition key, embedding float[1024] distance_metric=cosine);
ALTER TABLE users ADD COLUMN filed bigint NOT NULL DEFAULT 0;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('file_pages', 'file_pages', '100000 1000 1'),
	('file_pages', 'file_pages_number', '100000 1000 20 20 1');
ANALYZE sqlite_schema;

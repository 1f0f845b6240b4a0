-- +goose Up

-- A search reads one by one what the index did not take in yet: about 300 documents.
ALTER INDEX message_terms_gin SET (gin_pending_list_limit = 128);

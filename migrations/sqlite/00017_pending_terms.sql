-- +goose Up

-- Nothing: the index of the embedded store takes in everything at once.
SELECT 1;

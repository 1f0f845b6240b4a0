package setup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
)

// database asks for a database until it answers.
func (q *asking) database(ctx context.Context) error {
	for {
		url, err := q.Asker.Ask(ctx, Question{ID: "database", Title: q.DatabaseTitle, Help: q.DatabaseHelp, Secret: true})
		if err != nil {
			return err
		}
		err = q.Try.Database(ctx, url)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			q.a.Database = url
			if q.a.Secret, err = q.secret(32); err == nil {
				q.Say(q.DatabaseGood)
			}
			return err
		}
		q.sayf(q.Wrong, q.said(err))
	}
}

// secret is a random secret of n bytes, in hex.
func (q *asking) secret(n int) (string, error) {
	from := q.Rand
	if from == nil {
		from = rand.Reader
	}
	b := make([]byte, n)
	_, err := io.ReadFull(from, b)
	return hex.EncodeToString(b), err
}

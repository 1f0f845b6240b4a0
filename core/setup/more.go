package setup

import (
	"context"
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
			if q.a.Secret, err = newSecret(q.Rand); err == nil {
				q.Say(q.DatabaseGood)
			}
			return err
		}
		q.sayf(q.Wrong, q.said(err))
	}
}

// newSecret returns 32 random bytes in hexadecimal.
func newSecret(random io.Reader) (string, error) {
	b := make([]byte, 32)
	_, err := io.ReadFull(random, b)
	return hex.EncodeToString(b), err
}

package setup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
)

// until asks questions, each into its place, again until what they make is right.
func (q *asking) until(ctx context.Context, check func(context.Context) error, ask ...field) error {
	for {
		for _, f := range ask {
			answer, err := q.Asker.Ask(ctx, f.Question)
			if err != nil {
				return err
			}
			*f.into = answer
		}
		err := check(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		q.sayf(q.wrong, q.said(err))
	}
}

// field is a question and where its answer goes.
type field struct {
	Question
	into *string
}

func (q *asking) database(ctx context.Context) error {
	var url string
	err := q.until(ctx, func(ctx context.Context) error { return q.Try.Database(ctx, url) },
		field{Question{ID: "database", Title: q.databaseTitle, Help: q.databaseHelp, Secret: true}, &url})
	if err != nil {
		return err
	}
	q.a.Database = url
	if q.a.Secret, err = q.secret(32); err == nil {
		q.Say(q.databaseGood)
	}
	return err
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

func (q *asking) whatsapp(ctx context.Context) error {
	var w WhatsApp
	err := q.until(ctx, func(ctx context.Context) error { return q.Try.WhatsApp(ctx, w) },
		field{Question{ID: "whatsapp_number", Title: q.whatsAppNumber, Help: q.whatsAppHelp}, &w.Number},
		field{Question{ID: "whatsapp_token", Title: q.whatsAppToken, Secret: true}, &w.Token},
		field{Question{ID: "whatsapp_secret", Title: q.whatsAppSecret, Secret: true}, &w.AppSecret})
	if err != nil {
		return err
	}
	if w.Verify, err = q.secret(12); err != nil {
		return err
	}
	q.a.WhatsApp = w
	q.sayf(q.whatsAppGood, w.Verify)
	return nil
}

func (q *asking) matrix(ctx context.Context) error {
	var m Matrix
	err := q.until(ctx, func(ctx context.Context) error { return q.Try.Matrix(ctx, m) },
		field{Question{ID: "matrix_homeserver", Title: q.matrixHomeserver, Help: q.matrixHelp}, &m.Homeserver},
		field{Question{ID: "matrix_user", Title: q.matrixUser}, &m.User},
		field{Question{ID: "matrix_password", Title: q.matrixPassword, Secret: true}, &m.Password})
	if err == nil {
		q.a.Matrix = m
		q.Say(q.matrixGood)
	}
	return err
}

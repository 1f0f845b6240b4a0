package sqlstore

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// broken is a row that could not be asked for.
type broken struct{ err error }

// Scan returns why.
func (b broken) Scan(...any) error { return b.err }

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}

// found turns the driver's "no rows" into core.ErrNotFound.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return core.ErrNotFound
	}
	return err
}

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// text is v as JSON. Everything stored that way can be marshalled.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlstore: %T does not marshal: %v", v, err))
	}
	return string(b)
}

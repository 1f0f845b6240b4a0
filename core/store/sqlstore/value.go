package sqlstore

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// broken is the row of a query that failed.
type broken struct{ err error }

// Scan returns the query's error.
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

// optional returns nil for the driver's "no rows".
func optional(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// ms returns a time as it is stored: UTC milliseconds, 0 for the zero time.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// at returns the time of stored milliseconds.
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

// asTime returns a destination of Scan for a stored time.
func asTime(t *time.Time) sql.Scanner { return timeColumn{t} }

type timeColumn struct{ t *time.Time }

// Scan stores the time of milliseconds.
func (c timeColumn) Scan(value any) error {
	var stored sql.NullInt64
	err := stored.Scan(value)
	*c.t = at(stored.Int64)
	return err
}

// asJSON returns a destination of Scan for stored JSON, which is decoded into v.
func asJSON(v any) sql.Scanner { return jsonColumn{v} }

type jsonColumn struct{ v any }

// Scan decodes a JSON text.
func (c jsonColumn) Scan(value any) error {
	var stored sql.NullString
	if err := stored.Scan(value); err != nil {
		return err
	}
	return unjson(stored.String, c.v)
}

// text returns v as JSON. It panics if v cannot be marshalled, as every stored type can.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlstore: %T does not marshal: %v", v, err))
	}
	return string(b)
}

package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"reflect"
)

var errType = errors.New("a value does not fit")

// Assign stores the values of a row's columns as database/sql does, so that flags, stored as
// 0 and 1, can be read as bool.
func Assign(dest, values []any) error {
	if len(values) != len(dest) {
		return fmt.Errorf("scan: %d columns into %d values", len(values), len(dest))
	}
	for i, v := range values {
		if err := assign(dest[i], v); err != nil {
			return fmt.Errorf("scan column %d: %w", i+1, err)
		}
	}
	return nil
}

// assign stores a value of a column: NULL, a number, text, bytes or bool.
func assign(dest, value any) error {
	if s, ok := dest.(sql.Scanner); ok {
		return s.Scan(value)
	}
	to := reflect.ValueOf(dest).Elem()
	switch v := value.(type) {
	case nil:
		to.SetZero()
	case int64:
		return assignInt(to, v)
	case int32:
		return assignInt(to, int64(v))
	case string:
		if to.Kind() != reflect.String {
			return fmt.Errorf("%w: text into %s", errType, to.Type())
		}
		to.SetString(v)
	case bool:
		if to.Kind() != reflect.Bool {
			return fmt.Errorf("%w: bool into %s", errType, to.Type())
		}
		to.SetBool(v)
	case []byte:
		to.SetBytes(v)
	default:
		return fmt.Errorf("%w: %T into %s", errType, value, to.Type())
	}
	return nil
}

func assignInt(to reflect.Value, v int64) error {
	switch to.Kind() {
	case reflect.Int, reflect.Int64:
		to.SetInt(v)
	case reflect.Bool:
		to.SetBool(v != 0)
	default:
		return fmt.Errorf("%w: a number into %s", errType, to.Type())
	}
	return nil
}

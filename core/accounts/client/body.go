package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/everthread/everthread/core/text"
)

// BadBody is the error of an invalid body. Message is a sentence; Param is the invalid field, if there is one.
type BadBody struct {
	Status  int // 400 or 413
	Param   string
	Message string
}

// Error returns the message.
func (e *BadBody) Error() string { return e.Message }

func bad(param, format string, args ...any) error {
	return &BadBody{Status: http.StatusBadRequest, Param: param, Message: fmt.Sprintf(format, args...)}
}

// maxDepth bounds the nesting of JSON.
const maxDepth = 64

// ReadJSON reads the body of a request: one JSON object of at most max bytes, nested at most
// maxDepth deep, without duplicate keys. The error is a *BadBody.
func ReadJSON(w http.ResponseWriter, r *http.Request, max int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, max))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &BadBody{Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("The body is larger than %d bytes.", max)}
	case err != nil:
		return nil, bad("", "The body was cut off.")
	case len(bytes.TrimSpace(data)) == 0:
		return nil, bad("", "The body is empty; it must be a JSON object.")
	case !utf8.Valid(data):
		return nil, bad("", "The body is not valid UTF-8.")
	}
	return data, checkJSON(data)
}

// level is an open object or array.
type level struct {
	keys map[string]bool // of an object; nil: an array
	key  bool            // the next string is a key
}

// checkJSON returns an error unless data is a valid JSON object.
func checkJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []level
	for first := true; ; first = false {
		t, err := d.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 && !first {
			return nil
		}
		if err != nil {
			return bad("", "The body is not valid JSON (near byte %d).", d.InputOffset())
		}
		if first != (len(open) == 0) || first && t != json.Delim('{') {
			return bad("", "The body must be one JSON object.")
		}
		if open, err = enter(open, t); err != nil {
			return err
		}
	}
}

// enter takes one token.
func enter(open []level, t json.Token) ([]level, error) {
	if t == json.Delim('}') || t == json.Delim(']') {
		return value(open[:len(open)-1]), nil
	}
	if n := len(open); n > 0 && open[n-1].key {
		key, _ := t.(string)
		if open[n-1].keys[key] {
			return nil, bad(key, "The key %q stands twice in one object.", text.Within(key, shown))
		}
		open[n-1].keys[key], open[n-1].key = true, false
		return open, nil
	}
	if t != json.Delim('{') && t != json.Delim('[') {
		return value(open), nil
	}
	if len(open) == maxDepth {
		return nil, bad("", "The body is nested deeper than %d levels.", maxDepth)
	}
	if t == json.Delim('{') {
		return append(open, level{keys: map[string]bool{}, key: true}), nil
	}
	return append(open, level{}), nil
}

// value records that a value ended: in an object, a key follows.
func value(open []level) []level {
	if n := len(open); n > 0 {
		open[n-1].key = open[n-1].keys != nil
	}
	return open
}

// Decode decodes JSON from ReadJSON, or a part of it, into a struct. A value of a wrong type
// is a *BadBody that names the field, below path; with strict so is an unknown field.
func Decode(data []byte, into any, path string, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	err := d.Decode(into)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		param := join(path, kind.Field)
		is, number, _ := strings.Cut(kind.Value, " ")
		return bad(param, "%s must be %s, not %s.", or(param, "The body"), wanted(kind.Type), or(number, article(is)))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		param := join(path, strings.Trim(name, `"`))
		return bad(param, "There is no field %s.", text.Within(param, shown))
	}
	return bad(path, "%s cannot be read.", or(path, "The body"))
}

func join(path, field string) string { return strings.Trim(path+"."+field, ".") }

func or(s, other string) string { return cmp.Or(text.Within(s, shown), other) }

// wanted returns the JSON type of a Go type, in words.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return "an object"
}

func article(kind string) string {
	switch kind {
	case "array", "object":
		return "an " + kind
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// shown bounds the characters of a body that an error repeats.
const shown = 80

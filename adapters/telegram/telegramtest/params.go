package telegramtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
)

// params are the parameters of a call. Whatever the encoding, the value of a
// parameter is a string as it is, or JSON.
type params map[string]string

func (p params) string(name string) string { return p[name] }

// int returns 0 for what is no integer, such as @username.
func (p params) int(name string) int64 {
	n, _ := strconv.ParseInt(p[name], 10, 64)
	return n
}

func (p params) decode(name string, v any) { _ = json.Unmarshal([]byte(p[name]), v) }

// errCutOff: the client left before the request was whole, which is its right.
var errCutOff = errors.New("request cut off")

// parse reads the parameters from the query and a JSON, form or multipart body,
// and checks them against the description of the API.
func parse(r *http.Request, method string) (params, error) {
	p := params{}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		return p, p.readJSON(r, method)
	}
	values := url.Values{}
	if kind == "multipart/form-data" {
		err := r.ParseMultipartForm(32 << 20)
		switch {
		case errors.Is(err, io.EOF): // no parameters
		case err != nil:
			return nil, err
		default:
			values = r.MultipartForm.Value
		}
	} else {
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		values = r.Form
	}
	for k, v := range values {
		p[k] = v[0]
	}
	return p, checkForm(method, p)
}

func (p params) readJSON(r *http.Request, method string) error {
	var fields map[string]json.RawMessage
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return errCutOff
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	for k, raw := range fields {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			p[k] = s
			continue
		}
		p[k] = string(raw)
	}
	return checkFields(method, fields)
}

// checkForm checks a form, whose values have no types.
func checkForm(method string, p params) error {
	fields := map[string]json.RawMessage{}
	for k := range p {
		fields[k] = nil
	}
	return checkNames(method, fields)
}

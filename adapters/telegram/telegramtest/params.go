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

// params are the parameters of a call.
type params struct {
	values map[string]string // in any encoding: plain strings, or JSON
	files  map[string]File   // of a multipart body
}

func (p params) string(name string) string { return p.values[name] }

// int returns a parameter as an integer, or 0 for others, such as @username.
func (p params) int(name string) int64 {
	n, _ := strconv.ParseInt(p.values[name], 10, 64)
	return n
}

func (p params) decode(name string, v any) { _ = json.Unmarshal([]byte(p.values[name]), v) }

// errCutOff means that the client disconnected before the request was complete, which is
// not an error of the test.
var errCutOff = errors.New("request cut off")

// parse parses the parameters in the query and in a JSON, form or multipart body, and
// checks them against the description of the API.
func parse(r *http.Request, method string) (params, error) {
	p := params{values: map[string]string{}, files: map[string]File{}}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return p, p.readJSON(r, method)
	case "multipart/form-data":
		if err := p.readMultipart(r); err != nil {
			return p, err
		}
	default:
		if err := r.ParseForm(); err != nil {
			return p, err
		}
		p.take(r.Form)
	}
	return p, checkForm(method, p)
}

func (p params) take(form url.Values) {
	for k, v := range form {
		p.values[k] = v[0]
	}
}

// readMultipart reads the files of a form, by field.
func (p params) readMultipart(r *http.Request) error {
	err := r.ParseMultipartForm(64 << 20)
	switch {
	case errors.Is(err, io.EOF): // no parameters
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCutOff
	case err != nil:
		return err
	}
	p.take(r.MultipartForm.Value)
	for field, headers := range r.MultipartForm.File {
		f, err := headers[0].Open()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		p.files[field] = File{Kind: field, Name: headers[0].Filename, MIME: headers[0].Header.Get("Content-Type"), Data: data}
	}
	return nil
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
			p.values[k] = s
			continue
		}
		p.values[k] = string(raw)
	}
	return checkFields(method, fields)
}

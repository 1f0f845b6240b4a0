package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

// errBroken is what a page that broke ends with.
var errBroken = errors.New("broken")

// Fault is an error that a visitor is told of in words of its own.
type Fault struct {
	Status int
	Text   string
	After  time.Duration // when to try again; 0: it is not said
}

// Error returns the words.
func (f *Fault) Error() string { return f.Text }

// Because is a fault of one status and words.
func Because(status int, text string) *Fault { return &Fault{Status: status, Text: text} }

// BadForm is what a visitor is told of a form that cannot be read.
func (v *Visit) BadForm(err error) error {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return err
	}
	return Because(http.StatusBadRequest, v.Words.ErrForm)
}

// IsRefused reports whether a change was refused because of what is stored by now.
func IsRefused(err error) bool {
	return errors.Is(err, core.ErrRefused) || errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrExists) ||
		errors.Is(err, core.ErrChanged)
}

// Refusal is what a visitor is told when what they asked for changed meanwhile.
func (v *Visit) Refusal(err error) error {
	if IsRefused(err) {
		return Because(http.StatusConflict, v.Words.ErrRefused)
	}
	return err
}

// asFault is what the visitor is told of an error.
func (v *Visit) asFault(err error) *Fault {
	var f *Fault
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &long):
		return Because(http.StatusRequestEntityTooLarge, v.Words.ErrTooLarge)
	case errors.Is(err, core.ErrNoRoom):
		return Because(http.StatusRequestEntityTooLarge, v.Words.ErrNoRoom)
	case errors.Is(err, core.ErrNotFound):
		return Because(http.StatusNotFound, v.Words.ErrNotFound)
	case errors.Is(err, core.ErrMoving):
		return Because(http.StatusServiceUnavailable, v.Words.ErrMoving)
	}
	return Because(http.StatusInternalServerError, v.Words.ErrBroken)
}

// fail tells the visitor what went wrong.
func (v *Visit) fail(err error) {
	if v.Context().Err() != nil {
		return // nobody is there any more
	}
	f := v.asFault(err)
	if f.Status >= 500 {
		v.channel.Log.Error("page", zap.String("page", v.R.Pattern), zap.Int64("user", int64(v.User.ID)), zap.Error(err))
	}
	if f.After > 0 {
		v.W.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds()+1)))
	}
	if v.wantsJSON() {
		_ = v.json(f.Status, map[string]string{"error": f.Text})
		return
	}
	data := map[string]any{"Status": f.Status, "Text": f.Text}
	if err := v.Render(f.Status, "error", v.Words.ErrTitle, data); err != nil {
		v.channel.Log.Error("page of an error", zap.Error(err))
		http.Error(v.W, f.Text, f.Status)
	}
}

// refuse answers a visitor without a session: with a page that says how to get a link,
// or, for the script, with that sentence only.
func (v *Visit) refuse() {
	if v.wantsJSON() || v.wantsPart() || v.R.Header.Get("Accept") == "text/event-stream" {
		_ = v.json(http.StatusUnauthorized, map[string]string{"error": v.Words.SignInAgain})
		return
	}
	if err := v.Render(http.StatusUnauthorized, "signedout", v.Words.SignInTitle, nil); err != nil {
		v.fail(err)
	}
}

// nothing answers requests for what is not there.
func (c *Channel) nothing(w http.ResponseWriter, r *http.Request) {
	v := c.Visit(w, r)
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		_ = v.json(http.StatusNotFound, map[string]any{"error": map[string]string{"code": "not_found",
			"message": "there is nothing at " + r.URL.Path}})
		return
	}
	if err := v.identify(Route{Open: true}); err != nil {
		v.fail(err)
		return
	}
	v.fail(core.ErrNotFound)
}

func (v *Visit) json(status int, data any) error {
	v.W.Header().Set("Content-Type", "application/json")
	v.W.WriteHeader(status)
	_ = json.NewEncoder(v.W).Encode(data) // the client is gone: there is nobody to tell
	return nil
}

// local is a path of ours; what leads elsewhere is the first page.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t\x00") || strings.HasPrefix(u.Path, "//") {
		return "/"
	}
	return u.String()
}

// escape writes any text as the value of a cookie.
func escape(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func unescape(s string) string {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) > 500 {
		return ""
	}
	return strings.ToValidUTF8(string(b), "")
}

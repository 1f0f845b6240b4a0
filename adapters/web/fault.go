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

// fault is an error that a person is told of in words of its own.
type fault struct {
	status int
	text   func(w *texts) string
	after  time.Duration // when to try again; 0: it is not said
}

// Error returns the English words.
func (f *fault) Error() string { return f.text(say("en")) }

// because is a fault of one status and words.
func because(status int, text func(w *texts) string) *fault {
	return &fault{status: status, text: text}
}

// asFault is what a person is told of an error.
func asFault(err error) *fault {
	var f *fault
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &long):
		return because(http.StatusRequestEntityTooLarge, func(w *texts) string { return w.ErrTooLarge })
	case errors.Is(err, core.ErrNoRoom):
		return because(http.StatusRequestEntityTooLarge, func(w *texts) string { return w.ErrNoRoom })
	case errors.Is(err, core.ErrNotFound):
		return because(http.StatusNotFound, func(w *texts) string { return w.ErrNotFound })
	case errors.Is(err, core.ErrMoving):
		return because(http.StatusServiceUnavailable, func(w *texts) string { return w.ErrMoving })
	}
	return because(http.StatusInternalServerError, func(w *texts) string { return w.ErrBroken })
}

// fail tells the visitor what went wrong.
func (v *visit) fail(err error) {
	if v.ctx().Err() != nil {
		return // nobody is there any more
	}
	f := asFault(err)
	if f.status >= 500 {
		v.Log.Error("page", zap.String("page", v.r.Pattern), zap.Int64("user", int64(v.user.ID)), zap.Error(err))
	}
	if f.after > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(f.after.Seconds()+1)))
	}
	if v.wantsJSON() {
		_ = v.json(f.status, map[string]string{"error": f.text(v.words)})
		return
	}
	data := map[string]any{"Status": f.status, "Text": f.text(v.words)}
	if err := v.render(f.status, "error", v.words.ErrTitle, data); err != nil {
		v.Log.Error("page of an error", zap.Error(err))
		http.Error(v.w, f.text(v.words), f.status)
	}
}

// refuse answers somebody who is not signed in: a page that says how to get a
// link, or, to the script, only that.
func (v *visit) refuse() {
	if v.wantsJSON() || v.wantsPart() || v.r.Header.Get("Accept") == "text/event-stream" {
		_ = v.json(http.StatusUnauthorized, map[string]string{"error": v.words.SignInAgain})
		return
	}
	if err := v.render(http.StatusUnauthorized, "signedout", v.words.SignInTitle, nil); err != nil {
		v.fail(err)
	}
}

// nothing answers requests for what is not there.
func (c *Channel) nothing(w http.ResponseWriter, r *http.Request) {
	v := c.visit(w, r)
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		_ = v.json(http.StatusNotFound, map[string]any{"error": map[string]string{"code": "not_found",
			"message": "there is nothing at " + r.URL.Path}})
		return
	}
	if err := v.identify(route{Open: true}); err != nil {
		v.fail(err)
		return
	}
	v.fail(core.ErrNotFound)
}

func (v *visit) json(status int, data any) error {
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	_ = json.NewEncoder(v.w).Encode(data) // the client is gone: there is nobody to tell
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

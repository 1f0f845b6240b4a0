package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/i18n"
)

var errBroken = errors.New("the handler panicked")

// Fault is an error with a text for the visitor.
type Fault struct {
	Status int
	Text   string
	After  time.Duration // for Retry-After; 0: none
	Err    error         // of a refused change; may be nil
}

func (f *Fault) Error() string { return f.Text }

func (f *Fault) Unwrap() error { return f.Err }

// Because returns a Fault with a status and text.
func Because(status int, text string) *Fault { return &Fault{Status: status, Text: text} }

// BadForm returns the Fault for a form that cannot be parsed, or err if the form is too large.
func (v *Visit) BadForm(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return Because(http.StatusBadRequest, v.Words.ErrForm)
}

// Limits of what is remembered, in characters.
const MostKept, MostTheme = 2000, 60

// Within returns a Fault that names the limit if one of the texts has more than most characters.
func (v *Visit) Within(most int, texts ...string) error {
	for _, text := range texts {
		if utf8.RuneCountInString(text) > most {
			return Because(http.StatusUnprocessableEntity, fmt.Sprintf(v.Words.ErrLong, i18n.Number(v.Lang, most)))
		}
	}
	return nil
}

// IsRefused reports whether a change was refused because of the stored state.
func IsRefused(err error) bool {
	return errors.Is(err, core.ErrRefused) || errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrExists) ||
		errors.Is(err, core.ErrChanged)
}

// Refusal returns the Fault for a refused change, or else err.
func (v *Visit) Refusal(err error) error {
	if IsRefused(err) {
		return &Fault{Status: http.StatusConflict, Text: v.Words.ErrRefused, Err: err}
	}
	return err
}

// asFault returns the Fault that a visitor gets for an error.
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
	}
	return Because(http.StatusInternalServerError, v.Words.ErrBroken)
}

func (v *Visit) fail(err error) {
	if v.Context().Err() != nil {
		return // the client is gone
	}
	f := v.asFault(err)
	if f.Status >= 500 {
		v.channel.Log.Error("page failed", zap.String("page", v.R.Pattern), zap.Int64("user", int64(v.User.ID)),
			zap.Error(err))
	}
	if f.After > 0 {
		v.W.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds()+1)))
	}
	title, text := v.Words.ErrTitle, f.Text
	if f.Status == http.StatusNotFound {
		title = v.Words.ErrNothing
	}
	if v.wantsJSON() {
		if f.Status == http.StatusNotFound {
			text = title + ". " + text
		}
		_ = v.JSON(f.Status, map[string]string{"error": text})
		return
	}
	data := map[string]any{"Status": f.Status, "Text": text}
	if err := v.Render(f.Status, "error", title, data); err != nil {
		v.channel.Log.Error("error page failed", zap.Error(err))
		http.Error(v.W, f.Text, f.Status)
	}
}

// refuse answers a visitor without a session with a page that explains how to get a
// link, or the script with that sentence alone.
func (v *Visit) refuse() {
	if v.wantsJSON() || v.wantsPart() || v.R.Header.Get("Accept") == "text/event-stream" {
		_ = v.JSON(http.StatusUnauthorized, map[string]string{"error": v.Words.SignInAgain})
		return
	}
	if err := v.signedOut(http.StatusUnauthorized, v.Words.SignInTitle, ""); err != nil {
		v.fail(err)
	}
}

func (c *Channel) nothing(w http.ResponseWriter, r *http.Request) {
	v := c.Visit(w, r)
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		_ = v.JSON(http.StatusNotFound, map[string]any{"error": map[string]string{"code": "not_found",
			"message": "there is nothing at " + r.URL.Path}})
		return
	}
	if err := v.identify(Route{Open: true}); err != nil {
		v.fail(err)
		return
	}
	v.fail(core.ErrNotFound)
}

// JSON answers a script.
func (v *Visit) JSON(status int, data any) error {
	v.W.Header().Set("Content-Type", "application/json")
	v.W.WriteHeader(status)
	_ = json.NewEncoder(v.W).Encode(data) // an error means the client is gone
	return nil
}

// local returns path if it stays on this site, and otherwise "/".
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t\x00") || strings.HasPrefix(u.Path, "//") {
		return "/"
	}
	return u.String()
}

// escape encodes any text as the value of a cookie.
func escape(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func unescape(s string) string {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) > 500 {
		return ""
	}
	return strings.ToValidUTF8(string(b), "")
}

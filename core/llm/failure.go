package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Failure is what a model server said was wrong. Status and Header are zero if
// it said so in the middle of an answer.
type Failure struct {
	Status  int
	Header  http.Header
	Code    string // of the error, and its type, as far as the server names them
	Message string
	Secret  string // must not appear in the error
}

// Error returns what the failure means for the next call, with a text that says
// what to do. Of the server's words it has the first 200 bytes, without the
// secret and without longer quotations, which may be a person's words.
func (f Failure) Error() *core.ModelError {
	kind, advice := f.kind()
	text := advice
	if f.Status != 0 {
		text = fmt.Sprintf("%s (HTTP %d)", advice, f.Status)
	}
	if said := f.said(); said != "" {
		text += ": " + said
	}
	return &core.ModelError{Kind: kind, After: f.after(), Err: errors.New(text)}
}

var (
	tooLong = regexp.MustCompile(
		`(?i)context.?(length|window|size)|maximum context|too many (input )?tokens|(prompt|input) is too long|reduce the length|too large for model`)
	noModel = regexp.MustCompile(
		`(?i)model.?not.?found|model .{0,80}(does not exist|not found|is not available)|unknown model|invalid model`)
	noMoney = regexp.MustCompile(`(?i)insufficient_quota|credit balance|billing`)
	tooBusy = regexp.MustCompile(`(?i)rate.?limit|too many requests|quota`)
	badKey  = regexp.MustCompile(`(?i)authentication|permission_error|invalid.?api.?key|unauthorized`)
	serving = regexp.MustCompile(`(?i)overloaded|server.?error|api_error|timeout|unavailable|internal`)
)

// kind reads the status first, and the words where the status leaves it open.
func (f Failure) kind() (core.ModelErrorKind, string) {
	words := f.Code + " " + f.Message
	switch {
	case (f.Status == 0 || f.Status == 400 || f.Status == 413 || f.Status == 422 || f.Status == 500) &&
		tooLong.MatchString(words):
		return core.ModelTooLong,
			"the prompt is longer than the model's context window; lower context.total_tokens or use a model with a larger window"
	case f.Status == 402, (f.Status == 400 || f.Status == 429) && noMoney.MatchString(words):
		return core.ModelBusy, "the account has no credit or quota left; check the plan with the provider"
	case f.Status == 429, f.Status == 0 && tooBusy.MatchString(words):
		return core.ModelBusy, "the provider's rate limit is reached; it is tried again later"
	case f.Status == 401, f.Status == 403, f.Status == 0 && badKey.MatchString(words):
		return core.ModelAuth, "the provider refused the key; check llm.api_key and what it may use"
	case f.Status == 404 || f.Status == 405 || f.Status == 410 || f.Status/100 == 3, (f.Status == 400 || f.Status == 0) &&
		noModel.MatchString(words):
		return core.ModelConfig,
			"the address or the model does not exist; check llm.base_url (it often ends in /v1) and llm.model"
	case f.Status == 413:
		return core.ModelTooLong, "the request is too large for the server"
	case f.Status == 408, f.Status == 409, f.Status == 425, f.Status >= 500, f.Status == 0 && serving.MatchString(words):
		return core.ModelDown, "the model server has a problem; it is tried again later"
	case f.Status == 0:
		return core.ModelDown, "the model server broke off with an error"
	}
	return core.ModelRejected, "the model server refused the request"
}

var (
	keyLike   = regexp.MustCompile(`\b(sk|key|xai|gsk|pk|rk)[-_][A-Za-z0-9*_-]{6,}`)
	quotation = regexp.MustCompile(`"[^"]{40,}"|'[^']{40,}'|` + "`[^`]{40,}`")
)

// said is what may be repeated of the server's message.
func (f Failure) said() string {
	const most = 200
	text := strings.Join(strings.Fields(strings.ToValidUTF8(f.Message, "")), " ")
	if f.Secret != "" {
		text = strings.ReplaceAll(text, f.Secret, "[key]")
	}
	text = keyLike.ReplaceAllString(text, "[key]")
	text = quotation.ReplaceAllString(text, `"…"`)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// after reads retry-after-ms and Retry-After, which is in seconds or a date to
// be compared with the server's own.
func (f Failure) after() time.Duration {
	const longest = time.Hour
	if ms, err := strconv.ParseFloat(f.Header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return min(time.Duration(min(ms, 1e7))*time.Millisecond, longest)
	}
	value := f.Header.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return min(time.Duration(min(s, 1e7)*float64(time.Second)), longest)
	}
	until, err := http.ParseTime(value)
	date, err2 := http.ParseTime(f.Header.Get("Date"))
	if err != nil || err2 != nil {
		return 0
	}
	return min(max(until.Sub(date), 0), longest)
}

// Broken returns the error of a call that ended without the server saying why:
// the context's if that has ended, else one of kind ModelDown.
func Broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text := "the connection to the model server failed; check llm.base_url and that the server runs"
	if errors.Is(err, ErrStalled) {
		text = "the model server sent nothing for longer than llm.timeout"
	}
	var u *url.Error // its own text would name the whole address
	if errors.As(err, &u) {
		err = u.Err
	}
	return &core.ModelError{Kind: core.ModelDown, Err: fmt.Errorf("%s: %w", text, err)}
}

// CutOff returns the error of an answer that ended before its end.
func CutOff() error {
	return &core.ModelError{Kind: core.ModelDown, Err: errors.New("the answer was cut off by the model server")}
}

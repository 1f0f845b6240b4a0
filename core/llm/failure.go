package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// Failure is an error that a model server reported. Status and Header are zero if it came in the middle of an answer.
type Failure struct {
	Status  int
	Header  http.Header
	Code    string // type and code of the error, if the server names them
	Message string
	Secret  string // must not appear in the error
}

// Error returns the failure as an error whose text says what to do. It quotes the first 200 bytes of the server's
// message, without the secret and without longer quotations, which may be a user's words.
func (f Failure) Error() *core.ModelError {
	kind, advice := f.kind()
	text := advice
	if f.Status != 0 {
		text = fmt.Sprintf("%s (HTTP %d)", advice, f.Status)
	}
	if said := f.said(); said != "" {
		text += ": " + said
	}
	return &core.ModelError{Kind: kind, After: f.after(), Err: &refusal{text, f.remedy(kind), f.hint(kind)}}
}

// remedy is what may help against a refusal.
type remedy int

const (
	noRemedy remedy = iota
	smaller         // a smaller request
	repeated        // the same request, since it is a matter of chance; then a smaller one
)

// refusal is the cause of a core.ModelError, with its remedy.
type refusal struct {
	text string
	remedy
	hint core.Reduction // what the server seems to refuse; empty: it does not say
}

// Error returns the text.
func (r *refusal) Error() string { return r.text }

// refusalOf returns the refusal in an error of a client; one without a remedy if there is none.
func refusalOf(err error) refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return *r
	}
	return refusal{}
}

// hint guesses from a refusal what to leave out first. It decides about the order only.
func (f Failure) hint(kind core.ModelErrorKind) core.Reduction {
	words := f.Code + " " + f.Message
	switch {
	case kind == core.ModelTooLong:
		return core.ReducedLength
	case ofRoles().MatchString(words):
		return core.ReducedRoles
	case ofImages().MatchString(words):
		return core.ReducedImages
	case ofTools().MatchString(words):
		return core.ReducedTools
	}
	return ""
}

// remedy decides what to try next. Where a server says nothing in its own form, another one stands before it, and where
// it is overloaded, a smaller request is as bad.
func (f Failure) remedy(kind core.ModelErrorKind) remedy {
	words := f.Code + " " + f.Message
	answered := strings.TrimSpace(words) != ""
	switch {
	case blocked().MatchString(words):
		return noRemedy
	case f.Status == http.StatusNotFound && f.Message != "" && !noPlace().MatchString(words) &&
		!noModel().MatchString(words):
		return smaller
	case kind == core.ModelTooLong, kind == core.ModelRejected && !byChance().MatchString(words):
		return smaller
	case kind == core.ModelRejected:
		return repeated
	case kind == core.ModelDown && answered && (f.Status == 0 || f.Status == http.StatusInternalServerError) &&
		!crowded().MatchString(words):
		return repeated
	}
	return noRemedy
}

var (
	tooLong = text.Pattern(
		`(?i)context.?(length|window|size)|maximum context|too many (input )?tokens|(prompt|input) is too long|reduce the length|too large for model`)
	noModel = text.Pattern(
		`(?i)model.?not.?found|model .{0,80}(does not exist|not found|is not available)|unknown model|invalid model`)
	noMoney = text.Pattern(`(?i)insufficient_quota|exceeded_current_quota|credit balance|billing|arrearage|` +
		`insufficient.{0,20}(balance|funds|credit)|(balance|funds|credits?).{0,20}(insufficient|exhausted|depleted)|` +
		`not enough (balance|funds|credits?)|余额不足|餘額不足|欠费`)
	tooBusy = text.Pattern(`(?i)rate.?limit|too many requests|quota`)
	badKey  = text.Pattern(`(?i)authentication|permission_error|unauthorized`)
	// wrongKey finds refusals of a key under any status, aboveLimit the limit of tokens in a time and the tokens of a
	// request.
	wrongKey = text.Pattern(`(?i)(invalid|incorrect|wrong|bad|missing|expired|unknown|no|malformed).{0,3}api.?key|` +
		`api.?key.{0,30}(invalid|incorrect|not valid|not found|expired|missing|revoked|disabled|not exist)`)
	aboveLimit = text.Pattern(`(?i)token.{0,80}?limit:? ([\d,]+).{0,60}?requested:? ([\d,]+)`)
	// blocked finds refusals because of what is said, byChance those of an answer that was not well written, crowded those
	// of a server that has too much to do, noPlace those of an address.
	blocked = text.Pattern(`(?i)content.?(filter|policy|management)|moderation|prohibited.?content|data.?inspection|` +
		`responsible.?ai|usage.?policy|safety (system|setting|reason)`)
	byChance = text.Pattern(`(?i)tool_use_failed|failed_generation|malformed|pars(e|ing) tool call`)
	crowded  = text.Pattern(`(?i)overload|timed? ?out|unavailable|capacity|too busy|loading|try again later`)
	ofRoles  = text.Pattern(`(?i)\broles?\b|alternat`)
	ofImages = text.Pattern(`(?i)image|picture|vision|multi.?modal`)
	ofTools  = text.Pattern(`(?i)does not support (tools|function)|tool (use|calling)|tools? (is|are) not supported`)
	noPlace  = text.Pattern(`(?i)not.?found|invalid url|unknown (path|url|endpoint|route)|no endpoints found for|no route`)
	serving  = text.Pattern(`(?i)overloaded|server.?error|api_error|timeout|unavailable|internal`)
)

// tokens compares the tokens of a request with the most that the server takes in a minute, as it says itself: 1 if they
// are more, so that the request never fits, -1 if it fits later; 0: the server says nothing of it.
func (f Failure) tokens() int {
	m := aboveLimit().FindStringSubmatch(f.Message)
	if m == nil || !slices.Contains([]int{0, 413, 429}, f.Status) {
		return 0
	}
	limit, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	requested, err2 := strconv.Atoi(strings.ReplaceAll(m[2], ",", ""))
	switch {
	case err != nil || err2 != nil:
		return 0
	case requested > limit:
		return 1
	}
	return -1
}

// kind decides by the status, and by the message if the status is ambiguous.
func (f Failure) kind() (core.ModelErrorKind, string) {
	words := f.Code + " " + f.Message
	switch fits := f.tokens(); {
	case fits > 0:
		return core.ModelTooLong, "the request is larger than the provider's limit of tokens in a minute; " +
			"lower context.total_tokens, or check the plan with the provider"
	case fits < 0:
		return core.ModelBusy, "the provider's rate limit is reached; it is tried again later"
	case (f.Status == 0 || f.Status == 400 || f.Status == 413 || f.Status == 422 || f.Status == 500) &&
		tooLong().MatchString(words):
		return core.ModelTooLong,
			"the prompt is longer than the model's context window; lower context.total_tokens or use a model with a larger window"
	case f.Status == 402, (f.Status == 0 || f.Status == 400 || f.Status == 403 || f.Status == 429) &&
		noMoney().MatchString(words):
		return core.ModelBusy, "the account has no credit or quota left; check the plan with the provider"
	case f.Status == 429, f.Status == 0 && tooBusy().MatchString(words):
		return core.ModelBusy, "the provider's rate limit is reached; it is tried again later"
	case f.Status == 403 && blocked().MatchString(words):
		return core.ModelRejected, "the provider refused what the request says"
	case f.Status == 401, f.Status == 403, f.Status == 0 && badKey().MatchString(words),
		(f.Status == 0 || f.Status == 400) && wrongKey().MatchString(words):
		return core.ModelAuth, "the provider refused the key; check llm.api_key and what it may use"
	case f.Status == 404 || f.Status == 405 || f.Status == 410 || f.Status/100 == 3, (f.Status == 400 || f.Status == 0) &&
		noModel().MatchString(words):
		return core.ModelConfig,
			"the address or the model does not exist; check llm.base_url (it often ends in /v1) and llm.model"
	case f.Status == 413:
		return core.ModelTooLong, "the request is too large for the server"
	case f.Status == 408, f.Status == 409, f.Status == 425, f.Status >= 500, f.Status == 0 && serving().MatchString(words):
		return core.ModelDown, "the model server has a problem; it is tried again later"
	case f.Status == 0:
		return core.ModelDown, "the model server broke off with an error"
	}
	return core.ModelRejected, "the model server refused the request"
}

var (
	keyLike   = text.Pattern(`\b(sk|key|xai|gsk|pk|rk)[-_][A-Za-z0-9*_-]{6,}`)
	quotation = text.Pattern(`"[^"]{40,}"|'[^']{40,}'|` + "`[^`]{40,}`")
)

// said returns the quotable part of the server's message.
func (f Failure) said() string {
	const most = 200
	text := strings.Join(strings.Fields(strings.ToValidUTF8(f.Message, "")), " ")
	if f.Secret != "" {
		text = strings.ReplaceAll(text, f.Secret, "[key]")
	}
	text = keyLike().ReplaceAllString(text, "[key]")
	text = quotation().ReplaceAllString(text, `"…"`)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// after reads retry-after-ms and Retry-After: seconds, or a date by the server's own.
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

// Refusal reads the failure in an answer with a bad status. It does not close the body.
func Refusal(resp *http.Response, secret string) Failure {
	const most = 1 << 20
	body, _ := io.ReadAll(io.LimitReader(resp.Body, most)) // a part is enough
	f := ReadFailure(body)
	f.Status, f.Header, f.Secret = resp.StatusCode, resp.Header, secret
	return f
}

// ReadFailure reads an error in any of the usual forms: {"error": {"message", "type", "code"}}, {"error": "text"}, the
// same in a list, {"code", "message"}, {"detail"}. The failure is empty for anything but JSON, such as a proxy's page.
func ReadFailure(body []byte) Failure {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct{ Error, Message, Detail, Code json.RawMessage }
	if json.Unmarshal(body, &outer) != nil {
		return Failure{}
	}
	if len(outer.Error) == 0 || string(outer.Error) == "null" {
		return Failure{Code: textOf(outer.Code), Message: textOf(outer.Message) + textOf(outer.Detail)}
	}
	return ReadError(outer.Error)
}

// ReadError reads the value of "error" in such a body.
func ReadError(raw json.RawMessage) Failure {
	var inner struct{ Message, Type, Code, Param json.RawMessage }
	if json.Unmarshal(raw, &inner) != nil {
		return Failure{Message: textOf(raw)}
	}
	code := strings.TrimSpace(textOf(inner.Type) + " " + textOf(inner.Code) + " " + textOf(inner.Param))
	f := Failure{Code: code, Message: textOf(inner.Message)}
	var status int
	if json.Unmarshal(inner.Code, &status) == nil && status >= 400 && status < 600 {
		f.Status = status
	}
	return f
}

// textOf returns the text of a JSON string, or other JSON unchanged.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// Broken returns the error of a call that ended without an answer of the server:
// the context's if that has ended, else one of kind ModelDown.
func Broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text := "the connection to the model server failed; check llm.base_url and that the server runs"
	if errors.Is(err, ErrStalled) {
		text = "the model server sent nothing for longer than llm.timeout"
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &core.ModelError{Kind: core.ModelDown, Err: fmt.Errorf("%s: %w", text, err)}
}

// CutOff returns the error of a truncated answer.
func CutOff() error {
	return &core.ModelError{Kind: core.ModelDown, Err: errors.New("the answer was cut off by the model server")}
}

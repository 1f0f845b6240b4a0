package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
)

// Bounds of an answer; more is cut off.
const (
	longestLine   = 4 << 20
	longestAnswer = 32 << 20
	longestText   = 2 << 20 // bytes of its words
	mostJoined    = 64      // lines of one event
)

// Errors of Events.
var (
	// ErrMalformed means that an answer is neither JSON nor a stream of it.
	ErrMalformed = errors.New("the answer is not JSON")
	// ErrNoAnswer means that a server sent nothing.
	ErrNoAnswer = errors.New("the answer is empty")
	// ErrPage means that a web page came in place of an answer.
	ErrPage = errors.New("the answer is a web page")
)

// Events reads the answer of a model's server: server-sent events, or one JSON object although a stream was requested.
// It calls event with the JSON of each, and reports whether the answer ended as one does: with [DONE], or as a whole
// object. Data on several lines is joined, as some servers send it; comments and other fields are skipped.
func Events(body io.Reader, event func(data []byte) error) (done bool, err error) {
	r := bufio.NewReader(io.LimitReader(body, longestAnswer))
	first, err := firstByte(r)
	switch {
	case errors.Is(err, io.EOF):
		return false, ErrNoAnswer
	case err != nil:
		return false, err
	case first == '<':
		return false, ErrPage
	case first != '{':
		return lines(r, event)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return false, err
	}
	if !json.Valid(data) {
		return false, ErrMalformed
	}
	return true, event(data)
}

// firstByte skips white space and a byte order mark, and peeks at the next byte.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
		default:
			return b, r.UnreadByte()
		}
	}
}

func lines(r io.Reader, event func(data []byte) error) (done bool, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4<<10), longestLine)
	var pending []byte
	joined := 0
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if len(pending) > 0 && (len(lines.Bytes()) == 0 || joined == mostJoined) {
			return false, ErrMalformed
		}
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			return true, nil
		}
		if pending = append(pending, data...); !json.Valid(pending) {
			joined++
			continue
		}
		if err := event(pending); err != nil {
			return false, err
		}
		pending, joined = pending[:0], 0
	}
	return false, lines.Err()
}

// Unreadable returns the error of an answer that Events could not read, nil if it is no such error.
func Unreadable(err error) error {
	var text string
	switch {
	case errors.Is(err, ErrNoAnswer):
		text = "the model server sent an empty answer"
	case errors.Is(err, ErrPage):
		text = "a web page came in place of a model's answer; check llm.base_url (it often ends in /v1) and any proxy before it"
	case errors.Is(err, ErrMalformed):
		text = "the model server's answer is not in the form of its API; check llm.base_url and llm.provider"
	default:
		return nil
	}
	return &core.ModelError{Kind: core.ModelDown, Err: errors.New(text)}
}

// Decode reads JSON into a value. What has another form than the value is left out, since no field of an answer may
// spoil the others.
func Decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// Number is a number of tokens, which servers send as an integer, a fraction or text. Anything else counts as 0.
type Number int

// UnmarshalJSON reads any form and never fails.
func (n *Number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err == nil && f > 0 {
		*n = Number(min(f, math.MaxInt32))
	}
	return nil
}

// Ending returns why an answer ended, from the words of any server. An unknown reason is an answer that is not whole.
func Ending(reason string) core.Finish {
	word := strings.ToLower(strings.NewReplacer("-", "_", " ", "_", "finish_reason_", "").Replace(strings.ToLower(reason)))
	has := func(parts string) bool {
		for part := range strings.FieldsSeq(parts) {
			if strings.Contains(word, part) {
				return true
			}
		}
		return false
	}
	switch {
	case word == "function_call" || word == "tool_calls" || word == "tool_call" || word == "tool_use":
		return core.FinishTools
	case word == "stop" || word == "end_turn" || word == "stop_sequence" || word == "eos" || word == "eos_token" ||
		word == "complete" || word == "completed" || word == "end" || word == "done" || word == "finished":
		return core.FinishStop
	case has("malformed unexpected repetition error"):
		return core.FinishCut
	case has("filter safety refus recitation prohibit sensitive block policy moderation guardrail spii"):
		return core.FinishRefused
	case has("length max_ limit window"):
		return core.FinishLength
	}
	return core.FinishCut
}

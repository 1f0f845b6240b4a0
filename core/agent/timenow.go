package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

var _ core.Tool = TimeNow{}

// TimeNow is the tool time_now: the date and time where the user is.
type TimeNow struct{}

// Spec describes time_now. It has no arguments.
func (TimeNow) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name:        "time_now",
		Description: "The current date, time and time zone of the user. Use it whenever the answer depends on what day or time it is now.",
		Schema:      json.RawMessage(`{"type":"object","properties":{}}`),
	}
}

// Use returns the time of the call in the user's zone, in JSON.
func (TimeNow) Use(_ context.Context, call core.ToolUse) (core.ToolResult, error) {
	location := call.Location
	if location == nil {
		location = time.UTC
	}
	now := call.Now.In(location)
	text, err := json.Marshal(struct {
		Date      string `json:"date"`
		Time      string `json:"time"`
		Weekday   string `json:"weekday"`
		Zone      string `json:"zone"`
		UTCOffset string `json:"utc_offset"`
	}{now.Format(time.DateOnly), now.Format("15:04"), now.Weekday().String(), location.String(), now.Format("-07:00")})
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("write time: %w", err)
	}
	return core.ToolResult{Text: string(text)}, nil
}

package openai

import (
	"strings"

	"github.com/everthread/everthread/core"
)

// task reports whether a client says itself that a request is a task of its own.
func (b *body) task() bool {
	named := func(v any) bool { s, ok := v.(string); return ok && s != "" }
	return named(b.Task) || named(b.Metadata["task"])
}

// isTask recognises what Open WebUI asks for itself: titles, tags, follow-up
// questions, search queries, the rest of a line. These come as one message of the
// user, made of a template with the conversation between tags. A question with
// documents has a template, too, but <context> instead: that is conversation.
func isTask(all []message) bool {
	var asked []message
	for _, m := range all {
		if m.role != core.RoleSystem {
			asked = append(asked, m)
		}
	}
	if len(asked) != 1 || asked[0].role != core.RoleUser {
		return false
	}
	text, err := asked[0].text()
	if err != nil {
		return false
	}
	text = strings.TrimSpace(text)
	history := strings.Contains(text, "<chat_history>") && strings.Contains(text, "</chat_history>")
	if strings.HasPrefix(text, "### Task:") && history {
		return true
	}
	for _, start := range taskStarts {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// taskStarts begin the templates that have no such tags.
var taskStarts = []string{
	"Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
	"You have been provided with a set of responses from various models to the latest user query:",
}

// direct is a request's own messages for the model.
func (q question) forModel(user core.UserID) (core.ModelRequest, error) {
	out := core.ModelRequest{User: user, MaxTokens: q.request.MaxTokens}
	for _, m := range q.all {
		parts, err := m.parts()
		if err != nil {
			return out, err
		}
		var said []string
		for _, p := range parts {
			if p.Type == "text" && p.Text != "" {
				said = append(said, p.Text)
			}
		}
		role := m.role
		if role == core.RoleTool {
			role = core.RoleUser // the call that it answers is not passed on
		}
		if len(said) > 0 {
			out.Messages = append(out.Messages, core.ModelMessage{Role: role, Content: strings.Join(said, "\n")})
		}
	}
	if len(out.Messages) == 0 {
		return out, invalid("messages", "invalid_value", "The messages say nothing.")
	}
	return out, nil
}

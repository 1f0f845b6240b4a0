package openai

import (
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
)

// task reports whether a client declares a request as a task of its own.
func (b *body) task() bool {
	named := func(v any) bool { s, ok := v.(string); return ok && s != "" }
	return named(b.Task) || named(b.Metadata["task"])
}

// isTask recognises Open WebUI's own requests: titles, tags, follow-up questions, search
// queries, completions of a line. Each is one message of the user, made from a template
// with the conversation between tags. The template of a question with documents has
// <context> instead, and is conversation.
func isTask(all []message) bool {
	asked := slices.DeleteFunc(slices.Clone(all), func(m message) bool { return m.role == core.RoleSystem })
	if len(asked) != 1 || asked[0].role != core.RoleUser {
		return false
	}
	text, err := asked[0].text()
	if err != nil {
		return false
	}
	text = strings.TrimSpace(text)
	history := strings.Contains(text, "<chat_history>") && strings.Contains(text, "</chat_history>")
	return strings.HasPrefix(text, "### Task:") && history ||
		slices.ContainsFunc(taskStarts, func(start string) bool { return strings.HasPrefix(text, start) })
}

// taskStarts are the beginnings of the templates without such tags.
var taskStarts = []string{
	"Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
	"You have been provided with a set of responses from various models to the latest user query:",
}

// forModel returns the request's own messages for the model.
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
			role = core.RoleUser // the tool call itself is not passed on
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

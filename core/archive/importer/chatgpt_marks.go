package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/everthread/everthread/core/text"
)

// chatgptReference says what a mark in a text of ChatGPT stands for.
type chatgptReference struct {
	Matched string        `json:"matched_text"`
	Alt     string        `json:"alt"` // what the page shows, as Markdown
	Name    string        `json:"name"`
	Title   string        `json:"title"`
	URL     string        `json:"url"`
	Safe    []string      `json:"safe_urls"`
	Items   []chatgptLink `json:"items"`
	Sources []chatgptLink `json:"sources"`
}

type chatgptLink struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// addresses returns the addresses of a reference, each once.
func (r chatgptReference) addresses() []string {
	out := []string{r.URL}
	for _, l := range slices.Concat(r.Items, r.Sources) {
		out = append(out, l.URL)
	}
	var unique []string
	for _, u := range append(out, r.Safe...) {
		if u != "" && !slices.Contains(unique, u) {
			unique = append(unique, u)
		}
	}
	return unique
}

// shown returns what stands for the mark.
func (r chatgptReference) shown() string {
	links := r.addresses()
	switch {
	case strings.TrimSpace(r.Alt) != "":
		return r.Alt
	case len(links) > 0:
		return " (" + strings.Join(links, ", ") + ")"
	case r.Name == "" && r.Title == "":
		return ""
	}
	return fmt.Sprintf(" (%s)", cmp.Or(r.Name, r.Title))
}

var (
	chatgptMark    = text.Pattern("\ue200([^\ue200-\ue202]*)(?:\ue202([^\ue200\ue201]*))?\ue201")
	chatgptCite    = text.Pattern(`【\d+[^【】\n]*†[^【】\n]*】`)
	chatgptOpening = text.Pattern(`(?m)^:{3,}[a-z][\w-]*\{([^\n}]*)\}[ \t]*\n?`)
	chatgptClosing = text.Pattern(`(?m)^:{3,}[ \t]*$\n?`)
	chatgptSubject = text.Pattern(`subject="([^"]*)"`)
)

// unmarkedChatGPT returns a text with what its marks stand for: the addresses of sources, the names of things, and the
// words of a frame such as a letter's. A mark that nothing explains is named if it is no source.
func unmarkedChatGPT(s string, refs []chatgptReference) string {
	if strings.Contains(s, ":::") && chatgptOpening().MatchString(s) {
		s = chatgptClosing().ReplaceAllString(replaced(chatgptOpening(), s, func(m []string) string {
			if subject := chatgptSubject().FindStringSubmatch(m[1]); subject != nil && subject[1] != "" {
				return subject[1] + "\n"
			}
			return ""
		}), "")
	}
	if !strings.ContainsAny(s, "\ue200【") {
		return s
	}
	for _, r := range refs {
		if strings.ContainsAny(r.Matched, "\ue200【") {
			s = strings.ReplaceAll(s, r.Matched, r.shown())
		}
	}
	open := false
	s = replaced(chatgptMark(), s, func(m []string) string {
		if strings.Contains(m[1], "cite") {
			open = true
			return ""
		}
		return markName(m[1], m[2])
	})
	s = replaced(chatgptCite(), s, func([]string) string {
		open = true
		return ""
	})
	for _, r := range refs {
		for _, u := range r.addresses() {
			if open && !strings.Contains(s, u) {
				s += "\n" + u
			}
		}
	}
	return s
}

// markName returns what a mark of a kind shows: the name of an entity, else the kind.
func markName(kind, data string) string {
	var parts []json.RawMessage
	var name string
	if json.Unmarshal([]byte(data), &parts) == nil && len(parts) > 1 && json.Unmarshal(parts[1], &name) == nil {
		return name
	}
	if kind = strings.TrimSpace(strings.ReplaceAll(kind, "_", " ")); kind == "" {
		return ""
	}
	return "[" + kind + "]"
}

func replaced(form *regexp.Regexp, s string, by func(m []string) string) string {
	return form.ReplaceAllStringFunc(s, func(one string) string { return by(form.FindStringSubmatch(one)) })
}

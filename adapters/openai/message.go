package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/client"
	"github.com/everthread/everthread/core/text"
)

// message is one message of a request. Its content is parsed only when needed, as
// messages of the history may have unsupported content.
type message struct {
	path    string // in the request, such as messages[2]
	role    core.Role
	content json.RawMessage
	call    string // tool_call_id
}

// readMessages parses the required fields of all messages.
func readMessages(raw []json.RawMessage) ([]message, error) {
	out := make([]message, 0, len(raw))
	for n, r := range raw {
		var m struct {
			Role    *string         `json:"role"`
			Content json.RawMessage `json:"content"`
			Call    string          `json:"tool_call_id"`
		}
		path := fmt.Sprintf("messages[%d]", n)
		if err := client.Decode(r, &m, path, false); err != nil {
			return nil, err
		}
		if m.Role == nil {
			return nil, invalid(path+".role", "missing_required_parameter", "%s has no role.", path)
		}
		role, err := readRole(path, *m.Role)
		if err != nil {
			return nil, err
		}
		if role == core.RoleTool && m.Call == "" {
			return nil, invalid(path+".tool_call_id", "missing_required_parameter",
				"%s is a tool's result, but has no tool_call_id.", path)
		}
		out = append(out, message{path, role, m.Content, m.Call})
	}
	return out, nil
}

func readRole(path, role string) (core.Role, error) {
	switch role {
	case "user", "assistant", "system", "tool":
		return core.Role(role), nil
	case "developer":
		return core.RoleSystem, nil
	}
	return "", invalid(path+".role", "invalid_value", "%s.role must be user, assistant, system, developer or tool.", path)
}

type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File struct {
		ID   string `json:"file_id"`
		Name string `json:"filename"`
		Data string `json:"file_data"`
	} `json:"file"`
}

// parts returns the parts of a message, one for a plain text.
func (m message) parts() ([]part, error) {
	path := m.path + ".content"
	if absent(m.content) {
		return nil, nil
	}
	if m.content[0] == '"' {
		var text string
		err := client.Decode(m.content, &text, path, false)
		return []part{{Type: "text", Text: text}}, err
	}
	if m.content[0] != '[' {
		return nil, invalid(path, "invalid_type", "%s must be a string or an array of parts.", path)
	}
	var all []part
	err := client.Decode(m.content, &all, path, false)
	return all, err
}

// text returns the text of a message, and refuses other parts.
func (m message) text() (string, error) {
	text, images, err := m.read()
	if err == nil && len(images) > 0 {
		err = invalid(m.path+".content", "invalid_value", "%s is of the role %s, which has text only.", m.path, m.role)
	}
	return text, err
}

func (m message) read() (text string, images []core.File, err error) {
	parts, err := m.parts()
	if err != nil {
		return "", nil, err
	}
	var said []string
	for n, p := range parts {
		path := fmt.Sprintf("%s.content[%d]", m.path, n)
		f := core.File{}
		switch p.Type {
		case "text":
			said = append(said, p.Text)
			continue
		case "image_url":
			f, err = readImage(path, p.Image.URL)
		case "file":
			f, err = readFile(path, p)
		default:
			err = refusePart(path, p.Type)
		}
		if err != nil {
			return "", nil, err
		}
		images = append(images, f)
	}
	text = strings.Join(said, "\n")
	if len(text) > maxText {
		err = invalid(m.path+".content", "string_above_max_length", "%s.content has %d bytes; at most %d fit.",
			m.path, len(text), maxText)
	}
	if len(images) > maxImages {
		err = invalid(m.path+".content", "array_above_max_length", "%s.content has %d pictures and files; at most %d fit.", m.path,
			len(images), maxImages)
	}
	return text, images, err
}

const maxImages = 16

func refusePart(path, kind string) error {
	switch kind {
	case "input_audio":
		return invalid(path, "unsupported_value", "%s is a recording, which is not taken here. Send what was said as text.",
			path)
	case "":
		return invalid(path+".type", "missing_required_parameter", "%s has no type; it is text, image_url or file.", path)
	}
	return invalid(path+".type", "unsupported_value",
		"%s is of a type that is not taken here; it can be text, image_url or file.", path)
}

// readImage reads a picture from a data: URL. It refuses other URLs, as fetching them
// could reach into the server's own network.
func readImage(path, url string) (core.File, error) {
	path += ".image_url.url"
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return core.File{}, invalid(path, "invalid_image_url",
			"%s must be a data: URL with the picture in it, such as data:image/png;base64,…: pictures are not fetched from elsewhere.", path)
	}
	media, encoded, ok := strings.Cut(rest, ",")
	media, isBase64 := strings.CutSuffix(media, ";base64")
	if !ok || !isBase64 {
		return core.File{}, invalid(path, "invalid_image_url", "%s must hold the picture in base64: data:image/png;base64,…",
			path)
	}
	data, ok := decoded(encoded)
	if !ok {
		return core.File{}, invalid(path, "invalid_image_url", "%s holds no valid base64.", path)
	}
	if seen := http.DetectContentType(data); !slices.Contains(pictures, seen) {
		return core.File{}, invalid(path, "invalid_image_format", "%s is no picture; it can be PNG, JPEG, GIF or WebP.", path)
	}
	return core.File{MIME: media, Data: data}, nil
}

// decoded reads base64, with or without padding.
func decoded(encoded string) ([]byte, bool) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(encoded)
	}
	return data, err == nil && len(data) > 0
}

// readFile reads a file in the request itself, as a data: URL or in plain base64. It
// refuses references to uploads, which this server does not offer.
func readFile(path string, p part) (core.File, error) {
	f := p.File
	if f.ID != "" || f.Data == "" {
		return core.File{}, invalid(path+".file", "unsupported_value",
			"%s.file must bring the file itself in file_data, such as data:application/pdf;base64,…: there are no uploads.", path)
	}
	media, encoded := "", f.Data
	if rest, ok := strings.CutPrefix(f.Data, "data:"); ok {
		media, encoded, _ = strings.Cut(rest, ",")
		media = strings.TrimSuffix(media, ";base64")
	}
	data, ok := decoded(encoded)
	if !ok {
		return core.File{}, invalid(path+".file.file_data", "invalid_value", "%s.file.file_data holds no valid base64.", path)
	}
	return core.File{Name: text.OneLine(f.Name), MIME: media, Data: data}, nil
}

// pictures are the media types that models can see.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

package importer

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// messagePart is a part of the content of a message, in the form that most assistants use.
type messagePart struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`      // a string, or an object with its value
	ImageURL json.RawMessage `json:"image_url"` // a URL, or an object with it
	Data     string          `json:"data"`
	MIME     string          `json:"mimeType"`
	Source   struct {
		Data string `json:"data"`
		MIME string `json:"media_type"`
	} `json:"source"`
}

// contents returns the text of a content, which is a string or a list of parts, with
// placeholders for its files. Parts that nobody wrote are counted as left out.
func contents(raw json.RawMessage, out output) (string, []File) {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return strings.TrimSpace(whole), nil
	}
	var parts []piece[messagePart]
	if json.Unmarshal(raw, &parts) != nil {
		return "", nil
	}
	var said []string
	var files []File
	for _, p := range parts {
		switch kind := strings.ToLower(strings.ReplaceAll(p.v.Type, "_", "")); {
		case p.odd:
			out.count(oddForm)
		case kind == "text" || kind == "inputtext" || kind == "outputtext":
			said = append(said, textIn(p.v.Text, "value"))
		case strings.HasPrefix(kind, "image") || kind == "inputimage":
			f := p.v.image()
			files = append(files, f)
			said = append(said, placeholder(f, "", ""))
		case strings.Contains(kind, "think") || strings.Contains(kind, "reasoning"):
			out.count(reasoning)
		case kind == "error":
			out.count(errorMessage)
		case kind != "":
			out.count(toolUse)
		}
	}
	said = slices.DeleteFunc(said, func(s string) bool { return strings.TrimSpace(s) == "" })
	return strings.TrimSpace(strings.Join(said, "\n")), files
}

// textIn returns a JSON string, or the string under a key of an object.
func textIn(raw json.RawMessage, key string) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		_ = json.Unmarshal(object[key], &s) // of another type it stays empty
	}
	return s
}

// image returns the picture of a part, with its content if the part has it.
func (p messagePart) image() File {
	f := File{Kind: "photo", Name: "image", MIME: cmp.Or(p.MIME, p.Source.MIME)}
	if data, kind, ok := dataURL(textIn(p.ImageURL, "url")); ok {
		f.Data, f.MIME = data, kind
	} else if data, err := base64.StdEncoding.DecodeString(cmp.Or(p.Data, p.Source.Data)); err == nil {
		f.Data = data
	}
	return f
}

func dataURL(url string) (data []byte, kind string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	head, body, comma := strings.Cut(rest, ",")
	kind, packed := strings.CutSuffix(head, ";base64")
	if !ok || !comma || !packed {
		return nil, "", false
	}
	data, err := base64.StdEncoding.DecodeString(body)
	return data, kind, err == nil && len(data) > 0
}

// pass passes the messages of a conversation on. A message without a time gets that of
// the one before it, or else of the next with one, or else otherwise.
func (o output) pass(ls []Line, otherwise time.Time) error {
	last := otherwise
	if n := slices.IndexFunc(ls, func(l Line) bool { return !l.At.IsZero() }); n >= 0 {
		last = ls[n].At
	}
	for _, l := range ls {
		if l.At.IsZero() {
			l.At, l.Untimed = last, true
		}
		last = l.At
		if err := o.line(l); err != nil {
			return err
		}
	}
	return nil
}

// tree is a conversation that was continued in several ways: the parent of each message by its id.
type tree map[string]string

// path returns the ids on the way from the first message to last, and whether none is missing before them.
func (t tree) path(last string) (ids []string, on map[string]bool, whole bool) {
	on = map[string]bool{}
	for last != "" && !on[last] {
		parent, there := t[last]
		if !there {
			break
		}
		on[last] = true
		ids = append(ids, last)
		last = parent
	}
	slices.Reverse(ids)
	return ids, on, last == "" || on[last]
}

// shown returns the ids of the branch to last, oldest first. The others are counted, if they count.
func (t tree) shown(conversation, last string, counts func(id string) bool, out output) []string {
	ids, on, whole := t.path(last)
	switch {
	case len(t) > 0 && len(ids) == 0:
		out.left("conversation "+conversation, "it does not say which of its branches was shown")
		return nil
	case len(ids) > 0 && !whole:
		out.left("conversation "+conversation, "what stood before one of its messages is not there")
	}
	for id := range t {
		if !on[id] && counts(id) {
			out.count(otherBranch)
		}
	}
	return ids
}

// choose returns which people's conversations to import, if an archive has those of several: me names the user's
// accounts, separated by commas. If me is empty there must be only one.
func choose(people map[string]int, me string) (mine func(person string) bool, err error) {
	if len(people) == 0 || me == "" && len(people) == 1 {
		return func(string) bool { return true }, nil
	}
	names := mostFirst(people)
	if me == "" {
		var list []string
		for _, n := range names[:min(len(names), shownLeft)] {
			list = append(list, fmt.Sprintf("%s (%d)", n, people[n]))
		}
		return nil, fmt.Errorf("%w: it has conversations of %d people; say with --me whose are yours, of %s", ErrMe,
			len(names), strings.Join(list, ", "))
	}
	chosen := map[string]bool{}
	for name := range strings.SplitSeq(me, ",") {
		name = strings.TrimSpace(name)
		if people[name] == 0 {
			return nil, unknownMe(names, name)
		}
		chosen[name] = true
	}
	return func(person string) bool { return chosen[person] }, nil
}

// eachValue passes the value of each file to f, or each of its elements if it is a list.
func eachValue[T any](a *Archive, names []string, out output, f func(name string, v T) error) error {
	return each(names, func(name string) error {
		return a.document(name, out, func(d *document) error {
			one := func() error { return next(d, func(v T) error { return f(name, v) }) }
			first, err := d.first()
			switch {
			case err != nil:
				return err
			case first == '[':
				return d.array(one)
			}
			return one()
		})
	})
}

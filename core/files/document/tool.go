package document

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// Tools returns file_read, whose errors are sentences for the model.
func Tools(s Store, t core.Tokenizer) []core.Tool {
	return []core.Tool{
		core.NewTool("file_read",
			"Read pages of a file that the user sent. conversation_search finds pages (kind file). "+
				"Name file and page when you answer from it.",
			`{"type":"object","properties":{"attachment":{"type":"string","description":"as shown with the file, such as 12 or 12.2"},`+
				`"from_page":{"type":"integer"},"to_page":{"type":"integer"}},"required":["attachment"]}`, readTool{s, t}.use),
	}
}

type readTool struct {
	store  Store
	tokens core.Tokenizer
}

// Bounds of one call.
const (
	resultTokens = 3600 // of the text of pages
	mostPages    = 100
)

// input holds the arguments of file_read.
type input struct {
	Attachment reference `json:"attachment"`
	From       int       `json:"from_page"`
	To         int       `json:"to_page"`
}

// reference is a FileRef that models also write as a number.
type reference string

// UnmarshalJSON reads a string or a number.
func (r *reference) UnmarshalJSON(data []byte) error {
	*r = reference(strings.Trim(string(data), `"`))
	return nil
}

// output is the result of file_read.
type output struct {
	Attachment string         `json:"attachment"`
	Message    core.MessageID `json:"message_id"`
	Name       string         `json:"name"`
	Kind       string         `json:"kind,omitempty"`
	Pages      int            `json:"pages"`
	Read       []pageView     `json:"read,omitempty"`
	Next       int            `json:"next_page,omitempty"`
	Note       string         `json:"note,omitempty"`
}

type pageView struct {
	Page  int    `json:"page"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
}

func (t readTool) use(ctx context.Context, use core.ToolUse, in input) (core.ToolResult, error) {
	ref, ok := store.ParseFileRef(string(in.Attachment))
	if !ok {
		return core.ToolResult{}, errors.New("attachment must be the number that is shown with the file, such as 12 or 12.2")
	}
	if in.From < 0 || in.To < 0 || in.To > 0 && in.To < in.From {
		return core.ToolResult{}, errors.New("from_page and to_page count from 1, and to_page is not before from_page")
	}
	ms, err := t.store.Messages(ctx, use.User, []core.MessageID{ref.Message})
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("read the message of a file: %w", err)
	}
	if len(ms) == 0 || ref.Part >= len(ms[0].Attachments) || ms[0].Attachments[ref.Part].Document == nil {
		return core.ToolResult{}, fmt.Errorf("there is no file %s that can be read", ref)
	}
	a := ms[0].Attachments[ref.Part]
	out := output{Attachment: ref.String(), Message: ref.Message, Name: a.Name, Kind: a.Document.Kind,
		Pages: a.Document.Pages, Note: a.Document.Note()}
	if !a.Document.Unread() {
		if err := t.fill(ctx, use.User, ref, in, &out); err != nil {
			return core.ToolResult{}, err
		}
	}
	r, err := core.ResultOf(out)
	r.Tainted = true
	return r, err
}

// fill adds as many pages as fit.
func (t readTool) fill(ctx context.Context, user core.UserID, ref store.FileRef, in input, out *output) error {
	from := max(1, in.From)
	to := min(cmp.Or(in.To, from+mostPages-1), from+mostPages-1)
	pages, err := t.store.FilePages(ctx, user, ref, from, to)
	if err != nil {
		return fmt.Errorf("read pages of a file: %w", err)
	}
	if len(pages) == 0 && out.Pages > 0 {
		return fmt.Errorf("the file has pages 1 to %d", out.Pages)
	}
	left := resultTokens
	for _, p := range pages {
		if p.Tokens > left && len(out.Read) > 0 {
			out.Next = p.Number
			return nil
		}
		text := p.Text
		if p.Tokens > left {
			text = firstTokens(text, left, t.tokens) + " [the page goes on]"
		}
		left -= min(left, p.Tokens)
		out.Read = append(out.Read, pageView{p.Number, p.Title, text})
	}
	if n := len(pages); n > 0 && pages[n-1].Number < out.Pages {
		out.Next = pages[len(pages)-1].Number + 1
	}
	return nil
}

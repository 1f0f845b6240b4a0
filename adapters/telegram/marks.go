package telegram

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// insertion is markup that belongs at a byte offset of a text. Of several at one place, the least rank stands first.
type insertion struct {
	at, rank int
	text     string
}

// mostEntities bounds the entities of a text that are read; the service sends fewer.
const mostEntities = 300

// marked returns a text with those of its entities that change what it says, written as Markdown: addresses behind
// words, people who have no name that can be typed, struck-out, hidden and quoted words, code. Emphasis is left out. A
// command and a text that is marked as a whole stay as they are typed, so that they are still understood.
func marked(text string, entities []models.MessageEntity) string {
	var begins, ends []insertion
	for _, e := range entities[:min(len(entities), mostEntities)] {
		start, end, ok := span(text, e.Offset, e.Length)
		before, after := written(e, text[start:end])
		if !ok || before+after == "" || plain(e, text, start, end) {
			continue
		}
		outer := len(text) - (end - start) // the wider of two marks is outside
		begins = append(begins, insertion{start, outer, before})
		ends = append(ends, insertion{end, -outer - 1, after})
		if isQuote(mark{kind: e.Type}) {
			for i := start; i < end-1; i++ {
				if text[i] == '\n' {
					begins = append(begins, insertion{i + 1, outer, before})
				}
			}
		}
	}
	slices.Reverse(ends) // those of the same words end in reverse
	all := append(ends, begins...)
	slices.SortStableFunc(all, func(a, b insertion) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank))
	})
	var out strings.Builder
	from := 0
	for _, i := range all {
		out.WriteString(text[from:i.at])
		out.WriteString(i.text)
		from = i.at
	}
	return out.String() + text[from:]
}

// written returns what stands before and after words that an entity marks; "", "": it says nothing that they do not.
func written(e models.MessageEntity, words string) (before, after string) {
	switch e.Type {
	case models.MessageEntityTypeTextLink:
		if e.URL != "" && e.URL != words {
			return "[", "](" + e.URL + ")"
		}
	case models.MessageEntityTypeTextMention:
		if e.User != nil {
			return "[", fmt.Sprintf("](tg://user?id=%d)", e.User.ID)
		}
	case models.MessageEntityTypeStrikethrough:
		return "~~", "~~"
	case models.MessageEntityTypeSpoiler:
		return "||", "||"
	case models.MessageEntityTypeCode:
		return "`", "`"
	case models.MessageEntityTypePre:
		return "```" + e.Language + "\n", "\n```"
	case models.MessageEntityTypeBlockquote, models.MessageEntityTypeExpandableBlockquote:
		return "> ", ""
	case models.MessageEntityTypeDateTime:
		if e.UnixTime != 0 {
			return "", " (" + unix(e.UnixTime).Format("2006-01-02 15:04 UTC") + ")"
		}
	}
	return "", ""
}

// plain reports whether an entity is left out although it has markup: it touches the name of a command, or it is code or
// a spoiler around the whole text, as it is when somebody copies a code from a message.
func plain(e models.MessageEntity, text string, start, end int) bool {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!") {
		name := strings.IndexAny(text, " \n\t")
		return name < 0 || start < name
	}
	whole := strings.TrimSpace(text[:start]+text[end:]) == ""
	return whole && (e.Type == models.MessageEntityTypeCode || e.Type == models.MessageEntityTypeSpoiler)
}

// span returns a range of UTF-16 units as byte offsets. ok is false for one that is empty or not within text.
func span(text string, offset, length int) (start, end int, ok bool) {
	if offset < 0 || length <= 0 {
		return 0, 0, false
	}
	start, end = -1, -1
	units := 0
	for i := 0; ; {
		if units >= offset && start < 0 {
			start = i
		}
		if units >= offset+length {
			end = i
			break
		}
		if i >= len(text) {
			break
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if units++; r >= 0x10000 {
			units++
		}
	}
	if start < 0 || end <= start {
		return 0, 0, false
	}
	return start, end, true
}

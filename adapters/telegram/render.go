package telegram

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

// maxEntities is the number of entities that the service keeps.
const maxEntities = 100

// mark is an entity with offsets in bytes.
type mark struct {
	kind       models.MessageEntityType
	start, end int
	value      string // URL or language
}

// Render returns p as a message to chat: text and entities, without parse mode and link
// preview. It drops entities that the service would refuse, but no text.
func Render(chat int64, p core.Part) *bot.SendMessageParams {
	params := &bot.SendMessageParams{ChatID: chat, Text: p.Text, Entities: entities(p), DisableNotification: p.Quiet,
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: new(true)}, MessageThreadID: thread(p.Place)}
	if len(p.Buttons) > 0 {
		params.ReplyMarkup = keyboard(p.Buttons)
	}
	if id, err := strconv.Atoi(p.Reply); err == nil && id > 0 {
		params.ReplyParameters = &models.ReplyParameters{MessageID: id, AllowSendingWithoutReply: true}
	}
	return params
}

// thread returns the service's number of a topic; 0: the chat itself.
func thread(place string) int {
	n, _ := strconv.Atoi(place) // 0 if it is empty
	return n
}

// keyboard returns one row of buttons, whose data are the gateway's commands.
func keyboard(buttons []core.Button) models.InlineKeyboardMarkup {
	var row []models.InlineKeyboardButton
	for _, b := range buttons {
		row = append(row, models.InlineKeyboardButton{Text: b.Label, CallbackData: b.Command})
	}
	return models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{row}}
}

// entities returns the entities of p in the order and nesting that the service requires, in UTF-16 units.
func entities(p core.Part) []models.MessageEntity {
	marks := marksOf(p.Spans)
	if p.Fold {
		marks = fold(marks, p.Text)
	}
	order(marks)
	marks = nest(marks)
	marks = clearCode(marks, p.Text)
	order(marks)
	return inUTF16(fewer(marks), p.Text)
}

func marksOf(spans []core.Span) []mark {
	marks := make([]mark, 0, len(spans)+1)
	for _, s := range spans {
		if kind := entityType(s); kind != "" && s.Start < s.End {
			marks = append(marks, mark{kind: kind, start: s.Start, end: s.End, value: s.Value})
		}
	}
	return marks
}

// entityType returns "" for a span that the service does not show.
func entityType(s core.Span) models.MessageEntityType {
	scheme, _, _ := strings.Cut(strings.ToLower(s.Value), ":")
	if s.Kind == core.SpanLink && scheme != "http" && scheme != "https" && scheme != "tg" {
		return ""
	}
	return map[core.SpanKind]models.MessageEntityType{
		core.SpanBold: models.MessageEntityTypeBold, core.SpanHeading: models.MessageEntityTypeBold,
		core.SpanItalic: models.MessageEntityTypeItalic, core.SpanStrike: models.MessageEntityTypeStrikethrough,
		core.SpanSpoiler: models.MessageEntityTypeSpoiler, core.SpanQuote: models.MessageEntityTypeBlockquote,
		core.SpanCode: models.MessageEntityTypeCode, core.SpanPre: models.MessageEntityTypePre,
		core.SpanLink: models.MessageEntityTypeTextLink,
	}[s.Kind]
}

// fold puts everything after the first line into an expandable quote, which may not
// contain other quotes. Marks across the border are cut there.
func fold(marks []mark, text string) []mark {
	border := strings.IndexByte(text, '\n') + 1
	if border == 0 || strings.TrimSpace(text[border:]) == "" {
		return marks
	}
	out := []mark{{kind: models.MessageEntityTypeExpandableBlockquote, start: border, end: len(text)}}
	for _, m := range marks {
		if m.kind == models.MessageEntityTypeBlockquote {
			continue
		}
		if m.start < border && m.end > border {
			head := m
			head.end = border
			out = append(out, head)
			m.start = border
		}
		out = append(out, m)
	}
	return out
}

// order sorts outer marks before inner ones, with quotes outermost.
func order(marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(rank(a), rank(b)))
	})
}

func rank(m mark) int {
	if isQuote(m) {
		return 0
	}
	return 1
}

func isQuote(m mark) bool {
	return m.kind == models.MessageEntityTypeBlockquote || m.kind == models.MessageEntityTypeExpandableBlockquote
}

func isCode(m mark) bool {
	return m.kind == models.MessageEntityTypeCode || m.kind == models.MessageEntityTypePre
}

// nest drops marks that are not allowed within those around them.
func nest(marks []mark) []mark {
	out := marks[:0]
	var open []mark
	for _, m := range marks {
		for len(open) > 0 && open[len(open)-1].end <= m.start {
			open = open[:len(open)-1]
		}
		if slices.ContainsFunc(open, func(o mark) bool { return forbids(o, m) }) {
			continue
		}
		open = append(open, m)
		out = append(out, m)
	}
	return out
}

// forbids reports whether outer may not contain inner.
func forbids(outer, inner mark) bool {
	switch {
	case inner.end > outer.end, outer.kind == inner.kind, isCode(outer):
		return true
	case isQuote(inner):
		return true
	case outer.kind == models.MessageEntityTypeTextLink:
		return isCode(inner)
	}
	return false
}

// clearCode cuts bold and similar marks around the code within them.
func clearCode(marks []mark, text string) []mark {
	var code, out []mark
	for _, m := range marks {
		if isCode(m) {
			code = append(code, m)
		}
	}
	for _, m := range marks {
		if isCode(m) || isQuote(m) || m.kind == models.MessageEntityTypeTextLink {
			out = append(out, m)
			continue
		}
		i, _ := slices.BinarySearchFunc(code, m.start, func(c mark, start int) int { return cmp.Compare(c.start, start) })
		piece := m
		for ; i < len(code) && code[i].start < m.end; i++ {
			piece.end = code[i].start
			out = appendVisible(out, piece, text)
			piece.start = code[i].end
		}
		piece.end = m.end
		out = appendVisible(out, piece, text)
	}
	return out
}

func appendVisible(marks []mark, m mark, text string) []mark {
	if m.start < m.end && strings.TrimSpace(text[m.start:m.end]) != "" {
		return append(marks, m)
	}
	return marks
}

// fewer drops the deepest marks, the last ones first, until maxEntities are left.
func fewer(marks []mark) []mark {
	surplus := len(marks) - maxEntities
	if surplus <= 0 {
		return marks
	}
	depth := depths(marks)
	index := make([]int, len(marks))
	for i := range index {
		index[i] = i
	}
	slices.SortFunc(index, func(a, b int) int { return cmp.Or(cmp.Compare(depth[b], depth[a]), cmp.Compare(b, a)) })
	var out []mark
	for _, i := range slices.Sorted(slices.Values(index[surplus:])) {
		out = append(out, marks[i])
	}
	return out
}

func depths(marks []mark) []int {
	out := make([]int, len(marks))
	var open []mark
	for i, m := range marks {
		for len(open) > 0 && open[len(open)-1].end <= m.start {
			open = open[:len(open)-1]
		}
		out[i] = len(open)
		open = append(open, m)
	}
	return out
}

// inUTF16 returns marks as entities with offsets in UTF-16 units.
func inUTF16(marks []mark, text string) []models.MessageEntity {
	if len(marks) == 0 {
		return nil
	}
	at := offsets(marks, text)
	out := make([]models.MessageEntity, len(marks))
	for i, m := range marks {
		out[i] = models.MessageEntity{Type: m.kind, Offset: at[m.start], Length: at[m.end] - at[m.start]}
		switch m.kind {
		case models.MessageEntityTypeTextLink:
			out[i].URL = m.value
		case models.MessageEntityTypePre:
			out[i].Language = m.value
		}
	}
	return out
}

// offsets maps the byte offsets of marks to UTF-16 units in one pass of text.
func offsets(marks []mark, text string) map[int]int {
	var bytes []int
	for _, m := range marks {
		bytes = append(bytes, m.start, m.end)
	}
	slices.Sort(bytes)
	at := make(map[int]int, len(bytes))
	pos, units := 0, 0
	for _, b := range bytes {
		units += markup.UTF16Len(text[pos:b])
		pos = b
		at[b] = units
	}
	return at
}

package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// content returns the text of a message, with placeholders for other content, and its
// files. Both are empty if there is nothing to show.
func content(f map[string]json.RawMessage, reply bool, name string) (string, []core.Attachment) {
	body := text(f["body"])
	if reply {
		body = withoutFallback(body)
	}
	switch text(f["msgtype"]) {
	case "m.text", "m.notice":
		return body, nil
	case "m.emote":
		return strings.TrimSpace("* " + cmp.Or(name, "I") + " " + body), nil
	case "m.image":
		return file(f, "photo", body)
	case "m.video":
		return file(f, "video", body)
	case "m.audio":
		if f["org.matrix.msc3245.voice"] != nil || f["m.voice"] != nil {
			return file(f, "voice", body)
		}
		return file(f, "audio", body)
	case "m.file":
		return file(f, "document", body)
	case "m.sticker":
		return file(f, "sticker", body)
	case "m.location":
		return location(text(f["geo_uri"]), body), nil
	}
	return body, nil
}

// file returns the placeholder and file of a message. If there is also a file name, the
// body is a caption.
func file(f map[string]json.RawMessage, kind, body string) (string, []core.Attachment) {
	info := object(f["info"])
	a := core.Attachment{Kind: kind, Ref: reference(f), MIME: text(info["mimetype"]), Size: number(info["size"])}
	caption := ""
	if a.Name = text(f["filename"]); a.Name == "" {
		a.Name = body
	} else if a.Name != body {
		caption = body
	}
	label := kind
	switch kind {
	case "voice", "audio", "video":
		a.Duration = time.Duration(min(number(info["duration"]), 1<<40)) * time.Millisecond
		s := int64(a.Duration / time.Second)
		label = fmt.Sprintf("%s %d:%02d", kind, s/60, s%60)
	case "document":
		label = strings.TrimSpace("document " + a.Name)
	}
	if caption != "" {
		label += ": " + caption
	}
	if a.Ref == "" {
		return "[" + label + "]", nil
	}
	return "[" + label + "]", []core.Attachment{a}
}

// reference returns the reference for Fetch: an mxc address, or the JSON of an encrypted
// file with its keys.
func reference(f map[string]json.RawMessage) string {
	if u := text(f["url"]); strings.HasPrefix(u, "mxc://") {
		return u
	}
	if strings.HasPrefix(text(object(f["file"])["url"]), "mxc://") {
		compact, _ := json.Marshal(f["file"])
		return string(compact)
	}
	return ""
}

func location(geo, body string) string {
	place, _, _ := strings.Cut(strings.TrimPrefix(geo, "geo:"), ";")
	lat, rest, ok := strings.Cut(place, ",")
	long, _, _ := strings.Cut(rest, ",")
	x, err1 := strconv.ParseFloat(lat, 64)
	y, err2 := strconv.ParseFloat(long, 64)
	if !ok || err1 != nil || err2 != nil {
		return strings.TrimSpace("[location " + body + "]")
	}
	return fmt.Sprintf("[location %.5f,%.5f]", x, y)
}

// withoutFallback removes the quoted lines that old clients put before a reply.
func withoutFallback(body string) string {
	if !strings.HasPrefix(body, "> <@") && !strings.HasPrefix(body, "> * <@") {
		return body
	}
	rest := body
	for strings.HasPrefix(rest, ">") {
		_, after, more := strings.Cut(rest, "\n")
		if !more {
			return body
		}
		rest = after
	}
	return strings.TrimPrefix(rest, "\n")
}

// fallback returns the text that such lines quote.
func fallback(body string) string {
	cut := withoutFallback(body)
	if cut == body {
		return ""
	}
	var lines []string
	for i, line := range strings.Split(strings.TrimSuffix(body, cut), "\n") {
		line = strings.TrimPrefix(strings.TrimPrefix(line, ">"), " ")
		if i == 0 {
			if _, words, ok := strings.Cut(line, "> "); ok {
				line = words
			}
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

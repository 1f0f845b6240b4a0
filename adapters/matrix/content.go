package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// asMessages are the types of events, besides messages, that are read as messages of a msgtype.
var asMessages = map[string]string{typeSticker: typeSticker, "m.call.invite": msgCall,
	"m.poll.start": msgPoll, "org.matrix.msc3381.poll.start": msgPoll,
	"m.poll.end": msgPollEnd, "org.matrix.msc3381.poll.end": msgPollEnd,
	"m.beacon_info": msgLive, "org.matrix.msc3672.beacon_info": msgLive}

// Values of msgtype for events that have none.
const (
	msgPoll    = "poll"
	msgPollEnd = "poll end"
	msgCall    = "call"
	msgLive    = "live location"
)

// verifying begins the types of messages in which a client offers to compare keys, with a body that nobody wrote.
const verifying = "m.key.verification."

// asMessage returns an event of asMessages as a message. The beginning of a live location is a state, which no client
// encrypts; nothing of what it says is read.
func (e event) asMessage() event {
	kind, f := asMessages[e.Type], e.fields()
	begun := kind == msgLive && string(f["live"]) == "true" && e.StateKey != nil && strings.HasPrefix(
		strings.TrimPrefix(*e.StateKey, "_"), e.Sender)
	if kind == "" || f == nil || (e.StateKey != nil || kind == msgLive) && !begun {
		return e
	}
	e.opened = e.opened || begun
	f["msgtype"], _ = json.Marshal(kind)
	if raw, err := json.Marshal(f); err == nil {
		e.Type, e.Content = typeMessage, raw
	}
	return e
}

// content returns the text of a message and its files.
func content(f map[string]json.RawMessage, reply bool, name string) (string, []core.Attachment) {
	c := said(f, reply, name)
	return c.Text, c.Files
}

// said returns what a message says, with placeholders for other content. It is empty if there is nothing to show.
func said(f map[string]json.RawMessage, reply bool, name string) channel.Content {
	body := text(f["body"])
	if reply {
		body = withoutFallback(body)
	}
	body = linked(f, body)
	msgtype := text(f["msgtype"])
	kind := map[string]string{"m.image": "photo", "m.video": "video", "m.audio": "audio", "m.file": "document",
		typeSticker: "sticker"}[msgtype]
	switch {
	case msgtype == "m.emote":
		return channel.Words(strings.TrimSpace("* " + cmp.Or(name, "I") + " " + body))
	case msgtype == "m.location":
		return location(f, body)
	case kind == "audio" && (f["org.matrix.msc3245.voice"] != nil || f["m.voice"] != nil):
		return file(f, "voice", body)
	case kind != "":
		return file(f, kind, body)
	case msgtype == msgPoll:
		return poll(f)
	case msgtype == msgPollEnd:
		return channel.Object("poll ended:", extensible(f))
	case msgtype == msgCall:
		return channel.Bare("call")
	case msgtype == msgLive:
		return channel.Bare("live location, which is not followed")
	case strings.HasPrefix(msgtype, verifying),
		body == "" && msgtype != "" && msgtype != "m.text" && msgtype != "m.notice":
		return channel.Object("unsupported:", msgtype)
	}
	return channel.Words(body)
}

// file returns the placeholder and file of a message. If there is also a file name, the body is a caption.
func file(f map[string]json.RawMessage, kind, body string) channel.Content {
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
		label = "document " + a.Name
	}
	return channel.File(label, caption, a)
}

// reference returns the reference for Fetch: an mxc address, or the JSON of an encrypted file with its keys.
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

// location returns a position, with the words that describe it. Clients write a body of their own for it.
func location(f map[string]json.RawMessage, body string) channel.Content {
	words := ""
	for _, key := range []string{"m.location", "org.matrix.msc3488.location"} {
		words = cmp.Or(words, text(object(f[key])["description"]))
	}
	place, _, _ := strings.Cut(strings.TrimPrefix(text(f["geo_uri"]), "geo:"), ";")
	lat, rest, ok := strings.Cut(place, ",")
	long, _, _ := strings.Cut(rest, ",")
	x, err1 := strconv.ParseFloat(lat, 64)
	y, err2 := strconv.ParseFloat(long, 64)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return channel.Object("location", cmp.Or(words, body))
	case words != "":
		return channel.Object("location", words+",", channel.Position(x, y))
	}
	return channel.Bare("location", channel.Position(x, y))
}

// poll returns the question of a poll and its answers.
func poll(f map[string]json.RawMessage) channel.Content {
	start := object(f["m.poll"])
	if start == nil {
		start = object(f["org.matrix.msc3381.poll.start"])
	}
	var answers []json.RawMessage
	_ = json.Unmarshal(start["answers"], &answers)
	var options []string
	for _, a := range answers[:min(len(answers), mostAnswers)] {
		options = append(options, extensible(object(a)))
	}
	question := extensible(object(start["question"]))
	if question == "" && len(options) == 0 {
		return channel.Object("poll", extensible(f))
	}
	return channel.Object("poll", question, channel.Choices(options))
}

// mostAnswers bounds the answers of a poll that are shown; the specification allows 20.
const mostAnswers = 20

// extensible returns the text of extensible content, in any of the forms that clients write.
func extensible(f map[string]json.RawMessage) string {
	for _, key := range []string{"org.matrix.msc1767.text", "m.text", "body"} {
		if s := text(f[key]); s != "" {
			return s
		}
		var forms []map[string]json.RawMessage
		_ = json.Unmarshal(f[key], &forms)
		for _, form := range forms {
			if kind := text(form["mimetype"]); kind == "" || kind == "text/plain" {
				return text(form["body"])
			}
		}
	}
	return ""
}

// forwarded returns the author of a forwarded message, or "". Clients mark it under names of their own.
func forwarded(f map[string]json.RawMessage) string {
	for key, value := range f {
		if mark := object(value); strings.HasSuffix(key, ".forwarded") && len(mark) > 0 {
			return cmp.Or(valid(text(mark["sender"])), "unknown")
		}
	}
	return ""
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

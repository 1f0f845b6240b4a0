package telegram

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text/markup"
)

var onePixel, _ = base64.StdEncoding.DecodeString(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func filePart(kind, name, mime string, data []byte) core.Part {
	return core.Part{Attachment: &core.Attachment{Kind: kind, Name: name, MIME: mime}, Data: data}
}

func TestSend_file(t *testing.T) {
	t.Parallel()
	large := append(bytes.Clone(onePixel), make([]byte, maxPhoto)...)
	for name, c := range map[string]struct {
		part core.Part
		want telegramtest.File
	}{
		"a picture": {filePart("photo", "boat.png", "image/png", onePixel),
			telegramtest.File{Kind: "photo", Name: "boat.png", MIME: "image/png"}},
		"a large picture": {filePart("photo", "boat.png", "image/png", large),
			telegramtest.File{Kind: "document", Name: "boat.png", MIME: "image/png"}},
		"a picture as a file": {filePart("document", "boat.png", "image/png", onePixel),
			telegramtest.File{Kind: "document", Name: "boat.png", MIME: "image/png"}},
		"a film": {filePart("video", "a.mp4", "video/mp4", []byte("film")),
			telegramtest.File{Kind: "video", Name: "a.mp4", MIME: "video/mp4"}},
		"a film of other form": {filePart("video", "a.webm", "video/webm", []byte("film")),
			telegramtest.File{Kind: "document", Name: "a.webm", MIME: "video/webm"}},
		"a recording": {filePart("audio", "a.mp3", "audio/mpeg", []byte("sound")),
			telegramtest.File{Kind: "audio", Name: "a.mp3", MIME: "audio/mpeg"}},
		"a voice note": {filePart("voice", "a.ogg", "audio/ogg; codecs=opus", []byte("voice")),
			telegramtest.File{Kind: "voice", Name: "a.ogg", MIME: "audio/ogg"}},
		"an Ogg file": {filePart("audio", "a.ogg", "audio/ogg", []byte("sound")),
			telegramtest.File{Kind: "document", Name: "a.ogg", MIME: "audio/ogg"}},
		"a text": {filePart("document", "été \"1\"\r\n/x.txt", "text/plain; charset=utf-8", []byte("hello")),
			telegramtest.File{Kind: "document", Name: "été _1____x.txt", MIME: "text/plain"}},
		"nothing known of it": {filePart("document", "", "", []byte("?")), telegramtest.File{Kind: "document", Name: "file",
			MIME: "application/octet-stream"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ch := served(t)
			receipt, err := ch.Send(t.Context(), adaAddress, c.part)
			if err != nil {
				t.Fatal(err)
			}
			sent := s.Sent(ada)
			if len(sent) != 1 || sent[0].File == nil || sent[0].Text != "" || receipt.NativeID == "" {
				t.Fatalf("sent %d messages, receipt %+v", len(sent), receipt)
			}
			got := *sent[0].File
			if !bytes.Equal(got.Data, c.part.Data) {
				t.Errorf("%d bytes arrived of %d", len(got.Data), len(c.part.Data))
			}
			got.Data = nil
			if got.Kind != c.want.Kind || got.Name != c.want.Name || got.MIME != c.want.MIME {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestSend_fileWithACaption(t *testing.T) {
	t.Parallel()
	s, ch := served(t)
	p := markup.Parse("Our **boat** 🚤 *here*").Part()
	p.Attachment, p.Data, p.Quiet, p.Reply = &core.Attachment{Kind: "photo", Name: "boat.png", MIME: "image/png"},
		onePixel, true, "1"
	if _, err := ch.Send(t.Context(), adaAddress, core.Part{Text: "first"}); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), adaAddress, p); err != nil {
		t.Fatal(err)
	}
	got := s.Sent(ada)[1]
	if got.Text != "Our boat 🚤 here" || !got.Quiet || got.ReplyTo != 1 || len(got.Entities) != 2 ||
		got.Entities[1] != (telegramtest.Entity{Type: "italic", Offset: 12, Length: 4}) {
		t.Errorf("sent %+v", got)
	}
}

// A picture that the service cannot show, or whose caption it refuses, is still sent.
func TestSend_fileRefused(t *testing.T) {
	t.Parallel()
	s, ch := served(t)
	if _, err := ch.Send(t.Context(), adaAddress, filePart("photo", "a.png", "image/png",
		[]byte("no picture"))); err != nil {
		t.Fatal(err)
	}
	s.Fail("sendPhoto", 1, telegramtest.Failure{Code: 400, Description: "Bad Request: PHOTO_INVALID_DIMENSIONS"})
	if _, err := ch.Send(t.Context(), adaAddress, filePart("photo", "b.png", "image/png", onePixel)); err != nil {
		t.Fatal(err)
	}
	s.Fail("sendPhoto", 1, telegramtest.Failure{Code: 400, Description: "Bad Request: can't parse entities: x"})
	p := markup.Parse("**bold**").Part()
	p.Attachment, p.Data = &core.Attachment{Kind: "photo", Name: "c.png", MIME: "image/png"}, onePixel
	if _, err := ch.Send(t.Context(), adaAddress, p); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, m := range s.Sent(ada) {
		kinds = append(kinds, m.File.Kind+" "+m.File.Name)
	}
	if got := strings.Join(kinds, ", "); got != "document a.png, document b.png, photo c.png" ||
		s.Sent(ada)[2].Entities != nil {
		t.Errorf("sent %s", got)
	}
}

func TestSend_fileErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part    core.Part
		failure telegramtest.Failure
		want    any
		says    string
	}{
		"nothing in it": {filePart("photo", "a.png", "image/png", nil), telegramtest.Failure{}, new(*core.Permanent),
			"a.png has 0 bytes"},
		"too large": {filePart("document", "a.bin", "", make([]byte, maxFile+1)), telegramtest.Failure{},
			new(*core.Permanent), "can be sent"},
		"refused": {filePart("photo", "a.png", "image/png", onePixel), telegramtest.Failure{Code: 413},
			new(*core.Permanent), "413"},
		"blocked": {filePart("photo", "a.png", "image/png", onePixel), telegramtest.Failure{Code: 403},
			new(*core.Unreachable), "blocked"},
		"flood": {filePart("photo", "a.png", "image/png", onePixel), telegramtest.Failure{Code: 429, RetryAfter: 35},
			new(*core.RetryAfter), "35"},
		"server error": {filePart("photo", "a.png", "image/png", onePixel), telegramtest.Failure{Code: 502},
			new(*core.Unknown), "502"},
		"answer dropped": {filePart("photo", "a.png", "image/png", onePixel), telegramtest.Failure{Drop: true},
			new(*core.Unknown), "may have arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ch := served(t)
			if c.failure != (telegramtest.Failure{}) {
				s.Fail("sendPhoto", 1, c.failure)
			}
			_, err := ch.Send(t.Context(), adaAddress, c.part)
			if !errors.As(err, c.want) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "TEST-token") {
				t.Errorf("got %T %v", err, err)
			}
		})
	}
	s, ch := served(t)
	p := filePart("photo", "a.png", "image/png", onePixel)
	p.Text = strings.Repeat("🚤", maxCaption/2+1)
	var permanent *core.Permanent
	if _, err := ch.Send(t.Context(), adaAddress, p); !errors.As(err, &permanent) || s.Calls("sendPhoto") > 0 {
		t.Errorf("a long caption: %v", err)
	}
}

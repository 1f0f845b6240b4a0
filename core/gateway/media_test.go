package gateway

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

var onePixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func TestTypesOfFilesAreThoseOfTheirContent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, seen, want string }{
		{"image/jpeg", "image/png", "image/png"}, // a model refuses what is called otherwise
		{"", "image/webp", "image/webp"},
		{"application/octet-stream", "image/gif", "image/gif"},
		{"audio/ogg; codecs=opus", "application/ogg", "audio/ogg; codecs=opus"},
		{"audio/mp4", "video/mp4", "audio/mp4"},
		{"application/json", "text/plain; charset=utf-8", "application/json"},
		{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"image/heic", "application/octet-stream", "image/heic"},
		{"image/png", "text/html; charset=utf-8", "text/html; charset=utf-8"}, // a page in disguise
		{"", "application/octet-stream", "application/octet-stream"},
	} {
		if got := sniffed(c.said, c.seen); got != c.want {
			t.Errorf("said %q, seen %q: got %q, want %q", c.said, c.seen, got, c.want)
		}
	}
}

func TestModelsAreShownOnlyPicturesThatTheyTake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{"png": string(onePixel), "heic": "\x00\x00\x00\x18ftypheic", "broken": "no picture", "svg": "<svg/>"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := &Gateway{Options: Options{Settings: Settings{MediaDir: dir}, Log: zap.NewNop()}}
	got := g.images([]core.Message{{ID: 1, Attachments: []core.Attachment{
		{Path: "png", MIME: "image/jpeg"}, {Path: "heic", MIME: "image/heic"}, {Path: "broken", MIME: "image/png"},
		{Path: "svg", MIME: "image/svg+xml"}, {Path: "gone", MIME: "image/png"}, {Error: "too large", MIME: "image/png"},
	}}})
	if len(got[1]) != 1 || got[1][0].MIME != "image/png" || string(got[1][0].Data) != string(onePixel) {
		t.Errorf("got %d pictures: %+v", len(got[1]), got)
	}
}

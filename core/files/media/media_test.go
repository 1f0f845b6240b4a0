package media

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
)

var onePixel, _ = base64.StdEncoding.DecodeString(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func TestSniffed_typeIsThatOfTheContent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, seen, want string }{
		{"image/jpeg", "image/png", "image/png"}, // a model refuses a file with a wrong type
		{"", "image/webp", "image/webp"},
		{"application/octet-stream", "image/gif", "image/gif"},
		{"audio/ogg; codecs=opus", "application/ogg", "audio/ogg; codecs=opus"},
		{"audio/mp4", "video/mp4", "audio/mp4"}, {"audio/webm", "video/webm", "audio/webm"},
		{"application/json", "text/plain; charset=utf-8", "application/json"},
		{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/zip",
			"application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"image/heic", "application/octet-stream", "image/heic"},
		{"image/png", "text/html; charset=utf-8", "text/html; charset=utf-8"}, // a page in disguise
		{"", "application/octet-stream", "application/octet-stream"},
	} {
		if got := sniffed(c.said, c.seen); got != c.want {
			t.Errorf("said %q, seen %q: got %q, want %q", c.said, c.seen, got, c.want)
		}
	}
}

func TestImages_onlyTypesModelsTake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{"png": string(onePixel), "heic": "\x00\x00\x00\x18ftypheic",
		"broken": "no picture", "svg": "<svg/>"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &Files{Dir: dir, Log: zap.NewNop()}
	got := f.images([]core.Message{{ID: 1, Attachments: []core.Attachment{
		{Path: "png", MIME: "image/jpeg"}, {Path: "heic", MIME: "image/heic"}, {Path: "broken", MIME: "image/png"},
		{Path: "svg", MIME: "image/svg+xml"}, {Path: "gone", MIME: "image/png"}, {Error: "too large", MIME: "image/png"},
	}}})
	if len(got[1]) != 1 || got[1][0].MIME != "image/png" || string(got[1][0].Data) != string(onePixel) {
		t.Errorf("got %d pictures, want 1: %+v", len(got[1]), got)
	}
}

// known contains users by their roles.
type known struct {
	roles map[core.UserID]core.UserRole
}

func (k known) User(_ context.Context, id core.UserID) (core.User, error) {
	return core.User{ID: id, Role: k.roles[id]}, nil
}

func TestFiles_roomOfAUserIsLimited(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	dir := t.TempDir()
	f := &Files{Dir: dir, Max: 100, PerUser: 100, Now: func() time.Time { return now },
		Users: known{roles: map[core.UserID]core.UserRole{1: core.RoleOwner, 2: core.RoleMember, 3: core.RoleMember}}}
	keep := func(u core.UserID, bytes int) (string, error) {
		a, err := f.Keep(t.Context(), u, core.File{Name: "a.txt", Data: make([]byte, bytes)})
		return a.Path, err
	}
	fits := func(u core.UserID, bytes int) string {
		t.Helper()
		path, err := keep(u, bytes)
		if err != nil {
			t.Errorf("%d bytes of user %d: got %v, want no error", bytes, u, err)
		}
		return path
	}
	refused := func(u core.UserID, bytes int) {
		t.Helper()
		if _, err := keep(u, bytes); !errors.Is(err, core.ErrNoRoom) {
			t.Errorf("%d bytes of user %d: got %v, want ErrNoRoom", bytes, u, err)
		}
	}
	first := fits(2, 60)
	fits(2, 40)
	refused(2, 1)
	fits(3, 100) // another user has room of their own
	for range 3 {
		fits(1, 100) // the owner has no limit
	}
	if err := os.Remove(filepath.Join(dir, first)); err != nil {
		t.Fatal(err)
	}
	fits(2, 60)
	if err := os.WriteFile(filepath.Join(dir, "2", "of-another-process"), make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(2, 1)
}

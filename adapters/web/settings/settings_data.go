package settings

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
)

const (
	exportTime    = time.Hour // until a client must have read an export
	exportsAtOnce = 8         // of everybody
)

func (r *Room) dataRoutes() []web.Route {
	return []web.Route{
		{Pattern: "GET /settings/export", Serve: r.export},
		{Pattern: "POST /settings/export", Serve: r.export},
		{Pattern: "POST /settings/delete", Serve: r.deleteMe},
		{Pattern: "POST /settings/data", Serve: r.traces},
	}
}

func (r *Room) fillData(v *web.Visit, page *settingsView) (err error) {
	page.Owner = v.User.Role == core.RoleOwner
	page.ExportAbout, err = r.exportAbout(v)
	return err
}

// exportAbout describes the size of an export, as the stream has no known length.
func (r *Room) exportAbout(v *web.Visit) (string, error) {
	const page, pages = 500, 40
	messages, before := 0, ""
	for range pages {
		days, err := r.Store.Days(v.Context(), v.User.ID, before, page)
		if err != nil {
			return "", fmt.Errorf("count messages: %w", err)
		}
		for _, d := range days {
			messages, before = messages+d.Messages, d.Day.Label
		}
		if len(days) < page {
			break
		}
	}
	w := say(v.Lang).Settings
	about := v.Words.Messages.Of(messages)
	files, bytes := r.attachments(v)
	if files == 0 {
		return fmt.Sprintf(w.ExportAbout, about), nil
	}
	return fmt.Sprintf(w.ExportAboutFiles, about, say(v.Lang).Attachments.Of(files), web.Size(v.Lang, bytes)), nil
}

// attachments counts the files in the visitor's folder and their bytes; zero if it cannot be read.
func (r *Room) attachments(v *web.Visit) (n int, bytes int64) {
	entries, err := os.ReadDir(filepath.Join(r.MediaDir, strconv.FormatInt(int64(v.User.ID), 10)))
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			n, bytes = n+1, bytes+info.Size()
		}
	}
	return n, bytes
}

// export streams all of the visitor's data as a ZIP file. Few run at a time, as each reads a whole conversation.
func (r *Room) export(v *web.Visit) error {
	if sure, err := r.sure(v, effect.AccountSubject{Change: effect.ChangeExport}, "/settings/data"); err != nil || !sure {
		return err
	}
	if !r.exports.take(v.User.ID) {
		return &web.Fault{Status: http.StatusTooManyRequests, Text: say(v.Lang).Settings.ExportBusy,
			After: time.Minute}
	}
	defer r.exports.leave(v.User.ID)
	if err := http.NewResponseController(v.W).SetWriteDeadline(time.Now().Add(exportTime)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("export: %w", err)
	}
	name := "everthread-" + web.FileName(strings.ReplaceAll(strings.ToLower(v.User.Name), " ", "-")) + "-" +
		v.Today.Label + ".zip"
	file := &download{to: v.W, begin: func() {
		v.W.Header().Set("Content-Type", "application/zip")
		v.W.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}}
	err := r.Engine.Export(v.Context(), file, v.User.ID)
	if err == nil || file.begin != nil {
		return err
	}
	if v.Context().Err() == nil {
		r.Log.Error("export failed", zap.Int64("user", int64(v.User.ID)), zap.Error(err))
	}
	panic(http.ErrAbortHandler) // an incomplete file must not look complete
}

// download writes a file to a client. It calls begin before the first byte, and then sets it to nil.
type download struct {
	to    io.Writer
	begin func()
}

func (d *download) Write(b []byte) (int, error) {
	if d.begin != nil {
		d.begin()
		d.begin = nil
	}
	return d.to.Write(b)
}

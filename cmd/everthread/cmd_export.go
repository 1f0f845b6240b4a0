package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/export"
)

type exportCmd struct {
	User string `placeholder:"U" help:"Whose conversation (id or name); the owner's if it is not given."`
	Out  string `type:"path" placeholder:"FILE" help:"The ZIP file to write; by default everthread-DATE.zip in this folder."`
}

// Run writes everything of a user into one file, that is there whole or not at all.
func (e exportCmd) Run(ctx context.Context, d *desk) error {
	u, err := d.user(ctx, e.User)
	if err != nil {
		return err
	}
	if e.Out == "" {
		e.Out = "everthread-" + clock()().Format(time.DateOnly) + ".zip"
	}
	if _, err := os.Lstat(e.Out); err == nil {
		return errUsage{fmt.Errorf("%s is there already; remove it, or give another name with --out", e.Out)}
	}
	f, err := os.CreateTemp(filepath.Dir(e.Out), ".everthread-*.zip")
	if err != nil {
		return fmt.Errorf("write the export: %w", bare(err))
	}
	messages, err := d.export(ctx, f, u)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), e.Out)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return d.show(map[string]any{"user": u.ID, "file": e.Out, "messages": messages}, func(w io.Writer) {
		fmt.Fprintf(w, "%s has %d messages of %s, with days, memory and attachments. `everthread import jsonl` brings it in again.\n", e.Out, messages, u.Name)
	})
}

// export writes an export and shows how far it is.
func (d *desk) export(ctx context.Context, w io.Writer, u core.User) (messages int, err error) {
	calendar, err := newCalendar(d.cfg)
	if err != nil {
		return 0, err
	}
	shown := time.Now()
	x := &export.Exporter{Store: d.store, Media: os.DirFS(filepath.Join(d.cfg.DataDir, "media")), Zone: calendar.zone, Now: clock()}
	err = x.Write(ctx, w, u.ID, func(n int) {
		messages = n
		if now := time.Now(); now.Sub(shown) > time.Second && !d.json {
			shown = now
			fmt.Fprintf(d.err, "%d messages\n", n)
		}
	})
	return messages, err
}

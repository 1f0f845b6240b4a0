package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/export"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/ops/datadir"
)

type exportCmd struct {
	whose
	Out string `type:"path" placeholder:"FILE" help:"ZIP file to write; default: everthread-DATE.zip in this folder."`
}

// Run exports a user into one file, which is there whole or not at all.
func (e exportCmd) Run(ctx context.Context, d *opened, u core.User) error {
	e.Out = cmp.Or(e.Out, "everthread-"+clock()().Format(time.DateOnly)+".zip")
	if _, err := os.Lstat(e.Out); err == nil {
		return errUsage{fmt.Errorf("%s is there already; remove it, or give another name with --out", e.Out)}
	}
	messages, err := d.export(ctx, e.Out, u)
	if err != nil {
		return err
	}
	// A full disk must not keep anybody from their data.
	if err := d.store.PutAudit(ctx, u.ID, export.Done(u.ID)); err != nil {
		fmt.Fprintf(d.err, d.words().ExportUnnoted+"\n", err)
	}
	digest, err := importer.DigestFile(e.Out)
	if err != nil {
		return err
	}
	return d.said(object{"digest", digest, "file", e.Out, "messages", messages, "user_id", u.ID},
		d.words().Exported+"\n"+d.words().ContentDigest, e.Out, d.words().Messages.Of(messages), u.Name, digest)
}

func (d *opened) export(ctx context.Context, file string, u core.User) (messages int, err error) {
	x, err := engine.NewExporter(d.cfg, d.store, clock())
	if err != nil {
		return 0, err
	}
	shown := d.progress()
	defer shown.end()
	shown.line("days", fmt.Sprintf(d.words().ExportDays, u.Name))
	err = (&export.Saver{Exporter: x, Lock: datadir.LockFile, Crash: crash}).Save(ctx, file, u.ID, func(n int) {
		messages = n
		if n > 0 { // before that it reads the days
			shown.line("messages", fmt.Sprintf(d.words().ExportSoFar, d.words().Messages.Of(n), u.Name))
		}
	})
	return messages, err
}

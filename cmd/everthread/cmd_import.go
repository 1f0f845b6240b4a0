package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/disk"
	"github.com/everthread/everthread/core/document"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/history"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/trust"
)

type importCmd struct {
	Format      string `arg:"" placeholder:"FORMAT" help:"What wrote it: telegram, whatsapp, chatgpt, claude, openwebui, librechat, hermes, openclaw, picoclaw, letta, jsonl for an export of Everthread, or files for a folder of documents."`
	File        string `arg:"" type:"path" help:"The archive: a file, a folder or a ZIP file."`
	whose       `set:"whose=Whose it becomes"`
	Me          string `placeholder:"NAME" help:"Who of the people in it that is, as the archive calls them; several names with commas between them where each is of another channel."`
	Zone        string `placeholder:"ZONE" help:"Time zone of times that come without one; the user's if it is not given."`
	NoSummaries bool   `help:"Write no summaries of the days."`
	DryRun      bool   `help:"Say what it would do."`
}

// Run brings an archive in.
func (c importCmd) Run(ctx context.Context, d *opened, u core.User) error {
	if !slices.Contains(history.Formats(), c.Format) {
		return errUsage{fmt.Errorf("%s is no kind of archive; say one of %s", c.Format,
			strings.Join(history.Formats(), ", "))}
	}
	e, err := d.engine(ctx)
	if err != nil {
		return err
	}
	o := history.Options{Zone: u.Settings.Location(e.Calendar.Zone), Now: clock()(), Kind: documentKind, Max: e.Files.Max,
		Me: c.Me}
	if c.Zone != "" {
		if o.Zone, err = time.LoadLocation(c.Zone); err != nil {
			return errUsage{fmt.Errorf("%s is no time zone such as Europe/Paris", c.Zone)}
		}
	}
	file, err := history.Open(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	d.tell(fmt.Sprintf(d.words().ImportReading, filepath.Base(c.File)))
	survey, err := history.NewSurvey(file, c.Format, o, c.Me, u.Name,
		func(t time.Time) string { return e.Calendar.Day(u.Settings, t).Label })
	if err != nil {
		return c.explain(err)
	}
	if c.Format == "jsonl" {
		if survey.Digest, err = history.Digest(file); err != nil {
			return c.explain(err)
		}
	}
	if c.DryRun {
		return d.show(map[string]any{"user_id": u.ID, "found": survey}, func(w io.Writer) {
			c.found(w, d, o, survey)
			fmt.Fprintf(w, d.words().ImportDry+"\n", u.Name)
		})
	}
	return c.bring(ctx, d, e, u, file, o, survey)
}

// documentKind is what kind of document a file is.
func documentKind(name string, data []byte) string { return document.Kind(name, "", data) }

// explain says what to do about an archive that is not brought in.
func (c importCmd) explain(err error) error {
	if errors.Is(err, history.ErrMe) {
		return errUsage{err}
	}
	return fmt.Errorf("%s cannot be read as %s: %w", filepath.Base(c.File), c.Format, err)
}

func (c importCmd) bring(ctx context.Context, d *opened, e *engine.Engine, u core.User, file *history.Archive,
	o history.Options, s *history.Survey) error {
	embedding, err := e.Embedders.Name(ctx, u.ID)
	if err != nil {
		return err
	}
	began := time.Now()
	i := &history.Importer{Store: d.store, Tokens: e.Tokens, User: u, Embedding: embedding, Summaries: !c.NoSummaries,
		Now: clock(), Wait: job.Wait, Calendar: e.Calendar,
		Media:     &history.Media{Dir: e.Files.Dir, Max: e.Files.Max, Kind: documentKind},
		Reminders: e.Reminders.Settings, MaxReminders: d.cfg.Reminders.MaxActive, MaxTasks: d.cfg.Tasks.MaxActive,
		Standing: e.Standing,
		Progress: d.importing(s.Messages, began)}
	out, err := i.Run(ctx, file, c.Format, o, s)
	if err != nil {
		return fmt.Errorf("%w; %d messages are in, and the same command goes on from there", d.noRoom(err),
			out.Fresh)
	}
	return d.show(map[string]any{"user_id": u.ID, "found": s, "result": out, "seconds": time.Since(began).Seconds()},
		func(w io.Writer) {
			c.found(w, d, o, s)
			c.done(w, d.language(), u, out)
		})
}

// found says what an archive holds.
func (c importCmd) found(w io.Writer, d *opened, o history.Options, s *history.Survey) {
	s.Describe(w, d.language(), o.Zone)
	if s.Digest != "" {
		fmt.Fprintf(w, d.words().ContentDigest+"\n", s.Digest)
	}
}

// noRoom says of an error of the store where room is needed, if it is one of that.
func (d *opened) noRoom(err error) error {
	full, server := disk.StoreFull(err)
	switch {
	case full && server:
		return fmt.Errorf("the disk of the database server is full; make room there, and try again: %w", err)
	case full:
		return disk.NoRoom(fmt.Errorf("%w: %w", syscall.ENOSPC, err), d.cfg.DataDir, 0)
	}
	return err
}

// done says what was brought in, and what to do next.
func (c importCmd) done(w io.Writer, language string, u core.User, r history.Result) {
	t := say(language)
	fmt.Fprintf(w, "\n"+t.ImportDone+"\n", t.Messages.Of(r.Fresh), u.Name, t.ImportDays.Of(r.Days), r.Known)
	if r.Files > 0 {
		fmt.Fprintln(w, t.ImportFiles.Of(r.Files))
	}
	if r.Summaries+r.Items+r.Loops+r.Reminders+r.Tasks+r.Standing > 0 {
		fmt.Fprintf(w, t.ImportBack+"\n", r.Summaries, r.Items, r.Loops, r.Reminders, r.Tasks, r.Standing)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.LeftOut)) {
		fmt.Fprintln(w, t.ImportLeftOut.Of(r.LeftOut[reason], history.Why(language, reason)))
	}
	for _, m := range r.Missing {
		fmt.Fprintf(w, "  "+t.ImportMissing+"\n", trust.Line(m))
	}
	switch {
	case r.Fresh == 0:
	case c.NoSummaries:
		fmt.Fprintln(w, t.ImportUnsummarized)
	default:
		fmt.Fprintln(w, t.ImportSummaries)
	}
	fmt.Fprintln(w, t.ImportSearch)
}

// tell says what goes on, to a person.
func (c *console) tell(text string) {
	if !c.json {
		fmt.Fprintln(c.err, text)
	}
}

// importing shows how far an import is: on a terminal in one line, else now and then.
func (c *console) importing(total int, began time.Time) func(done, fresh int) {
	screen, every := c.pace()
	shown := began
	return func(done, fresh int) {
		now := time.Now()
		if c.json || now.Sub(shown) < every && (!screen || done < total) {
			return
		}
		shown = now
		rate := float64(done) / now.Sub(began).Seconds()
		left := time.Duration(float64(max(total-done, 0)) / rate * float64(time.Second)).Round(time.Second)
		line := fmt.Sprintf(c.words().ImportProgress, done, c.words().Messages.Of(total), int(rate), left)
		switch {
		case !screen:
			fmt.Fprintln(c.err, line)
		case done < total:
			fmt.Fprintf(drawn(c.err), "\r%-70s", line)
		default:
			fmt.Fprintf(drawn(c.err), "\r%-70s\n", line)
		}
	}
}

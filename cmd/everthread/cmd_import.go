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
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/trust"
)

type importCmd struct {
	Format string `arg:"" placeholder:"FORMAT" help:"Source: telegram, whatsapp, chatgpt, claude, openwebui, librechat, hermes, openclaw, picoclaw, letta, jsonl for an export of Everthread, or files for a folder of documents."`
	File   string `arg:"" type:"path" help:"Archive: a file, a folder or a ZIP file."`
	whose
	Me          string `placeholder:"NAME" help:"The user's name in the archive; comma-separated names if channels differ."`
	Assistant   string `placeholder:"NAME" help:"The assistant's name in the archive, if it does not say who that is; default: nobody."`
	DayFirst    bool   `xor:"order" help:"In dates such as 01/02/2024 the day comes first."`
	MonthFirst  bool   `xor:"order" help:"In such dates the month comes first."`
	Zone        string `placeholder:"ZONE" help:"Time zone of times without one; default: the user's."`
	NoSummaries bool   `help:"Write no summaries of the days."`
	DryRun      bool   `help:"Only show what would be imported."`
}

func (c importCmd) Run(ctx context.Context, d *opened, u core.User) error {
	if !slices.Contains(importer.Formats(), c.Format) {
		return errUsage{fmt.Errorf("%s is no kind of archive; say one of %s", c.Format, strings.Join(importer.Formats(), ", "))}
	}
	e, err := d.engine(ctx)
	if err != nil {
		return err
	}
	i, o, err := e.Importer(ctx, u)
	if err != nil {
		return err
	}
	o.Assistant = c.Assistant
	switch {
	case c.DayFirst:
		o.Order = importer.DayFirst
	case c.MonthFirst:
		o.Order = importer.MonthFirst
	}
	if o.Me = c.Me; c.Zone != "" {
		if o.Zone, err = time.LoadLocation(c.Zone); err != nil {
			return errUsage{fmt.Errorf("%s is no time zone such as Europe/Paris", c.Zone)}
		}
	}
	file, err := importer.Open(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	d.tell(fmt.Sprintf(d.words().ImportReading, filepath.Base(c.File)))
	survey, err := importer.NewSurvey(file, c.Format, o, c.Me, u.Name,
		func(t time.Time) string { return e.Calendar.Day(u.Settings, t).Label })
	if err == nil && c.Format == "jsonl" {
		survey.Digest, err = importer.Digest(file)
	}
	if errors.Is(err, importer.ErrMe) || errors.Is(err, importer.ErrOrder) {
		return errUsage{err}
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read as %s: %w", filepath.Base(c.File), c.Format, err)
	}
	if c.DryRun {
		return d.show(object{"found", survey, "user_id", u.ID}, func(w io.Writer) {
			d.describe(w, o, survey)
			fmt.Fprintf(w, d.words().ImportDry+"\n", u.Name)
		})
	}
	i.Summaries = !c.NoSummaries
	return c.bring(ctx, d, i, file, o, survey)
}

func (c importCmd) bring(ctx context.Context, d *opened, i *importer.Importer, file *importer.Archive,
	o importer.Options, s *importer.Survey) error {
	began, shown := time.Now(), d.progress()
	i.Progress = func(done, _ int) {
		rate := float64(done) / time.Since(began).Seconds()
		left := time.Duration(float64(max(s.Messages-done, 0)) / rate * float64(time.Second)).Round(time.Second)
		shown.line("", fmt.Sprintf(d.words().ImportProgress, done, d.words().Messages.Of(s.Messages), int(rate), left))
	}
	out, err := i.Run(ctx, file, c.Format, o, s)
	shown.end()
	if err != nil {
		err = disk.NoRoomInStore(err, d.cfg.DataDir)
		return fmt.Errorf("%w; %d messages are in, and the same command goes on from there", err, out.Fresh)
	}
	return d.show(object{"found", s, "result", out, "seconds", time.Since(began).Seconds(), "user_id", i.User.ID},
		func(w io.Writer) {
			d.describe(w, o, s)
			c.done(w, d.language(), i.User, out)
		})
}

// describe writes what an archive holds.
func (c *console) describe(w io.Writer, o importer.Options, s *importer.Survey) {
	s.Describe(w, c.language(), o.Zone)
	if s.Digest != "" {
		fmt.Fprintf(w, c.words().ContentDigest+"\n", s.Digest)
	}
}

// done writes what was imported, and what to do next.
func (c importCmd) done(w io.Writer, language string, u core.User, r importer.Result) {
	t := say(language)
	fmt.Fprintf(w, "\n"+t.ImportDone+"\n", t.Messages.Of(r.Fresh), u.Name, t.ImportDays.Of(r.Days), r.Known)
	if r.Files > 0 {
		fmt.Fprintln(w, t.ImportFiles.Of(r.Files))
	}
	if r.Summaries+r.Items+r.Loops+r.Reminders+r.Tasks > 0 {
		fmt.Fprintf(w, t.ImportBack+"\n", r.Summaries, r.Items, r.Loops, r.Reminders, r.Tasks)
	}
	if len(r.Paused) > 0 {
		fmt.Fprintln(w, t.ImportPaused)
	}
	for _, text := range r.Paused {
		fmt.Fprintln(w, "  "+trust.Line(text))
	}
	switch {
	case len(r.Proposed) > 0 && r.AskedOn == "":
		fmt.Fprintln(w, t.ImportNowhere)
	case len(r.Proposed) > 0:
		fmt.Fprintf(w, t.ImportProposed+"\n", r.AskedOn)
	}
	for _, text := range r.Proposed {
		fmt.Fprintln(w, "  "+trust.Line(text))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.LeftOut)) {
		fmt.Fprintln(w, t.ImportLeftOut.Of(r.LeftOut[reason], importer.Why(language, reason)))
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

// tell shows a person what begins; --json is silent.
func (c *console) tell(text string) {
	if !c.json {
		fmt.Fprintln(c.err, text)
	}
}

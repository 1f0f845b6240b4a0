// Package export writes everything of a user into one ZIP file: a Markdown file for each day, for people, JSON Lines of
// everything, for programs, and the attachments.
package export

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/archive"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/day"
	"github.com/everthread/everthread/core/text/i18n"
)

// Store holds the exported data.
type Store interface {
	store.ThreadReader
	store.TimelineStore
	store.DayStore
	store.MemoryStore
	store.StandingStore
	store.DocumentStore
	User(ctx context.Context, id core.UserID) (core.User, error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	Plans(ctx context.Context, user core.UserID) (store.Plans, error)
	Audit(ctx context.Context, q store.AuditQuery) ([]audit.Row, error)
	UsageParts(ctx context.Context, user core.UserID, from, through string) ([]store.UsagePart, error)
}

// Exporter writes exports. All fields are required.
type Exporter struct {
	Store    Store
	Media    fs.FS          // of data_dir/media
	Language string         // of users who chose none
	Zone     *time.Location // of users who chose none
	Now      func() time.Time
}

const (
	page        = 500       // rows of a read
	all         = 1_000_000 // rows of a read of a short list
	pagesAtOnce = 50        // pages of a document in a read
)

// Done returns the audit row of an export, which the caller of Write stores.
func Done(user core.UserID) audit.Row {
	return audit.Row{What: audit.Export, Object: "user", IDs: []int64{int64(user)}}
}

// Write writes the export of a user. progress, if not nil, is called from time to time, and at the end, with the number
// of written messages. Missing files are left out and named in missing.txt.
func (e *Exporter) Write(ctx context.Context, w io.Writer, user core.UserID, progress func(messages int)) error {
	u, err := e.Store.User(ctx, user)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	x := &export{Exporter: e, ctx: ctx, zip: zip.NewWriter(w), user: u, language: cmp.Or(u.Settings.Language, e.Language),
		zone: u.Settings.Location(e.Zone), progress: progress, labels: map[core.SegmentID]string{}}
	for _, part := range []func() error{x.readme, x.profile, x.days, x.threads, x.memory, x.standing, x.plans, x.audit,
		x.usage, x.pages, x.files} {
		if err := part(); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return x.zip.Close()
}

// export is one export.
type export struct {
	*Exporter
	ctx      context.Context
	zip      *zip.Writer
	user     core.User
	zone     *time.Location
	language string
	progress func(int)
	messages int
	labels   map[core.SegmentID]string // of days
	paths    []string                  // of attachments
	// documents are the attachments with a known text.
	documents []store.FileRef
}

// file begins a file of the export.
func (x *export) file(name string) (io.Writer, error) {
	return x.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: x.Now()})
}

func (x *export) text(name, text string) error {
	f, err := x.file(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return err
}

// jsonLines begins a file of JSON Lines.
func (x *export) jsonLines(name string) (*json.Encoder, error) {
	f, err := x.file(name)
	if err != nil {
		return nil, err
	}
	out := json.NewEncoder(f)
	out.SetEscapeHTML(false)
	return out, nil
}

// lines writes values as JSON Lines.
func lines[T any](x *export, name string, values []T) error {
	out, err := x.jsonLines(name)
	if err != nil {
		return err
	}
	for _, v := range values {
		if err := out.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

func (x *export) readme() error {
	now := x.Now().In(x.zone)
	at := day.Name(now.Format(time.DateOnly), "", x.language) + now.Format(", 15:04 MST")
	return x.text("README.md", fmt.Sprintf(say(x.language).Readme, x.user.Name, at))
}

// address is an identity in an export.
type address struct {
	ID       core.IdentityID `json:"id"`
	Channel  string          `json:"channel"`
	External string          `json:"external"`
	Name     string          `json:"name,omitempty"`
	LastUsed time.Time       `json:"last_used"`
}

func (x *export) profile() error {
	ids, err := x.Store.Identities(x.ctx, x.user.ID)
	if err != nil {
		return err
	}
	var addresses []address
	for _, i := range ids {
		addresses = append(addresses, address{i.ID, i.Address.Channel, i.Address.External, i.Name, i.LastUsed})
	}
	settings := x.user.Settings
	settings.Embeddings.Sealed = ""
	b, err := json.MarshalIndent(map[string]any{"name": x.user.Name, "settings": settings, "addresses": addresses,
		"since": x.user.CreatedAt}, "", "  ")
	if err != nil {
		return err
	}
	return x.text("profile.json", string(b)+"\n")
}

func (x *export) memory() error {
	items, err := x.Store.Items(x.ctx, store.ItemQuery{User: x.user.ID, Limit: all})
	if err != nil {
		return err
	}
	themes, err := x.Store.Themes(x.ctx, x.user.ID, all)
	if err != nil {
		return err
	}
	out := make([]archive.ExportedItem, len(items))
	for n, i := range items {
		out[n] = archive.ExportedItem{ID: i.ID, Theme: i.Theme, Type: i.Type, Content: i.Content, Tags: i.Tags,
			Source: i.SourceMessage, Status: i.Status, Noted: i.Noted, History: i.History, CreatedAt: i.CreatedAt,
			UpdatedAt: i.UpdatedAt}
	}
	names := make([]archive.ExportedTheme, len(themes))
	for n, t := range themes {
		names[n] = archive.ExportedTheme{Slug: t.Slug, Name: t.Name, Description: t.Description, CreatedAt: t.CreatedAt}
	}
	return errors.Join(lines(x, "memory.jsonl", out), lines(x, "themes.jsonl", names))
}

func (x *export) standing() error {
	list, err := x.Store.Instructions(x.ctx, x.user.ID)
	if err != nil {
		return err
	}
	out := make([]archive.ExportedInstruction, len(list))
	for n, i := range list {
		out[n] = archive.ExportedInstruction{ID: i.ID, Text: i.Text, Source: i.Source, Noted: i.Noted, CreatedAt: i.CreatedAt}
	}
	return lines(x, "standing.jsonl", out)
}

func (x *export) plans() error {
	plans, err := x.Store.Plans(x.ctx, x.user.ID)
	if err != nil {
		return err
	}
	loops := make([]archive.ExportedLoop, len(plans.Loops))
	for n, l := range plans.Loops {
		loops[n] = archive.ExportedLoop{ID: l.ID, Text: l.Text, State: l.State, Sources: l.Sources, OpenedAt: l.OpenedAt,
			Mentioned: l.Mentioned, Due: l.Due}
	}
	var reminders, tasks []archive.ExportedPlan
	for _, k := range plans.Plans {
		one := archive.ExportedPlan{ID: int64(k.ID), Text: k.Text, DueAt: k.DueAt, Cron: k.Cron, Zone: k.Zone,
			State: string(k.State), Source: k.Source, CreatedAt: k.CreatedAt}
		if k.Kind == core.PlanTask {
			tasks = append(tasks, one)
			continue
		}
		one.FiredAt, one.Message = k.Last.Ended, k.Last.Message
		reminders = append(reminders, one)
	}
	return errors.Join(lines(x, "loops.jsonl", loops), lines(x, "reminders.jsonl", reminders),
		lines(x, "tasks.jsonl", tasks))
}

func (x *export) audit() error {
	rows, err := x.Store.Audit(x.ctx, store.AuditQuery{User: x.user.ID, Limit: all})
	if err != nil {
		return err
	}
	return lines(x, "audit.jsonl", rows)
}

func (x *export) usage() error {
	parts, err := x.Store.UsageParts(x.ctx, x.user.ID, "0000-01-01", "9999-12-31")
	if err != nil {
		return err
	}
	out := make([]archive.ExportedUsage, len(parts))
	for n, p := range parts {
		out[n] = archive.ExportedUsage{Day: p.Day, Model: p.Model, Purpose: p.Purpose, Calls: p.Calls, Usage: p.Usage,
			Amount: p.Amount}
	}
	return lines(x, "usage.jsonl", out)
}

// pages writes the text of documents, page by page.
func (x *export) pages() error {
	out, err := x.jsonLines("files.jsonl")
	if err != nil {
		return err
	}
	for _, ref := range x.documents {
		for from := 1; ; from += pagesAtOnce {
			list, err := x.Store.FilePages(x.ctx, x.user.ID, ref, from, from+pagesAtOnce-1)
			if err != nil {
				return err
			}
			for _, p := range list {
				if err := out.Encode(pageLine{ref.Message, ref.Part + 1, p.Name, p.Kind, p.Number, p.Title, p.Text}); err != nil {
					return err
				}
			}
			if len(list) == 0 {
				break
			}
		}
	}
	return nil
}

// files copies the attachments.
func (x *export) files() error {
	var missing string
	for _, path := range x.paths {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		switch err := x.copy(path); {
		case errors.Is(err, fs.ErrNotExist):
			missing += path + "\n"
		case err != nil:
			return err
		}
	}
	if missing == "" {
		return nil
	}
	return x.text("missing.txt", missing)
}

func (x *export) copy(path string) error {
	in, err := x.Media.Open(path)
	if err != nil {
		return err
	}
	out, err := x.file("media/" + path)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, in.Close())
}

// texts are the texts of the files for people.
type texts struct {
	Readme                           string // name of the user, time of the export
	Zone                             string // zone of the times of a day
	Conversation, Deleted, Assistant string
	Task                             string // name of the user
}

var say = i18n.In[texts]("export")

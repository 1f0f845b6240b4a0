package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

type usersDeleteCmd struct {
	User   string `arg:"" help:"Id or name."`
	Yes    bool   `help:"Do not ask."`
	Verify bool   `help:"Look everywhere afterwards: nothing of theirs may be left. Also of somebody who is gone already, by id."`
}

// Run deletes a user, really, after it asked.
func (u usersDeleteCmd) Run(ctx context.Context, d *desk) error {
	l := newLeaver(d.cfg, d.store)
	user, err := d.user(ctx, u.User)
	if id, wrong := strconv.ParseInt(u.User, 10, 64); err != nil && wrong == nil && u.Verify && id > 0 {
		if err := l.finish(ctx, core.UserID(id)); err != nil {
			return err
		}
		return d.verifyGone(ctx, l, core.UserID(id), u.User)
	}
	if err != nil {
		return err
	}
	if user.Role == core.RoleOwner {
		return errors.New("the owner cannot be deleted")
	}
	if !u.Yes && !d.confirm(fmt.Sprintf("Delete %s (user %d) and everything they wrote, for good?", user.Name, user.ID)) {
		return errors.New("nothing was deleted; answer yes, or give --yes")
	}
	shown := d.steps()
	err = l.remove(ctx, user.ID, func(r web.Removal) { shown.line(string(r.Step), removing(r, user.Name)) })
	shown.end()
	if err != nil {
		return err
	}
	if u.Verify {
		return d.verifyGone(ctx, l, user.ID, user.Name)
	}
	return d.show(map[string]any{"deleted": user.ID}, func(w io.Writer) { fmt.Fprintf(w, "%s is gone.\n", user.Name) })
}

// removing says what is being removed.
func removing(r web.Removal, name string) string {
	switch r.Step {
	case web.RemovalCount:
		return fmt.Sprintf("Looking at what there is of %s: %s, %s", name, counted(r.Done, "message"), counted(r.Total, "attachment"))
	case web.RemovalRows:
		return fmt.Sprintf("Deleting %s of %s …", counted(r.Total, "message"), name)
	case web.RemovalFiles:
		return fmt.Sprintf("Removing attachments: %d of %d", r.Done, r.Total)
	case web.RemovalClean:
		return "Cleaning the files of the database …"
	}
	return "Looking everywhere for what is left …"
}

// verifyGone looks whether anything of a user is left, and fails if so.
func (d *desk) verifyGone(ctx context.Context, l *leaver, user core.UserID, name string) error {
	shown := d.steps()
	left, err := l.left(ctx, user, func(r web.Removal) { shown.line(string(r.Step), removing(r, name)) })
	shown.end()
	if err != nil {
		return err
	}
	err = d.show(map[string]any{"deleted": user, "left": list(left)}, func(w io.Writer) {
		if len(left) == 0 {
			fmt.Fprintf(w, "%s is gone. Nothing is left: no row in any table, no entry in any index, no file.\n", name)
			return
		}
		fmt.Fprintf(w, "This is left of %s:\n  %s\n", name, strings.Join(left, "\n  "))
	})
	if err == nil && len(left) > 0 {
		return errSilent
	}
	return err
}

// leaver removes people with everything that is theirs, and looks whether anything
// of them is left.
//
// Their rows go in one transaction: all or none. The attachments go after it, so
// which they are is noted in a file before, and stays there until they are gone:
// whoever comes after a process that ended in between goes on with them.
type leaver struct {
	store store
	media string // the folder of attachments
}

func newLeaver(c configs.Config, s store) *leaver {
	return &leaver{store: s, media: filepath.Join(c.DataDir, "media")}
}

// remove removes a user who may be gone already, and tells how far it is.
func (l *leaver) remove(ctx context.Context, user core.UserID, tell func(web.Removal)) error {
	messages, files, err := l.attachments(ctx, user, tell)
	if errors.Is(err, core.ErrNotFound) {
		return l.finish(ctx, user)
	}
	if err != nil {
		return err
	}
	if err := l.note(user, files); err != nil {
		return err
	}
	tell(web.Removal{Step: web.RemovalRows, Total: messages})
	crash("deleting rows")
	all, err := l.store.DeleteUser(ctx, user)
	if errors.Is(err, core.ErrNotFound) { // somebody else was faster
		return l.finish(ctx, user)
	}
	if err != nil {
		if errors.Is(err, core.ErrMoving) || errors.Is(err, core.ErrRefused) {
			err = errors.Join(err, l.unnote(user))
		}
		return err // else the note stays: it may have been too late to stop the transaction
	}
	crash("deleted rows")
	if err := l.note(user, all); err != nil {
		return err
	}
	return l.removeFiles(user, all, tell)
}

// attachments lists the attachments of all messages of a user, and counts these.
func (l *leaver) attachments(ctx context.Context, user core.UserID, tell func(web.Removal)) (messages int, files []string, err error) {
	threads, err := l.store.Threads(ctx, user, 1_000_000)
	if err != nil {
		return 0, nil, err
	}
	const page = 1000
	for _, t := range append([]core.Thread{{}}, threads...) { // the continuous one first
		for q := (core.TimelineQuery{User: user, Thread: t.ID, Oldest: true, Limit: page}); ; {
			ms, more, err := l.store.Timeline(ctx, q)
			if err != nil {
				return messages, files, err
			}
			for _, m := range ms {
				for _, a := range m.Attachments {
					if a.Path != "" {
						files = append(files, a.Path)
					}
				}
			}
			messages += len(ms)
			tell(web.Removal{Step: web.RemovalCount, Done: messages, Total: len(files)})
			if !more || len(ms) == 0 {
				break
			}
			q.Oldest, q.After = false, ms[len(ms)-1].ID
		}
	}
	return messages, files, nil
}

// noteFile is where the attachments of somebody who leaves are noted.
func (l *leaver) noteFile(user core.UserID) string {
	return filepath.Join(l.media, fmt.Sprintf("%s%d", notePrefix, user))
}

const notePrefix = ".leaving-"

// note notes which files go with a user, durably.
func (l *leaver) note(user core.UserID, files []string) error {
	b, err := json.Marshal(list(files))
	if err == nil {
		err = os.MkdirAll(l.media, 0o700)
	}
	if err != nil {
		return fmt.Errorf("note the attachments: %w", err)
	}
	f, err := os.CreateTemp(l.media, ".part-*")
	if err != nil {
		return fmt.Errorf("note the attachments: %w", bare(err))
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), l.noteFile(user))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("note the attachments: %w", bare(err))
	}
	return nil
}

func (l *leaver) unnote(user core.UserID) error {
	if err := os.Remove(l.noteFile(user)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeFiles removes attachments, and folders of them, and what was noted of them.
func (l *leaver) removeFiles(user core.UserID, files []string, tell func(web.Removal)) error {
	total := 0
	for _, f := range files {
		if strings.Contains(f, "/") { // the others are folders
			total++
		}
	}
	if total > 0 {
		tell(web.Removal{Step: web.RemovalFiles, Total: total})
	}
	var errs []error
	for n, f := range files {
		if f = filepath.Clean("/" + f); f != "/" {
			errs = append(errs, os.RemoveAll(filepath.Join(l.media, f)))
		}
		crash("deleted file")
		if total > 0 {
			tell(web.Removal{Step: web.RemovalFiles, Done: min(n+1, total), Total: total})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the rows are gone, but not all attachments; it is tried again at the next start: %w", err)
	}
	os.Remove(l.folder(user)) // if it is empty: others may have files in it
	return l.unnote(user)
}

// folder is where a user's attachments lie.
func (l *leaver) folder(user core.UserID) string {
	return filepath.Join(l.media, strconv.FormatInt(int64(user), 10))
}

// finish goes on with the attachments of somebody whose rows are gone. Of
// somebody who is still there, or became a part of another, nothing is removed.
func (l *leaver) finish(ctx context.Context, user core.UserID) error {
	b, err := os.ReadFile(l.noteFile(user))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var files []string
	if err == nil {
		err = json.Unmarshal(b, &files)
	}
	if err != nil {
		return fmt.Errorf("read what is left of user %d: %w", user, err)
	}
	if gone, err := l.gone(ctx, user); err != nil || !gone {
		return errors.Join(err, l.unnoteOld(user))
	}
	return l.removeFiles(user, files, func(web.Removal) {})
}

// unnoteOld drops a note that nobody is at work on any more.
func (l *leaver) unnoteOld(user core.UserID) error {
	const longest = time.Hour
	if info, err := os.Stat(l.noteFile(user)); err != nil || time.Since(info.ModTime()) < longest {
		return nil
	}
	return l.unnote(user)
}

// gone tells whether a user was deleted: somebody who became a part of another is
// not found either, but not gone.
func (l *leaver) gone(ctx context.Context, user core.UserID) (bool, error) {
	if _, err := l.store.User(ctx, user); !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	if _, err := l.store.Became(ctx, user); !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	return true, nil
}

// finishAll goes on with everybody whose deletion ended in the middle.
func (l *leaver) finishAll(ctx context.Context) error {
	entries, err := os.ReadDir(l.media)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for deletions to finish: %w", bare(err))
	}
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name(), notePrefix)
		if user, err := strconv.ParseInt(id, 10, 64); ok && err == nil {
			errs = append(errs, l.finish(ctx, core.UserID(user)))
		}
	}
	return errors.Join(errs...)
}

// left lists what is left of a user, in tables, indexes and files, once the files
// of the database are rid of what deleted rows left there.
func (l *leaver) left(ctx context.Context, user core.UserID, tell func(web.Removal)) ([]string, error) {
	tell(web.Removal{Step: web.RemovalClean})
	if err := l.store.Scrub(ctx); err != nil {
		return nil, err
	}
	tell(web.Removal{Step: web.RemovalLook})
	left, err := l.store.Remains(ctx, user)
	if err != nil {
		return nil, err
	}
	if _, err := l.store.User(ctx, user); err == nil {
		left = append(left, "users: 1")
	} else if !errors.Is(err, core.ErrNotFound) {
		return nil, err
	}
	if files, err := os.ReadDir(l.folder(user)); err == nil && len(files) > 0 {
		left = append(left, fmt.Sprintf("files in %s: %d", l.folder(user), len(files)))
	}
	if _, err := os.Stat(l.noteFile(user)); err == nil {
		left = append(left, "attachments that are listed in "+l.noteFile(user))
	}
	return left, nil
}

// steps shows long work of several steps: on a terminal in one line, else each
// step, and now and then how far it is.
type steps struct {
	*console
	screen bool
	step   string
	shown  time.Time
	last   string // what is not shown yet
}

func (c *console) steps() *steps { return &steps{console: c, screen: isTerminal(c.err)} }

// line shows how far a step is.
func (s *steps) line(step, text string) {
	every, now := 10*time.Second, time.Now()
	if s.screen {
		every = 200 * time.Millisecond
	}
	if s.json {
		return
	}
	if step == s.step && now.Sub(s.shown) < every {
		s.last = text
		return
	}
	if step != s.step {
		s.end()
	}
	s.step, s.shown, s.last = step, now, ""
	if s.screen {
		fmt.Fprintf(drawn(s.err), "\r%-78s", trust.Line(text))
		return
	}
	fmt.Fprintln(s.err, text)
}

// end ends the line of the last step, with how far it came.
func (s *steps) end() {
	if s.screen && s.last != "" {
		fmt.Fprintf(drawn(s.err), "\r%-78s", trust.Line(s.last))
	}
	if s.screen && s.step != "" {
		fmt.Fprintln(s.err)
	}
	s.step, s.last = "", ""
}

package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/ops/disk"
	"github.com/everthread/everthread/core/store"
)

// Deleter deletes accounts with all of their data, and checks that nothing is left. All
// fields except Crash are required.
//
// The rows of an account are deleted in one transaction. Its attachments are deleted
// afterwards, so their names are written to a file before the transaction, which remains
// until they are gone: another process can finish after a crash.
type Deleter struct {
	Store DeletionStore
	Media string // the folder of attachments
	Crash core.Crash
}

// DeletionStore is the part of a store that a Deleter uses.
type DeletionStore interface {
	DeleteUser(ctx context.Context, user core.UserID) (files []string, err error)
	Threads(ctx context.Context, user core.UserID, limit int) ([]core.Thread, error)
	Timeline(ctx context.Context, q store.TimelineQuery) ([]core.Message, bool, error)
	User(ctx context.Context, id core.UserID) (core.User, error)
	Became(ctx context.Context, id core.UserID) (core.UserID, error)
	Scrub(ctx context.Context) error
	Remains(ctx context.Context, user core.UserID) ([]string, error)
}

// DeletionStep is a step of the deletion of an account.
type DeletionStep string

// Steps of a deletion, in their order. Nothing is deleted before the end of DeletionRows.
const (
	DeletionCount DeletionStep = "count" // counts data: Done messages, Total attachments so far
	DeletionRows  DeletionStep = "rows"  // deletes all rows, of Total messages and of everything else
	DeletionFiles DeletionStep = "files" // deletes attachments: Done of Total
	DeletionClean DeletionStep = "clean" // overwrites deleted rows in the database's files
	DeletionLook  DeletionStep = "look"  // searches everywhere for the rest
)

// Deletion is the progress of an account deletion.
type Deletion struct {
	Step        DeletionStep
	Done, Total int
}

// Delete deletes a user, who may be gone already. tell receives the progress.
func (d *Deleter) Delete(ctx context.Context, user core.UserID, tell func(Deletion)) error {
	messages, files, err := d.attachments(ctx, user, tell)
	if errors.Is(err, core.ErrNotFound) {
		return d.Finish(ctx, user)
	}
	if err != nil {
		return err
	}
	if err := d.note(user, files); err != nil {
		return err
	}
	tell(Deletion{Step: DeletionRows, Total: messages})
	d.Crash.At("deleting rows")
	all, err := d.Store.DeleteUser(ctx, user)
	if errors.Is(err, core.ErrNotFound) { // another process was faster
		return d.Finish(ctx, user)
	}
	if err != nil {
		if errors.Is(err, core.ErrRefused) {
			err = errors.Join(err, d.unnote(user))
		}
		return err // other errors keep the note: the transaction may have been committed
	}
	d.Crash.At("deleted rows")
	if err := d.note(user, all); err != nil {
		return err
	}
	return d.removeFiles(user, all, tell)
}

// attachments lists the attachments of all messages of a user, and counts the messages.
func (d *Deleter) attachments(ctx context.Context, user core.UserID,
	tell func(Deletion)) (messages int, files []string, err error) {
	threads, err := d.Store.Threads(ctx, user, 1_000_000)
	if err != nil {
		return 0, nil, err
	}
	const page = 1000
	for _, t := range append([]core.Thread{{}}, threads...) { // the continuous one first
		for q := (store.TimelineQuery{User: user, Thread: t.ID, Oldest: true, Limit: page}); ; {
			ms, more, err := d.Store.Timeline(ctx, q)
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
			tell(Deletion{Step: DeletionCount, Done: messages, Total: len(files)})
			if !more || len(ms) == 0 {
				break
			}
			q.Oldest, q.After = false, ms[len(ms)-1].ID
		}
	}
	return messages, files, nil
}

// noteFile returns the file that lists the attachments of a deleted account.
func (d *Deleter) noteFile(user core.UserID) string {
	return filepath.Join(d.Media, fmt.Sprintf("%s%d", notePrefix, user))
}

const notePrefix = ".leaving-"

// note writes the list of a user's files durably.
func (d *Deleter) note(user core.UserID, files []string) error {
	b, err := json.Marshal(append([]string{}, files...))
	if err == nil {
		err = os.MkdirAll(d.Media, 0o700)
	}
	if err != nil {
		return fmt.Errorf("note the attachments: %w", err)
	}
	if err := disk.WriteFile(d.noteFile(user), b); err != nil {
		return fmt.Errorf("note the attachments: %w", disk.Cause(err))
	}
	return nil
}

func (d *Deleter) unnote(user core.UserID) error {
	if err := os.Remove(d.noteFile(user)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeFiles removes attachments, their folders, and their list.
func (d *Deleter) removeFiles(user core.UserID, files []string, tell func(Deletion)) error {
	total := 0
	for _, f := range files {
		if strings.Contains(f, "/") { // the others are folders
			total++
		}
	}
	if total > 0 {
		tell(Deletion{Step: DeletionFiles, Total: total})
	}
	var errs []error
	for n, f := range files {
		if f = filepath.Clean("/" + f); f != "/" {
			errs = append(errs, os.RemoveAll(filepath.Join(d.Media, f)))
		}
		d.Crash.At("deleted file")
		if total > 0 {
			tell(Deletion{Step: DeletionFiles, Done: min(n+1, total), Total: total})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the rows are gone, but not all attachments; the next start tries again: %w", err)
	}
	os.Remove(d.folder(user)) // only if it is empty: it may have other users' files
	return d.unnote(user)
}

// folder returns the folder of a user's attachments.
func (d *Deleter) folder(user core.UserID) string {
	return filepath.Join(d.Media, strconv.FormatInt(int64(user), 10))
}

// Finish removes the remaining attachments of a user whose rows are gone. It removes nothing
// of a user who still exists or was merged into another.
func (d *Deleter) Finish(ctx context.Context, user core.UserID) error {
	b, err := os.ReadFile(d.noteFile(user))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var files []string
	if err == nil {
		err = json.Unmarshal(b, &files)
	}
	if err != nil {
		return fmt.Errorf("read the remaining attachments of user %d: %w", user, err)
	}
	if gone, err := d.gone(ctx, user); err != nil || !gone {
		return errors.Join(err, d.unnoteOld(user))
	}
	return d.removeFiles(user, files, func(Deletion) {})
}

// unnoteOld removes a list that no process works on any more.
func (d *Deleter) unnoteOld(user core.UserID) error {
	const longest = time.Hour
	if info, err := os.Stat(d.noteFile(user)); err != nil || time.Since(info.ModTime()) < longest {
		return nil
	}
	return d.unnote(user)
}

// gone reports whether a user was deleted. A user who was merged into another is not found either, but was not deleted.
func (d *Deleter) gone(ctx context.Context, user core.UserID) (bool, error) {
	if _, err := d.Store.User(ctx, user); !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	if _, err := d.Store.Became(ctx, user); !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	return true, nil
}

// Resume finishes all interrupted deletions.
func (d *Deleter) Resume(ctx context.Context) error {
	entries, err := os.ReadDir(d.Media)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("find deletions to finish: %w", disk.Cause(err))
	}
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name(), notePrefix)
		if user, err := strconv.ParseInt(id, 10, 64); ok && err == nil {
			errs = append(errs, d.Finish(ctx, core.UserID(user)))
		}
	}
	return errors.Join(errs...)
}

// Left overwrites deleted rows in the database's files, and lists the remaining data of a
// user in tables, indexes and files.
func (d *Deleter) Left(ctx context.Context, user core.UserID, tell func(Deletion)) ([]string, error) {
	tell(Deletion{Step: DeletionClean})
	if err := d.Store.Scrub(ctx); err != nil {
		return nil, err
	}
	tell(Deletion{Step: DeletionLook})
	left, err := d.Store.Remains(ctx, user)
	if err != nil {
		return nil, err
	}
	if _, err := d.Store.User(ctx, user); err == nil {
		left = append(left, "users: 1")
	} else if !errors.Is(err, core.ErrNotFound) {
		return nil, err
	}
	if files, err := os.ReadDir(d.folder(user)); err == nil && len(files) > 0 {
		left = append(left, fmt.Sprintf("files in %s: %d", d.folder(user), len(files)))
	}
	if _, err := os.Stat(d.noteFile(user)); err == nil {
		left = append(left, "attachments that are listed in "+d.noteFile(user))
	}
	return left, nil
}

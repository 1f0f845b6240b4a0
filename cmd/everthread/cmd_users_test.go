package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/engine"
	ports "github.com/everthread/everthread/core/store"
)

// leaves is a gateway from which Bob, who has sent attachments, is deleted.
type leaves struct {
	*app
	t   *testing.T
	bob core.User
	l   *people.Deleter
}

func newLeaves(t *testing.T) *leaves {
	t.Helper()
	a, _ := newPage(t, func(*configs.Config) {})
	s := &leaves{app: a, t: t, l: engine.NewDeleter(a.Config, a.store, crash)}
	s.bob = s.member("Bob")
	s.says(s.bob, "one", "1-0")
	s.says(s.bob, "two", "2-0", "2-1")
	return s
}

func (s *leaves) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *leaves) member(name string) core.User {
	s.t.Helper()
	u, err := s.store.AddUser(s.t.Context(), core.User{Name: name, Role: core.RoleMember, CreatedAt: time.Now()})
	s.must(err)
	return u
}

// says stores a message with attachments, as files in the folder of Bob.
func (s *leaves) says(u core.User, text string, files ...string) {
	s.t.Helper()
	now := time.Now()
	m := core.NewMessage{Role: core.RoleUser, Kind: core.KindChat, Text: text, SentAt: now,
		Day: s.Calendar.Day(u.Settings, now)}
	for _, f := range files {
		path := fmt.Sprintf("%d/%s", u.ID, f)
		s.must(os.MkdirAll(filepath.Join(s.l.Media, fmt.Sprint(u.ID)), 0o700))
		s.must(os.WriteFile(filepath.Join(s.l.Media, path), []byte("x"), 0o600))
		m.Attachments = append(m.Attachments, core.Attachment{Kind: "photo", Path: path})
	}
	i, err := s.People.Door(s.t.Context(), u.ID, web.Name)
	s.must(err)
	e := core.Inbound{Address: i.Address, EventID: text, Kind: core.InMessage, Text: text, SentAt: now, ReceivedAt: now}
	e.Raw, err = json.Marshal(map[string]string{"text": text}) // as services send it
	s.must(err)
	_, err = s.store.Append(s.t.Context(), ports.Append{User: u.ID, Identity: i.ID, Events: []core.Inbound{e},
		Messages: []core.NewMessage{m}, Now: now, RunAt: now})
	s.must(err)
}

// files lists the files below the folder of attachments.
func (s *leaves) files() []string {
	s.t.Helper()
	out, err := filepath.Glob(filepath.Join(s.l.Media, "*", "*"))
	s.must(err)
	notes, err := filepath.Glob(filepath.Join(s.l.Media, ".leaving-*"))
	s.must(err)
	return append(out, notes...)
}

// note lists the files of a user for removal, as a deletion does.
func (s *leaves) note(user core.UserID, files []string) {
	s.t.Helper()
	b, err := json.Marshal(files)
	s.must(err)
	s.must(os.WriteFile(s.noteFile(user), b, 0o600))
}

func (s *leaves) noteFile(user core.UserID) string {
	return filepath.Join(s.l.Media, fmt.Sprintf(".leaving-%d", user))
}

// dying is a store whose process dies after the rows were deleted.
type dying struct {
	database
	after error
}

func (d dying) DeleteUser(ctx context.Context, id core.UserID) ([]string, error) {
	_, err := d.database.DeleteUser(ctx, id)
	return nil, errors.Join(err, d.after)
}

func TestUserDelete_removesRowsAndFiles(t *testing.T) {
	t.Parallel()
	s := newLeaves(t)
	var told []people.Deletion
	left, err := s.Delete(t.Context(), s.bob.ID, func(r people.Deletion) { told = append(told, r) })
	if err != nil || len(left) > 0 || len(s.files()) > 0 {
		t.Fatalf("left %v, %v, files %v", left, err, s.files())
	}
	var steps []people.DeletionStep
	for _, r := range told {
		if !slices.Contains(steps, r.Step) {
			steps = append(steps, r.Step)
		}
	}
	if want := []people.DeletionStep{people.DeletionCount, people.DeletionRows, people.DeletionFiles,
		people.DeletionClean,
		people.DeletionLook}; !slices.Equal(steps, want) {
		t.Errorf("steps %v", steps)
	}
	if n := slices.Index(told, people.Deletion{Step: people.DeletionCount, Done: 2, Total: 3}); n < 0 {
		t.Errorf("it is not counted: %+v", told)
	}
	if left, err := s.Delete(t.Context(), s.bob.ID, func(people.Deletion) {}); err != nil || len(left) > 0 {
		t.Errorf("again: %v, %v", left, err)
	}
}

// TestUserDelete_killedIsFinished, wherever the process died.
func TestUserDelete_killedIsFinished(t *testing.T) {
	t.Parallel()
	quiet := func(people.Deletion) {}
	killed := errors.New("killed")
	t.Run("before the rows", func(t *testing.T) {
		t.Parallel()
		s := newLeaves(t)
		ctx, cancel := context.WithCancel(t.Context())
		err := s.l.Delete(ctx, s.bob.ID, func(r people.Deletion) {
			if r.Step == people.DeletionRows {
				cancel()
			}
		})
		if err == nil || len(s.files()) != 4 { // and what was noted
			t.Fatalf("got %v, files %v", err, s.files())
		}
		s.must(s.l.Resume(t.Context()))
		if u, err := s.store.User(t.Context(), s.bob.ID); err != nil || u.ID != s.bob.ID || len(s.files()) != 4 {
			t.Errorf("somebody who is there lost something: %v, %v", err, s.files())
		}
		s.must(s.l.Delete(t.Context(), s.bob.ID, quiet)) // pressed again
		if len(s.files()) > 0 {
			t.Errorf("left %v", s.files())
		}
	})
	t.Run("after the rows", func(t *testing.T) {
		t.Parallel()
		s := newLeaves(t)
		dead := &people.Deleter{Store: dying{s.store, killed}, Media: s.l.Media}
		if err := dead.Delete(t.Context(), s.bob.ID, quiet); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		if left, err := s.l.Left(t.Context(), s.bob.ID, quiet); err != nil || len(left) != 2 {
			t.Errorf("the check finds %v, %v", left, err)
		}
		s.must(s.l.Resume(t.Context()))
		if left, err := s.l.Left(t.Context(), s.bob.ID, quiet); err != nil || len(left) > 0 || len(s.files()) > 0 {
			t.Errorf("left %v, %v, %v", left, err, s.files())
		}
	})
	t.Run("somebody became a part of another", func(t *testing.T) {
		t.Parallel()
		s := newLeaves(t)
		s.note(s.bob.ID, []string{fmt.Sprintf("%d/1-0", s.bob.ID)})
		eve := s.member("Eve")
		id, err := s.store.Ask(t.Context(), ports.Merge{From: s.bob.ID, Into: eve.ID, AskedAt: time.Now()})
		s.must(err)
		s.must(people.Carry(t.Context(), s.store, id, time.Now))
		if _, err := s.store.User(t.Context(), s.bob.ID); !errors.Is(err, core.ErrNotFound) {
			t.Fatalf("the merge is not done: %v", err)
		}
		old := time.Now().Add(-2 * time.Hour)
		s.must(os.Chtimes(s.noteFile(s.bob.ID), old, old))
		s.must(s.l.Resume(t.Context()))
		if len(s.files()) != 3 {
			t.Errorf("files are %v", s.files())
		}
	})
	t.Run("a file that is no list", func(t *testing.T) {
		t.Parallel()
		s := newLeaves(t)
		s.must(os.WriteFile(s.noteFile(99), []byte(`["../../etc", "", "/", "98"`), 0o600))
		if err := s.l.Resume(t.Context()); err == nil {
			t.Error("it is taken")
		}
		s.note(99, []string{"", "/", ".."})
		s.must(s.l.Resume(t.Context()))
		if len(s.files()) != 3 {
			t.Errorf("files are %v", s.files())
		}
	})
}

func TestUserDelete_showsProgress(t *testing.T) {
	t.Parallel()
	for screen, want := range map[bool]string{false: "a 1\nb 1\n", true: fmt.Sprintf("\r%-78s\r%-78s\n\r%-78s\r%-78s\n",
		"a 1", "a 3", "b 1", "b 3")} {
		var b bytes.Buffer
		s := &progress{console: &console{err: &b}, screen: screen}
		for _, step := range []string{"a", "b"} {
			s.line(step, step+" 1")
			s.line(step, step+" 2") // too soon
			s.line(step, step+" 3") // but it is the last word
		}
		s.end()
		s.end()
		if b.String() != want {
			t.Errorf("screen %v: %q", screen, b.String())
		}
	}
	if !strings.Contains(say("en").removing(people.Deletion{Step: people.DeletionFiles, Done: 1, Total: 3}, "Bob"),
		"1 of 3") {
		t.Error("it says nothing of how far it is")
	}
}

// TestTraces_findTextAsWritten, also within JSON.
func TestTraces_findTextAsWritten(t *testing.T) {
	t.Parallel()
	s := newLeaves(t)
	s.says(s.bob, `he said "quagmire" twice`)
	found, _, err := s.Traces(t.Context(), s.bob.ID, `said "quagmire" twice`)
	where := map[string]bool{}
	for _, f := range found {
		where[f.Where] = true
	}
	if err != nil || !where["messages.body"] || !where["events.payload"] {
		t.Errorf("got %v, %v", found, err)
	}
}

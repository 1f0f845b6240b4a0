package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"

	"github.com/everthread/everthread/core/archive/backup/place"
)

// Elsewhere is where backups are put besides the machine. Of the files there, it sees those whose names are of backups,
// and touches no others.
type Elsewhere struct {
	Place place.Place
	// Recipients are who can open what is put there; empty: everybody who can read it.
	Recipients []age.Recipient
	Keep       int // how many stay there
	// Wait waits for d, or until ctx ends, before another try.
	Wait func(ctx context.Context, d time.Duration)
	// Progress is called from time to time with the number of bytes that were sent or read.
	Progress func(bytes int64)
	// Crash is called at each step, for tests that end the process there.
	Crash func(step string)
}

// Stored is a backup in a place.
type Stored struct {
	Name      string    `json:"name"`
	Size      int64     `json:"size"`
	Made      time.Time `json:"made"`
	Encrypted bool      `json:"encrypted"`
}

// Sent describes a backup that was put elsewhere.
type Sent struct {
	Stored
	To      string   `json:"to"`
	Removed []string `json:"removed,omitempty"`
}

// Waits before further tries of a transfer.
var waits = []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second}

// Named returns the backup of a name and a size; false: it is no name of a backup.
func Named(name string, size int64) (Stored, bool) {
	if !IsOurs(name) {
		return Stored{}, false
	}
	second, _ := moment(name)
	made, err := time.Parse(namePattern, second)
	return Stored{name, size, made, filepath.Ext(name) == sealedSuffix}, err == nil
}

// List returns the backups that are there, oldest first.
func (e *Elsewhere) List(ctx context.Context) ([]Stored, error) {
	files, err := e.Place.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the backups in %s: %w", e.Place, err)
	}
	var out []Stored
	for _, f := range files {
		if s, ok := Named(f.Name, f.Size); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Stored) int { return byMoment(a.Name, b.Name) })
	return out, nil
}

// Send puts a backup of a folder there, under its name, encrypted if there are recipients. A transfer that fails is
// repeated a few times, unless only a person can help; see place.Final. Then the oldest ones there are removed until Keep
// are left.
func (e *Elsewhere) Send(ctx context.Context, file string) (Sent, error) {
	name := filepath.Base(file)
	if len(e.Recipients) > 0 {
		name += sealedSuffix
	}
	size, err := e.put(ctx, file, name)
	for n := 0; err != nil && !place.Final(err) && ctx.Err() == nil && n < len(waits); n++ {
		e.Wait(ctx, waits[n])
		size, err = e.put(ctx, file, name)
	}
	if err != nil {
		return Sent{}, fmt.Errorf("put the backup in %s: %w", e.Place, err)
	}
	s, _ := Named(name, size)
	out := Sent{Stored: s, To: e.Place.String()}
	out.Removed, err = e.prune(ctx)
	return out, err
}

// put makes one try.
func (e *Elsewhere) put(ctx context.Context, file, name string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size, count := info.Size(), &tally{tell: func(sum int64) {
		e.Progress(sum)
		e.Crash("backup sending")
	}}
	body := io.TeeReader(limited{ctx, f}, count)
	if len(e.Recipients) > 0 {
		if body, size, err = seal(body, size, e.Recipients); err != nil {
			return 0, err
		}
	}
	err = e.Place.Put(ctx, name, size, body)
	e.Crash("backup sent")
	return size, err
}

// prune removes the oldest backups there until Keep are left.
func (e *Elsewhere) prune(ctx context.Context) (removed []string, err error) {
	all, err := e.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all[:max(0, len(all)-e.Keep)] {
		if err := e.Place.Remove(ctx, s.Name); err != nil {
			return removed, fmt.Errorf("remove old backups in %s: %w", e.Place, err)
		}
		removed = append(removed, s.Name)
	}
	return removed, nil
}

// Find returns the backup of a name that is there; empty: the newest.
func (e *Elsewhere) Find(ctx context.Context, name string) (Stored, error) {
	all, err := e.List(ctx)
	if err != nil {
		return Stored{}, err
	}
	for _, s := range slices.Backward(all) {
		if name == "" || s.Name == name {
			return s, nil
		}
	}
	if name == "" {
		name = "backup"
	}
	return Stored{}, fmt.Errorf("there is no %s in %s; `everthread backup list` lists what there is", name, e.Place)
}

// Open reads a backup that is there as it is stored. A connection that breaks is made again, and goes on where the last
// one ended. If that does not help, the error is *Lost.
func (e *Elsewhere) Open(ctx context.Context, s Stored) io.ReadCloser {
	return &fetching{ctx: ctx, from: e, what: s}
}

// Lost is the error of reading a backup whose place could not be reached any longer. It says nothing about the backup.
type Lost struct{ Err error }

// Error returns the message.
func (l *Lost) Error() string {
	return fmt.Sprintf("the backup could not be read to its end: %v", l.Err)
}

// Unwrap returns the cause.
func (l *Lost) Unwrap() error { return l.Err }

// fetching reads a file of a place.
type fetching struct {
	ctx  context.Context
	from *Elsewhere
	what Stored
	body io.ReadCloser // nil: it has to be opened
	at   int64
	try  int
}

// Read reads.
func (f *fetching) Read(p []byte) (int, error) {
	for {
		n, err := f.read(p)
		f.at += int64(n)
		if n > 0 {
			f.try = 0
			f.from.Progress(f.at)
			return n, nil
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF) && f.at >= f.what.Size:
			return 0, io.EOF
		case place.Final(err) || f.ctx.Err() != nil || f.try == len(waits):
			return 0, &Lost{err}
		}
		_ = f.Close()
		f.from.Wait(f.ctx, waits[f.try])
		f.try++
	}
}

func (f *fetching) read(p []byte) (int, error) {
	if f.body == nil {
		body, err := f.from.Place.Open(f.ctx, f.what.Name, f.at)
		if err != nil {
			return 0, err
		}
		f.body = body
	}
	return f.body.Read(p)
}

// Close ends the reading.
func (f *fetching) Close() (err error) {
	if f.body != nil {
		err, f.body = f.body.Close(), nil
	}
	return err
}

package engine

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/export"
)

// askApps is the timeout for all services together: an app without an answer gets no link.
const askApps = 3 * time.Second

// apps caches the apps of channels.
type apps struct {
	sync.Mutex
	known map[string]core.App
}

// Apps returns the apps in which people can write to the assistant, as their services
// describe it. Answers are cached.
func (e *Engine) Apps(ctx context.Context) []core.App {
	e.apps.Lock()
	defer e.apps.Unlock()
	if e.apps.known == nil {
		e.apps.known = map[string]core.App{}
	}
	ctx, cancel := context.WithTimeout(ctx, askApps)
	defer cancel()
	var out []core.App
	for _, name := range e.channelNames() {
		one, ok := e.Channels[name].(core.Linker)
		if !ok {
			continue
		}
		if _, ok := e.apps.known[name]; !ok {
			app, err := one.App(ctx)
			if err != nil {
				continue // the code can be sent by hand
			}
			e.apps.known[name] = app
		}
		out = append(out, e.apps.known[name])
	}
	return out
}

// Running returns the capabilities of a channel, and whether this process serves it.
func (e *Engine) Running(channel string) (core.Capabilities, bool) {
	_, ok := e.Channels[channel]
	return e.Channels.Capabilities(channel), ok
}

// Resume finishes account deletions that a process left unfinished.
func (e *Engine) Resume(ctx context.Context) error { return e.Deleter.Resume(ctx) }

// Export writes the export of a user to w, after recording it in the audit.
func (e *Engine) Export(ctx context.Context, w io.Writer, user core.UserID) error {
	if err := e.Store.PutAudit(ctx, user, export.Done(user)); err != nil {
		return err
	}
	x, err := NewExporter(e.Config, e.Store, e.Now)
	if err != nil {
		return err
	}
	return x.Write(ctx, w, user, nil)
}

// NewExporter returns the exporter of a store.
func NewExporter(c configs.Config, st Store, now func() time.Time) (*export.Exporter, error) {
	calendar, err := NewCalendar(c)
	return &export.Exporter{Store: st, Media: os.DirFS(mediaDir(c)), Zone: calendar.Zone,
		Language: c.DefaultLanguage, Now: now}, err
}

package engine

import (
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/export"
)

// askApps bounds how long services are asked: without an answer there is no link.
const askApps = 3 * time.Second

// apps are the apps of channels that are known.
type apps struct {
	sync.Mutex
	known map[string]core.App
}

// Apps are those in which the assistant can be written to, by what their services say of
// it. What was learned is kept.
func (e *Engine) Apps(ctx context.Context) []core.App {
	e.apps.Lock()
	defer e.apps.Unlock()
	if e.apps.known == nil {
		e.apps.known = map[string]core.App{}
	}
	ctx, cancel := context.WithTimeout(ctx, askApps)
	defer cancel()
	var out []core.App
	for _, name := range slices.Sorted(maps.Keys(e.Channels)) {
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

// Running are the capabilities of a channel, and whether it is there.
func (e *Engine) Running(channel string) (core.Capabilities, bool) {
	_, ok := e.Channels[channel]
	return e.Channels.Capabilities(channel), ok
}

// Resume goes on with deletions that a process did not finish.
func (e *Engine) Resume(ctx context.Context) error { return e.Deleter.Resume(ctx) }

// Export writes everything of a user, and that it left: that cannot be taken back.
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

// NewExporter writes exports of a store.
func NewExporter(c configs.Config, st Store, now func() time.Time) (*export.Exporter, error) {
	calendar, err := NewCalendar(c)
	return &export.Exporter{Store: st, Media: os.DirFS(mediaDir(c)), Zone: calendar.Zone,
		Language: c.DefaultLanguage, Now: now}, err
}

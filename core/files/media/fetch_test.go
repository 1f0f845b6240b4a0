package media

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
)

func TestProblem_ofADownload(t *testing.T) {
	t.Parallel()
	for want, err := range map[core.FileProblem]error{
		core.FileLarge:  fmt.Errorf("fetch: %w", &core.Permanent{Err: fmt.Errorf("%w: 20 MB", core.ErrTooLarge)}),
		core.FileGone:   fmt.Errorf("fetch: %w", &core.Permanent{Err: errors.New("HTTP 404")}),
		core.FileRoom:   &core.Permanent{Err: core.ErrNoRoom},
		core.FileFailed: errors.New("connection reset"),
	} {
		if got := problem(err); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}

// scripted is a transcriber that answers with one result.
type scripted struct {
	said string
	err  error
}

func (s scripted) Transcribe(context.Context, core.Recording) (string, error) { return s.said, s.err }

func TestListen(t *testing.T) {
	t.Parallel()
	until := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		result   scripted
		failures int
		want     string
		fails    bool
	}{
		"words":              {scripted{said: "buy milk"}, 0, "[voice 0:03: buy milk]", false},
		"nothing said":       {scripted{}, 0, "[voice 0:03: no words were heard in it]", false},
		"refused":            {scripted{err: &core.Permanent{Err: errors.New("no audio")}}, 0, "[voice 0:03: not written down, that failed]", false},
		"down":               {scripted{err: errors.New("down")}, 0, "", true},
		"down for long":      {scripted{err: errors.New("down")}, maxFetches - 1, "[voice 0:03: not written down, that failed]", false},
		"no tokens":          {scripted{err: &trust.OverCap{Until: until}}, 0, "[voice 0:03: not written down, today's tokens are used up]", false},
		"no tokens for days": {scripted{err: &trust.OverCap{Until: until}}, maxFetches - 1, "[voice 0:03: not written down, that failed]", false},
	} {
		f := &Files{Transcriber: c.result, Log: zap.NewNop()}
		a := core.Attachment{Kind: "voice"}
		got, err := f.listen(t.Context(), &store.Job{Failures: c.failures}, "[voice 0:03]", &a, []byte("no OGG"))
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}

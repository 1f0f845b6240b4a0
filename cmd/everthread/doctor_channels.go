package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm/transcribe"
)

// channelTimeout bounds the checks of one channel: there are several.
const channelTimeout = time.Minute

// checkChannels checks every channel that is configured. One that keeps something is
// left out while the store cannot be used, which is told already.
func checkChannels(ctx context.Context, cfg configs.Config) []finding {
	h := &hosted{holder: newHolder(cfg, zap.NewNop(), usableStore(ctx, cfg), clock())}
	if h.store != nil {
		defer h.store.Close()
	}
	defer h.close()
	var out []finding
	for _, c := range configured(cfg) {
		ch, err := h.open(ctx, c)
		switch {
		case !errors.Is(err, channel.ErrNoStore):
			out = append(out, diagnose(ctx, c.Key(), ch, err)...)
		case cfg.DatabaseURL == "" && !hasDatabase(cfg):
			out = append(out, fine(c.Key(), "it is checked once the database is there, after the first start"))
		}
	}
	if len(out) == 0 {
		out = []finding{fine("channels", "none is configured; `everthread chat` works; "+hint())}
	}
	return out
}

// usableStore is the store if it is there with this program's schema, else nil.
func usableStore(ctx context.Context, cfg configs.Config) store {
	if cfg.DatabaseURL == "" && !hasDatabase(cfg) {
		return nil
	}
	st, err := openStore(ctx, cfg)
	if err != nil {
		return nil
	}
	if s, err := st.Schema(ctx); err != nil || s.Current != s.Target {
		st.Close()
		return nil
	}
	return st
}

// diagnose has a channel look at all it needs. A channel of people's own accounts has
// nothing to say before there is one.
func diagnose(ctx context.Context, name string, ch core.Channel, err error) []finding {
	title := strings.ReplaceAll(name, "_", " ")
	if err != nil {
		return []finding{verdict(title, err, "")}
	}
	d, ok := ch.(core.Diagnoser)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, channelTimeout)
	defer cancel()
	out := d.Diagnose(ctx)
	if a, ok := ch.(core.AccountChecker); ok && len(a.CheckAccounts()) == 0 && !slices.ContainsFunc(out,
		func(f finding) bool { return !f.OK }) {
		return nil
	}
	for i := range out {
		out[i].Check = cmp.Or(out[i].Check, title)
	}
	return out
}

// checkTranscription sends a second of silence.
func checkTranscription(ctx context.Context, c configs.Config) finding {
	t, ok := engine.Transcriber(c.Transcription, nil).(*transcribe.Transcriber)
	if !ok {
		return fine("transcription", "none is configured: voice notes are kept, but not read; set transcription.model")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return verdict("transcription", t.Check(ctx), c.Transcription.Model+" answers")
}

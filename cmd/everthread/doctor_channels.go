package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/telegram"
	"github.com/everthread/everthread/adapters/whatsapp"
	"github.com/everthread/everthread/adapters/whatsapp/agent"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/engine"
	"github.com/everthread/everthread/core/llm/transcribe"
)

// channelTimeout bounds the checks of one channel: there are several.
const channelTimeout = time.Minute

// checkChannels checks every channel that is configured.
func checkChannels(ctx context.Context, cfg configs.Config) []finding {
	var out []finding
	h := newHolder(cfg, zap.NewNop(), nil, clock())
	if cfg.Channels.Telegram.Token != "" {
		ch, err := h.telegram()
		out = append(out, diagnose(ctx, telegram.Name, ch, err)...)
	}
	if cfg.Channels.WhatsApp.PhoneNumberID != "" {
		ch, err := h.whatsapp()
		out = append(out, diagnose(ctx, whatsapp.Name, ch, err)...)
	}
	if cfg.DatabaseURL != "" || hasDatabase(cfg) {
		out = append(out, checkKept(ctx, cfg)...)
	} else if cfg.Channels.Matrix.UserID != "" {
		out = append(out, fine("matrix", "it is checked once the database is there, after the first start"))
	}
	if len(out) == 0 {
		out = []finding{fine("channels", "none is configured; `everthread chat` works, for Telegram set channels.telegram.token")}
	}
	return out
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
	if a, ok := ch.(core.AccountChecker); ok && len(a.CheckAccounts()) == 0 && !slices.ContainsFunc(out, func(f finding) bool { return !f.OK }) {
		return nil
	}
	for i := range out {
		out[i].Check = cmp.Or(out[i].Check, title)
	}
	return out
}

// checkKept checks the channels that keep something in the store.
func checkKept(ctx context.Context, cfg configs.Config) []finding {
	ctx, cancel := context.WithTimeout(ctx, channelTimeout)
	defer cancel()
	st, err := openStore(ctx, cfg)
	if err != nil {
		return nil // told already
	}
	defer st.Close()
	if s, err := st.Schema(ctx); err != nil || s.Current != s.Target {
		return nil
	}
	h := newHolder(cfg, zap.NewNop(), st, clock())
	ch, err := h.agents()
	return append(diagnose(ctx, agent.Name, ch, err), checkMatrix(ctx, h)...)
}

func checkMatrix(ctx context.Context, h *holder) []finding {
	if h.cfg.Channels.Matrix.UserID == "" {
		return nil
	}
	ch, db, err := h.matrix(ctx)
	if db != nil {
		defer func() { _ = db.Close() }() // it was only read
	}
	return diagnose(ctx, matrix.Name, ch, err)
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

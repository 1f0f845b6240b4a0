package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/matrix"
	"github.com/everthread/everthread/adapters/whatsapp"
	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/llm/transcribe"
)

// channelTimeout bounds the checks of one channel: there are several.
const channelTimeout = time.Minute

// checkChannels checks every channel that is configured.
func checkChannels(ctx context.Context, cfg configs.Config, d *dates) []finding {
	var out []finding
	if cfg.Channels.Telegram.Token != "" {
		out = append(out, checkTelegram(ctx, cfg, d)...)
	}
	if cfg.Channels.WhatsApp.PhoneNumberID != "" {
		out = append(out, checkWhatsApp(ctx, cfg)...)
	}
	if cfg.DatabaseURL != "" || hasDatabase(cfg) {
		out = append(out, checkKept(ctx, cfg)...)
	} else if cfg.Channels.Matrix.UserID != "" {
		out = append(out, finding{"matrix", true, "it is checked once the database is there, after the first start"})
	}
	if len(out) == 0 {
		out = []finding{{"channels", true, "none is configured; `everthread chat` works, for Telegram set channels.telegram.token"}}
	}
	return out
}

func checkWhatsApp(ctx context.Context, cfg configs.Config) []finding {
	ctx, cancel := context.WithTimeout(ctx, channelTimeout)
	defer cancel()
	ch, err := newHolder(cfg, zap.NewNop(), nil, clock()).whatsapp()
	if err != nil {
		return []finding{verdict("whatsapp", err, "")}
	}
	var out []finding
	for _, f := range ch.(whatsapp.Diagnoser).Diagnose(ctx, cfg.HTTP.PublicURL) {
		out = append(out, finding{"whatsapp", f.OK, f.Text})
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
	return append(checkAgents(ctx, h), checkMatrix(ctx, h)...)
}

func checkAgents(ctx context.Context, h *holder) []finding {
	keys, err := h.store.AgentKeys(ctx)
	if err != nil || len(keys) == 0 {
		return nil
	}
	ch, err := h.agents()
	if err != nil {
		return []finding{verdict("whatsapp agent", err, "")}
	}
	var out []finding
	for _, f := range ch.Diagnose(ctx) {
		out = append(out, finding{"whatsapp agent", f.OK, f.Text})
	}
	return out
}

func checkMatrix(ctx context.Context, h *holder) []finding {
	if h.cfg.Channels.Matrix.UserID == "" {
		return nil
	}
	ch, db, err := h.matrix(ctx)
	if db != nil {
		defer func() { _ = db.Close() }() // it was only read
	}
	if err != nil {
		return []finding{verdict(matrix.Name, err, "")}
	}
	var out []finding
	for _, f := range ch.Diagnose(ctx) {
		out = append(out, finding{matrix.Name, f.OK, f.Text})
	}
	return out
}

// checkTranscription sends a second of silence.
func checkTranscription(ctx context.Context, c configs.Config) finding {
	t, ok := transcriber(c.Transcription, nil).(*transcribe.Transcriber)
	if !ok {
		return finding{"transcription", true, "none is configured: voice notes are kept, but not read; set transcription.model"}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return verdict("transcription", t.Check(ctx), c.Transcription.Model+" answers")
}

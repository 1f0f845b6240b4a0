package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

// maxFetches is how often a download is tried.
const maxFetches = 5

// takeFetch claims a due download and does it.
func (g *Gateway) takeFetch(ctx context.Context, ref core.JobRef) { g.Jobs.Take(ctx, ref, g.fetch) }

// fetch downloads one attachment and records where it is, or why it is not.
func (g *Gateway) fetch(ctx context.Context, j *core.Job) error {
	var index int
	if err := json.Unmarshal(j.Payload, &index); err != nil {
		return g.Store.Finish(ctx, j.User, j.Lease, "payload: "+err.Error())
	}
	id := core.MessageID(j.Ref)
	ms, err := g.Media.Messages(ctx, j.User, []core.MessageID{id})
	if err != nil {
		return err
	}
	if len(ms) == 0 || ms[0].Redacted || index >= len(ms[0].Attachments) {
		// An attempt before may have got as far as the file.
		return errors.Join(g.removeFiles([]string{fetchedName(j.User, id, index)}), g.Store.Finish(ctx, j.User, j.Lease, ""))
	}
	a := ms[0].Attachments[index]
	ctx = egress.For(ctx, j.User)
	data, said, err := g.download(ctx, j, fetchedName(j.User, id, index), &a)
	text := ""
	if err == nil {
		a.Size = int64(len(data))
		a.MIME = sniffed(cmp.Or(a.MIME, said), http.DetectContentType(data))
		text, err = g.listen(ctx, j, ms[0].Text, &a, data)
	}
	if err != nil {
		var permanent *core.Permanent
		wait := g.jitter(time.Second << (j.Failures + 1))
		if spent := (*egress.QuotaError)(nil); errors.As(err, &spent) {
			wait += spent.After
		}
		if !errors.As(err, &permanent) && j.Failures+1 < maxFetches {
			return &job.Later{At: g.Now().Add(wait), Err: err}
		}
		a.Error = err.Error()
	}
	done := core.Fetched{User: j.User, Message: id, Index: index, Attachment: a, Revision: ms[0].Revision, Lease: j.Lease}
	if text != "" {
		done.Text, done.Tokens = text, g.Tokens.Count(text)
	}
	err = g.Store.SetAttachment(ctx, done)
	if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrMoving) { // it was redacted while it came, or comes again as another's
		err = g.removeFiles([]string{a.Path})
	}
	return err
}

// download returns the file of an attachment: from where it was kept before, or else
// as the service has it, and keeps that.
func (g *Gateway) download(ctx context.Context, j *core.Job, name string, a *core.Attachment) (data []byte, said string, err error) {
	if a.Path != "" {
		if data, err = os.ReadFile(filepath.Join(g.Settings.MediaDir, a.Path)); err == nil {
			return data, a.MIME, nil
		}
	}
	f := g.channels[strings.TrimPrefix(j.Queue, core.QueueFetch)].(core.Fetcher)
	if data, said, err = f.Fetch(ctx, a.Ref, g.Settings.MediaMax); err != nil {
		return nil, "", err
	}
	if err = g.spaceFor(ctx, j.User, int64(len(data))); err != nil {
		return nil, "", err
	}
	a.Path, err = g.storeFile(name, data)
	return data, said, err
}

// sniffed is the type of a file: what its content shows, unless that says less
// than what the service says.
func sniffed(said, seen string) string {
	if strings.HasPrefix(seen, "image/") {
		return seen
	}
	if said != "" && (strings.HasPrefix(seen, "application/octet-stream") || strings.HasPrefix(seen, "text/plain") || strings.HasPrefix(seen, "application/zip")) {
		return said
	}
	if major(said) == major(seen) || seen == "application/ogg" || said == "audio/mp4" || said == "audio/aac" {
		return cmp.Or(said, seen)
	}
	return cmp.Or(seen, said)
}

func major(mime string) string { return strings.SplitN(mime, "/", 2)[0] }

// unheard stands in a placeholder until what was said can be written down.
const unheard = "not written down, today's tokens are used up"

// listen is transcribe, but where the day has no tokens for it the placeholder says
// so, and it is tried again when they are there.
func (g *Gateway) listen(ctx context.Context, j *core.Job, text string, a *core.Attachment, data []byte) (string, error) {
	plain := strings.Replace(text, ": "+unheard+"]", "]", 1)
	a.Unheard = time.Time{}
	said, err := g.transcribe(ctx, j, plain, a, data)
	var over *trust.OverCap
	switch {
	case errors.As(err, &over):
		if j.Failures+1 < maxFetches {
			a.Unheard = over.Until
		}
		return heard(plain, a.Kind, unheard), nil
	case said == "" && plain != text:
		return plain, err
	}
	return said, err
}

// transcribe adds to the text of a message what its voice note says. A service
// that does not answer is tried again with the download; one that refuses the
// recording leaves the placeholder as it is.
func (g *Gateway) transcribe(ctx context.Context, j *core.Job, text string, a *core.Attachment, data []byte) (string, error) {
	if g.Transcriber == nil || a.Kind != "voice" && a.Kind != "audio" || a.Transcript != "" {
		return "", nil
	}
	said, err := g.Transcriber.Transcribe(ctx, core.Recording{User: j.User, Name: a.Name, MIME: a.MIME, Data: data})
	var permanent *core.Permanent
	var over *trust.OverCap
	if errors.As(err, &over) || err != nil && !errors.As(err, &permanent) && j.Failures+1 < maxFetches {
		return "", err
	}
	g.logUnless(ctx, err, "transcribe", zap.Int64("user", int64(j.User)), zap.Int64("message", j.Ref))
	if err != nil || said == "" {
		return "", nil
	}
	a.Transcript = said
	return heard(text, a.Kind, said), nil
}

// heard puts a transcript into the first placeholder of its kind that has none:
// [voice 0:12] becomes [voice 0:12: what was said].
func heard(text, kind, said string) string {
	start := strings.Index(text, "["+kind)
	if start >= 0 {
		if end := strings.IndexByte(text[start:], ']'); end >= 0 {
			return text[:start+end] + ": " + said + text[start+end:]
		}
	}
	return strings.TrimSpace(text + "\n[" + kind + ": " + said + "]")
}

// fetchedName is where an attachment of a message lies, below the media folder.
func fetchedName(u core.UserID, m core.MessageID, index int) string {
	return filepath.Join(fmt.Sprint(int64(u)), fmt.Sprintf("%d-%d", m, index))
}

// storeFile stores data durably below the media folder, and returns its name there.
func (g *Gateway) storeFile(name string, data []byte) (string, error) {
	path := filepath.Join(g.Settings.MediaDir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the media folder: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return "", fmt.Errorf("store attachment: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("store attachment: %w", err)
	}
	return name, nil
}

// KeepFile stores the n-th file that a call of a tool made, for the reply.
func (g *Gateway) KeepFile(ctx context.Context, use core.ToolUse, n int, f core.File) (core.Attachment, error) {
	return g.keepAs(ctx, use.User, fmt.Sprintf("turn-%d-%d-%d-%d", use.Turn, use.Step, use.Index, n), f)
}

// Keep stores a file that a person sent to a page of ours, for their message.
// core.ErrNoRoom: theirs take as much as they may already.
func (g *Gateway) Keep(ctx context.Context, u core.UserID, f core.File) (core.Attachment, error) {
	return g.keepAs(ctx, u, "upload-"+strings.ToLower(rand.Text()), f)
}

// keepAs stores a file below a user's media folder.
func (g *Gateway) keepAs(ctx context.Context, u core.UserID, name string, f core.File) (core.Attachment, error) {
	if int64(len(f.Data)) > g.Settings.MediaMax {
		return core.Attachment{}, fmt.Errorf("it is larger than %d bytes", g.Settings.MediaMax)
	}
	if err := g.spaceFor(ctx, u, int64(len(f.Data))); err != nil {
		return core.Attachment{}, err
	}
	a := core.Attachment{Name: f.Name, MIME: sniffed(f.MIME, http.DetectContentType(f.Data)), Size: int64(len(f.Data))}
	a.Kind = map[string]string{"image": "photo", "audio": "audio", "video": "video"}[major(a.MIME)]
	if a.Kind == "" {
		a.Kind = "document"
	}
	if a.Name == "" {
		a.Name = a.Kind + ending(a.MIME)
	}
	var err error
	a.Path, err = g.storeFile(filepath.Join(fmt.Sprint(int64(u)), name), f.Data)
	return a, err
}

// ending is the ending of a file's name by its type.
func ending(media string) string {
	base, _, _ := mime.ParseMediaType(media)
	switch base {
	case "image/jpeg":
		return ".jpg"
	case "audio/mpeg":
		return ".mp3"
	case "text/plain":
		return ".txt"
	}
	all, err := mime.ExtensionsByType(base)
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[0]
}

// files are attachments as parts of a reply; where a channel takes no files
// their names are told.
func (g *Gateway) files(as []core.Attachment, channel string) []core.Part {
	var out []core.Part
	for _, a := range as {
		if g.capabilities(channel).Files {
			out = append(out, core.Part{Attachment: &a})
			continue
		}
		out = append(out, core.Part{Text: "[" + a.Kind + ": " + a.Name + "]"})
	}
	return out
}

// removeFiles removes attachments that were redacted.
func (g *Gateway) removeFiles(names []string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		err := os.Remove(filepath.Join(g.Settings.MediaDir, filepath.Clean("/"+name)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove attachment: %w", err)
		}
	}
	return nil
}

// Loaded waits for the attachments of messages, for at most Settings.MediaWait.
func (g *Gateway) Loaded(ctx context.Context, u core.UserID, ids []core.MessageID) error {
	deadline := g.Now().Add(g.Settings.MediaWait)
	for {
		ms, err := g.Media.Messages(ctx, u, ids)
		if err != nil || !loading(ms, g.Now()) || g.Now().After(deadline) {
			return err
		}
		g.await(ctx, 200*time.Millisecond)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Images returns the pictures among the messages' attachments, as far as they
// are there; see Loaded.
func (g *Gateway) Images(ctx context.Context, u core.UserID, ids []core.MessageID) (map[core.MessageID][]core.Image, error) {
	ms, err := g.Media.Messages(ctx, u, ids)
	if err != nil {
		return nil, err
	}
	return g.images(ms), nil
}

// loading reports whether something of the messages is on its way.
func loading(ms []core.Message, now time.Time) bool {
	for _, m := range ms {
		for _, a := range m.Attachments {
			if a.Ref != "" && a.Path == "" && a.Error == "" || !a.Unheard.IsZero() && !now.Before(a.Unheard) {
				return true
			}
		}
	}
	return false
}

// seenByModels are the pictures that every provider takes. One that it does not
// take would cost the answer.
var seenByModels = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// images are the pictures among the attachments of messages that a model can see.
func (g *Gateway) images(ms []core.Message) map[core.MessageID][]core.Image {
	out := map[core.MessageID][]core.Image{}
	for _, m := range ms {
		for _, a := range m.Attachments {
			if a.Path == "" || !strings.HasPrefix(a.MIME, "image/") {
				continue
			}
			data, err := os.ReadFile(filepath.Join(g.Settings.MediaDir, a.Path))
			if err != nil {
				g.Log.Warn("read attachment", zap.Int64("message", int64(m.ID)), zap.Error(err))
				continue
			}
			if media := http.DetectContentType(data); slices.Contains(seenByModels, media) {
				out[m.ID] = append(out[m.ID], core.Image{MIME: media, Data: data})
			}
		}
	}
	return out
}

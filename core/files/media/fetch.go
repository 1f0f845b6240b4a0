package media

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/trust/egress"
)

// maxFetches bounds the attempts of a download.
const maxFetches = 5

// Take claims a due download or removal and does it.
func (m *Files) Take(ctx context.Context, ref store.JobRef) {
	m.Jobs.Take(ctx, ref, func(ctx context.Context, j *store.Job) error {
		if j.Queue == core.QueueRemove {
			return m.removeAll(ctx, j)
		}
		return m.fetch(ctx, j)
	})
}

// removeAll removes the redacted attachments that a job lists.
func (m *Files) removeAll(ctx context.Context, j *store.Job) error {
	var names []string
	if err := json.Unmarshal(j.Payload, &names); err != nil {
		return m.Jobs.Store.Finish(ctx, j.User, j.Lease, "payload: "+err.Error())
	}
	if err := m.Remove(names); err != nil {
		return err
	}
	return m.Jobs.Store.Finish(ctx, j.User, j.Lease, "")
}

// Queues returns the queues of removals, of downloads from channels, and of recordings from
// our own channels, which wait to be transcribed.
func (m *Files) Queues() []string {
	out := []string{core.QueueRemove}
	for name := range m.Fetchers {
		out = append(out, core.QueueFetch+name)
	}
	for _, name := range m.Doors {
		out = append(out, core.QueueFetch+name)
	}
	return out
}

// fetch downloads one attachment and stores its path, or why it has none.
func (m *Files) fetch(ctx context.Context, j *store.Job) error {
	var index int
	if err := json.Unmarshal(j.Payload, &index); err != nil {
		return m.Jobs.Store.Finish(ctx, j.User, j.Lease, "payload: "+err.Error())
	}
	id := core.MessageID(j.Ref)
	ms, err := m.Store.Messages(ctx, j.User, []core.MessageID{id})
	if err != nil {
		return err
	}
	if len(ms) == 0 || ms[0].Redacted || index >= len(ms[0].Attachments) {
		// An earlier attempt may have stored the file.
		return errors.Join(m.Remove([]string{fetchedName(j.User, id, index)}), m.Jobs.Store.Finish(ctx, j.User, j.Lease, ""))
	}
	a := ms[0].Attachments[index]
	ctx = egress.For(ctx, j.User)
	data, said, err := m.download(ctx, j, fetchedName(j.User, id, index), &a)
	text := ""
	if err == nil {
		a.Size = int64(len(data))
		a.MIME = sniffed(cmp.Or(a.MIME, said), http.DetectContentType(data))
		m.classify(&a, data)
		text, err = m.listen(ctx, j, ms[0].Text, &a, data)
	}
	if err != nil {
		var permanent *core.Permanent
		wait := m.Jobs.Jitter(time.Second << (j.Failures + 1))
		if spent := (*egress.QuotaError)(nil); errors.As(err, &spent) {
			wait += spent.After
		}
		if !errors.As(err, &permanent) && j.Failures+1 < maxFetches {
			return &job.Later{At: m.Now().Add(wait), Err: err}
		}
		a.Problem, a.Error = problem(err), err.Error()
	}
	done := store.Fetched{User: j.User, Message: id, Index: index, Attachment: a, Revision: ms[0].Revision, Lease: j.Lease}
	if text != "" {
		done.Text, done.Tokens = text, m.Tokens.Count(text)
	}
	err = m.Store.SetAttachment(ctx, done)
	if errors.Is(err, core.ErrNotFound) {
		// It was redacted during the download, or is downloaded again for the target user.
		err = m.Remove([]string{a.Path})
	}
	return err
}

// download returns the file of an attachment: the stored one, else the service's, which it stores.
func (m *Files) download(ctx context.Context, j *store.Job, name string,
	a *core.Attachment) (data []byte, said string, err error) {
	if a.Path != "" {
		if data, err = os.ReadFile(filepath.Join(m.Dir, a.Path)); err == nil {
			return data, a.MIME, nil
		}
	}
	from, ok := m.Fetchers[strings.TrimPrefix(j.Queue, core.QueueFetch)]
	if !ok {
		return nil, "", &core.Permanent{Err: errors.New("the file is gone")}
	}
	if data, said, err = from.Fetch(ctx, a.Ref, m.Max); err != nil {
		return nil, "", err
	}
	if err = m.spaceFor(ctx, j.User, int64(len(data))); err != nil {
		return nil, "", err
	}
	a.Path, err = m.write(name, data)
	return data, said, err
}

// sniffed returns the type of a file: that of its content, unless the service's is more specific.
func sniffed(said, seen string) string {
	if strings.HasPrefix(seen, "image/") {
		return seen
	}
	if said != "" && (strings.HasPrefix(seen, "application/octet-stream") || strings.HasPrefix(seen, "text/plain") ||
		strings.HasPrefix(seen, "application/zip")) {
		return said
	}
	if strings.HasPrefix(said, "audio/webm") && seen == "video/webm" { // the container is the same
		return said
	}
	if major(said) == major(seen) || seen == "application/ogg" || said == "audio/mp4" || said == "audio/aac" {
		return cmp.Or(said, seen)
	}
	return cmp.Or(seen, said)
}

func major(mime string) string { return strings.SplitN(mime, "/", 2)[0] }

// problem classifies the error of a download for good.
func problem(err error) core.FileProblem {
	_, permanent := errors.AsType[*core.Permanent](err)
	switch {
	case errors.Is(err, core.ErrNoRoom):
		return core.FileRoom
	case errors.Is(err, core.ErrTooLarge):
		return core.FileLarge
	case permanent:
		return core.FileGone
	}
	return core.FileFailed
}

// measured sets the duration of a recording, and whether that is too long for a transcript.
func (m *Files) measured(a *core.Attachment, data []byte) {
	if m.Transcriber == nil || a.Kind != "voice" && a.Kind != "audio" {
		return
	}
	if o, err := ReadOpus(data); err == nil && o.Duration > a.Duration { // some services omit it
		a.Duration = o.Duration
	}
	a.Long = m.Longest > 0 && a.Duration > m.Longest
}

// listen returns the text of a message with the transcript of a recording, or why there is none; empty: it does not
// change. If the day has no tokens for it, a later attempt follows when it has.
func (m *Files) listen(ctx context.Context, j *store.Job, text string, a *core.Attachment, data []byte) (string, error) {
	a.Unheard = time.Time{}
	if m.Transcriber == nil || a.Kind != "voice" && a.Kind != "audio" || a.Transcript != "" {
		return "", nil
	}
	if m.measured(a, data); !a.Long {
		err := m.transcribe(ctx, j, a, data)
		if over, ok := errors.AsType[*trust.OverCap](err); ok {
			if a.Unheard = over.Until; j.Failures+1 >= maxFetches {
				a.Unheard, a.Speech = time.Time{}, core.SpeechFailed
			}
		} else if err != nil {
			return "", err
		}
	}
	if with := a.Heard(text); with != text {
		return with, nil
	}
	return "", nil
}

// transcribe sets the transcript of a recording, or why it has none. A temporary error of the service is returned, and
// retries the download.
func (m *Files) transcribe(ctx context.Context, j *store.Job, a *core.Attachment, data []byte) error {
	said, err := m.Transcriber.Transcribe(ctx, core.Recording{User: j.User, Name: a.Name, MIME: a.MIME, Data: data,
		Duration: a.Duration})
	var permanent *core.Permanent
	_, over := errors.AsType[*trust.OverCap](err)
	if over || err != nil && !errors.As(err, &permanent) && j.Failures+1 < maxFetches {
		return err
	}
	switch {
	case err != nil:
		if ctx.Err() == nil {
			m.Log.Warn("recording not transcribed", zap.Int64("user", int64(j.User)), zap.Int64("message", j.Ref),
				zap.Error(err))
		}
		a.Speech = core.SpeechFailed
	case said == "":
		a.Speech = core.SpeechNone
	default:
		a.Transcript, a.Speech = said, ""
	}
	return nil
}

// fetchedName returns the path of a message's attachment below the media folder.
func fetchedName(u core.UserID, m core.MessageID, index int) string {
	return filepath.Join(fmt.Sprint(int64(u)), fmt.Sprintf("%d-%d", m, index))
}

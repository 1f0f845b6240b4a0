package document

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

// Store holds documents.
type Store interface {
	store.DocumentStore
	store.MediaStore
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
}

// Files reads the files of attachments.
type Files interface {
	Read(path string) ([]byte, error)
}

// Worker reads documents in the background. All fields are required.
type Worker struct {
	Store   Store
	Jobs    *job.Worker
	Files   Files
	Reader  *Reader
	Tokens  core.Tokenizer
	Embed   core.Embedding
	Preview int // tokens
	Meter   core.Counter
	Log     *zap.Logger
	Now     func() time.Time
}

// maxAttempts bounds the attempts at reading a file that is not itself at fault.
const maxAttempts = 4

// Take claims the job of a document and reads it.
func (w *Worker) Take(ctx context.Context, ref store.JobRef) { w.Jobs.Take(ctx, ref, w.read) }

// read reads one document and stores its pages.
func (w *Worker) read(ctx context.Context, j *store.Job) error {
	var part int
	if err := json.Unmarshal(j.Payload, &part); err != nil {
		return w.Jobs.Store.Finish(ctx, j.User, j.Lease, "payload: "+err.Error())
	}
	file := store.FileRef{Message: core.MessageID(j.Ref), Part: part}
	ms, err := w.Store.Messages(ctx, j.User, []core.MessageID{file.Message})
	if err != nil {
		return err
	}
	if len(ms) == 0 || ms[0].Redacted || part >= len(ms[0].Attachments) || !ms[0].Attachments[part].Document.Unread() {
		return w.Jobs.Store.Finish(ctx, j.User, j.Lease, "")
	}
	a := ms[0].Attachments[part]
	got, err := w.pages(ctx, j, file, a)
	if errors.Is(err, core.ErrNotFound) { // it was redacted meanwhile
		return w.Jobs.Store.Finish(ctx, j.User, j.Lease, "")
	}
	if err != nil {
		return err
	}
	a.Document = got
	err = w.Store.SetAttachment(ctx, store.Fetched{User: j.User, Message: file.Message, Index: part, Attachment: a,
		Lease: j.Lease})
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return err
}

// pages reads a file and stores its pages in batches. A fault of the file is in the result, not an error.
func (w *Worker) pages(ctx context.Context, j *store.Job, file store.FileRef, a core.Attachment) (*core.Document, error) {
	config, err := w.Embed.Name(ctx, j.User)
	if err != nil {
		w.Log.Warn("embedding settings were not read", zap.Int64("user", int64(j.User)), zap.Error(err))
	}
	data, err := w.Files.Read(a.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return &core.Document{Kind: a.Document.Kind, State: core.DocumentRead, Problem: core.DocumentUnread}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the file of a message: %w", err)
	}
	p := &pageWriter{Worker: w, ctx: ctx, user: j.User, next: store.PutFilePages{User: j.User, File: file, First: true,
		Config: config, Lease: j.Lease, Now: w.Now()}, name: a.Name, kind: a.Document.Kind}
	began := w.Now()
	kind, err := w.Reader.Read(ctx, Source{Name: a.Name, Media: a.MIME}, data, p.add)
	var f *Fault
	if err != nil && !errors.As(err, &f) {
		return nil, err
	}
	if f != nil && f.Problem == core.DocumentUnread && j.Failures+1 < maxAttempts {
		return nil, f
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	out := &core.Document{Kind: kind, State: core.DocumentRead, Pages: p.count,
		Preview: firstTokens(p.preview.String(), w.Preview, w.Tokens)}
	if f != nil {
		out.Problem = f.Problem
	}
	w.Meter.Count("everthread_documents_total", 1, cmp.Or(string(out.Problem), "read"))
	w.Log.Info("document read", zap.Int64("user", int64(j.User)), zap.Int64("message", j.Ref), zap.String("kind", kind),
		zap.Int("pages", out.Pages), zap.Duration("took", w.Now().Sub(began)), zap.String("problem", string(out.Problem)),
		zap.NamedError("cause", err))
	return out, nil
}

// pageWriter stores pages in batches.
type pageWriter struct {
	*Worker
	ctx        context.Context
	user       core.UserID
	next       store.PutFilePages
	name, kind string
	bytes      int // of next
	count      int
	preview    strings.Builder
}

// Approximate bounds of one transaction, during which other writes wait.
const (
	batchPages = 40
	batchBytes = 200_000
)

func (p *pageWriter) add(page Page) error {
	p.count++
	if p.preview.Len() < 16*p.Preview {
		p.preview.WriteString(clip(page.Text, 16*p.Preview) + "\n")
	}
	p.next.Pages = append(p.next.Pages, store.FilePage{Number: page.Number, Name: p.name, Kind: p.kind, Title: page.Title,
		Text: page.Text, Tokens: p.Tokens.Count(page.Text)})
	if p.bytes += len(page.Text); len(p.next.Pages) < batchPages && p.bytes < batchBytes {
		return nil
	}
	return p.flush()
}

func (p *pageWriter) flush() error {
	if len(p.next.Pages) == 0 && !p.next.First {
		return nil
	}
	if err := p.Store.PutFilePages(p.ctx, p.next); err != nil {
		return err
	}
	p.next.First, p.next.Pages, p.bytes = false, nil, 0
	return nil
}

// firstTokens returns the beginning of a text, at most n tokens of it.
func firstTokens(text string, n int, t core.Tokenizer) string {
	text = strings.TrimSpace(text)
	if n <= 0 {
		return ""
	}
	whole := text
	for text = clip(text, 16*n); t.Count(text) > n; {
		text = clip(text, len(text)*7/8)
	}
	if len(text) < len(whole) {
		if space := strings.LastIndexAny(text, " \n"); space > len(text)*3/4 {
			text = text[:space]
		}
		text = strings.TrimSpace(text) + " …"
	}
	return text
}

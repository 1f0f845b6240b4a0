package sqlstore

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

const filePageColumns = `id, message_id, part, number, name, kind, title, body, tokens`

func scanFilePage(r scanner) (p store.FilePage, err error) {
	return p, r.Scan(&p.ID, &p.File.Message, &p.File.Part, &p.Number, &p.Name, &p.Kind, &p.Title, &p.Text, &p.Tokens)
}

// FilePages returns pages of an attachment; see store.DocumentStore.
func (s *Store) FilePages(ctx context.Context, user core.UserID, file store.FileRef, from,
	to int) ([]store.FilePage, error) {
	out, err := list(s.one(ctx), scanFilePage,
		`SELECT `+filePageColumns+` FROM file_pages WHERE user_id = $1 AND message_id = $2
		AND part = $3 AND number >= $4 AND number <= $5 ORDER BY number`, user, file.Message, file.Part, from, to)
	return out, wrap("read pages of a file", err)
}

// FilePagesOf returns pages by their ids; see store.DocumentStore.
func (s *Store) FilePagesOf(ctx context.Context, user core.UserID, ids []int64) ([]store.FilePage, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{user}
	for _, id := range ids {
		args = append(args, id)
	}
	out, err := list(s.one(ctx), scanFilePage, `SELECT `+filePageColumns+` FROM file_pages WHERE user_id = $1 AND id IN (`+
		placeholders(2, len(ids))+`) ORDER BY id`, args...)
	return out, wrap("read pages of files", err)
}

// HasFilePages reports whether a user has any pages; see store.DocumentStore.
func (s *Store) HasFilePages(ctx context.Context, user core.UserID) (bool, error) {
	ids, err := list(s.one(ctx), column[int64],
		`SELECT id FROM file_pages WHERE user_id = $1 AND id > 0 ORDER BY id LIMIT 1`, user)
	return len(ids) > 0, wrap("look for pages of files", err)
}

// PutFilePages stores pages; see store.DocumentStore.
func (s *Store) PutFilePages(ctx context.Context, p store.PutFilePages) error {
	return s.update(ctx, "put pages of a file", p.User, func(t *tx) {
		t.holds(p.Lease)
		m := t.message(p.File.Message)
		if m.Redacted || p.File.Part >= len(m.Attachments) {
			t.fail(core.ErrNotFound)
			return
		}
		if p.First {
			t.loseFilePages(p.File.Message, p.File.Part, p.File.Part)
		}
		for _, page := range p.Pages {
			t.putFilePage(page, m.Segment != 0, p)
		}
		if p.Config != "" && len(p.Pages) > 0 && m.Segment != 0 {
			t.enqueue(store.NewJob{User: t.user, Queue: core.QueueEmbed, Key: core.EmbedKey, RunAt: p.Now, Unique: true})
		}
	})
}

// putFilePage stores a page, and indexes it if found.
func (t *tx) putFilePage(page store.FilePage, found bool, p store.PutFilePages) {
	id := t.nextID()
	t.exec(`INSERT INTO file_pages (user_id, id, message_id, part, number, name, kind, title, body, tokens)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, t.user, id, p.File.Message, p.File.Part, page.Number, page.Name,
		page.Kind, page.Title, page.Text, page.Tokens)
	if !found || page.Text == "" {
		return
	}
	t.index(core.DocFile, id, shownAs(page.Name, page.Title, page.Text))
	if p.Config != "" {
		t.embed(core.VectorFile, id, p.Config, p.Now)
	}
}

// shownAs returns the searchable text of a page, with the name of its file and its title.
func shownAs(name, title, body string) string {
	if strings.HasPrefix(body, title) {
		title = ""
	}
	return name + "\n" + title + "\n" + body
}

// loseFilePages removes the pages of attachments first to last of a message, with their terms and vectors.
func (t *tx) loseFilePages(m core.MessageID, first, last int) {
	for _, id := range listOf(t, column[int64],
		`SELECT id FROM file_pages WHERE user_id = $1 AND message_id = $2 AND part >= $3 AND part <= $4`, t.user, m, first, last) {
		t.loseFilePage(id)
	}
}

func (t *tx) loseFilePage(id int64) {
	t.lose(core.DocFile, core.VectorFile, id)
	t.execEach([]string{`DELETE FROM embeddings WHERE user_id = $1 AND kind = 'file' AND id = $2`,
		`DELETE FROM file_pages WHERE user_id = $1 AND id = $2`}, t.user, id)
}

// lose removes a document and its vector from the indexes.
func (t *tx) lose(kind core.DocKind, vector core.VectorKind, id int64) {
	t.execAll(append([]Statement{t.s.dialect.Terms.Drop(kind, t.user, id)},
		t.s.dialect.Vector.Drop(vector, t.user, id)...)...)
}

// manyParts is greater than the number of attachments of any message.
const manyParts = 1 << 30

// redactFiles removes the text of a message's attachments, also from tool results.
func (t *tx) redactFiles(m core.Message) {
	t.loseFilePages(m.ID, 0, manyParts)
	t.redactShown(func(body string) bool { return mentions(body, "message_id", int64(m.ID)) }, "file_")
}

// readLater enqueues the reading of an attachment that is an unread document.
func (t *tx) readLater(m core.MessageID, part int, a core.Attachment, at time.Time) {
	if !a.Document.Unread() || a.Path == "" {
		return
	}
	t.enqueue(store.NewJob{User: t.user, Queue: core.QueueDocument, Key: core.DocumentKey, Ref: int64(m),
		Payload: json.RawMessage(text(part)), RunAt: at})
}

// wasRead ends the epoch that showed an attachment as still being read.
func (t *tx) wasRead(m core.Message, was, is *core.Document) {
	if !was.Unread() || is.Unread() || m.Turn == 0 {
		return
	}
	if t.turn(m.Turn).State != core.TurnRunning {
		t.exec(`UPDATE threads SET edits = edits + 1 WHERE user_id = $1 AND id = $2`, t.user, m.Thread)
	}
}

func scanPageDoc(r scanner) (d doc, err error) {
	var name, title, body string
	err = r.Scan(&d.id, &name, &title, &body)
	d.kind, d.body = core.DocFile, shownAs(name, title, body)
	return d, err
}

// pagesAtOnce is how many pages of documents one transaction indexes again.
const pagesAtOnce = 50

// readFilePages reads the next pages to index again, and returns the id of the last one.
func (s *Store) readFilePages(ctx context.Context, p *indexing) (through int64, err error) {
	p.docs, err = list(s.one(ctx), scanPageDoc,
		`SELECT id, name, title, body FROM file_pages WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3`, p.user, p.now.filed, pagesAtOnce)
	for i := range p.docs {
		p.docs[i].terms = s.analyzed(p.docs[i].body)
		through = p.docs[i].id
	}
	return through, wrap("read what is not indexed", err)
}

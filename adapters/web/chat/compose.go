package chat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/text/i18n"
)

const (
	maxFiles = 10
	maxText  = 100 << 10 // bytes; a longer text becomes a file
	opening  = 300       // bytes of a longer text that stay in the message
)

type compose struct {
	Nonce, Thread, Day, Path string
	Model                    string // empty: none is shown
	Others                   bool   // there are other models to choose from
	Running, Retry           bool
	Note, Class              string
	Size                     int64
	Files, Most              int
	Reply                    replying
}

// fillModel shows the model that answers, and whether there are others to choose from.
func (r *Room) fillModel(v *web.Visit, c *compose) {
	if r.Models == nil {
		return
	}
	all := r.Models(v.User.ID)
	here := slices.IndexFunc(all, func(m core.ModelChoice) bool { return m.Name == v.User.Settings.Model })
	c.Model, c.Others = all[max(0, here)].Model, len(all) > 1
}

type writing struct {
	ID   string
	Turn core.TurnID
	Note string
}

func (r *Room) compose(v *web.Visit, p place) (compose, error) {
	nonce, err := v.Token()
	if err != nil {
		return compose{}, err
	}
	c := compose{Nonce: nonce, Path: p.path(), Size: r.MediaMax, Files: maxFiles, Most: maxText}
	r.fillModel(v, &c)
	if p.plain() {
		c.Thread = strconv.FormatInt(int64(p.thread.ID), 10)
	} else {
		c.Day = p.day.Label
	}
	if c.Reply, err = r.replying(v); err != nil {
		return c, err
	}
	b, err := r.Store.Backlog(v.Context(), v.User.ID, p.thread.ID)
	if err != nil {
		return c, fmt.Errorf("read the backlog: %w", err)
	}
	c.Running = b.Turn
	switch {
	case v.User.Settings.Paused:
		c.Note, c.Class = say(v.Lang).Paused, "quiet"
	case b.Pending > 0 && !b.Turn && r.failed(v, p):
		c.Note, c.Class, c.Retry = say(v.Lang).Failed, "bad", true
	case !p.plain() && p.day.Label != v.Today.Label:
		c.Note, c.Class = say(v.Lang).GoesToday, "quiet"
	}
	return c, nil
}

// failed reports whether the last message of a place is a notice: a turn gave up, and its messages wait for an answer.
func (r *Room) failed(v *web.Visit, p place) bool {
	ms, _, err := r.Store.Timeline(v.Context(), store.TimelineQuery{User: v.User.ID, Thread: p.thread.ID, Limit: 1})
	return err == nil && len(ms) == 1 && ms[0].Kind == core.KindNotice
}

// writing returns the answers of a place that are being written.
func (r *Room) writing(v *web.Visit, p place) ([]writing, error) {
	turns, err := r.Store.Running(v.Context(), v.User.ID, p.thread.ID)
	if err != nil {
		return nil, fmt.Errorf("read running turns: %w", err)
	}
	var out []writing
	for _, t := range turns {
		if !p.plain() && t.Segment != 0 && t.Segment != p.segment.ID {
			continue
		}
		w := writing{ID: fmt.Sprintf("t%d", t.ID), Turn: t.ID}
		if t.Failures > 0 {
			w.Note = say(v.Lang).Again.Of(t.Failures)
		}
		out = append(out, w)
	}
	return out, nil
}

type form struct {
	account, text, nonce, thread, day, reply string
	files                                    []core.File
	voice                                    *core.File // nil: no voice note
	long                                     time.Duration
}

// post receives a message. A message posted again with the same nonce is received once.
func (r *Room) post(v *web.Visit) error {
	f, err := r.readForm(v)
	if err != nil {
		return err
	}
	if strings.TrimSpace(f.text) == "" && len(f.files) == 0 && f.voice == nil {
		return web.Because(http.StatusBadRequest, say(v.Lang).NothingToSend)
	}
	f.shorten(say(v.Lang).LongText)
	door, err := r.People.Door(v.Context(), v.User.ID, web.Name)
	if err != nil {
		return fmt.Errorf("find the door: %w", err)
	}
	thread, path, err := r.target(v, f, door)
	if err != nil {
		return err
	}
	if err := r.receive(v, f, door, thread); err != nil {
		return err
	}
	return v.Back(path, "")
}

// shorten turns a text that is too long for a message into a file of its own. Its first line stays, unless it would be
// taken for a command.
func (f *form) shorten(name string) {
	if len(f.text) <= maxText {
		return
	}
	f.files = append(f.files, core.File{Name: name, MIME: "text/plain", Data: []byte(f.text)})
	first, _, _ := strings.Cut(strings.TrimSpace(f.text), "\n")
	if f.text = ""; !strings.HasPrefix(first, "/") {
		f.text = web.Short(first, opening) + "…"
	}
}

// target returns the thread of a message (0: the current one of the visitor's identity)
// and the path of the page that shows it.
func (r *Room) target(v *web.Visit, f form, door core.Identity) (core.ThreadID, string, error) {
	if f.thread != "" {
		p, err := r.named(v, f.thread, "")
		return p.thread.ID, p.path(), err
	}
	path := "/"
	if f.day != "" && f.day != v.Today.Label {
		path = "/day/" + v.Today.Label
	}
	if door.Thread == 0 {
		return 0, path, nil
	}
	t, err := r.Store.Thread(v.Context(), v.User.ID, 0)
	return t.ID, path, err
}

// receive hands a message to the gateway, once.
func (r *Room) receive(v *web.Visit, f form, door core.Identity, thread core.ThreadID) error {
	id := fmt.Sprintf("web-%d-%s", v.User.ID, f.nonce)
	_, err := r.Store.Referred(v.Context(), v.User.ID, door.ID, id)
	if err == nil {
		return nil // posted before
	}
	if !errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("look for the message: %w", err)
	}
	in := core.Inbound{Address: door.Address, EventID: id, NativeID: id, Kind: core.InMessage, Text: f.text,
		Name: v.User.Name, Thread: thread, Language: v.Lang, SentAt: v.Now, ReceivedAt: v.Now}
	if in.Quote, err = r.quote(v, f.reply); err != nil {
		return err
	}
	for _, file := range f.files {
		a, err := r.Keeper.Keep(v.Context(), v.User.ID, file)
		if err != nil {
			return fmt.Errorf("keep a file: %w", err)
		}
		in.Attachments = append(in.Attachments, a)
	}
	if f.voice != nil {
		a, err := r.Keeper.KeepVoice(v.Context(), v.User.ID, *f.voice, f.long)
		if err != nil {
			return fmt.Errorf("keep a voice note: %w", err)
		}
		in.Attachments = append(in.Attachments, a)
	}
	in.Text = withFiles(in.Text, in.Attachments)
	if err := r.Gateway.Receive(v.Context(), in); err != nil {
		return fmt.Errorf("receive the message: %w", err)
	}
	return nil
}

// withFiles adds placeholders of files to a text, except to a command: they would be among its words.
func withFiles(text string, files []core.Attachment) string {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!") {
		return text
	}
	for _, a := range files {
		text = strings.TrimLeft(text+"\n"+placeholder(a), "\n")
	}
	return text
}

// placeholder returns the text that represents a file in a message.
func placeholder(a core.Attachment) string {
	if a.Kind == "voice" {
		s := int(a.Duration.Seconds())
		return fmt.Sprintf("[voice %d:%02d]", s/60, s%60)
	}
	if a.Kind != "document" {
		return "[" + a.Kind + "]"
	}
	return "[document " + a.Name + "]"
}

var nonces = text.Pattern(`^[A-Za-z0-9_-]{16,64}$`)

// readForm reads a posted message with its files, within the limits.
func (r *Room) readForm(v *web.Visit) (form, error) {
	var f form
	kind, _, _ := mime.ParseMediaType(v.R.Header.Get("Content-Type"))
	var err error
	if kind == "multipart/form-data" {
		err = r.readParts(v, &f)
	} else if err = v.R.ParseForm(); err == nil {
		for _, name := range []string{"account", "text", "nonce", "thread", "day", "reply"} {
			f.set(name, v.R.PostForm.Get(name))
		}
	}
	if err != nil {
		if _, ok := errors.AsType[*web.Fault](err); ok {
			return f, err
		}
		return f, v.BadForm(err)
	}
	if err := v.Owned(f.account); err != nil {
		return f, err
	}
	if !nonces().MatchString(f.nonce) {
		return f, v.BadForm(errors.New("no nonce"))
	}
	return f, nil
}

func (r *Room) readParts(v *web.Visit, f *form) error {
	parts, err := v.R.MultipartReader()
	if err != nil {
		return err
	}
	left := r.MediaMax
	for range maxFiles + 20 {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(p, left+1))
		if err != nil {
			return err
		}
		if left -= int64(len(data)); left < 0 {
			return web.Because(http.StatusRequestEntityTooLarge,
				fmt.Sprintf(say(v.Lang).TooLarge, web.Size(v.Lang, r.MediaMax)))
		}
		if p.FormName() == "voice" {
			if f.voice, err = voice(p, data); err != nil {
				return err
			}
			continue
		}
		if p.FormName() != "file" {
			f.set(p.FormName(), string(data))
			continue
		}
		if err := addFile(v, f, p, data); err != nil {
			return err
		}
	}
	return tooMany(v)
}

func tooMany(v *web.Visit) error {
	return web.Because(http.StatusRequestEntityTooLarge,
		fmt.Sprintf(say(v.Lang).TooManyFiles, i18n.Number(v.Lang, maxFiles)))
}

func (f *form) set(name, value string) {
	value = strings.ReplaceAll(strings.ToValidUTF8(value, "\uFFFD"), "\r\n", "\n")
	fields := map[string]*string{"account": &f.account, "text": &f.text, "nonce": &f.nonce, "thread": &f.thread,
		"day": &f.day, "reply": &f.reply}
	if into := fields[name]; into != nil {
		*into = value
	} else if s, err := strconv.Atoi(value); name == "seconds" && err == nil && s > 0 && s < 24*3600 {
		f.long = time.Duration(s) * time.Second
	}
}

func voice(p *multipart.Part, data []byte) (*core.File, error) {
	kind, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "audio/") || len(data) == 0 {
		return nil, errors.New("no recording")
	}
	return &core.File{Name: web.FileName(p.FileName()), MIME: kind, Data: data}, nil
}

// addFile adds a file. An empty one without a name is a field left empty, and is skipped.
func addFile(v *web.Visit, f *form, p *multipart.Part, data []byte) error {
	name := web.FileName(p.FileName())
	if name == "" && len(data) == 0 {
		return nil
	}
	if len(f.files) == maxFiles {
		return tooMany(v)
	}
	kind, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
	if err != nil {
		kind = "application/octet-stream"
	}
	f.files = append(f.files, core.File{Name: name, MIME: kind, Data: data})
	return nil
}

func (r *Room) stop(v *web.Visit) error {
	p, err := r.postedPlace(v)
	if err != nil {
		return err
	}
	return v.Act("stop", p.path(), i18n.Unfinished(v.Lang, core.FinishStopped).Why, effect.StopTurn{Thread: p.thread.ID})
}

func (r *Room) retry(v *web.Visit) error {
	p, err := r.postedPlace(v)
	if err != nil {
		return err
	}
	return v.Act("retry", p.path(), "", effect.RetryTurn{Thread: p.thread.ID, At: v.Now})
}

func (r *Room) postedPlace(v *web.Visit) (place, error) {
	return r.named(v, v.R.PostForm.Get("thread"), v.R.PostForm.Get("day"))
}

// named returns the place of a thread or of a day; with neither, of today.
func (r *Room) named(v *web.Visit, thread, day string) (place, error) {
	if thread != "" {
		n, err := strconv.ParseInt(thread, 10, 64)
		if err != nil {
			return place{}, core.ErrNotFound
		}
		return r.threadPlace(v, core.ThreadID(n))
	}
	return r.dayPlace(v, cmp.Or(day, v.Today.Label))
}

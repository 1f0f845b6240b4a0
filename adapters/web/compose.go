package web

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
)

// maxFiles is how many files one message may bring.
const maxFiles = 10

// maxText is how long a message may be, in bytes.
const maxText = 100 << 10

// compose is what stands where people write.
type compose struct {
	Nonce          string
	Thread, Day    string
	Path           string
	Running, Retry bool
	Note, Class    string
	Size           int64
	Files          int
}

// writing is an answer that is being written.
type writing struct {
	ID   string
	Turn core.TurnID
	Note string
	Day  core.SegmentID
}

func (v *visit) compose(p place) (compose, error) {
	nonce, err := v.token()
	if err != nil {
		return compose{}, err
	}
	c := compose{Nonce: nonce, Path: p.path(), Size: v.MediaMax, Files: maxFiles}
	if p.plain() {
		c.Thread = strconv.FormatInt(int64(p.thread.ID), 10)
	} else {
		c.Day = p.day.Label
	}
	b, err := v.Store.Backlog(v.ctx(), v.user.ID, p.thread.ID)
	if err != nil {
		return c, fmt.Errorf("read what waits: %w", err)
	}
	c.Running = b.Turn
	switch {
	case v.user.Settings.Paused:
		c.Note, c.Class = v.words.Paused, "quiet"
	case b.Pending > 0 && !b.Turn && v.failed(p):
		c.Note, c.Class, c.Retry = v.words.Failed, "bad", true
	case !p.plain() && p.day.Label != v.today.Label:
		c.Note, c.Class = v.words.GoesToday, "quiet"
	}
	return c, nil
}

// failed reports whether the last thing said in a place is an apology: a turn gave
// up, and what it was to answer waits.
func (v *visit) failed(p place) bool {
	ms, _, err := v.Store.Timeline(v.ctx(), core.TimelineQuery{User: v.user.ID, Thread: p.thread.ID, Limit: 1})
	return err == nil && len(ms) == 1 && ms[0].Kind == core.KindNotice
}

// writing are the answers of a place that are being written.
func (v *visit) writing(p place) ([]writing, error) {
	turns, err := v.Store.Running(v.ctx(), v.user.ID, p.thread.ID)
	if err != nil {
		return nil, fmt.Errorf("read running turns: %w", err)
	}
	var out []writing
	for _, t := range turns {
		if !p.plain() && t.Segment != 0 && t.Segment != p.segment.ID {
			continue
		}
		w := writing{ID: fmt.Sprintf("t%d", t.ID), Turn: t.ID, Day: t.Segment}
		if t.Failures > 0 {
			w.Note = v.words.Again.Of(t.Failures)
		}
		out = append(out, w)
	}
	return out, nil
}

// form is what a person sends.
type form struct {
	text, nonce, thread, day string
	files                    []core.File
}

// post takes a message. Sent again with the same nonce it is the same message.
func (v *visit) post() error {
	f, err := v.readForm()
	if err != nil {
		return err
	}
	if strings.TrimSpace(f.text) == "" && len(f.files) == 0 {
		return because(http.StatusBadRequest, func(w *texts) string { return w.NothingToSend })
	}
	if len(f.text) > maxText {
		return because(http.StatusRequestEntityTooLarge, func(w *texts) string { return w.ErrTooLarge })
	}
	door, err := v.People.Door(v.ctx(), v.user.ID, Name)
	if err != nil {
		return fmt.Errorf("find the door: %w", err)
	}
	thread, path, err := v.target(f, door)
	if err != nil {
		return err
	}
	if err := v.receive(f, door, thread); err != nil {
		return err
	}
	return v.back(path, "")
}

// target is the thread that a message goes to (0: where the door leads), and the
// page that shows it.
func (v *visit) target(f form, door core.Identity) (core.ThreadID, string, error) {
	if f.thread != "" {
		n, err := strconv.ParseInt(f.thread, 10, 64)
		if err != nil {
			return 0, "", core.ErrNotFound
		}
		p, err := v.threadPlace(core.ThreadID(n))
		return p.thread.ID, p.path(), err
	}
	path := "/"
	if f.day != "" && f.day != v.today.Label {
		path = "/day/" + v.today.Label
	}
	if door.Thread == 0 {
		return 0, path, nil
	}
	t, err := v.Store.Thread(v.ctx(), v.user.ID, 0)
	return t.ID, path, err
}

// receive puts a message on the road, once.
func (v *visit) receive(f form, door core.Identity, thread core.ThreadID) error {
	id := fmt.Sprintf("web-%d-%s", v.user.ID, f.nonce)
	_, err := v.Store.Referred(v.ctx(), v.user.ID, door.ID, id)
	if err == nil {
		return nil // it was sent before
	}
	if !missing(err) {
		return fmt.Errorf("look for the message: %w", err)
	}
	in := core.Inbound{Address: door.Address, EventID: id, NativeID: id, Kind: core.InMessage, Text: f.text,
		Name: v.user.Name, Thread: thread, Language: v.lang, SentAt: v.now, ReceivedAt: v.now}
	for _, file := range f.files {
		a, err := v.Files.Keep(v.ctx(), v.user.ID, file)
		if err != nil {
			return fmt.Errorf("keep a file: %w", err)
		}
		in.Attachments = append(in.Attachments, a)
		in.Text = strings.TrimLeft(in.Text+"\n"+placeholder(a), "\n")
	}
	if err := v.Gateway.Receive(v.ctx(), in); err != nil {
		return fmt.Errorf("take the message: %w", err)
	}
	return nil
}

// placeholder stands in a text for a file (SPEC 3.9).
func placeholder(a core.Attachment) string {
	if a.Kind != "document" {
		return "[" + a.Kind + "]"
	}
	return "[document " + a.Name + "]"
}

var nonces = regexp.MustCompile(`^[A-Za-z0-9_-]{16,64}$`)

// readForm reads a message with its files, within the limits.
func (v *visit) readForm() (form, error) {
	var f form
	kind, _, _ := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	var err error
	if kind == "multipart/form-data" {
		err = v.readParts(&f)
	} else if err = v.r.ParseForm(); err == nil {
		for _, name := range []string{"text", "nonce", "thread", "day"} {
			f.set(name, v.r.PostForm.Get(name))
		}
	}
	if err != nil {
		var told *fault
		if errors.As(err, &told) {
			return f, err
		}
		return f, badForm(err)
	}
	if !nonces.MatchString(f.nonce) {
		return f, badForm(errors.New("no nonce"))
	}
	return f, nil
}

func (v *visit) readParts(f *form) error {
	parts, err := v.r.MultipartReader()
	if err != nil {
		return err
	}
	left := v.MediaMax
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
		if int64(len(data)) > left {
			return because(http.StatusRequestEntityTooLarge, func(w *texts) string { return w.TooLarge })
		}
		if p.FormName() != "file" {
			f.set(p.FormName(), string(data))
			continue
		}
		left -= int64(len(data))
		if err := f.add(p, data); err != nil {
			return err
		}
	}
	return because(http.StatusRequestEntityTooLarge, func(w *texts) string { return w.TooManyFiles })
}

func (f *form) set(name, value string) {
	value = strings.ReplaceAll(strings.ToValidUTF8(value, "\uFFFD"), "\r\n", "\n")
	switch name {
	case "text":
		f.text = value
	case "nonce":
		f.nonce = value
	case "thread":
		f.thread = value
	case "day":
		f.day = value
	}
}

// add takes a file; an empty one without a name is a field that was left empty.
func (f *form) add(p *multipart.Part, data []byte) error {
	name := fileName(p.FileName())
	if name == "" && len(data) == 0 {
		return nil
	}
	if len(f.files) == maxFiles {
		return because(http.StatusRequestEntityTooLarge, func(w *texts) string { return w.TooManyFiles })
	}
	kind, _, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
	if err != nil {
		kind = "application/octet-stream"
	}
	f.files = append(f.files, core.File{Name: name, MIME: kind, Data: data})
	return nil
}

// fileName is a file's name as it is told: no folder, no sign that a placeholder
// has a meaning for, no control characters.
func fileName(s string) string {
	s = filepath.Base(strings.ReplaceAll(short(s, 400), `\`, "/"))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '[', r == ']', r == ':', r == '/':
			return '_'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	if s == "." || s == ".." {
		return ""
	}
	return short(strings.TrimSpace(s), 120)
}

// stop stops the answer that is being written.
func (v *visit) stop() error {
	p, err := v.postedPlace()
	if err != nil {
		return err
	}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, core.StopTurn{Thread: p.thread.ID}); err != nil {
		return refusal(fmt.Errorf("stop: %w", err))
	}
	return v.back(p.path(), "")
}

// retry has what waits answered now.
func (v *visit) retry() error {
	p, err := v.postedPlace()
	if err != nil {
		return err
	}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, core.RetryTurn{Thread: p.thread.ID, At: v.now}); err != nil {
		return refusal(fmt.Errorf("retry: %w", err))
	}
	return v.back(p.path(), "")
}

// postedPlace is the place that a form names.
func (v *visit) postedPlace() (place, error) {
	if err := v.r.ParseForm(); err != nil {
		return place{}, badForm(err)
	}
	return v.named(v.r.PostForm.Get("thread"), v.r.PostForm.Get("day"))
}

// named is a thread or, of the continuous one, a day; neither: today.
func (v *visit) named(thread, day string) (place, error) {
	if thread != "" {
		n, err := strconv.ParseInt(thread, 10, 64)
		if err != nil {
			return place{}, core.ErrNotFound
		}
		return v.threadPlace(core.ThreadID(n))
	}
	if day == "" {
		day = v.today.Label
	}
	return v.dayPlace(day)
}

func isRefused(err error) bool {
	return errors.Is(err, core.ErrRefused) || errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrExists) ||
		errors.Is(err, core.ErrChanged)
}

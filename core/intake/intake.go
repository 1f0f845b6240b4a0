// Package intake reads the bodies of requests that are not authenticated yet. A budget
// bounds the memory of all of them together, and the time of each.
//
// A body that does not arrive within the patience of the budget is cut off. If the budget is
// used up, the body that has not grown for longest is dropped: bodies of real services
// arrive immediately, and get through beside bodies that only wait.
package intake

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// Reasons why a body is refused.
var (
	ErrTooLarge = errors.New("the body is too large")
	ErrLate     = errors.New("the body took too long")
	ErrBusy     = errors.New("too many bodies are being read")
	ErrCutOff   = errors.New("the body was cut off")
)

// Defaults of a budget.
const (
	DefaultBytes    = 16 << 20
	DefaultPatience = 10 * time.Second
)

// piece is the unit in which a body grows: most bodies fit into one.
const piece = 4 << 10

// Budget is the memory that bodies share. It is safe for concurrent use.
type Budget struct {
	bytes    int64
	patience time.Duration
	now      func() time.Time

	mu      sync.Mutex
	changed sync.Cond // a body was dismissed or released
	held    int64
	leaving int64              // the part of held that dismissed bodies hold
	open    map[*Body]struct{} // being read
	spare   [][]byte           // pieces given back while other bodies are read
	grants  uint64
}

// New returns a budget of bytes, for bodies that arrive within patience.
func New(bytes int64, patience time.Duration, now func() time.Time) *Budget {
	b := &Budget{bytes: bytes, patience: patience, now: now, open: map[*Body]struct{}{}}
	b.changed.L = &b.mu
	return b
}

// Body is a body that was read. Its memory belongs to the budget until Release.
type Body struct {
	budget *Budget
	pieces [][]byte
	size   int64
	cut    func() // ends the reading
	gone   bool   // it was dismissed; guarded by the budget
	grown  uint64 // number of the grant with which it grew last; guarded by the budget
}

// Take reads the body of a request, of at most most bytes. The caller releases it. Errors are those of this package.
func (b *Budget) Take(w http.ResponseWriter, r *http.Request, most int64) (*Body, error) {
	if r.ContentLength > most {
		return nil, ErrTooLarge
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(b.now().Add(b.patience)) // only tests have a connection without one
	body := &Body{budget: b, cut: func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) }}
	b.mu.Lock()
	b.grants++
	body.grown = b.grants // a new body has not waited for longest
	b.open[body] = struct{}{}
	b.mu.Unlock()
	err := body.read(r.Body, most)
	b.mu.Lock()
	delete(b.open, body)
	if body.gone {
		err = ErrBusy
	}
	b.mu.Unlock()
	if err != nil {
		body.Release()
		return nil, err
	}
	_ = connection.SetReadDeadline(time.Time{})
	return body, nil
}

// read reads pieces that the budget grants.
func (b *Body) read(from io.Reader, most int64) error {
	for {
		to, ok := b.budget.grant(b)
		if !ok {
			return ErrBusy
		}
		n, err := fill(to, from)
		b.size += int64(n)
		b.pieces[len(b.pieces)-1] = to[:n]
		switch {
		case b.size > most:
			return ErrTooLarge
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return ErrLate
		case err != nil:
			return ErrCutOff
		}
	}
}

// fill reads until the piece is full. It returns the reader's own error, while io.ReadFull
// does not distinguish an end from a body that was cut off.
func fill(piece []byte, from io.Reader) (n int, err error) {
	for n < len(piece) && err == nil {
		var more int
		more, err = from.Read(piece[n:])
		n += more
	}
	return n, err
}

// grant gives a body one more piece. Without room it dismisses a body and waits for its
// memory. It returns false if this body was dismissed.
func (b *Budget) grant(body *Body) (to []byte, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grants++
	body.grown = b.grants
	for !body.gone && b.held+piece > b.bytes {
		if b.held-b.leaving+piece > b.bytes {
			b.dismiss()
			continue
		}
		b.changed.Wait()
	}
	if body.gone {
		return nil, false
	}
	if last := len(b.spare) - 1; last >= 0 {
		to, b.spare = b.spare[last], b.spare[:last]
	} else {
		to = make([]byte, piece)
	}
	b.held += piece
	body.pieces = append(body.pieces, to)
	return to, true
}

// dismiss drops the body that has not grown for longest.
func (b *Budget) dismiss() {
	var oldest *Body
	for body := range b.open {
		if !body.gone && (oldest == nil || body.grown < oldest.grown) {
			oldest = body
		}
	}
	oldest.gone = true
	oldest.cut()
	b.leaving += int64(len(oldest.pieces)) * piece
	b.changed.Broadcast()
}

// Release gives the memory back. It may be called more than once.
func (b *Body) Release() {
	budget := b.budget
	budget.mu.Lock()
	defer budget.mu.Unlock()
	bytes := int64(len(b.pieces)) * piece
	budget.held -= bytes
	if b.gone {
		budget.leaving -= bytes
	}
	for _, one := range b.pieces {
		budget.spare = append(budget.spare, one[:piece])
	}
	if b.pieces = nil; len(budget.open) == 0 {
		budget.spare = nil // no other body needs them
	}
	budget.changed.Broadcast()
}

// WriteTo implements io.WriterTo.
func (b *Body) WriteTo(w io.Writer) (n int64, err error) {
	for _, one := range b.pieces {
		written, err := w.Write(one)
		if n += int64(written); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Bytes returns a copy, for use after the body was authenticated.
func (b *Body) Bytes() []byte { return bytes.Join(b.pieces, nil) }

// Refuse answers a request whose body was refused, and closes the connection.
func Refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	switch {
	case errors.Is(err, ErrTooLarge):
		http.Error(w, "body too large", http.StatusRequestEntityTooLarge)
	case errors.Is(err, ErrLate):
		http.Error(w, "body too slow", http.StatusRequestTimeout)
	case errors.Is(err, ErrBusy):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too busy, try again", http.StatusServiceUnavailable)
	default:
		http.Error(w, "body cut off", http.StatusBadRequest)
	}
}

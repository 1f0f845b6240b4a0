package backup

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/everthread/everthread/core"
)

// source is a core.TableSource over an archive, which also unpacks the files.
type source struct {
	r     *Restorer
	a     *Reader
	place func() error

	entry Entry
	body  io.Reader // of an entry that was read ahead; nil: none
	seen  []int     // numbers of earlier tables
}

var _ core.TableSource = (*source)(nil)

// Next returns the next table. After the last one it puts the files in their place, so
// that the database only has to commit.
func (s *source) Next() (int, io.Reader, error) {
	for {
		err := s.ahead()
		if errors.Is(err, io.EOF) {
			if err := s.place(); err != nil {
				return 0, nil, err
			}
			return 0, nil, io.EOF
		}
		if err != nil {
			return 0, nil, err
		}
		if table, ok := s.table(); ok {
			if slices.Contains(s.seen, table) || table >= len(s.a.Manifest.Tables) {
				return 0, nil, &Damaged{Entry: s.entry.Name, Err: errOther}
			}
			s.seen = append(s.seen, table)
			return table, s.r.watched(&rows{s: s, table: table, piece: 1}), nil
		}
		if err := s.r.file(s.entry, s.body); err != nil {
			return 0, nil, err
		}
		s.body = nil
	}
}

// ahead reads the next entry, unless one is pending.
func (s *source) ahead() (err error) {
	if s.body == nil {
		s.entry, s.body, err = s.a.Next()
	}
	return err
}

// table returns the table of which the entry is a piece.
func (s *source) table() (n int, ok bool) {
	if !pieceNames.MatchString(s.entry.Name) {
		return 0, false
	}
	_, err := fmt.Sscanf(s.entry.Name, "tables/%d/", &n)
	return n, err == nil
}

// rows reads the pieces of a table one after another.
type rows struct {
	s     *source
	table int
	piece int
	ended bool
}

// Read reads rows.
func (p *rows) Read(b []byte) (int, error) {
	for !p.ended {
		err := p.s.ahead()
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if n, ok := p.s.table(); errors.Is(err, io.EOF) || !ok || n != p.table {
			break
		}
		if p.s.entry.Name != pieceName(p.table, p.piece) {
			return 0, &Damaged{Entry: p.s.entry.Name, Err: errors.New("a piece before it is missing")}
		}
		n, err := p.s.body.Read(b)
		if errors.Is(err, io.EOF) {
			p.piece++
			p.s.body, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	p.ended = true
	return 0, io.EOF
}

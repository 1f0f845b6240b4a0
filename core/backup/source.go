package backup

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/everthread/everthread/core"
)

// source is a core.TableSource over an archive, and unpacks what is no table.
type source struct {
	r     *Restorer
	a     *Reader
	place func() error

	entry Entry
	body  io.Reader // of an entry that was read ahead; nil: there is none
	next  []int     // numbers of tables that came
}

var _ core.TableSource = (*source)(nil)

// Next returns the next table. After the last one, what is no table is put in its
// place, so that the database need only commit.
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
			if slices.Contains(s.next, table) || table >= len(s.a.Manifest.Tables) {
				return 0, nil, &Damaged{Entry: s.entry.Name, Err: errOther}
			}
			s.next = append(s.next, table)
			return table, s.r.watched(&rows{s: s, table: table, piece: 1}), nil
		}
		if err := s.r.file(s.entry, s.body); err != nil {
			return 0, nil, err
		}
		s.body = nil
	}
}

// ahead reads the next entry, unless there is one that nobody took.
func (s *source) ahead() (err error) {
	if s.body == nil {
		s.entry, s.body, err = s.a.Next()
	}
	return err
}

// table is the number of the table that the entry is a piece of.
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

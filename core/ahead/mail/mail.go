// Package mail reads who wrote what about: the headers of messages in the folders of a mailbox, over IMAP. It changes
// nothing there, not even which messages count as seen. Whatever a server says, reading it is bounded.
package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/everthread/everthread/core/ahead/source"
)

// Account is a mailbox on a server. Its connections are encrypted: from the beginning, or on port 143 by STARTTLS.
type Account struct {
	Host               string
	Port               int // 0: Port
	Username, Password string
	Token              string   // of OAuth 2, instead of a password; empty: none
	Folders            []string // none: INBOX
	From               []string // addresses, or domains, of the only senders that count; none: all

	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Roots *x509.CertPool // nil: the system's
}

// Query asks for messages, the newest first.
type Query struct {
	Seen  bool      // also those that were seen
	Since time.Time // and arrived on that day or later
	From  string    // a part of the sender's name or address; empty: anybody
	Limit int       // 0: the most
}

// Header is what is known of a message. Its words are others' words, each one line.
type Header struct {
	Folder        string
	Name, Address string // of the sender; one may be empty
	Subject       string // may be empty
	At            time.Time
}

// Bounds of an answer.
const (
	mostMessages = 50
	mostBytes    = 4 << 20
	mostHeader   = 64 << 10
)

// Port is where a connection is encrypted from the beginning, imapPort where it begins in the clear.
const (
	Port     = 993
	imapPort = 143
)

// List returns headers of messages. Errors are a source.Fault.
func (a *Account) List(ctx context.Context, q Query) ([]Header, error) {
	q.Limit = cmp.Or(max(q.Limit, 0), mostMessages)
	q.Limit = min(q.Limit, mostMessages)
	c, err := a.open(ctx)
	if err != nil {
		return nil, a.fault(ctx, err)
	}
	defer func() { _ = c.Close() }() // nothing was written
	if err := a.signIn(c); err != nil {
		return nil, a.fault(ctx, err)
	}
	folders := a.Folders
	if len(folders) == 0 {
		folders = []string{"INBOX"}
	}
	var out []Header
	for _, folder := range folders {
		got, err := a.folder(c, folder, q)
		if err != nil {
			return nil, a.fault(ctx, err)
		}
		out = append(out, got...)
	}
	slices.SortStableFunc(out, func(a, b Header) int { return b.At.Compare(a.At) })
	return out[:min(len(out), q.Limit)], nil
}

// fault returns what an error means; that of a connection which was closed because time was up is that time was up.
func (a *Account) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return source.Slow
	}
	return source.Of(err)
}

// bounded is a connection that ends after so many bytes.
type bounded struct {
	net.Conn
	in source.Bounded
}

func (b *bounded) Read(p []byte) (int, error) { return b.in.Read(p) }

// open connects, and closes the connection when ctx ends.
func (a *Account) open(ctx context.Context) (*imapclient.Client, error) {
	port := cmp.Or(a.Port, Port)
	raw, err := a.Dial(ctx, "tcp", net.JoinHostPort(a.Host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn := &bounded{Conn: raw, in: source.Bounded{Context: ctx, Reader: raw, Left: mostBytes}}
	options := &imapclient.Options{
		TLSConfig: &tls.Config{ServerName: a.Host, RootCAs: a.Roots, MinVersion: tls.VersionTLS12}}
	if port == imapPort {
		c, err := imapclient.NewStartTLS(conn, options)
		if err != nil {
			return nil, errors.Join(answered(err, source.Broken), ignoreClosed(raw.Close()))
		}
		return c, nil
	}
	secure := tls.Client(conn, options.TLSConfig)
	if err := secure.HandshakeContext(ctx); err != nil {
		if _, spoke := errors.AsType[tls.RecordHeaderError](err); spoke {
			err = source.Broken
		}
		return nil, errors.Join(err, ignoreClosed(raw.Close()))
	}
	c := imapclient.New(secure, options)
	if err := c.WaitGreeting(); err != nil {
		return nil, errors.Join(source.Broken, c.Close())
	}
	return c, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// mechanism is a way to sign in that says everything at once. It implements the sasl.Client of go-sasl.
type mechanism struct{ name, said string }

func (m mechanism) Start() (name string, said []byte, err error) { return m.name, []byte(m.said), nil }

// Next answers a refusal that is written out, which the server waits for.
func (m mechanism) Next([]byte) ([]byte, error) { return []byte{}, nil }

func (a *Account) signIn(c *imapclient.Client) error {
	var err error
	switch {
	case a.Token != "":
		err = c.Authenticate(mechanism{"XOAUTH2", "user=" + a.Username + "\x01auth=Bearer " + a.Token + "\x01\x01"})
	case c.Caps().Has(imap.AuthCap("PLAIN")):
		err = c.Authenticate(mechanism{"PLAIN", "\x00" + a.Username + "\x00" + a.Password})
	default:
		err = c.Login(a.Username, a.Password).Wait()
	}
	return answered(err, source.Refused)
}

// answered returns the fault that a server's refusal means, or another error as source.Of reads it.
func answered(err error, refusal source.Fault) error {
	if _, said := errors.AsType[*imap.Error](err); said {
		return refusal
	}
	if err != nil && source.Of(err) == source.Unreachable {
		return source.Broken // there was a connection
	}
	return err
}

// folder returns the headers of one folder, which it opens to read only.
func (a *Account) folder(c *imapclient.Client, name string, q Query) ([]Header, error) {
	if _, err := c.Select(name, &imap.SelectOptions{ReadOnly: true}).Wait(); err != nil {
		return nil, answered(err, source.NoFolder)
	}
	senders := a.From
	if len(senders) == 0 {
		senders = []string{""}
	}
	var newest []imap.UID
	for _, sender := range senders {
		found, err := c.UIDSearch(criteria(q, sender), nil).Wait()
		if err != nil {
			return nil, answered(err, source.Broken)
		}
		newest = append(newest, last(found, mostMessages)...)
	}
	slices.Sort(newest)
	newest = slices.Compact(newest)
	if len(newest) == 0 {
		return nil, nil
	}
	newest = newest[max(len(newest)-mostMessages, 0):]
	return a.fetch(c, name, q, newest)
}

// criteria returns what a server searches for.
func criteria(q Query, sender string) *imap.SearchCriteria {
	out := &imap.SearchCriteria{Since: q.Since}
	if !q.Seen {
		out.NotFlag = []imap.Flag{imap.FlagSeen}
	}
	for _, from := range []string{sender, q.From} {
		if from != "" {
			out.Header = append(out.Header, imap.SearchCriteriaHeaderField{Key: "From", Value: from})
		}
	}
	return out
}

// last returns the n greatest numbers of a result, in which a range may be as long as the server likes.
func last(found *imap.SearchData, n int) (out []imap.UID) {
	set, ok := found.All.(imap.UIDSet)
	if !ok {
		return nil
	}
	for _, r := range slices.Backward(set) {
		for uid := r.Stop; uid >= r.Start && uid > 0 && len(out) < n; uid-- {
			out = append(out, uid)
		}
	}
	return out
}

// fetch reads the headers of messages, without marking them as seen.
func (a *Account) fetch(c *imapclient.Client, folder string, q Query, which []imap.UID) (out []Header, err error) {
	want := []*imap.FetchItemBodySection{{Specifier: imap.PartSpecifierHeader, Peek: true,
		HeaderFields: []string{"From", "Subject", "Date"}, Partial: &imap.SectionPartial{Size: mostHeader}}}
	cmd := c.Fetch(imap.UIDSetNum(which...), &imap.FetchOptions{UID: true, InternalDate: true, BodySection: want})
	defer func() {
		if failed := cmd.Close(); err == nil {
			err = answered(failed, source.Broken)
		}
	}()
	for msg := cmd.Next(); msg != nil; msg = cmd.Next() {
		h := Header{Folder: folder}
		var text []byte
		for item := msg.Next(); item != nil; item = msg.Next() {
			switch item := item.(type) {
			case imapclient.FetchItemDataInternalDate:
				h.At = item.Time
			case imapclient.FetchItemDataBodySection:
				if item.Literal == nil {
					continue
				}
				if text, err = io.ReadAll(io.LimitReader(item.Literal, mostHeader)); err != nil {
					return nil, source.Broken
				}
			}
		}
		h.read(text)
		if len(out) < mostMessages && a.counts(h) && h.has(q.From) {
			out = append(out, h)
		}
	}
	return out, nil
}

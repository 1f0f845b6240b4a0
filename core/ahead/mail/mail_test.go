package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"github.com/everthread/everthread/core/ahead/source"
)

// certificate returns one for 127.0.0.1 and example.com, and those who trust it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s.TLS.Certificates[0], pool
}

// mailbox is a server of IMAP with a user ada, whose password is secret, and what clients said to it.
type mailbox struct {
	*imapmemserver.User
	said    *said
	account Account
}

// said is what clients said.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// dialTo returns a way to one place, whatever the address.
func dialTo(place string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, place)
	}
}

func serve(t *testing.T, port int) *mailbox {
	t.Helper()
	cert, roots := certificate(t)
	m := &mailbox{User: imapmemserver.NewUser("ada", "secret"), said: &said{}}
	if err := m.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	store := imapmemserver.New()
	store.AddUser(m.User)
	config := &tls.Config{Certificates: []tls.Certificate{cert}}
	server := imapserver.New(&imapserver.Options{NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
		return store.NewSession(), nil, nil
	}, TLSConfig: config, Logger: log.New(io.Discard, "", 0), DebugWriter: m.said})
	l := listen(t)
	m.account = Account{Host: "example.com", Port: port, Username: "ada", Password: "secret", Roots: roots, Dial: dialTo(l.Addr().String())}
	if port != imapPort {
		l = tls.NewListener(l, config)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return m
}

// put stores a message.
func (m *mailbox) put(t *testing.T, folder string, at time.Time, seen bool, header string) {
	t.Helper()
	text := strings.ReplaceAll(header, "\n", "\r\n") + "\r\n\r\nbody\r\n"
	options := &imap.AppendOptions{Time: at}
	if seen {
		options.Flags = []imap.Flag{imap.FlagSeen}
	}
	if _, err := m.Append(folder, literal{strings.NewReader(text)}, options); err != nil {
		t.Fatal(err)
	}
}

type literal struct{ *strings.Reader }

func (l literal) Size() int64 { return int64(l.Len()) }

var monday = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

func lines(list []Header) (out []string) {
	for _, h := range list {
		out = append(out, fmt.Sprintf("%s|%s|%s|%s|%s", h.At.UTC().Format("Mon 15:04"), h.Folder, h.Name, h.Address, h.Subject))
	}
	return out
}

func TestList(t *testing.T) {
	t.Parallel()
	for _, port := range []int{0, imapPort} {
		m := serve(t, port)
		if err := m.Create("Work", nil); err != nil {
			t.Fatal(err)
		}
		m.put(t, "INBOX", monday, false, "From: Grace Hopper <grace@example.org>\nSubject: Lunch?")
		m.put(t, "INBOX", monday.Add(time.Hour), true, "From: grace@example.org\nSubject: seen")
		m.put(t, "INBOX", monday.Add(2*time.Hour), false, "From: =?iso-8859-1?Q?J=FCrgen?= <j@mail.example.net>\nSubject: =?koi8-r?B?8NLJ18XU?= =?utf-8?Q?_=F0=9F=8E=89?=")
		m.put(t, "Work", monday.Add(3*time.Hour), false, "From: boss\nSubject: caf\xe9\n and\n\tmore\nSubject: twice")
		m.account.Folders = []string{"INBOX", "Work"}
		ask := func(q Query) []string {
			t.Helper()
			got, err := m.account.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return lines(got)
		}
		all := []string{"Mon 11:00|Work|boss||café and more", "Mon 10:00|INBOX|Jürgen|j@mail.example.net|Привет 🎉",
			"Mon 08:00|INBOX|Grace Hopper|grace@example.org|Lunch?"}
		if got := ask(Query{}); !slices.Equal(got, all) {
			t.Errorf("port %d: got %q", port, got)
		}
		if got := ask(Query{}); !slices.Equal(got, all) {
			t.Errorf("reading marked something as seen: %q", got)
		}
		if got := ask(Query{Limit: 1}); !slices.Equal(got, all[:1]) {
			t.Errorf("one: %q", got)
		}
		if got := ask(Query{Seen: true, Since: monday}); len(got) != 4 {
			t.Errorf("with those seen: %q", got)
		}
		if got := ask(Query{From: "hopper"}); !slices.Equal(got, all[2:]) {
			t.Errorf("from one: %q", got)
		}
		m.account.From = []string{"@example.net", "mail.example.net", "GRACE@example.org", "race@example.org"}
		if got := ask(Query{}); !slices.Equal(got, all[1:]) {
			t.Errorf("of named senders: %q", got)
		}
		if s := m.said.String(); !strings.Contains(s, "EXAMINE") || strings.Contains(s, " SELECT ") || strings.Contains(s, " STORE ") {
			t.Errorf("the folder was not opened to read only:\n%s", s)
		}
	}
}

func TestList_isBounded(t *testing.T) {
	t.Parallel()
	m := serve(t, 993)
	for n := range 60 {
		m.put(t, "INBOX", monday.Add(time.Duration(n)*time.Minute), false, fmt.Sprintf("From: a@example.org\nSubject: %d", n))
	}
	many := "From: a@example.org\nSubject: many\n"
	for n := range 5000 {
		many += fmt.Sprintf("X-%d: %s\n", n, strings.Repeat("x", 50))
	}
	m.put(t, "INBOX", monday.Add(2*time.Hour), false, strings.TrimSuffix(many, "\n"))
	m.put(t, "INBOX", monday.Add(3*time.Hour), false, "From: a@example.org\nSubject: "+strings.Repeat("a\n ", 100_000)+"z")
	got, err := m.account.List(t.Context(), Query{Limit: 1000})
	if err != nil || len(got) != 50 {
		t.Fatalf("%d, %v", len(got), err)
	}
	if got[1].Subject != "many" || len([]rune(got[0].Subject)) > 201 || got[2].Subject != "59" || got[49].Subject != "12" {
		t.Errorf("got %q", lines(got))
	}
}

func TestHeader_isOneLine(t *testing.T) {
	t.Parallel()
	var h Header
	h.read([]byte("Subject: =?utf-8?B?YQ0KQmNjOiBldmls?= \x1b[2J\u202eb\r\nFrom: \"x\\\r\n y\" <a@b.c>\r\n\r\nFrom: body@example.org"))
	if h.Subject != "a Bcc: evil [2J b" || h.Address != "a@b.c" || strings.ContainsAny(h.Name, "\r\n") {
		t.Errorf("%q", h)
	}
	h = Header{}
	h.read([]byte("Subject: =?x-unknown?Q?a?=\nFrom: =?gb2312?B?xOO6ww==?= <a@b.c>, d@e.f\nDate: Mon, 23 Nov 2026 09:00:00 +0100"))
	if h.Subject != "=?x-unknown?Q?a?=" || h.Name != "你好" || !h.At.Equal(monday) {
		t.Errorf("%q", h)
	}
}

// TestList_saysWhatIsWrong plays servers that do not do what they should.
func TestList_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	cert, roots := certificate(t)
	// play answers each connection, over TLS if secure.
	play := func(secure bool, answer func(net.Conn)) string {
		l := listen(t)
		if secure {
			l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}})
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { defer c.Close(); answer(c) }()
			}
		}()
		return l.Addr().String()
	}
	hang := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	after := func(greeting string) func(net.Conn) {
		return func(c net.Conn) { _, _ = io.WriteString(c, greeting); hang(c) }
	}
	flood := func(c net.Conn) {
		_, _ = io.WriteString(c, "* OK [CAPABILITY IMAP4rev1] hello\r\n")
		for {
			if _, err := io.WriteString(c, "* SEARCH"+strings.Repeat(" 1", 1000)+"\r\n"); err != nil {
				return
			}
		}
	}
	wrong := serve(t, 993)
	wrong.account.Password = "guess"
	folder := serve(t, 993)
	folder.account.Folders = []string{"Nowhere"}
	stranger := serve(t, 993)
	stranger.account.Roots = x509.NewCertPool()
	other := serve(t, 993)
	other.account.Host = "mail.example.org"
	token := serve(t, 993)
	token.account.Token = "expired"
	closed := listen(t)
	_ = closed.Close()
	at := func(place string, port int) Account {
		return Account{Host: "example.com", Port: port, Username: "ada", Password: "secret", Roots: roots, Dial: dialTo(place)}
	}
	for name, tt := range map[string]struct {
		account Account
		want    source.Fault
	}{
		"wrong password":             {wrong.account, source.Refused},
		"token that is not taken":    {token.account, source.Refused},
		"no such folder":             {folder.account, source.NoFolder},
		"unknown certificate":        {stranger.account, source.Untrusted},
		"certificate of another":     {other.account, source.Untrusted},
		"nobody listens":             {at(closed.Addr().String(), 993), source.Unreachable},
		"hangs before TLS":           {at(play(false, hang), 993), source.Slow},
		"hangs before the greeting":  {at(play(true, hang), 993), source.Slow},
		"hangs after the greeting":   {at(play(true, after("* OK [CAPABILITY IMAP4rev1] hello\r\n")), 993), source.Slow},
		"speaks no TLS":              {at(play(false, after("HTTP/1.1 400 Bad Request\r\n\r\n")), 993), source.Broken},
		"speaks something else":      {at(play(true, after("HTTP/1.1 400 Bad Request\r\n\r\n")), 993), source.Broken},
		"garbage":                    {at(play(true, after("\x00\x01\xff)(\r\n")), 993), source.Broken},
		"a promise of 100 GB":        {at(play(true, after("* OK {99999999999}\r\n")), 993), source.Slow},
		"a flood":                    {at(play(true, flood), 993), source.Broken},
		"no encryption":              {at(play(false, after("* OK [CAPABILITY IMAP4rev1] hello\r\nT1 NO what\r\n")), imapPort), source.Broken},
		"hangs before STARTTLS ends": {at(play(false, after("* OK hello\r\n")), imapPort), source.Slow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			begun := time.Now()
			_, err := tt.account.List(ctx, Query{})
			if name == "a flood" && errors.Is(err, source.Slow) {
				return // reading as much as is read takes its time on a slow machine
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if tt.want != source.Slow && time.Since(begun) > 2500*time.Millisecond {
				t.Errorf("it took %v", time.Since(begun))
			}
		})
	}
}

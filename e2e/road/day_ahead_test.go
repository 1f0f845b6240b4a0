//go:build e2e

package road

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"github.com/everthread/everthread/e2e/e2etest"
)

// calendars serves calendars at secret addresses: one is good, one hangs, one answers with a web page, one with
// 50 MB, and one leads in circles.
func calendars(t *testing.T) *httptest.Server {
	t.Helper()
	stop := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/s3cr3t/good.ics", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Dentist *now*\r\nLOCATION:Main St.\r\n"+
			"DTSTART;TZID=Europe/Berlin:20261006T110000\r\nDURATION:PT30M\r\nRRULE:FREQ=DAILY\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
	})
	mux.HandleFunc("/s3cr3t/hangs.ics", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	mux.HandleFunc("/s3cr3t/lies.ics", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<!doctype html><p>Sign in") })
	mux.HandleFunc("/s3cr3t/large.ics", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "BEGIN:VCALENDAR\r\n")
		line := strings.Repeat("X-PADDING:"+strings.Repeat("x", 1000)+"\r\n", 100)
		for range 500 {
			_, _ = io.WriteString(w, line)
		}
	})
	mux.HandleFunc("/s3cr3t/circle.ics", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
	s := httptest.NewServer(mux)
	t.Cleanup(func() { close(stop); s.Close() })
	return s
}

// mailbox serves a mailbox of ada, with an unread message, and returns its address and the certificate to trust.
func mailbox(t *testing.T) (port int, trusted string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	trusted = filepath.Join(t.TempDir(), "certificate.pem")
	e2etest.Must(t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	user := imapmemserver.NewUser("ada", "s3cr3t")
	e2etest.Must(t, user.Create("INBOX", nil))
	text := "From: Grace <grace@example.org>\r\nSubject: =?utf-8?Q?Caf=C3=A9=3F?=\r\n\r\nbody"
	_, err := user.Append("INBOX", sized{strings.NewReader(text)}, &imap.AppendOptions{})
	e2etest.Must(t, err)
	store := imapmemserver.New()
	store.AddUser(user)
	server := imapserver.New(&imapserver.Options{Logger: log.New(io.Discard, "", 0),
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return store.NewSession(), nil, nil
		}})
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates})
	e2etest.Must(t, err)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().(*net.TCPAddr).Port, trusted
}

type sized struct{ *strings.Reader }

func (s sized) Size() int64 { return int64(s.Len()) }

// A morning with sources of which one hangs, one lies, one is 50 MB and one leads in circles: the post is on time, with
// all the others; and after a day without a word there is the day alone.
func TestItsMorningKnowsTheDay(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		w.UseModel(e2etest.StartModel(t, 0))
		s := calendars(t)
		port, trusted := mailbox(t)
		var list []string
		for _, name := range []string{"good", "hangs", "lies", "large", "circle"} {
			list = append(list, fmt.Sprintf("{name: %s, url: %q, user: 2}", name, s.URL+"/s3cr3t/"+name+".ics"))
		}
		g := w.Start("EVERTHREAD_DAY_AHEAD_CALENDARS=["+strings.Join(list, ", ")+"]", "SSL_CERT_FILE="+trusted,
			fmt.Sprintf("EVERTHREAD_DAY_AHEAD_MAIL=[{name: Post, host: 127.0.0.1, port: %d, username: ada, password: s3cr3t, user: 2}]", port))
		for _, text := range []string{"the boat is blue", "the harbour is far", "tea at five"} {
			w.Ask(text)
		}
		w.RemindIn("tomorrow at 15:00", "call Karim")
		w.Set(time.Date(2026, 10, 25, 3, 5, 0, 0, w.Zone))
		w.Until("2026-10-24", func(d e2etest.DayJSON) bool { return d.State == "final" })
		w.Set(time.Date(2026, 10, 25, 8, 0, 1, 0, w.Zone))
		post := w.Receive()
		if late := w.Now().Sub(time.Date(2026, 10, 25, 8, 0, 0, 0, w.Zone)); late > 80*time.Second {
			t.Errorf("the post is %v late", late)
		}
		day := []string{"Today", "10:00–10:30 “Dentist *now*”, “Main St.” · good", "15:00 ⏰ call Karim",
			"hangs could not be read: it didn't answer in time", "lies could not be read: what it answered is no calendar",
			"large could not be read: it is too large", "circle could not be read: there is nothing at its address",
			"Unread mail from “Grace”: “Café?”"}
		has := func(what, text string, parts ...string) {
			t.Helper()
			for _, part := range parts {
				at := strings.Index(text, part)
				if at < 0 {
					t.Fatalf("%s has no %q in this place:\n%s\n%s", what, part, text, g.Log)
				}
				text = text[at+len(part):]
			}
		}
		if !strings.HasPrefix(post.Text, "Summary: ") || !post.Quiet {
			t.Errorf("the post: %+v", post)
		}
		has("the post", post.Text, day...)
		has("/today", w.Ask("/today").Text, day...)
		prompt := w.Prompt("what did you send me?")
		has("the prompt", prompt, "sent by you", "and the day ahead", "Dentist", "call Karim")
		has("the prompt", prompt, `"foreign":true`)
		has("the calendar", w.Ask(`call calendar_list {"from":"2026-10-26","to":"2026-10-27"}`).Text, "2026-10-26T10:00:00Z", "2026-10-27T10:00:00Z")
		has("the mail", w.Ask(`call mail_list {"from":"grace"}`).Text, "Café?")

		w.Set(time.Date(2026, 10, 27, 8, 0, 1, 0, w.Zone)) // nothing was said on the 26th
		alone := w.Receive()
		for strings.HasPrefix(alone.Text, "Summary: ") || strings.HasPrefix(alone.Text, "⏰") {
			alone = w.Receive()
		}
		if !strings.HasPrefix(alone.Text, "Today\n") || !alone.Quiet {
			t.Errorf("after a silent day: %+v", alone)
		}
		has("the day alone", alone.Text, "10:00–10:30 “Dentist *now*”", "hangs could not be read")
		has("the prompt", w.Prompt("and today?"), "sent by you", `"what":"the day ahead"`, "Dentist")
		if strings.Contains(g.Log.String(), "s3cr3t") {
			t.Errorf("the log has a secret address or password:\n%s", g.Log)
		}
	})
}

// The doctor reads each source and says what to do; nothing shows a secret address.
func TestDoctorReadsTheSourcesOfTheDay(t *testing.T) {
	t.Parallel()
	w := e2etest.NewTown(t, "")
	s := calendars(t)
	env := fmt.Sprintf("EVERTHREAD_DAY_AHEAD_CALENDARS=[{name: Work, url: %q}, {name: Page, url: %q}]", s.URL+"/s3cr3t/good.ics",
		s.URL+"/s3cr3t/lies.ics")
	said := w.Doctor(env)
	good, bad := strings.Join(said["calendar Work"], "\n"), strings.Join(said["calendar Page"], "\n")
	seven := regexp.MustCompile(`[78] appointments in the next seven days`) // 8 while one of them is on
	if !seven.MatchString(good) || !strings.Contains(bad, "PROBLEM") ||
		!strings.Contains(bad, "is no calendar; check day_ahead.calendars") || strings.Contains(good+bad, "s3cr3t") {
		t.Errorf("%q and %q of %q", good, bad, said)
	}
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
)

// street is a town with a person at the door of each channel: strangers to each
// other.
type street struct {
	*town
	wa    *whatsapptest.Server
	home  *homeserver
	bot   *account
	bob   whatsapptest.Person
	carol *account
	room  string
	agent *agenttest.Server
	doors []door
}

// door is one channel: how a person writes there, and what they got, in order.
type door struct {
	channel, external string
	say               func(text string)
	photo             func(data []byte, mime, caption string)
	voice             func(data []byte)
	got               func() []item
}

// item is a text or a file that somebody got. The text of a file is its caption.
type item struct {
	Text, Name, MIME string
	Data             []byte
}

// spoken is how long voice notes are.
const spoken = 7 * time.Second

func newStreet(t *testing.T, database string) *street {
	t.Helper()
	h := newHomeserver(t, true)
	s := &street{town: newTown(t, database), home: h, bob: whatsapptest.Person{Phone: "16505551234", UserID: "US.13491208655302741918", Name: "Bob"}}
	s.wa = s.onWhatsApp()
	s.bot = s.onMatrix(h, "signal="+bridgeBot)
	s.bot.link()
	s.carol = h.register("carol")
	s.agent = s.onAgents()
	s.agent.Add(daveKey, dave)
	s.addKey(s.addUser("Dave"), daveKey)
	s.doors = []door{s.telegramDoor(), s.whatsappDoor(), s.matrixDoor(), s.signalDoor(), agentDoor(s.agent, daveKey, dave)}
	return s
}

// open starts the gateway and lets people find it.
func (s *street) open(env ...string) *gateway {
	s.t.Helper()
	g := s.start(env...)
	s.wa.Webhook(g.URL + "/webhooks/whatsapp")
	if s.room == "" {
		s.room = s.carol.chat(s.bot.id)
	}
	return g
}

// hears waits until somebody got n things at a door, and returns them.
func (s *street) hears(d door, n int, g *gateway) []item {
	s.t.Helper()
	var got []item
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if got = d.got(); len(got) >= n {
			return got
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s has %d things, want %d: %+v\n%s", d.channel, len(got), n, got, g.log)
		}
	}
}

func (s *street) telegramDoor() door {
	write := func(kind string, data []byte, fields map[string]any) {
		id := fmt.Sprint(kind, s.telegram.LastUpdate())
		s.telegram.AddFile(id, "files/"+id, data)
		fields[kind] = map[string]any{"file_id": id, "file_unique_id": id, "duration": int(spoken.Seconds()), "mime_type": "audio/ogg"}
		if kind == "photo" {
			fields[kind] = photo(id)
		}
		s.telegram.Write(ada, fields)
	}
	return door{channel: "telegram", external: fmt.Sprint(ada),
		say:   func(text string) { s.telegram.Say(ada, text) },
		photo: func(data []byte, _, caption string) { write("photo", data, map[string]any{"caption": caption}) },
		voice: func(data []byte) { write("voice", data, map[string]any{}) },
		got: func() (out []item) {
			for _, m := range s.telegram.Sent(ada) {
				i := item{Text: m.Text}
				if m.File != nil {
					i.Name, i.MIME, i.Data = m.File.Name, m.File.MIME, m.File.Data
				}
				out = append(out, i)
			}
			return out
		}}
}

func (s *street) whatsappDoor() door {
	return door{channel: "whatsapp", external: s.bob.UserID,
		say: func(text string) { s.wa.Say(s.bob, text) },
		photo: func(data []byte, mime, caption string) {
			f := s.wa.AddFile(data, mime)
			f["caption"] = caption
			s.wa.Write(s.bob, map[string]any{"type": "image", "image": f})
		},
		voice: func(data []byte) {
			f := s.wa.AddFile(data, "audio/ogg; codecs=opus")
			f["voice"] = true
			s.wa.Write(s.bob, map[string]any{"type": "audio", "audio": f})
		},
		got: func() (out []item) {
			for _, m := range s.wa.Sent() {
				i := item{Text: m.Text, Name: m.Filename}
				if m.Media != "" {
					i.Data, i.MIME = s.wa.Uploaded(m.Media)
				}
				out = append(out, i)
			}
			return out
		}}
}

func (s *street) matrixDoor() door {
	write := func(content map[string]any, data []byte, mime string) {
		content["url"] = s.carol.upload(data, mime)
		s.carol.send(s.room, "m.room.message", content)
	}
	return door{channel: "matrix", external: "@carol:" + serverName,
		say: func(text string) { s.carol.say(s.room, text) },
		photo: func(data []byte, mime, caption string) {
			write(map[string]any{"msgtype": "m.image", "body": caption, "filename": "IMG_1.jpg", "info": map[string]any{"mimetype": mime, "size": len(data)}}, data, mime)
		},
		voice: func(data []byte) {
			write(map[string]any{"msgtype": "m.audio", "body": "Voice message.ogg", "org.matrix.msc3245.voice": map[string]any{},
				"info": map[string]any{"mimetype": "audio/ogg", "size": len(data), "duration": spoken.Milliseconds()}}, data, "audio/ogg")
		},
		got: func() (out []item) {
			for _, e := range s.carol.timeline(s.room) {
				if e.Sender != s.bot.id || e.Type != "m.room.message" || e.Content["m.new_content"] != nil {
					continue
				}
				out = append(out, s.carol.item(e))
			}
			return out
		}}
}

// item is an event as somebody sees it.
func (a *account) item(e timelineEvent) item {
	address, _ := e.Content["url"].(string)
	if address == "" {
		return item{Text: e.body()}
	}
	i := item{Name: e.body()}
	if name, ok := e.Content["filename"].(string); ok && name != i.Name {
		i.Name, i.Text = name, i.Name
	}
	info, _ := e.Content["info"].(map[string]any)
	i.MIME, _ = info["mimetype"].(string)
	_, i.Data = a.h.ask(http.MethodGet, "/_matrix/client/v1/media/download/"+strings.TrimPrefix(address, "mxc://"), a.token, nil)
	return i
}

// upload gives a file to the homeserver and returns its mxc address.
func (a *account) upload(data []byte, mime string) string {
	a.h.t.Helper()
	req, err := http.NewRequest(http.MethodPost, a.h.url+"/_matrix/media/v3/upload?filename="+url.QueryEscape("a file"), strings.NewReader(string(data)))
	must(a.h.t, err)
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", mime)
	resp, err := http.DefaultClient.Do(req)
	must(a.h.t, err)
	defer resp.Body.Close()
	var out struct {
		URI string `json:"content_uri"`
	}
	must(a.h.t, json.NewDecoder(resp.Body).Decode(&out))
	return out.URI
}

func (s *street) signalDoor() door {
	n := 0
	act := func(more map[string]any) {
		n++
		more["chat"], more["name"], more["id"] = alice, "Alice", fmt.Sprint("in-", n)
		s.home.act("say", more)
	}
	return door{channel: "signal", external: alice,
		say: func(text string) { act(map[string]any{"text": text}) },
		photo: func(data []byte, mime, caption string) {
			act(map[string]any{"text": caption, "file": data, "mime": mime})
		},
		voice: func(data []byte) {
			act(map[string]any{"file": data, "mime": "audio/ogg", "seconds": int(spoken.Seconds())})
		},
		got: func() (out []item) {
			for _, one := range s.home.signals(alice, "", 0) {
				if one.Kind == "text" || one.Kind == "file" {
					out = append(out, item{Text: one.Text, Name: one.Name, MIME: one.MIME, Data: one.Data})
				}
			}
			return out
		}}
}

// Dave has a personal agent.
const (
	daveKey = "key-of-daves-agent-0123456789abcdef"
	dave    = "user:4444"
)

// agentDoor is the chat of a person with their personal agent.
func agentDoor(s *agenttest.Server, key, person string) door {
	write := func(kind, mime string, data []byte, more map[string]any) {
		f := s.AddFile(data, mime)
		maps.Copy(f, more)
		s.Write(key, time.Now(), map[string]any{"type": kind, kind: f})
	}
	return door{channel: "whatsapp_agent", external: person,
		say: func(text string) { s.Say(key, text) },
		photo: func(data []byte, mime, caption string) {
			write("image", mime, data, map[string]any{"caption": caption})
		},
		voice: func(data []byte) { write("audio", "audio/ogg; codecs=opus", data, map[string]any{"voice": true}) },
		got: func() (out []item) {
			for _, m := range s.Sent(key) {
				i := item{Text: m.Text, Name: m.Filename}
				if m.Media != "" {
					i.Data, i.MIME = s.Uploaded(m.Media)
				}
				out = append(out, i)
			}
			return out
		}}
}

// onAgents has a town's gateway serve personal agents.
func (w *town) onAgents() *agenttest.Server {
	w.t.Helper()
	s := agenttest.New()
	w.t.Cleanup(func() {
		s.Close()
		for _, err := range s.Errors() {
			w.t.Errorf("a request that the Agent Platform does not take: %v", err)
		}
	})
	w.env = append(w.env, "EVERTHREAD_CHANNELS_WHATSAPP_AGENT_API_URL="+s.URL())
	return s
}

// addUser adds somebody and returns their id, even before the first start.
func (w *town) addUser(name string) string {
	w.t.Helper()
	w.mustRun("migrate", "up")
	var u struct{ ID int64 }
	must(w.t, json.Unmarshal([]byte(w.mustRun("users", "add", name, "--json")), &u))
	return fmt.Sprint(u.ID)
}

// addKey gives a user a personal agent, whose id it returns.
func (w *town) addKey(user, key string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "key")
	must(w.t, os.WriteFile(path, []byte(key+"\n"), 0o600))
	var a struct{ ID int64 }
	out := w.mustRun("users", "agent", "add", user, "--key-file", path, "--json")
	must(w.t, json.Unmarshal([]byte(out), &a))
	if strings.Contains(out, key) {
		w.t.Errorf("it shows the key: %s", out)
	}
	return fmt.Sprint(a.ID)
}

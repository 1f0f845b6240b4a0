//go:build e2e

package e2etest

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

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/adapters/whatsapp/agent/agenttest"
	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
)

// street is a town with one person per channel, strangers to each other.
type street struct {
	*Town
	Wa    *whatsapptest.Server
	cli   *signaltest.Server
	home  *Homeserver
	bot   *Account
	Bob   whatsapptest.Person
	carol *Account
	room  string
	agent *agenttest.Server
	Doors []door
}

// door is one channel: how a person writes there, and what they received, in order.
type door struct {
	Channel, External string
	Say               func(text string)
	Photo             func(data []byte, mime, caption string)
	Document          func(data []byte, mime, name, caption string)
	Voice             func(data []byte)
	Got               func() []item
}

// item is a received text or file. The text of a file is its caption.
type item struct {
	Text, Name, MIME string
	Data             []byte
	Voice            bool // it is shown as a voice note
}

// spoken is the duration of voice notes.
const spoken = 7 * time.Second

func NewStreet(t *testing.T, database string) *street {
	t.Helper()
	h := NewBridged(t, Bridged)
	s := &street{Town: NewTown(t, database), home: h, Bob: whatsapptest.Person{Phone: "16505551234",
		UserID: "US.13491208655302741918", Name: "Bob"}}
	s.Wa = s.OnWhatsApp()
	s.cli = s.OnSignal()
	s.bot = s.OnMatrix(h, Bridged+"="+BridgeBot)
	s.bot.Link()
	s.carol = h.Register("carol")
	s.agent = s.OnAgents()
	s.agent.Add(DaveKey, Dave)
	s.AddKey(s.AddUser("Dave"), DaveKey)
	s.Doors = []door{s.telegramDoor(), s.whatsappDoor(), s.matrixDoor(), s.bridgedDoor(), s.signalDoor(),
		agentDoor(s.agent, DaveKey, Dave)}
	return s
}

// Open starts the gateway and lets people find it.
func (s *street) Open(env ...string) *Gateway {
	s.T.Helper()
	g := s.Start(env...)
	s.Wa.Webhook(g.URL + "/webhooks/whatsapp")
	if s.room == "" {
		s.room = s.carol.Chat(s.bot.ID)
	}
	return g
}

// Hears waits until n items have arrived at a door, and returns them.
func (s *street) Hears(d door, n int, g *Gateway) []item {
	s.T.Helper()
	var got []item
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if got = d.Got(); len(got) >= n {
			return got
		}
		if time.Now().After(deadline) {
			s.T.Fatalf("%s has %d things, want %d: %+v\n%s", d.Channel, len(got), n, got, g.Log)
		}
	}
}

func (s *street) telegramDoor() door {
	write := func(kind string, data []byte, fields map[string]any) {
		id := fmt.Sprint(kind, s.Telegram.LastUpdate())
		s.Telegram.AddFile(id, "files/"+id, data)
		fields[kind] = map[string]any{"file_id": id, "file_unique_id": id, "duration": int(spoken.Seconds()),
			"mime_type": "audio/ogg"}
		if kind == "photo" {
			fields[kind] = Photo(id)
		}
		s.Telegram.Write(Ada, fields)
	}
	return door{Channel: "telegram", External: fmt.Sprint(Ada),
		Say:   func(text string) { s.Telegram.Say(Ada, text) },
		Photo: func(data []byte, _, caption string) { write("photo", data, map[string]any{"caption": caption}) },
		Document: func(data []byte, mime, name, caption string) {
			id := fmt.Sprint("document", s.Telegram.LastUpdate())
			s.Telegram.AddFile(id, "files/"+id, data)
			s.Telegram.Write(Ada, map[string]any{"caption": caption, "document": map[string]any{"file_id": id,
				"file_unique_id": id, "file_name": name, "mime_type": mime}})
		},
		Voice: func(data []byte) { write("voice", data, map[string]any{}) },
		Got: func() (out []item) {
			for _, m := range s.Telegram.Sent(Ada) {
				i := item{Text: m.Text}
				if m.File != nil {
					i.Name, i.MIME, i.Data, i.Voice = m.File.Name, m.File.MIME, m.File.Data, m.File.Kind == "voice"
				}
				out = append(out, i)
			}
			return out
		}}
}

func (s *street) whatsappDoor() door {
	return door{Channel: "whatsapp", External: s.Bob.UserID,
		Say: func(text string) { s.Wa.Say(s.Bob, text) },
		Photo: func(data []byte, mime, caption string) {
			f := s.Wa.AddFile(data, mime)
			f["caption"] = caption
			s.Wa.Write(s.Bob, map[string]any{"type": "image", "image": f})
		},
		Document: func(data []byte, mime, name, caption string) {
			f := s.Wa.AddFile(data, mime)
			f["caption"], f["filename"] = caption, name
			s.Wa.Write(s.Bob, map[string]any{"type": "document", "document": f})
		},
		Voice: func(data []byte) {
			f := s.Wa.AddFile(data, "audio/ogg; codecs=opus")
			f["voice"] = true
			s.Wa.Write(s.Bob, map[string]any{"type": "audio", "audio": f})
		},
		Got: func() (out []item) {
			for _, m := range s.Wa.Sent() {
				i := item{Text: m.Text, Name: m.Filename, Voice: m.Voice}
				if m.Media != "" {
					i.Data, i.MIME = s.Wa.Uploaded(m.Media)
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
	return door{Channel: "matrix", External: "@carol:" + serverName,
		Say: func(text string) { s.carol.Say(s.room, text) },
		Photo: func(data []byte, mime, caption string) {
			write(map[string]any{"msgtype": "m.image", "body": caption, "filename": "IMG_1.jpg",
				"info": map[string]any{"mimetype": mime, "size": len(data)}}, data, mime)
		},
		Document: func(data []byte, mime, name, caption string) {
			write(map[string]any{"msgtype": "m.file", "body": caption, "filename": name,
				"info": map[string]any{"mimetype": mime, "size": len(data)}}, data, mime)
		},
		Voice: func(data []byte) {
			write(map[string]any{"msgtype": "m.audio", "body": "Voice message.ogg", "org.matrix.msc3245.voice": map[string]any{},
				"info": map[string]any{"mimetype": "audio/ogg", "size": len(data), "duration": spoken.Milliseconds()}}, data,
				"audio/ogg")
		},
		Got: func() (out []item) {
			for _, e := range s.carol.timeline(s.room) {
				if e.Sender != s.bot.ID || e.Type != "m.room.message" || e.Content["m.new_content"] != nil {
					continue
				}
				out = append(out, s.carol.item(e))
			}
			return out
		}}
}

// item returns a person's view of an event.
func (a *Account) item(e timelineEvent) item {
	address, _ := e.Content["url"].(string)
	if address == "" {
		return item{Text: e.Body()}
	}
	i := item{Name: e.Body(), Voice: e.Content["org.matrix.msc3245.voice"] != nil}
	if name, ok := e.Content["filename"].(string); ok && name != i.Name {
		i.Name, i.Text = name, i.Name
	}
	info, _ := e.Content["info"].(map[string]any)
	i.MIME, _ = info["mimetype"].(string)
	_, i.Data = a.h.ask(http.MethodGet, "/_matrix/client/v1/media/download/"+strings.TrimPrefix(address, "mxc://"),
		a.Token, nil)
	return i
}

// upload uploads a file to the homeserver and returns its mxc address.
func (a *Account) upload(data []byte, mime string) string {
	a.h.t.Helper()
	req, err := http.NewRequest(http.MethodPost, a.h.URL+"/_matrix/media/v3/upload?filename="+url.QueryEscape("a file"),
		strings.NewReader(string(data)))
	Must(a.h.t, err)
	req.Header.Set("Authorization", "Bearer "+a.Token)
	req.Header.Set("Content-Type", mime)
	resp, err := http.DefaultClient.Do(req)
	Must(a.h.t, err)
	defer resp.Body.Close()
	var out struct {
		URI string `json:"content_uri"`
	}
	Must(a.h.t, json.NewDecoder(resp.Body).Decode(&out))
	return out.URI
}

// Bridged is the network that a street's people are on through the bridge.
const Bridged = "slack"

func (s *street) bridgedDoor() door {
	n := 0
	act := func(more map[string]any) {
		n++
		more["chat"], more["name"], more["id"] = Alice, "Alice", fmt.Sprint("in-", n)
		s.home.Act("say", more)
	}
	return door{Channel: Bridged, External: Alice,
		Say: func(text string) { act(map[string]any{"text": text}) },
		Photo: func(data []byte, mime, caption string) {
			act(map[string]any{"text": caption, "file": data, "mime": mime})
		},
		Document: func(data []byte, mime, name, caption string) {
			act(map[string]any{"text": caption, "file": data, "mime": mime, "filename": name})
		},
		Voice: func(data []byte) {
			act(map[string]any{"file": data, "mime": "audio/ogg", "seconds": int(spoken.Seconds())})
		},
		Got: func() (out []item) {
			for _, one := range s.home.Signals(Alice, "", 0) {
				if one.Kind == "text" || one.Kind == "file" {
					out = append(out, item{Text: one.Text, Name: one.Name, MIME: one.MIME, Data: one.Data})
				}
			}
			return out
		}}
}

func (s *street) signalDoor() door {
	write := func(data []byte, mime, name, caption string) {
		s.cli.Write(Grace, map[string]any{"message": caption, "attachments": []any{s.cli.Attach(data, mime, name)}})
	}
	return door{Channel: "signal", External: Grace,
		Say:      func(text string) { s.cli.Say(Grace, text) },
		Photo:    func(data []byte, mime, caption string) { write(data, mime, "", caption) },
		Document: write,
		Voice:    func(data []byte) { write(data, "audio/ogg", "", "") },
		Got: func() (out []item) {
			for _, m := range s.cli.Sent(Grace) {
				i := item{Text: m.Text, Voice: m.Voice}
				i.Name, i.MIME, i.Data = m.File()
				out = append(out, i)
			}
			return out
		}}
}

// Dave has a personal agent.
const (
	DaveKey = "key-of-daves-agent-0123456789abcdef"
	Dave    = "user:4444"
)

// agentDoor is the chat of a person with their personal agent.
func agentDoor(s *agenttest.Server, key, person string) door {
	write := func(kind, mime string, data []byte, more map[string]any) {
		f := s.AddFile(data, mime)
		maps.Copy(f, more)
		s.Write(key, time.Now(), map[string]any{"type": kind, kind: f})
	}
	return door{Channel: "whatsapp_agent", External: person,
		Say: func(text string) { s.Say(key, text) },
		Photo: func(data []byte, mime, caption string) {
			write("image", mime, data, map[string]any{"caption": caption})
		},
		Document: func(data []byte, mime, name, caption string) {
			write("document", mime, data, map[string]any{"caption": caption, "filename": name})
		},
		Voice: func(data []byte) { write("audio", "audio/ogg; codecs=opus", data, map[string]any{"voice": true}) },
		Got: func() (out []item) {
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

// OnAgents configures a town's gateway for personal agents.
func (w *Town) OnAgents() *agenttest.Server {
	w.T.Helper()
	s := agenttest.New()
	w.T.Cleanup(func() {
		s.Close()
		for _, err := range s.Errors() {
			w.T.Errorf("a request that the Agent Platform does not take: %v", err)
		}
	})
	w.Env = append(w.Env, "EVERTHREAD_CHANNELS_WHATSAPP_AGENT_API_URL="+s.URL())
	return s
}

// AddUser adds a user and returns their id, even before the first start.
func (w *Town) AddUser(name string) string {
	w.T.Helper()
	w.MustRun("migrate", "up")
	var u struct{ ID int64 }
	Must(w.T, json.Unmarshal([]byte(w.MustRun("users", "add", name, "--json")), &u))
	return fmt.Sprint(u.ID)
}

// AddKey adds a personal agent for a user, and returns its id.
func (w *Town) AddKey(user, key string) string {
	w.T.Helper()
	path := filepath.Join(w.T.TempDir(), "key")
	Must(w.T, os.WriteFile(path, []byte(key+"\n"), 0o600))
	var a struct{ ID int64 }
	out := w.MustRun("users", "agent", "add", user, "--key-file", path, "--json")
	Must(w.T, json.Unmarshal([]byte(out), &a))
	if strings.Contains(out, key) {
		w.T.Errorf("it shows the key: %s", out)
	}
	return fmt.Sprint(a.ID)
}

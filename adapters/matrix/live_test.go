//go:build goolm

package matrix

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/internal/fulltest"
)

// person is an account on a real homeserver.
type person struct {
	t              *testing.T
	address        string
	id, token, dev string
	txn            int
}

// homeserver starts a Dendrite of EVERTHREAD_TEST_MATRIX, which scripts/matrix.sh
// builds, and returns its address.
func homeserver(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("EVERTHREAD_TEST_MATRIX")
	if bin == "" {
		t.Skip("EVERTHREAD_TEST_MATRIX is not set; scripts/matrix.sh prints it")
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	listen := l.Addr().String()
	must(t, l.Close())
	config, err := exec.Command(filepath.Join(bin, "generate-config"), "--server", "hs.test", "--ci",
		"--dir", dir).Output()
	must(t, err)
	key := filepath.Join(dir, "matrix_key.pem")
	must(t, exec.Command(filepath.Join(bin, "generate-keys"), "--private-key", key).Run())
	config = bytes.Replace(config, []byte("private_key: matrix_key.pem"), []byte("private_key: "+key), 1)
	path := filepath.Join(dir, "dendrite.yaml")
	must(t, os.WriteFile(path, config, 0o600))
	cmd := exec.Command(filepath.Join(bin, "dendrite"), "--config", path, "--http-bind-address", listen,
		"--really-enable-open-registration")
	cmd.Dir = dir
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := "http://" + listen
	eventually(t, "the homeserver", func() bool {
		resp, err := http.Get(address + "/_matrix/client/versions")
		if err == nil {
			_ = resp.Body.Close()
		}
		http.DefaultClient.CloseIdleConnections()
		return err == nil && resp.StatusCode == http.StatusOK
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return address
}

func register(t *testing.T, address, name string) *person {
	t.Helper()
	p := &person{t: t, address: address}
	var out struct {
		ID     string `json:"user_id"`
		Token  string `json:"access_token"`
		Device string `json:"device_id"`
	}
	p.call("POST", "v3/register", map[string]any{"username": name, "password": "password of " + name,
		"auth": map[string]string{"type": "m.login.dummy"}}, &out)
	p.id, p.token, p.dev = out.ID, out.Token, out.Device
	return p
}

// call makes a request, and repeats it if the server does not show the result yet.
func (p *person) call(method, path string, body, result any) {
	p.t.Helper()
	status, answer := p.try(method, path, body)
	for n := 0; n < 50 && method == "GET" && status == http.StatusNotFound; n++ {
		time.Sleep(100 * time.Millisecond) // an external server without events to wait for
		status, answer = p.try(method, path, body)
	}
	same(p.t, status, http.StatusOK, string(answer))
	if result != nil {
		must(p.t, json.Unmarshal(answer, result))
	}
}

func (p *person) try(method, path string, body any) (status int, answer []byte) {
	p.t.Helper()
	raw, err := json.Marshal(body)
	must(p.t, err)
	req, err := http.NewRequest(method, p.address+"/_matrix/client/"+path, bytes.NewReader(raw))
	must(p.t, err)
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	must(p.t, err)
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	must(p.t, err)
	return resp.StatusCode, answer
}

func (p *person) chat(with string, encrypted bool) string {
	body := map[string]any{"is_direct": true, "invite": []string{with}, "preset": "trusted_private_chat"}
	if encrypted {
		body["initial_state"] = []any{map[string]any{"type": typeEncryption,
			"content": map[string]string{"algorithm": "m.megolm.v1.aes-sha2"}}}
	}
	var out struct {
		ID string `json:"room_id"`
	}
	p.call("POST", "v3/createRoom", body, &out)
	return out.ID
}

func (p *person) send(room, kind string, content any) string {
	p.txn++
	var out struct {
		ID string `json:"event_id"`
	}
	p.call("PUT", fmt.Sprintf("v3/rooms/%s/send/%s/t%d", url.PathEscape(room), kind, p.txn), content, &out)
	return out.ID
}

func (p *person) say(room, text string) string { return p.send(room, typeMessage, message0(text)) }

// TestHomeserver_real talks through Dendrite: a password, an invitation with its
// first message, a gap, a streamed answer, read marks and an encrypted room.
func TestHomeserver_real(t *testing.T) {
	fulltest.Only(t)
	address := homeserver(t)
	bot, ada := register(t, address, "assistant"), register(t, address, "ada")
	k, in := newKeeper(nil), &inbox{}
	db := keyStore(t, "live.db")
	begin := func() (*Channel, func()) {
		c, err := New(Options{
			Config: Config{Homeserver: address, UserID: bot.id, Password: "password of assistant",
				Autojoin: []string{"*:hs.test"}},
			Keeper: k, CryptoDB: db, PickleKey: []byte("pickle"), HTTP: (*egress.Gate)(nil).Client(address),
			Log: zap.NewNop(), Now: time.Now, Rand: rand.Reader,
		})
		must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx, in) }()
		return c, func() { cancel(); must(t, <-done) }
	}
	c, stop := begin()
	to := core.Address{Channel: Name, Account: bot.id, External: ada.id}
	room := ada.chat(bot.id, false)
	ada.say(room, "first words")
	heard := func(want ...string) {
		t.Helper()
		eventually(t, strings.Join(want, ", "), func() bool {
			got := texts(in.of(core.InMessage))
			return len(got) >= len(want) && slices.Equal(got[len(got)-len(want):], want)
		})
	}
	heard("first words")
	must(t, c.Preview(t.Context(), to, "turn-1-1", "Hel"))
	must(t, c.Preview(t.Context(), to, "turn-1-1", "Hello"))
	sent, err := c.Send(t.Context(), to, core.Part{Text: "Hello there", Key: "everthread-1-1-0", Preview: "turn-1-1"})
	must(t, err)
	again, err := c.Send(t.Context(), to, core.Part{Text: "Hello there", Key: "everthread-1-1-0", Preview: "turn-1-1"})
	must(t, err)
	same(t, again, sent)
	ada.call("POST", fmt.Sprintf("v3/rooms/%s/receipt/m.read/%s", url.PathEscape(room), sent.NativeID), struct{}{}, nil)
	eventually(t, "read", func() bool {
		return slices.ContainsFunc(in.of(core.InReceipt), func(e core.Inbound) bool {
			return e.Target == sent.NativeID &&
				e.Status.State == core.DeliveryRead
		})
	})
	stop()

	want := []string{}
	for i := range 700 {
		want = append(want, fmt.Sprintf("while you were away %d", i))
		ada.say(room, want[i])
	}
	c, stop = begin()
	heard(want...)
	if got := in.of(core.InMessage); len(got) != 701 {
		t.Fatalf("nothing twice: %d, want %d: %v", len(got), 701, got)
	}

	phone := deviceOn(t, address, ada.id, ada.token)
	phone.room = room0(ada.chat(bot.id, true), ada.id, bot.id)
	phone.sync(t.Context())
	eventually(t, "joined", func() bool {
		r, err := c.rooms.load(t.Context(), c.session.Load(), phone.room.id)
		c.rooms.drop(phone.room.id)
		return err == nil && r.encrypted
	})
	cipher, err := phone.s.crypto.encrypt(t.Context(), phone.room, typeMessage, message0("a secret"))
	must(t, err)
	ada.send(phone.room.id, typeEncrypted, cipher)
	heard("a secret")
	got, err := c.Send(t.Context(), to, core.Part{Text: "kept", Key: "everthread-1-2-0"})
	must(t, err)
	var raw json.RawMessage
	ada.call("GET", fmt.Sprintf("v3/rooms/%s/event/%s", url.PathEscape(phone.room.id), got.NativeID), nil, &raw)
	phone.sync(t.Context())
	e, _ := readEvent(raw)
	_, content, err := phone.s.crypto.decrypt(t.Context(), phone.room.id, e)
	must(t, err)
	if !strings.Contains(string(content), "kept") {
		t.Fatalf("%s", string(content))
	}
	for _, f := range c.Diagnose(t.Context(), "en") {
		if !f.OK && !strings.Contains(f.Detail, "cross-signing") {
			t.Fatal(f.Detail)
		}
	}
	stop()
	if got := in.of(core.InByHand); len(got) > 0 {
		t.Fatalf("%v", got)
	}
}

func room0(id string, users ...string) room {
	r := room{id: id, encrypted: true, members: map[string]member{}, portals: map[string]portal{}}
	for _, u := range users {
		r.members[u] = member{membership: "join"}
	}
	return r
}

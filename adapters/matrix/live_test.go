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

	"github.com/stretchr/testify/require"

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
	require.NoError(t, err)
	listen := l.Addr().String()
	require.NoError(t, l.Close())
	config, err := exec.Command(filepath.Join(bin, "generate-config"), "--server", "hs.test", "--ci",
		"--dir", dir).Output()
	require.NoError(t, err)
	key := filepath.Join(dir, "matrix_key.pem")
	require.NoError(t, exec.Command(filepath.Join(bin, "generate-keys"), "--private-key", key).Run())
	config = bytes.Replace(config, []byte("private_key: matrix_key.pem"), []byte("private_key: "+key), 1)
	path := filepath.Join(dir, "dendrite.yaml")
	require.NoError(t, os.WriteFile(path, config, 0o600))
	cmd := exec.Command(filepath.Join(bin, "dendrite"), "--config", path, "--http-bind-address", listen,
		"--really-enable-open-registration")
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
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
	require.Equal(p.t, http.StatusOK, status, string(answer))
	if result != nil {
		require.NoError(p.t, json.Unmarshal(answer, result))
	}
}

func (p *person) try(method, path string, body any) (status int, answer []byte) {
	p.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(p.t, err)
	req, err := http.NewRequest(method, p.address+"/_matrix/client/"+path, bytes.NewReader(raw))
	require.NoError(p.t, err)
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(p.t, err)
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	require.NoError(p.t, err)
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

// TestRealHomeserver talks through Dendrite: a password, an invitation with its
// first message, a gap, a streamed answer, read marks and an encrypted room.
func TestRealHomeserver(t *testing.T) {
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
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx, in) }()
		return c, func() { cancel(); require.NoError(t, <-done) }
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
	require.NoError(t, c.Preview(t.Context(), to, "turn-1-1", "Hel"))
	require.NoError(t, c.Preview(t.Context(), to, "turn-1-1", "Hello"))
	sent, err := c.Send(t.Context(), to, core.Part{Text: "Hello there", Key: "everthread-1-1-0", Preview: "turn-1-1"})
	require.NoError(t, err)
	same, err := c.Send(t.Context(), to, core.Part{Text: "Hello there", Key: "everthread-1-1-0", Preview: "turn-1-1"})
	require.NoError(t, err)
	require.Equal(t, sent, same)
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
	require.Len(t, in.of(core.InMessage), 701, "nothing twice")

	phone := deviceOn(t, address, ada.id, ada.token)
	phone.room = room0(ada.chat(bot.id, true), ada.id, bot.id)
	phone.sync(t.Context())
	eventually(t, "joined", func() bool {
		r, err := c.rooms.load(t.Context(), c.session.Load(), phone.room.id)
		c.rooms.drop(phone.room.id)
		return err == nil && r.encrypted
	})
	cipher, err := phone.s.crypto.encrypt(t.Context(), phone.room, typeMessage, message0("a secret"))
	require.NoError(t, err)
	ada.send(phone.room.id, typeEncrypted, cipher)
	heard("a secret")
	got, err := c.Send(t.Context(), to, core.Part{Text: "kept", Key: "everthread-1-2-0"})
	require.NoError(t, err)
	var raw json.RawMessage
	ada.call("GET", fmt.Sprintf("v3/rooms/%s/event/%s", url.PathEscape(phone.room.id), got.NativeID), nil, &raw)
	phone.sync(t.Context())
	e, _ := readEvent(raw)
	_, content, err := phone.s.crypto.decrypt(t.Context(), phone.room.id, e)
	require.NoError(t, err)
	require.Contains(t, string(content), "kept")
	for _, f := range c.Diagnose(t.Context(), "en") {
		require.True(t, f.OK || strings.Contains(f.Detail, "cross-signing"), f.Detail)
	}
	stop()
	require.Empty(t, in.of(core.InByHand))
}

func room0(id string, users ...string) room {
	r := room{id: id, encrypted: true, members: map[string]member{}, portals: map[string]portal{}}
	for _, u := range users {
		r.members[u] = member{membership: "join"}
	}
	return r
}

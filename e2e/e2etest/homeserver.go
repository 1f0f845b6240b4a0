//go:build e2e

package e2etest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Homeserver is a Dendrite, perhaps with a bridge to a network of its own.
type Homeserver struct {
	t       *testing.T
	URL     string // of the client API
	control string // of the bridge's network; "" without a bridge
	txn     atomic.Int64
}

const (
	serverName   = "hs.test"
	sharedSecret = "complement" // as in the homeserver's test configuration
	asToken      = "as-token-of-the-test-bridge-0123456789"
	hsToken      = "hs-token-of-the-test-bridge-0123456789"
	puppetToken  = "as-token-of-double-puppeting-0123456789"
	BridgeBot    = "@signalbot:" + serverName
)

// NewHomeserver starts a homeserver for one test, with bridge also the bridge, to the network signal.
func NewHomeserver(t *testing.T, bridge bool) *Homeserver {
	t.Helper()
	if bridge {
		return NewBridged(t, "signal")
	}
	return NewBridged(t, "")
}

// NewBridged starts a homeserver for one test, with a bridge to a network unless that is "".
func NewBridged(t *testing.T, network string) *Homeserver {
	t.Helper()
	bridge := network != ""
	bin := os.Getenv("EVERTHREAD_TEST_MATRIX")
	if bin == "" {
		t.Skip("EVERTHREAD_TEST_MATRIX is not set; `make test` builds a homeserver, scripts/matrix.sh prints the folder")
	}
	begin := time.Now()
	dir := t.TempDir()
	listen, appservice := FreeAddress(t), FreeAddress(t)
	h := &Homeserver{t: t, URL: "http://" + listen}
	config, err := exec.Command(filepath.Join(bin, "generate-config"), "--server", serverName, "--ci",
		"--dir", dir).Output()
	Must(t, err)
	Must(t, exec.Command(filepath.Join(bin, "generate-keys"), "--private-key", filepath.Join(dir, "matrix_key.pem")).Run())
	text := strings.Replace(string(config), "private_key: matrix_key.pem",
		"private_key: "+filepath.Join(dir, "matrix_key.pem"), 1)
	if bridge {
		writeFile(t, filepath.Join(dir, "bridge.yaml"), registration("signal", appservice, asToken,
			"@"+network+"_.*:"+serverName, BridgeBot))
		writeFile(t, filepath.Join(dir, "puppet.yaml"), registration("puppet", appservice, puppetToken,
			"@.*:"+serverName, ""))
		text = strings.Replace(text, "config_files: []", "config_files: ["+filepath.Join(dir, "bridge.yaml")+", "+
			filepath.Join(dir, "puppet.yaml")+"]", 1)
	}
	writeFile(t, filepath.Join(dir, "dendrite.yaml"), text)
	run(t, "homeserver", exec.Command(filepath.Join(bin, "dendrite"), "--config", filepath.Join(dir, "dendrite.yaml"),
		"--http-bind-address", listen, "--really-enable-open-registration"), dir)
	h.Until("the homeserver answers", func() bool {
		resp, err := http.Get(h.URL + "/_matrix/client/versions")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	t.Logf("the homeserver was up after %s", time.Since(begin).Round(time.Millisecond))
	if bridge {
		h.startBridge(bin, dir, appservice, network)
		t.Logf("the bridge was up after %s", time.Since(begin).Round(time.Millisecond))
	}
	return h
}

// registration returns the file that registers an appservice with a homeserver.
func registration(id, address, token, users, bot string) string {
	sender := id + "sender"
	namespaces := fmt.Sprintf("  users:\n    - {regex: '%s', exclusive: %v}\n", users, bot != "")
	link := "http://" + address
	if bot != "" {
		sender = "signalbot"
		namespaces += fmt.Sprintf("    - {regex: '%s', exclusive: true}\n", bot)
	} else {
		link = "null"
	}
	return fmt.Sprintf(
		"id: %s\nurl: %s\nas_token: %s\nhs_token: %s-%s\nsender_localpart: %s\nrate_limited: false\nnamespaces:\n%s"+
			"de.sorunome.msc2409.push_ephemeral: true\nreceive_ephemeral: true\n", id, link, token, hsToken,
		id, sender, namespaces)
}

// startBridge starts the bridge to a network. Nobody is logged in to it yet.
func (h *Homeserver) startBridge(bin, dir, appservice, network string) {
	control := FreeAddress(h.t)
	h.control = "http://" + control
	_, port, _ := strings.Cut(appservice, ":")
	_, controlPort, _ := strings.Cut(control, ":")
	writeFile(h.t, filepath.Join(dir, "config.yaml"), fmt.Sprintf(`
bridge:
    permissions: {"%[1]s": user}
database: {type: sqlite3-fk-wal, uri: "file:%[2]s/bridge.db?_txlock=immediate"}
homeserver: {address: "%[3]s", domain: "%[1]s"}
appservice: {address: "http://%[4]s", hostname: 127.0.0.1, port: %[5]s, id: signal, bot: {username: signalbot, displayname: Signal bridge bot}, as_token: "%[6]s", hs_token: "%[7]s-signal", username_template: "%[9]s_{{.}}"}
matrix: {message_status_events: true, delivery_receipts: true}
provisioning: {shared_secret: a-provisioning-secret-0123456789}
double_puppet: {servers: {"%[1]s": "%[3]s"}, secrets: {"%[1]s": "as_token:%[8]s"}}
logging: {min_level: debug, writers: [{type: stdout, format: json}]}
`, serverName, dir, h.URL, appservice, port, asToken, hsToken, puppetToken, network))
	c := exec.Command(filepath.Join(bin, "bridge"), "-n", "--ignore-unsupported-server", "-c",
		filepath.Join(dir, "config.yaml"), "-r", filepath.Join(dir, "bridge.yaml"))
	c.Env = append(os.Environ(), "BRIDGE_CONTROL="+controlPort, "BRIDGE_NETWORK="+network)
	run(h.t, "bridge", c, dir)
	h.Until("the bridge answers", func() bool {
		resp, err := http.Get(h.control + "/sent")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return true
	})
}

// run starts a peer that ends with the test. If the test failed, its output is kept.
func run(t *testing.T, name string, c *exec.Cmd, dir string) {
	t.Helper()
	var out logBuffer
	c.Stdout, c.Stderr, c.Dir = &out, &out, dir
	Must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			path := filepath.Join("artefacts", strings.ReplaceAll(t.Name(), "/", "-")+"-"+name+".log")
			Must(t, errors.Join(os.MkdirAll("artefacts", 0o755), os.WriteFile(path, []byte(out.String()), 0o644)))
			t.Logf("what the %s said is in %s", name, path)
		}
	})
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	Must(t, os.WriteFile(path, []byte(text), 0o600))
}

// Until waits for a peer.
func (h *Homeserver) Until(what string, holds func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("waited a minute until %s", what)
		}
	}
}

// Account is a user on the homeserver.
type Account struct {
	h     *Homeserver
	ID    string
	Token string
}

// Register creates an account, as the server's owner does.
func (h *Homeserver) Register(name string) *Account {
	h.t.Helper()
	const path = "/_synapse/admin/v1/register"
	var nonce struct{ Nonce string }
	h.Call(http.MethodGet, path, "", nil, &nonce)
	mac := hmac.New(sha1.New, []byte(sharedSecret))
	fmt.Fprintf(mac, "%s\x00%s\x00%s\x00notadmin", nonce.Nonce, name, PasswordOf(name))
	var out struct {
		UserID string `json:"user_id"`
		Token  string `json:"access_token"`
	}
	h.Call(http.MethodPost, path, "", map[string]any{"nonce": nonce.Nonce, "username": name,
		"password": PasswordOf(name), "admin": false, "mac": hex.EncodeToString(mac.Sum(nil))}, &out)
	return &Account{h: h, ID: out.UserID, Token: out.Token}
}

func PasswordOf(name string) string { return "password-of-" + name }

// Call makes a request to the homeserver and fails the test if it is refused.
func (h *Homeserver) Call(method, path, token string, body, result any) {
	h.t.Helper()
	status, answer := h.ask(method, path, token, body)
	if status != http.StatusOK {
		h.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	if result != nil {
		Must(h.t, json.Unmarshal(answer, result))
	}
}

func (h *Homeserver) ask(method, path, token string, body any) (int, []byte) {
	h.t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		Must(h.t, err)
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, h.URL+path, in)
	Must(h.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	Must(h.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	Must(h.t, err)
	return resp.StatusCode, answer
}

// Chat opens a direct chat with an invited user.
func (a *Account) Chat(with string) string {
	a.h.t.Helper()
	var out struct {
		RoomID string `json:"room_id"`
	}
	a.h.Call(http.MethodPost, "/_matrix/client/v3/createRoom", a.Token,
		map[string]any{"is_direct": true, "invite": []string{with}, "preset": "trusted_private_chat"}, &out)
	return out.RoomID
}

// Say sends a text to a room and returns the event's id.
func (a *Account) Say(room, text string) string {
	a.h.t.Helper()
	return a.send(room, "m.room.message", map[string]any{"msgtype": "m.text", "body": text})
}

// ReplyToFirst replies to the first message of sender in a room.
func (a *Account) ReplyToFirst(room, sender, text string) {
	a.h.t.Helper()
	for _, e := range a.timeline(room) {
		if e.Sender == sender && e.Type == "m.room.message" {
			a.send(room, e.Type, map[string]any{"msgtype": "m.text", "body": text,
				"m.relates_to": map[string]any{"m.in_reply_to": map[string]any{"event_id": e.ID}}})
			return
		}
	}
	a.h.t.Fatalf("%s has said nothing", sender)
}

func (a *Account) send(room, kind string, content map[string]any) string {
	a.h.t.Helper()
	var out struct {
		EventID string `json:"event_id"`
	}
	path := fmt.Sprintf("/_matrix/client/v3/rooms/%s/send/%s/t%d", url.PathEscape(room), kind, a.h.txn.Add(1))
	a.h.Call(http.MethodPut, path, a.Token, content, &out)
	return out.EventID
}

// timelineEvent is an event of the homeserver.
type timelineEvent struct {
	ID      string         `json:"event_id"`
	Type    string         `json:"type"`
	Sender  string         `json:"sender"`
	Content map[string]any `json:"content"`
}

func (e timelineEvent) Body() string { s, _ := e.Content["body"].(string); return s }

// timeline returns the events of a room, oldest first.
func (a *Account) timeline(room string) []timelineEvent {
	a.h.t.Helper()
	var out []timelineEvent
	for from := ""; ; {
		var page struct {
			Chunk []timelineEvent
			End   string
		}
		status, answer := a.h.ask(http.MethodGet, "/_matrix/client/v3/rooms/"+url.PathEscape(room)+
			"/messages?dir=b&limit=100"+from, a.Token, nil)
		if status != http.StatusOK {
			return nil
		}
		Must(a.h.t, json.Unmarshal(answer, &page))
		out = append(out, page.Chunk...)
		if len(page.Chunk) == 0 || page.End == "" {
			slices.Reverse(out)
			return out
		}
		from = "&from=" + url.QueryEscape(page.End)
	}
}

// Heard waits until the account has n messages of sender in a room, and returns them.
func (a *Account) Heard(room, sender string, n int) []string {
	a.h.t.Helper()
	var out []string
	a.h.Until(fmt.Sprintf("%s has %d messages of %s", a.ID, n, sender), func() bool {
		out = nil
		for _, e := range a.timeline(room) {
			if e.Sender == sender && e.Type == "m.room.message" && e.Content["m.new_content"] == nil {
				out = append(out, e.Body())
			}
		}
		return len(out) >= n
	})
	return out
}

// Link logs the account in to the bridge, as its owner does by scanning a code.
func (a *Account) Link() {
	a.h.t.Helper()
	room := a.Chat(BridgeBot)
	a.h.Until("the bridge's bot joined", func() bool {
		for _, e := range a.timeline(room) {
			if e.Sender == BridgeBot && e.Type == "m.room.member" && e.Content["membership"] == "join" {
				return true
			}
		}
		return false
	})
	a.Say(room, "login")
	a.h.Until("the account is logged in to the bridge", func() bool {
		for _, e := range a.timeline(room) {
			if e.Sender == BridgeBot && strings.Contains(e.Body(), "Logged in") {
				return true
			}
		}
		return false
	})
}

// signal is a message that the bridge sent to a person.
type signal struct {
	ID, To, Kind, Text, Target string
	Name, MIME                 string // of a file
	Data                       []byte
}

// Signals waits until the bridge has sent n messages of a kind ("": any) to a person.
func (h *Homeserver) Signals(to, kind string, n int) []signal {
	h.t.Helper()
	var out []signal
	h.Until(fmt.Sprintf("%s got %d of %s", to, n, kind), func() bool {
		resp, err := http.Get(h.control + "/sent")
		Must(h.t, err)
		defer resp.Body.Close()
		var all []signal
		Must(h.t, json.NewDecoder(resp.Body).Decode(&all))
		out = nil
		for _, s := range all {
			if s.To == to && (s.Kind == kind || kind == "") {
				out = append(out, s)
			}
		}
		return len(out) >= n
	})
	return out
}

// Act simulates an event on the bridged network.
func (h *Homeserver) Act(what string, a map[string]any) {
	h.t.Helper()
	raw, err := json.Marshal(a)
	Must(h.t, err)
	resp, err := http.Post(h.control+"/"+what, "application/json", bytes.NewReader(raw))
	Must(h.t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(resp.Body)
		h.t.Fatalf("%s: %s", what, answer)
	}
}

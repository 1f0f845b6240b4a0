package deployment

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// free returns an address where nothing listens.
func free(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

// start runs a program until the test ends.
func start(t *testing.T, cmd *exec.Cmd) io.Reader {
	t.Helper()
	out, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // a stopped proxy may exit with an error
	})
	return out
}

// example returns the block of a language on a page of the docs.
func example(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	must(t, err)
	_, block, ok := strings.Cut(string(text), "```"+language+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !ok || !closed {
		t.Fatalf("%s has no example for %s", page, language)
	}
	return block
}

// replaced replaces names of an example with those of the test.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the example has no %q any more", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// gateway starts the program behind public, and returns its address and the sign-in path.
func gateway(t *testing.T, public string) (address, signIn string) {
	t.Helper()
	address = free(t)
	cmd := exec.Command(program(t), "serve")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "EVERTHREAD_HTTP_LISTEN="+address, "EVERTHREAD_HTTP_PUBLIC_URL="+public,
		"EVERTHREAD_HTTP_TRUSTED_PROXIES=127.0.0.1", "EVERTHREAD_LOG_FORMAT=json", "EVERTHREAD_TURN_DEBOUNCE=10ms")
	lines := bufio.NewScanner(start(t, cmd))
	for lines.Scan() {
		var line struct{ URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.URL != "" {
			go func() { // discards the rest of its log
				for lines.Scan() {
				}
			}()
			path, ok := strings.CutPrefix(line.URL, public)
			if !ok {
				t.Fatalf("the link %s does not begin with %s", line.URL, public)
			}
			return address, path
		}
	}
	t.Fatal("the gateway shows no link")
	return "", ""
}

// reachable waits until a proxy listens and has its certificate.
func reachable(t *testing.T, address string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) { // a proxy has no event to wait for
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"})
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("the proxy does not listen: %v", err)
		}
	}
}

// works signs in through a proxy, sends a message with a file of 5 MB, and reads the reply on the
// open page.
func works(t *testing.T, public, signIn string) {
	jar, err := cookiejar.New(nil)
	must(t, err)
	client := &http.Client{Jar: jar, Timeout: 30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	link, err := url.Parse(public + signIn)
	must(t, err)
	resp, err := client.PostForm(public+"/signin", url.Values{"code": {link.Query().Get("code")}, "next": {"/"}})
	must(t, err)
	page, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	nonce := regexp.MustCompile(`name="nonce" value="([^"]+)"`).FindSubmatch(page)
	if resp.StatusCode != http.StatusOK || nonce == nil {
		t.Fatalf("signing in ends with %s and\n%s", resp.Status, page)
	}

	stream, err := client.Get(public + "/live")
	must(t, err)
	defer stream.Body.Close()
	events := bufio.NewScanner(stream.Body)
	events.Buffer(nil, 1<<20)
	if !events.Scan() || events.Text() != "retry: 2000" {
		t.Fatalf("the stream begins with %q (%s)", events.Text(), stream.Status)
	}

	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	must(t, w.WriteField("nonce", string(nonce[1])))
	must(t, w.WriteField("text", "Three rows of tomatoes."))
	file, err := w.CreateFormFile("files", "plan.txt")
	must(t, err)
	_, err = file.Write(bytes.Repeat([]byte("tomato "), 5<<20/7))
	must(t, err)
	must(t, w.Close())
	resp, err = client.Post(public+"/messages", w.FormDataContentType(), &form)
	must(t, err)
	must(t, resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the message with a file ends with %s", resp.Status)
	}
	for events.Scan() {
		if strings.Contains(events.Text(), "Demo model") {
			break
		}
	}
	if err := events.Err(); err != nil || !strings.Contains(events.Text(), "Demo model") {
		t.Errorf("the open page got no reply: %v", err)
	}
	metrics, err := client.Get(public + "/metrics")
	must(t, err)
	must(t, metrics.Body.Close())
	if metrics.StatusCode == http.StatusOK {
		t.Error("the metrics are readable through the proxy")
	}
}

func TestProxy_caddy(t *testing.T) {
	t.Parallel()
	behindCaddy(t, "", nil)
	behindCaddy(t, "/assistant", []string{"reverse_proxy", "reverse_proxy /assistant/*"})
	behindCaddy(t, "/removed", []string{"reverse_proxy 127.0.0.1:8080",
		"handle_path /removed/* {\nreverse_proxy 127.0.0.1:8080 {\nheader_up X-Forwarded-Prefix /removed\n}\n}"})
}

// behindCaddy uses the gateway through Caddy below a path, with the documented example and changes to it.
func behindCaddy(t *testing.T, root string, changes []string) {
	t.Helper()
	needs(t, "caddy")
	front, dir := free(t), t.TempDir()
	_, port, _ := net.SplitHostPort(front)
	public := "https://localhost:" + port + root
	address, signIn := gateway(t, public)
	text := replaced(t, example(t, "reverse-proxies.md", "caddyfile"), append(changes, "chat.example.org {",
		"https://localhost:"+port+" {\n\ttls internal", "127.0.0.1:8080", address)...)
	config := filepath.Join(dir, "Caddyfile")
	must(t, os.WriteFile(config, []byte("{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n"+text), 0o600))
	cmd := exec.Command("caddy", "run", "--config", config, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	said := start(t, cmd)
	go func() { _, _ = io.Copy(io.Discard, said) }()
	reachable(t, front)
	works(t, public, signIn)
}

func TestProxy_nginx(t *testing.T) {
	t.Parallel()
	behindNginx(t, "", nil)
	behindNginx(t, "/assistant", []string{"location / {", "location /assistant/ {"})
}

// behindNginx uses the gateway through nginx below a path, with the documented example and changes to it.
func behindNginx(t *testing.T, root string, changes []string) {
	t.Helper()
	needs(t, "nginx")
	front, dir := free(t), t.TempDir()
	address, signIn := gateway(t, "https://"+front+root)
	certificate(t, dir)
	text := replaced(t, example(t, "reverse-proxies.md", "nginx"), append(changes, "listen 443 ssl", "listen "+front+" ssl",
		"/etc/letsencrypt/live/chat.example.org", dir, "127.0.0.1:8080", address)...)
	text = "daemon off;\npid " + dir + "/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\nproxy_temp_path " + dir +
		"/proxy;\nclient_body_temp_path " + dir + "/body;\n" + text + "}\n"
	config := filepath.Join(dir, "nginx.conf")
	must(t, os.WriteFile(config, []byte(text), 0o600))
	must(t, os.Chmod(dir, 0o755))
	said := start(t, exec.Command("nginx", "-e", "stderr", "-c", config))
	go func() { _, _ = io.Copy(io.Discard, said) }()
	reachable(t, front)
	works(t, "https://"+front+root, signIn)
}

// certificate writes a test's certificate and its key.
func certificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	must(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	for name, block := range map[string]*pem.Block{"fullchain.pem": {Type: "CERTIFICATE", Bytes: cert},
		"privkey.pem": {Type: "EC PRIVATE KEY", Bytes: secret}} {
		must(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}

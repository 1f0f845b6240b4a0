//go:build e2e

package e2etest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Pushes is a push service with one browser. It refuses what a real one would: a request without a valid signature of
// the gateway (RFC 8292), or one that the browser cannot decrypt (RFC 8291).
type Pushes struct {
	URL  string
	t    *testing.T
	key  *ecdh.PrivateKey // of the browser
	auth []byte

	mu     sync.Mutex
	status int // of answers; 0: 201
	got    []Notification
	signed string // the gateway's public key of the first request
}

// Notification is a decrypted notification with what its request asked of the service.
type Notification struct {
	Body, Path, Tag     string
	TTL, Urgency, Topic string
}

// NewPushes starts a push service, which ends with the test.
func NewPushes(t *testing.T) *Pushes {
	t.Helper()
	p := &Pushes{t: t, auth: make([]byte, 16)}
	_, err := rand.Read(p.auth)
	Must(t, err)
	p.key, err = ecdh.P256().GenerateKey(rand.Reader)
	Must(t, err)
	s := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// Stub returns a script by which a page subscribes here: a headless browser asks nobody and reaches no push service.
func (p *Pushes) Stub() string {
	return fmt.Sprintf(`(() => {
	if (!("PushManager" in window)) return;
	const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)).buffer;
	const keys = { p256dh: %q, auth: %q };
	const one = (key) => ({ endpoint: %q, options: { applicationServerKey: bytes(key) }, getKey: (name) => bytes(keys[name]),
		unsubscribe: async () => { localStorage.removeItem("subscribed"); return true; } });
	Notification.requestPermission = async () => "granted";
	Object.defineProperty(Notification, "permission", { configurable: true, get: () => "granted" });
	PushManager.prototype.subscribe = async (o) => {
		if (!o.userVisibleOnly) throw new Error("userVisibleOnly is missing");
		localStorage.setItem("subscribed", o.applicationServerKey);
		return one(o.applicationServerKey);
	};
	PushManager.prototype.getSubscription = async () => {
		const key = localStorage.getItem("subscribed");
		return key && one(key);
	};
})();
`, encoded(p.key.PublicKey().Bytes()), encoded(p.auth), p.URL+"/browser")
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// Answer sets the status of later answers.
func (p *Pushes) Answer(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// Got returns the notifications so far, also refused ones.
func (p *Pushes) Got() []Notification {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

// Next waits for the n-th notification, from 1.
func (p *Pushes) Next(n int, g *Gateway) Notification {
	p.t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		if got := p.Got(); len(got) >= n {
			return got[n-1]
		} else if time.Now().After(deadline) {
			p.t.Fatalf("there are %d notifications, want %d: %+v\n%s", len(got), n, got, g.Log)
		}
	}
}

func (p *Pushes) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	out := Notification{TTL: r.Header.Get("TTL"), Urgency: r.Header.Get("Urgency"), Topic: r.Header.Get("Topic")}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		err = p.recognise(r.Header.Get("Authorization"))
	}
	var plain []byte
	if err == nil {
		plain, err = p.decrypt(body)
	}
	if err == nil {
		err = json.Unmarshal(plain, &out)
	}
	if err == nil && (r.Header.Get("Content-Encoding") != "aes128gcm" || r.URL.Path != "/browser" || len(body) > 4096) {
		err = fmt.Errorf("%s of %d bytes in %s", r.URL.Path, len(body), r.Header.Get("Content-Encoding"))
	}
	if err != nil {
		p.t.Errorf("the push service refuses a request: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.got = append(p.got, out)
	w.WriteHeader(max(p.status, 201))
}

// recognise checks the signature of the gateway: for this service, of the same key as before, and not for ever.
func (p *Pushes) recognise(authorization string) error {
	token, key, ok := strings.Cut(strings.TrimPrefix(authorization, "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	if !ok || len(parts) != 3 {
		return fmt.Errorf("no signature: %q", authorization)
	}
	public, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		return err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return errors.New("the signature does not have 64 bytes")
	}
	k, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), public)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(k, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return errors.New("the signature is wrong")
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	var c struct {
		Aud, Sub string
		Exp      int64
	}
	if err := json.Unmarshal(claims, &c); err != nil {
		return err
	}
	if left := time.Until(time.Unix(c.Exp, 0)); c.Aud != p.URL || left <= 0 || left > 24*time.Hour ||
		!strings.HasPrefix(c.Sub, "https:") && !strings.HasPrefix(c.Sub, "mailto:") {
		return fmt.Errorf("the claims are %s", claims)
	}
	if p.signed == "" {
		p.signed = key
	}
	if p.signed != key {
		return errors.New("it is signed with another key than before")
	}
	return nil
}

// decrypt returns the payload of a body as the browser reads it.
func (p *Pushes) decrypt(body []byte) ([]byte, error) {
	if len(body) < 86 || body[20] != 65 {
		return nil, errors.New("the body has no header")
	}
	salt, size, sender, sealed := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86], body[86:]
	if uint32(len(sealed)) > size {
		return nil, errors.New("the body has more than one record")
	}
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	shared, err := p.key.ECDH(public)
	if err != nil {
		return nil, err
	}
	info := slices.Concat([]byte("WebPush: info\x00"), p.key.PublicKey().Bytes(), sender)
	ikm, err := hkdf.Key(sha256.New, shared, p.auth, string(info), 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	plain, padded := bytes.CutSuffix(bytes.TrimRight(plain, "\x00"), []byte{2})
	if !padded {
		return nil, errors.New("the record does not end as the last one")
	}
	return plain, nil
}

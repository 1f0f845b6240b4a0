//go:build e2e && goolm

package e2etest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"maunium.net/go/mautrix/crypto"
)

// SecretWith opens an encrypted direct chat with the assistant and waits for its answer to
// a text.
func (d *OlmDevice) SecretWith(g *Gateway, bot *Account, text string) (room string) {
	d.h.t.Helper()
	room = d.Secret(bot.ID)
	d.Joined(g, room, bot.ID)
	d.Tell(room, text)
	d.Answers(g, room, bot.ID, 1)
	return room
}

// GoesOnInSecret waits until people's texts in their rooms have arrived once, and checks
// that every answer has arrived and can be read.
func (w *Town) GoesOnInSecret(g *Gateway, bot *Account, rooms map[*OlmDevice]string, said map[*OlmDevice][]string) {
	w.T.Helper()
	l := w.Ledger()
	l.Heard(g, said)
	w.Settle(l, g)
	for d, room := range rooms {
		if got, want := l.Transcript(d.ID), slices.Sorted(slices.Values(said[d])); !slices.Equal(
			slices.Sorted(slices.Values(got)), want) {
			w.T.Errorf("%s is heard saying %q, want %q", d.ID, got, want)
		}
		d.legible(g, room, bot.ID)
		arrived, seen := map[string]string{}, map[string]bool{}
		for _, e := range latest(d.Plain(room), bot.ID) {
			if arrived[e.ID] = strings.TrimSuffix(e.Body(), RepeatMark); seen[e.Body()] {
				w.T.Errorf("%s is told %q twice\n%s", d.ID, e.Body(), g.Log)
			}
			seen[e.Body()] = true
		}
		for _, line := range l.Lines(
			`SELECT p.native_id || ' ' || m.body FROM delivery_parts p JOIN deliveries d ON d.user_id = p.user_id AND d.id = p.delivery_id
			JOIN messages m ON m.user_id = d.user_id AND m.id = d.message_id WHERE d.external = $1`, d.ID) {
			id, body, _ := strings.Cut(line, " ")
			if arrived[id] != body {
				w.T.Errorf("%s sees %q where it was answered %q\n%s", d.ID, arrived[id], body, g.Log)
			}
			delete(arrived, id) // there is no other answer
		}
	}
}

// Heard waits until people's texts are in the transcript.
func (l *Ledger) Heard(g *Gateway, said map[*OlmDevice][]string) {
	l.t.Helper()
	for d, texts := range said {
		var got []string
		missing := func(text string) bool { return !slices.Contains(got, text) }
		for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			for other := range said {
				other.Sync() // running clients answer requests for keys
			}
			if got = l.Transcript(d.ID); !slices.ContainsFunc(texts, missing) {
				break
			}
			if time.Now().After(deadline) {
				l.t.Fatalf("%s is heard saying %q, want %q; not read are %.300q\n%s", d.ID, got, texts,
					l.Lines(`SELECT value FROM states WHERE key = 'unread'`), g.Log)
			}
		}
	}
}

// ClaimAll claims all one-time keys of a device, as many new correspondents would.
func (d *OlmDevice) ClaimAll(of *Account) {
	d.h.t.Helper()
	var me struct {
		Device string `json:"device_id"`
	}
	d.h.Call(http.MethodGet, "/_matrix/client/v3/account/whoami", of.Token, nil, &me)
	claim := map[string]any{"one_time_keys": map[string]any{of.ID: map[string]string{me.Device: "signed_curve25519"}}}
	for of.OneTimeKeys() > 0 {
		d.h.Call(http.MethodPost, "/_matrix/client/v3/keys/claim", d.Token, claim, nil)
	}
}

// OneTimeKeys returns the number of one-time keys that the homeserver has for the device.
func (a *Account) OneTimeKeys() int {
	a.h.t.Helper()
	var out struct {
		Counts map[string]int `json:"one_time_key_counts"`
	}
	a.h.Call(http.MethodPost, "/_matrix/client/v3/keys/upload", a.Token, map[string]any{}, &out)
	return out.Counts["signed_curve25519"]
}

// legible waits until the device can read all messages of a sender in a room, and checks
// that no index of a session was used twice.
func (d *OlmDevice) legible(g *Gateway, room, sender string) {
	d.h.t.Helper()
	var closed []string
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		closed = nil
		for _, e := range d.Plain(room) {
			if e.Type == "m.room.encrypted" && e.Sender == sender {
				_, err := d.decrypt(room, e)
				closed = append(closed, fmt.Sprint(e.ID, " ", err))
			}
		}
		if len(closed) == 0 {
			break
		}
		if time.Now().After(deadline) {
			d.h.t.Errorf("%s cannot read %q\n%s", d.ID, closed, g.Log)
			break
		}
	}
	used := map[string]string{}
	for _, e := range d.timeline(room) {
		if e.Type != "m.room.encrypted" || e.Sender != sender {
			continue
		}
		cipher, _ := e.Content["ciphertext"].(string)
		index, err := crypto.ParseMegolmMessageIndex([]byte(cipher))
		Must(d.h.t, err)
		place := fmt.Sprint(e.Content["session_id"], " ", index)
		if was := used[place]; was != "" {
			d.h.t.Errorf("%s and %s were written with the same key", was, e.ID)
		}
		used[place] = e.ID
	}
}

// Package signaltest is a fake daemon of signal-cli with one account. Like the real one it takes an event off its list
// as soon as it has written it to a connection, waits while nobody reads, and repeats the event that it was writing
// when it died.
package signaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/servicetest"
)

// The account of the daemon.
const (
	Account = "+4930000001"
	Self    = "00000000-0000-4000-8000-000000000001"
)

// Failure is the failure of a call.
type Failure struct {
	HTTP    int    // status without a body
	Code    int    // of an error of JSON-RPC
	Message string // of the error
	Type    string // of the outcome in the error's data, such as UNREGISTERED_FAILURE
	Token   string // of a captcha
	Wait    int    // seconds after which the service asks to try again
	Drop    bool   // the call is carried out, and its answer is lost
	Garbage bool   // the call is carried out, and its answer is not JSON
	// Without any of these the call hangs.
}

// Message is a message that was sent.
type Message struct {
	Timestamp  int64
	Text       string
	Styles     []string
	Quote      int64 // time of the quoted message
	QuoteText  string
	Attachment string
	Voice      bool
	Quiet      bool
	Deleted    bool // for everybody
}

// Server is the fake daemon. Its methods may be called concurrently.
type Server struct {
	servicetest.Server[Failure]

	clock   int64                // time of the last message
	pending []json.RawMessage    // events that are not handed out
	last    json.RawMessage      // the last event of a person
	sent    map[string][]Message // by recipient
	typed   []string             // recipients of typing notices
	admins  map[string][]string  // by group
	left    map[string][]string  // by group; everybody else is a member
	unread  map[string][]int64   // messages without a read mark, by author
	files   map[string][]byte    // by id
	names   map[string]string    // of contacts, by ACI
	version string

	unlinked  bool   // it has no account
	codes     int    // so far
	code      string // the newest
	finishing bool   // finishLink was called with it
	scanned   string
	scansAll  bool

	opened  int // streams so far
	silent  int // the first so many of them show no sign of life
	stall   int // events until Stall; 0: none is planned
	streams int // open ones
	dead    chan struct{}
	deaths  []int // events until the daemon dies while it writes one, each counted from the death before
}

// New starts a daemon on 127.0.0.1. The caller must call Close.
func New() *Server {
	s := &Server{clock: 1790000000000, sent: map[string][]Message{}, admins: map[string][]string{}, left: map[string][]string{}, unread: map[string][]int64{},
		files: map[string][]byte{}, names: map[string]string{}, version: "0.14.6", dead: make(chan struct{})}
	if err := s.Start(s, ""); err != nil {
		panic(err)
	}
	return s
}

// tick returns the time of a new message. The caller holds the lock.
func (s *Server) tick() int64 {
	s.clock++
	return s.clock
}

// Say lets a person write text, and returns the time of the message.
func (s *Server) Say(person, text string) int64 {
	return s.Write(person, map[string]any{"message": text})
}

// Write lets a person send a message with these fields.
func (s *Server) Write(person string, fields map[string]any) int64 {
	s.Lock()
	defer s.Unlock()
	at := s.tick()
	fields["timestamp"] = at
	s.emit(person, at, map[string]any{"dataMessage": fields})
	s.unread[person] = append(s.unread[person], at)
	return at
}

// Edit lets a person replace the text of the message of a time.
func (s *Server) Edit(person string, target int64, text string) int64 {
	s.Lock()
	defer s.Unlock()
	at := s.tick()
	s.emit(person, at, map[string]any{"editMessage": map[string]any{"targetSentTimestamp": target,
		"dataMessage": map[string]any{"timestamp": at, "message": text}}})
	return at
}

// NoteTo lets the account's phone write to a recipient. The account itself is the recipient of a Note to Self.
func (s *Server) NoteTo(recipient, text string) int64 {
	s.Lock()
	defer s.Unlock()
	at := s.tick()
	s.emit(Self, at, map[string]any{"syncMessage": map[string]any{"sentMessage": map[string]any{
		"destinationUuid": recipient, "timestamp": at, "message": text}}})
	return at
}

// Echo repeats a message of ours to the account itself as if another device had sent it.
func (s *Server) Echo(m Message) {
	s.Lock()
	defer s.Unlock()
	s.emit(Self, m.Timestamp, map[string]any{"syncMessage": map[string]any{"sentMessage": map[string]any{
		"destinationUuid": Self, "timestamp": m.Timestamp, "message": m.Text}}})
}

// Receipt lets a person's app report messages of ours as delivered or read.
func (s *Server) Receipt(person string, read bool, timestamps ...int64) {
	s.Lock()
	defer s.Unlock()
	at := s.tick()
	s.emit(person, at, map[string]any{"receiptMessage": map[string]any{"when": at, "isDelivery": !read, "isRead": read,
		"isViewed": false, "timestamps": timestamps}})
}

// Envelope reports any envelope of a person.
func (s *Server) Envelope(person string, fields map[string]any) {
	s.Lock()
	defer s.Unlock()
	s.emit(person, s.tick(), fields)
}

// emit queues an event. The caller holds the lock.
func (s *Server) emit(person string, at int64, fields map[string]any) {
	fields["sourceUuid"], fields["timestamp"], fields["sourceDevice"] = person, at, 1
	fields["sourceName"], fields["sourceNumber"] = s.names[person], nil
	raw, err := json.Marshal(map[string]any{"account": Account, "envelope": fields})
	if err != nil {
		panic(err)
	}
	s.last = raw
	s.pending = append(s.pending, raw)
	s.Signal()
}

// Again reports the last event once more.
func (s *Server) Again() {
	s.Lock()
	defer s.Unlock()
	s.pending = append(s.pending, s.last)
	s.Signal()
}

// Shuffle reverses the order of the events that wait.
func (s *Server) Shuffle() {
	s.Lock()
	defer s.Unlock()
	slices.Reverse(s.pending)
}

// Name sets the name of a person.
func (s *Server) Name(person, name string) {
	s.Lock()
	defer s.Unlock()
	s.names[person] = name
}

// AddFile stores an attachment under an id.
func (s *Server) AddFile(id string, data []byte) {
	s.Lock()
	defer s.Unlock()
	s.files[id] = data
}

// Attach stores an attachment, and returns it as a message names it. A file without a name is one that an app took.
func (s *Server) Attach(data []byte, mime, name string) map[string]any {
	s.Lock()
	defer s.Unlock()
	id := fmt.Sprint("file-", len(s.files))
	s.files[id] = data
	a := map[string]any{"id": id, "contentType": mime, "size": len(data), "filename": nil}
	if name != "" {
		a["filename"] = name
	}
	return a
}

// Version sets the version of signal-cli.
func (s *Server) Version(v string) {
	s.Lock()
	defer s.Unlock()
	s.version = v
}

// Die ends the streams. The daemon is back at once, and dies again while it writes the next event.
func (s *Server) Die() {
	s.DieAfter(1)
	s.HangUp()
}

// HangUp ends the streams after what is to be handed out. Unlike Die it repeats nothing.
func (s *Server) HangUp() {
	s.Lock()
	defer s.Unlock()
	close(s.dead)
	s.dead = make(chan struct{})
	s.Signal()
}

// DieAfter lets the daemon die, for each of events, in the middle of writing the event of that number, counted from 1 and
// from the death before. The next stream repeats the event.
func (s *Server) DieAfter(events ...int) {
	s.Lock()
	defer s.Unlock()
	s.deaths = append(s.deaths, events...)
}

// dies counts an event, and reports whether the daemon dies while it writes it. The caller holds the lock.
func (s *Server) dies() bool {
	if len(s.deaths) == 0 {
		return false
	}
	if s.deaths[0]--; s.deaths[0] > 0 {
		return false
	}
	s.deaths = s.deaths[1:]
	return true
}

// Stall lets the open streams show no further sign of life. New ones work.
func (s *Server) Stall() {
	s.Lock()
	defer s.Unlock()
	s.silent = s.opened
	s.Signal()
}

// StallAfter is Stall after so many further events.
func (s *Server) StallAfter(events int) {
	s.Lock()
	defer s.Unlock()
	s.stall = events
}

// WaitStalled waits until all streams so far show no sign of life.
func (s *Server) WaitStalled(ctx context.Context) error {
	return s.Wait(ctx, func() bool {
		s.Lock()
		defer s.Unlock()
		return s.stall == 0 && s.silent == s.opened
	})
}

// Streams returns the number of open streams.
func (s *Server) Streams() int {
	s.Lock()
	defer s.Unlock()
	return s.streams
}

// Pending returns the number of events that are not handed out.
func (s *Server) Pending() int {
	s.Lock()
	defer s.Unlock()
	return len(s.pending)
}

// Sent returns the messages to a person, in order.
func (s *Server) Sent(person string) []Message {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.sent[person])
}

// Typed returns the recipients of typing notices, in order.
func (s *Server) Typed() []string {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.typed)
}

// Unread returns the number of messages of a person without a read mark.
func (s *Server) Unread(person string) int {
	s.Lock()
	defer s.Unlock()
	return len(s.unread[person])
}

// ServeHTTP serves the endpoints of the daemon.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, known := map[string]string{"/api/v1/check": http.MethodGet, "/api/v1/events": http.MethodGet,
		"/api/v1/rpc": http.MethodPost}[r.URL.Path]
	switch {
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method != method:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.URL.Path == "/api/v1/check":
		if f, failing := s.Begin("check"); failing {
			w.WriteHeader(f.HTTP)
		}
	case r.URL.Path == "/api/v1/events":
		s.events(w, r)
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		w.WriteHeader(http.StatusUnsupportedMediaType)
	default:
		s.rpc(w, r)
	}
}

// keepAlive is between two signs of life.
const keepAlive = 50 * time.Millisecond

// events is a stream. It writes one event at a time.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if f, failing := s.Begin("events"); failing {
		if f.HTTP == 0 {
			s.Hang(r)
			return
		}
		w.WriteHeader(f.HTTP)
		return
	}
	if account := r.URL.Query().Get("account"); account != "" && !s.has(account) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	s.Lock()
	s.streams++
	s.opened++
	number, dead := s.opened, s.dead
	s.Unlock()
	defer func() {
		s.Lock()
		defer s.Unlock()
		s.streams--
		s.Signal()
	}()
	for s.turn(w, r, number, dead) {
	}
}

// turn writes the next event, or a sign of life, and reports whether the stream of a number goes on.
func (s *Server) turn(w http.ResponseWriter, r *http.Request, number int, dead <-chan struct{}) bool {
	out := http.NewResponseController(w)
	s.Lock()
	changed := s.Changed()
	var next json.RawMessage
	torn := false
	stalled := number <= s.silent
	if len(s.pending) > 0 && !stalled {
		next = s.pending[0]
		if torn = s.dies(); !torn {
			s.handedOut()
		}
	}
	s.Unlock()
	if next != nil {
		text := "event:receive\ndata:" + string(next) + "\n\n"
		if torn {
			text = text[:len(text)/2]
		}
		fmt.Fprint(w, text)
		return out.Flush() == nil && !torn
	}
	select {
	case <-r.Context().Done():
		return false
	case <-s.Ctx.Done():
		return false
	case <-dead:
		return false
	case <-changed:
	case <-time.After(keepAlive):
		if !stalled {
			fmt.Fprint(w, ":\n")
			return out.Flush() == nil
		}
	}
	return true
}

// handedOut takes an event off the list. The caller holds the lock.
func (s *Server) handedOut() {
	s.pending = s.pending[1:]
	if s.stall--; s.stall == 0 {
		s.silent = s.opened
		s.Signal()
	}
	s.stall = max(s.stall, 0)
}

// call is a request to a method.
type call struct {
	Version string     `json:"jsonrpc"`
	ID      any        `json:"id"`
	Method  string     `json:"method"`
	Params  callParams `json:"params"`
}

// callParams are the parameters of all methods.
type callParams struct {
	Account         string   `json:"account"`
	Message         string   `json:"message"`
	TextStyle       []string `json:"textStyle"`
	QuoteTimestamp  int64    `json:"quoteTimestamp"`
	QuoteAuthor     string   `json:"quoteAuthor"`
	QuoteMessage    string   `json:"quoteMessage"`
	Attachment      []string `json:"attachment"`
	VoiceNote       bool     `json:"voiceNote"`
	NoUrgent        bool     `json:"noUrgent"`
	ID              string   `json:"id"`
	PackID          string   `json:"packId"`
	StickerID       int      `json:"stickerId"`
	Type            string   `json:"type"`
	AllRecipients   bool     `json:"allRecipients"`
	DeviceLinkURI   string   `json:"deviceLinkUri"`
	Recipient       any      `json:"recipient"`       // a text or a list
	GroupID         any      `json:"groupId"`         // likewise
	TargetTimestamp any      `json:"targetTimestamp"` // a number or a list
}

// recipients returns the recipients of a call.
func (c *call) recipients() []string {
	if c.Params.GroupID != nil {
		if c.Params.Recipient != nil {
			return nil // it is one or the other
		}
		return (&call{Params: callParams{Recipient: c.Params.GroupID}}).recipients()
	}
	if one, ok := c.Params.Recipient.(string); ok {
		return []string{one}
	}
	list, _ := c.Params.Recipient.([]any)
	var out []string
	for _, one := range list {
		out = append(out, fmt.Sprint(one))
	}
	return out
}

// targets returns the times of the messages that a call is about.
func (c *call) targets() []int64 {
	list, ok := c.Params.TargetTimestamp.([]any)
	if !ok {
		list = []any{c.Params.TargetTimestamp}
	}
	var out []int64
	for _, one := range list {
		if n, ok := one.(float64); ok {
			out = append(out, int64(n))
		}
	}
	return out
}

// rpc serves one request.
func (s *Server) rpc(w http.ResponseWriter, r *http.Request) {
	var c call
	if f := c.read(r); f != nil {
		s.Note(fmt.Errorf("request %+v: %s", c, f.Message))
		s.refuse(w, c, *f)
		return
	}
	f, failing := s.Begin(c.Method)
	if failing && f == (Failure{}) {
		s.Hang(r)
		return
	}
	if failing && !f.Drop && !f.Garbage {
		s.refuse(w, c, f)
		return
	}
	if f := s.admit(&c); f != nil {
		s.refuse(w, c, *f)
		return
	}
	result, refusal := s.carryOut(&c)
	if c.Method == "finishLink" {
		result, refusal = s.finishLink(r, c.Params.DeviceLinkURI)
	}
	switch {
	case f.Drop:
		hangUp(w)
	case f.Garbage:
		fmt.Fprint(w, "<html>")
	case refusal != nil:
		s.refuse(w, c, *refusal)
	default:
		s.answer(w, c, map[string]any{"result": result})
	}
}

// maxString is the longest string of a request in bytes.
const maxString = 20_000_000

// read reads a request, and returns why it is refused before anything is called.
func (c *call) read(r *http.Request) *Failure {
	err := json.NewDecoder(r.Body).Decode(c)
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &other):
		return &Failure{Code: -32600, Message: "unexpected type: " + other.Value}
	case err != nil:
		return &Failure{Code: -32700, Message: err.Error()}
	case c.Version != "2.0":
		return &Failure{Code: -32600, Message: "only jsonrpc version 2.0 is supported"}
	case c.Method == "":
		return &Failure{Code: -32600, Message: "method field must be set"}
	case len(c.Params.Message) > maxString || len(strings.Join(c.Params.Attachment, "")) > maxString:
		c.ID = nil
		return &Failure{Code: -32603, Message: "An internal server error has occurred."}
	}
	return nil
}

// The methods, by whether they are about an account: always, never, and if one is named.
var (
	ofAccounts = []string{"send", "sendTyping", "sendReceipt", "getAttachment", "getSticker", "listContacts", "listGroups",
		"listDevices", "remoteDelete"}
	ofNone   = []string{"startLink", "finishLink", "listAccounts"}
	ofEither = []string{"version"}
)

// admit returns why a call is refused whatever its other parameters are.
func (s *Server) admit(c *call) *Failure {
	always, either := slices.Contains(ofAccounts, c.Method), slices.Contains(ofEither, c.Method)
	switch {
	case !always && !either && !slices.Contains(ofNone, c.Method):
		s.Note(fmt.Errorf("there is no method %q", c.Method))
		return &Failure{Code: -32601, Message: "Method not implemented"}
	case always && c.Params.Account == "":
		return &Failure{Code: -32602, Message: "Method requires valid account parameter"}
	case (always || either && c.Params.Account != "") && !s.has(c.Params.Account):
		return &Failure{Code: -32602, Message: "Specified account does not exist"}
	}
	return nil
}

// has reports whether the daemon has an account.
func (s *Server) has(account string) bool {
	s.Lock()
	defer s.Unlock()
	return !s.unlinked && (account == Account || account == Self)
}

// Unlink takes the account from the daemon.
func (s *Server) Unlink() {
	s.Lock()
	defer s.Unlock()
	s.unlinked = true
}

// Code returns the newest code, or "".
func (s *Server) Code() string {
	s.Lock()
	defer s.Unlock()
	return s.code
}

// Scan lets the phone scan a code, after which the daemon has the account. A code other than the newest has run out.
func (s *Server) Scan(code string) {
	s.Lock()
	defer s.Unlock()
	s.scanned = code
	s.Signal()
}

// ScanAll lets the phone scan every code from now on.
func (s *Server) ScanAll() {
	s.Lock()
	defer s.Unlock()
	s.scansAll = true
}

// finishLink waits until a code is scanned, and returns the account, or why it has none.
func (s *Server) finishLink(r *http.Request, code string) (any, *Failure) {
	s.Lock()
	known := code == s.code && code != "" && !s.finishing
	s.finishing = true
	s.Unlock()
	if code == "" {
		return nil, &Failure{Code: -1, Message: "Missing deviceLinkUri."}
	}
	if !known {
		return nil, &Failure{Code: -1, Message: "Unknown device link uri."}
	}
	err := s.Wait(r.Context(), func() bool {
		s.Lock()
		defer s.Unlock()
		return s.scanned != "" || s.scansAll
	})
	s.Lock()
	defer s.Unlock()
	if err != nil || s.scanned != code && !s.scansAll {
		return nil, &Failure{Code: -1, Message: "Link request timed out, please try again."}
	}
	s.unlinked = false
	return map[string]any{"number": Account}, nil
}

// hangUp ends the connection without an answer.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// answer answers a request. One without an id gets no answer.
func (s *Server) answer(w http.ResponseWriter, c call, body map[string]any) {
	if c.ID == nil && body["error"] == nil {
		w.WriteHeader(http.StatusCreated)
		return
	}
	body["jsonrpc"], body["id"] = "2.0", c.ID
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil && s.Ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		s.Note(err)
	}
}

func (s *Server) refuse(w http.ResponseWriter, c call, f Failure) {
	if f.HTTP != 0 {
		w.WriteHeader(f.HTTP)
		return
	}
	e := map[string]any{"code": f.Code, "message": f.Message, "data": nil}
	if f.Type != "" {
		one := map[string]any{"type": f.Type}
		if f.Token != "" {
			one["token"] = f.Token
		}
		if f.Wait != 0 {
			one["retryAfterSeconds"] = f.Wait
		}
		e["data"] = map[string]any{"response": map[string]any{"timestamp": 1, "results": []any{one}}}
	}
	s.answer(w, c, map[string]any{"error": e})
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"maunium.net/go/mautrix/bridgev2"
	"maunium.net/go/mautrix/bridgev2/database"
	"maunium.net/go/mautrix/bridgev2/networkid"
	"maunium.net/go/mautrix/bridgev2/simplevent"
	"maunium.net/go/mautrix/bridgev2/status"
	"maunium.net/go/mautrix/event"
)

// act is a test's request.
type act struct {
	Chat   string `json:"chat"` // a person's id, or group:A+B
	From   string `json:"from"` // who; empty: Chat; "me": the own phone
	Name   string `json:"name"`
	ID     string `json:"id"`
	Target string `json:"target"`
	Text   string `json:"text"`
	Kind   string `json:"kind"`
	At     int64  `json:"at"` // milliseconds; 0: now

	// File makes the message a file, with Text as its caption; with a length it is a
	// voice note.
	File     []byte `json:"file"`
	MIME     string `json:"mime"`
	Seconds  int    `json:"seconds"`
	Filename string `json:"filename"` // of a document
}

// control serves the tests.
func (n *network) control() {
	mux := http.NewServeMux()
	for path, do := range map[string]func(act, *bridgev2.UserLogin) error{
		"/say": n.say, "/edit": n.edit, "/react": n.react, "/delete": n.remove, "/read": n.read, "/state": n.state,
		"/fail": func(a act, _ *bridgev2.UserLogin) error {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.fail = append(n.fail, a.Kind)
			return nil
		},
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var a act
			if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			n.mu.Lock()
			login := n.login
			n.mu.Unlock()
			if login == nil {
				http.Error(w, "nobody is logged in", http.StatusConflict)
				return
			}
			if err := do(a, login); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	mux.HandleFunc("GET /sent", func(w http.ResponseWriter, _ *http.Request) {
		n.mu.Lock()
		defer n.mu.Unlock()
		_ = json.NewEncoder(w).Encode(append([]sent{}, n.out...))
	})
	ln, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("BRIDGE_CONTROL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() { _ = http.Serve(ln, mux) }()
}

func (n *network) meta(a act, kind bridgev2.RemoteEventType) simplevent.EventMeta {
	from := a.From
	if from == "" {
		from = a.Chat
	}
	at := time.Now()
	if a.At != 0 {
		at = time.UnixMilli(a.At)
	}
	sender := bridgev2.EventSender{Sender: networkid.UserID(from)}
	if from == "me" {
		sender = bridgev2.EventSender{IsFromMe: true, Sender: self, SenderLogin: self}
	}
	if a.Name != "" {
		n.mu.Lock()
		n.names[from] = a.Name
		n.mu.Unlock()
	}
	return simplevent.EventMeta{Type: kind, PortalKey: networkid.PortalKey{ID: networkid.PortalID(a.Chat), Receiver: self},
		Sender: sender, CreatePortal: true, Timestamp: at}
}

func (n *network) say(a act, l *bridgev2.UserLogin) error {
	if len(a.File) > 0 {
		return done(l.QueueRemoteEvent(&simplevent.Message[act]{EventMeta: n.meta(a, bridgev2.RemoteEventMessage),
			ID: networkid.MessageID(a.ID), Data: a, ConvertMessageFunc: convertFile}))
	}
	return done(l.QueueRemoteEvent(&simplevent.PreConvertedMessage{EventMeta: n.meta(a, bridgev2.RemoteEventMessage),
		ID: networkid.MessageID(a.ID),
		Data: &bridgev2.ConvertedMessage{Parts: []*bridgev2.ConvertedMessagePart{{Type: event.EventMessage,
			Content: &event.MessageEventContent{MsgType: event.MsgText, Body: a.Text, Mentions: &event.Mentions{}}}}}}))
}

// convertFile uploads a file to the homeserver, as bridges do.
func convertFile(ctx context.Context, portal *bridgev2.Portal, intent bridgev2.MatrixAPI,
	a act) (*bridgev2.ConvertedMessage, error) {
	c := &event.MessageEventContent{MsgType: event.MsgImage, Body: "image",
		Info: &event.FileInfo{MimeType: a.MIME, Size: len(a.File)}, Mentions: &event.Mentions{}}
	if a.Seconds > 0 {
		c.MsgType, c.Body = event.MsgAudio, "Voice message.ogg"
		c.Info.Duration, c.MSC3245Voice = a.Seconds*1000, &event.MSC3245Voice{}
	}
	if a.Filename != "" {
		c.MsgType, c.Body = event.MsgFile, a.Filename
	}
	if a.Text != "" {
		c.FileName, c.Body = c.Body, a.Text
	}
	var err error
	c.URL, c.File, err = intent.UploadMedia(ctx, portal.MXID, a.File, c.GetFileName(), a.MIME)
	if err != nil {
		return nil, err
	}
	return &bridgev2.ConvertedMessage{Parts: []*bridgev2.ConvertedMessagePart{{Type: event.EventMessage, Content: c}}}, nil
}

func (n *network) edit(a act, l *bridgev2.UserLogin) error {
	return done(l.QueueRemoteEvent(&simplevent.Message[string]{EventMeta: n.meta(a, bridgev2.RemoteEventEdit),
		ID: networkid.MessageID(a.ID), TargetMessage: networkid.MessageID(a.Target), Data: a.Text,
		ConvertEditFunc: func(_ context.Context, _ *bridgev2.Portal, _ bridgev2.MatrixAPI, old []*database.Message,
			text string) (*bridgev2.ConvertedEdit, error) {
			return &bridgev2.ConvertedEdit{ModifiedParts: []*bridgev2.ConvertedEditPart{{Part: old[0], Type: event.EventMessage,
				Content: &event.MessageEventContent{MsgType: event.MsgText, Body: text, Mentions: &event.Mentions{}}}}}, nil
		}}))
}

func (n *network) react(a act, l *bridgev2.UserLogin) error {
	return done(l.QueueRemoteEvent(&simplevent.Reaction{EventMeta: n.meta(a, bridgev2.RemoteEventReaction),
		TargetMessage: networkid.MessageID(a.Target), Emoji: a.Text}))
}

func (n *network) remove(a act, l *bridgev2.UserLogin) error {
	return done(l.QueueRemoteEvent(&simplevent.MessageRemove{EventMeta: n.meta(a, bridgev2.RemoteEventMessageRemove),
		TargetMessage: networkid.MessageID(a.Target)}))
}

func (n *network) read(a act, l *bridgev2.UserLogin) error {
	return done(l.QueueRemoteEvent(&simplevent.Receipt{EventMeta: n.meta(a, bridgev2.RemoteEventReadReceipt),
		LastTarget: networkid.MessageID(a.Target), Targets: []networkid.MessageID{networkid.MessageID(a.Target)}}))
}

// state changes the login's state, such as BAD_CREDENTIALS.
func (n *network) state(a act, l *bridgev2.UserLogin) error {
	l.BridgeState.Send(status.BridgeState{StateEvent: status.BridgeStateEvent(a.Kind), Error: "test", Message: a.Text})
	return nil
}

func done(r bridgev2.EventHandlingResult) error {
	if !r.Success && !r.Queued {
		return fmt.Errorf("not taken: %v", r.Error)
	}
	return nil
}

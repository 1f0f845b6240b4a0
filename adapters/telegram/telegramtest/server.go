// Package telegramtest is a fake Telegram Bot API server: updates stay until a greater
// offset confirms them, a second poller ends the first, texts have a limit in UTF-16
// units, entities are checked, and webhooks are called until they answer 200. If the
// published description of the API is available, every request is checked against it;
// Errors returns the errors.
//
// It serves one bot with any token; its id is the number in the token. It is for tests and
// for manual trials of the gateway, see cmd/telegramtest.
package telegramtest

import (
	"cmp"
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

// Token is an example of a token. The server accepts any of this form.
const Token = "123456:TEST-token_0"

// Message is a message that the bot sent.
type Message struct {
	ID       int64    `json:"id"`
	Chat     int64    `json:"chat"`
	Text     string   `json:"text"`
	Entities []Entity `json:"entities,omitempty"`
	Quiet    bool     `json:"quiet,omitempty"`
	ReplyTo  int64    `json:"reply_to,omitempty"`
	Topic    int64    `json:"topic,omitempty"` // message_thread_id
	Edited   bool     `json:"edited,omitempty"`
	Deleted  bool     `json:"deleted,omitempty"`
	Reaction string   `json:"reaction,omitempty"` // of the bot
	File     *File    `json:"file,omitempty"`     // with Text as its caption
	Markup   string   `json:"markup,omitempty"`   // reply_markup, as JSON
}

// File is a file sent by the bot.
type File struct {
	Kind string `json:"kind"` // photo, document, audio, video, voice
	Name string `json:"name"`
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

// Entity is a markup entity, in UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// Draft is a shown preview.
type Draft struct {
	Chat    int64
	Topic   int64
	ID      int64
	Text    string
	CanStop bool
}

// Failure is a failure of calls of a method. With no field set, the call hangs until the
// client disconnects.
type Failure struct {
	Code        int    `json:"code,omitempty"`        // HTTP status and error_code
	Description string `json:"description,omitempty"` // empty: the code's usual one
	RetryAfter  int    `json:"retry_after,omitempty"` // seconds, with 429
	MigrateTo   int64  `json:"migrate_to,omitempty"`  // with 400
	// Drop carries out the call and ends the connection without an answer.
	Drop bool `json:"drop,omitempty"`
	// Delay postpones the call.
	Delay time.Duration `json:"delay,omitempty"`
}

// Server is a fake Bot API server. Its methods may be called concurrently.
type Server struct {
	servicetest.Server[Failure]
	client *http.Client // calls the webhook

	nextID   int64    // of the next update
	queue    []update // not confirmed
	history  map[int64]json.RawMessage
	poller   chan string // ends the waiting long poll, with the reason
	webhook  webhook
	messages int64 // last message id
	sent     []Message
	drafts   []Draft
	actions  map[[2]int64]int
	members  map[[2]int64]string // who is not just a member, by chat and person
	answered []string
	menus    map[string][]string
	files    map[string]file
}

type file struct {
	path string
	data []byte
}

// New starts a server on 127.0.0.1. The caller must call Close.
func New() *Server {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return s
}

// Listen is New on the address addr, for manual use.
func Listen(addr string) (*Server, error) {
	s := &Server{
		client: &http.Client{Transport: &http.Transport{}},
		nextID: 700000001, history: map[int64]json.RawMessage{}, members: map[[2]int64]string{}, actions: map[[2]int64]int{}, menus: map[string][]string{},
		files: map[string]file{},
	}
	if err := s.Start(s, addr); err != nil {
		return nil, err
	}
	s.Go(s.push)
	return s, nil
}

// Close ends all requests and the server.
func (s *Server) Close() {
	s.Server.Close()
	s.client.CloseIdleConnections()
}

// ServeHTTP serves /bot<token>/<method>, /file/bot<token>/<path> and /control/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/control/"):
		s.control(w, r)
	case strings.HasPrefix(path, "/file/bot"):
		s.serveFile(w, r)
	case strings.HasPrefix(path, "/bot"):
		s.serveMethod(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request) {
	token, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	bot, _, ok := strings.Cut(token, ":")
	if !ok || strings.Trim(bot, "0123456789") != "" {
		reply(w, nil, &refusal{code: 404})
		return
	}
	p, err := parse(r, method)
	if errors.Is(err, errCutOff) {
		return
	}
	if err != nil {
		s.Note(fmt.Errorf("%s: %w", method, err))
		reply(w, nil, &refusal{code: 400, description: "Bad Request: can't parse the request"})
		return
	}
	f, failing := s.Begin(method)
	if failing && !s.fail(w, r, f) {
		return
	}
	result, refused := s.call(r.Context(), bot, method, p)
	if failing && f.Drop {
		panic(http.ErrAbortHandler)
	}
	reply(w, result, refused)
}

// fail applies f, and reports whether to carry out the call.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, f Failure) bool {
	switch {
	case f.Drop:
		return true
	case f.Delay > 0:
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
			return true
		case <-r.Context().Done():
		case <-s.Ctx.Done():
		}
		return false
	case f.Code != 0:
		reply(w, nil, &refusal{code: f.Code, description: f.Description, retryAfter: f.RetryAfter, migrateTo: f.MigrateTo})
		return false
	}
	s.Hang(r)
	return false
}

// call carries out a method and returns a result to encode as JSON.
func (s *Server) call(ctx context.Context, bot, method string, p params) (any, *refusal) {
	switch method {
	case "getMe":
		return map[string]any{"id": json.Number(bot), "is_bot": true, "first_name": "Test", "username": "test_bot",
			"can_join_groups": true}, nil
	case "getUpdates":
		return s.getUpdates(ctx, p)
	case "setWebhook", "deleteWebhook":
		return s.setWebhook(p)
	case "getWebhookInfo":
		return s.webhookInfo(), nil
	case "sendMessage":
		return s.sendMessage(p)
	case "sendPhoto", "sendDocument", "sendAudio", "sendVideo", "sendVoice":
		return s.sendFile(strings.ToLower(strings.TrimPrefix(method, "send")), p)
	case "editMessageText":
		return s.editMessage(p)
	case "deleteMessage":
		return s.deleteMessage(p)
	case "sendMessageDraft":
		return s.sendDraft(p)
	case "getChatMember":
		s.Lock()
		defer s.Unlock()
		status := s.members[[2]int64{p.int("chat_id"), p.int("user_id")}]
		return map[string]any{"status": cmp.Or(status, "member"), "user": personOf(p.int("user_id"))}, nil
	case "getFile":
		return s.getFile(p)
	case "sendChatAction", "setMyCommands", "deleteMyCommands", "answerCallbackQuery", "setMessageReaction":
		s.keep(method, p)
		return true, nil
	}
	s.Note(fmt.Errorf("%s: no such method here", method))
	return nil, &refusal{code: 404}
}

// keep records the calls without other effects.
func (s *Server) keep(method string, p params) {
	s.Lock()
	defer s.Unlock()
	switch method {
	case "sendChatAction":
		s.actions[[2]int64{p.int("chat_id"), p.int("message_thread_id")}]++
	case "answerCallbackQuery":
		s.answered = append(s.answered, p.string("callback_query_id"))
	case "setMyCommands", "deleteMyCommands":
		var scope struct{ Type string }
		p.decode("scope", &scope)
		var list []struct{ Command string }
		p.decode("commands", &list)
		names := []string{}
		for _, c := range list {
			names = append(names, c.Command)
		}
		s.menus[p.string("language_code")+scope.Type] = names
	case "setMessageReaction":
		var list []struct{ Emoji string }
		p.decode("reaction", &list)
		i := slices.IndexFunc(s.sent, func(m Message) bool { return m.ID == p.int("message_id") })
		if i >= 0 && len(list) > 0 {
			s.sent[i].Reaction = list[0].Emoji
		}
	}
	s.Signal()
}

// refusal is an answer with ok false.
type refusal struct {
	code        int
	description string
	retryAfter  int
	migrateTo   int64
}

func usual(f *refusal) string {
	switch f.code {
	case 400:
		return "Bad Request"
	case 401:
		return "Unauthorized"
	case 403:
		return "Forbidden: bot was blocked by the user"
	case 404:
		return "Not Found"
	case 429:
		return fmt.Sprintf("Too Many Requests: retry after %d", f.retryAfter)
	}
	return http.StatusText(f.code)
}

func reply(w http.ResponseWriter, result any, f *refusal) {
	w.Header().Set("Content-Type", "application/json")
	if f == nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
		return
	}
	if f.description == "" {
		f.description = usual(f)
	}
	body := map[string]any{"ok": false, "error_code": f.code, "description": f.description}
	extra := map[string]any{}
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(f.retryAfter))
		extra["retry_after"] = f.retryAfter
	}
	if f.migrateTo != 0 {
		extra["migrate_to_chat_id"] = f.migrateTo
	}
	if len(extra) > 0 {
		body["parameters"] = extra
	}
	w.WriteHeader(f.code)
	_ = json.NewEncoder(w).Encode(body)
}

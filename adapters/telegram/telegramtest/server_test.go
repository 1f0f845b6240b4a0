package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// result is an answer of the API.
type result struct {
	OK          bool            `json:"ok"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Result      json.RawMessage `json:"result"`
}

func (r result) ids(t *testing.T) []int64 {
	t.Helper()
	var list []struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	ids := []int64{}
	for _, u := range list {
		ids = append(ids, u.ID)
	}
	return ids
}

func call(t *testing.T, s *Server, method, params string) result {
	t.Helper()
	r, err := try(t.Context(), s, method, params)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func try(ctx context.Context, s *Server, method, params string) (result, error) {
	var r result
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/bot"+Token+"/"+method,
		strings.NewReader(params))
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	return r, json.NewDecoder(resp.Body).Decode(&r)
}

func served(t *testing.T) *Server {
	s := New()
	t.Cleanup(s.Close)
	return s
}

func TestGetUpdates_offsetConfirms(t *testing.T) {
	t.Parallel()
	s := served(t)
	for range 3 {
		s.Say(7, "hello")
	}
	first := call(t, s, "getUpdates", `{}`).ids(t)
	again := call(t, s, "getUpdates", `{"offset":0}`).ids(t)
	if len(first) != 3 || len(again) != 3 {
		t.Fatalf("%v, then %v", first, again)
	}
	for i, want := range []int{3, 2} {
		raw, _ := json.Marshal(map[string]int64{"offset": first[i]})
		if got := call(t, s, "getUpdates", string(raw)).ids(t); len(got) != want {
			t.Errorf("offset %d leaves %v", first[i], got)
		}
	}
	if got := call(t, s, "getUpdates", `{"offset":-1}`).ids(t); len(got) != 1 || got[0] != first[2] {
		t.Errorf("offset -1 leaves %v", got)
	}
	if s.Pending() != 1 {
		t.Errorf("offset -1 left %d pending", s.Pending())
	}
	if got := call(t, s, "getUpdates", `{"offset":1,"limit":1,"timeout":0}`).ids(t); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestGetUpdates_longPollWakes(t *testing.T) {
	t.Parallel()
	s := served(t)
	got := make(chan result, 1)
	go func() {
		r, _ := try(t.Context(), s, "getUpdates", `{"timeout":50}`)
		got <- r
	}()
	waitFor(t, s, func() bool { return s.Calls("getUpdates") == 1 })
	s.Say(7, "hello")
	if ids := (<-got).ids(t); len(ids) != 1 {
		t.Errorf("got %v", ids)
	}
}

func TestGetUpdates_secondPollerEndsTheFirst(t *testing.T) {
	t.Parallel()
	s := served(t)
	got := make(chan result, 1)
	go func() {
		r, _ := try(t.Context(), s, "getUpdates", `{"timeout":50}`)
		got <- r
	}()
	waitFor(t, s, s.polled)
	call(t, s, "getUpdates", `{"timeout":0}`)
	if r := <-got; r.Code != 409 || r.Description != conflictPoll {
		t.Errorf("got %+v", r)
	}
	call(t, s, "setWebhook", `{"url":"http://127.0.0.1:1"}`)
	if r := call(t, s, "getUpdates", `{}`); r.Code != 409 || r.Description != conflictWebhook {
		t.Errorf("got %+v", r)
	}
}

func (s *Server) polled() bool {
	s.Lock()
	defer s.Unlock()
	return s.poller != nil
}

func waitFor(t *testing.T, s *Server, what func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx, what); err != nil {
		t.Fatal(err)
	}
}

func TestWebhook_calledUntilItAnswers(t *testing.T) {
	t.Parallel()
	s := served(t)
	var calls atomic.Int32
	bodies := make(chan string, 10)
	ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(503)
			return
		}
		b, _ := io.ReadAll(r.Body)
		bodies <- r.Header.Get("X-Telegram-Bot-Api-Secret-Token") + string(b)
	}))
	t.Cleanup(ours.Close)
	call(t, s, "setWebhook", `{"url":"`+ours.URL+`","secret_token":"x"}`)
	s.Say(7, "hello")
	if got := <-bodies; !strings.HasPrefix(got, "x{") || !strings.Contains(got, "hello") {
		t.Errorf("got %q", got)
	}
	waitFor(t, s, func() bool { return s.Pending() == 0 })
	if r := call(t, s, "getWebhookInfo", `{}`); !bytes.Contains(r.Result, []byte("503")) {
		t.Errorf("info %s", r.Result)
	}
}

func TestServer_checksRequests(t *testing.T) {
	t.Parallel()
	if !HasDescription() {
		t.Skip("the description of the Bot API is not there: ../shared/data/telegram-bot-api-10.1.json")
	}
	for params, wrong := range map[string]bool{
		`{"chat_id":7,"text":"x"}`:             false,
		`{"chat_id":7,"text":"x","texts":"y"}`: true,
		`{"chat_id":7}`:                        true,
		`{"chat_id":7.5,"text":"x"}`:           true,
		`{"chat_id":7,"text":"x","entities":[{"type":"bold","offset":0,"length":1}]}`:        false,
		`{"chat_id":7,"text":"x","entities":[{"type":"bold","offset":0,"length":1,"at":1}]}`: true,
		`{"chat_id":7,"text":"x","link_preview_options":{"is_disabled":"yes"}}`:              true,
		`{"chat_id":7,"text":"x","reply_markup":{"remove_keyboard":true}}`:                   false,
		`{"chat_id":7,"text":"x","parse_mode":null}`:                                         true,
	} {
		s := served(t)
		call(t, s, "sendMessage", params)
		if got := len(s.Errors()) > 0; got != wrong {
			t.Errorf("%s: errors %v", params, s.Errors())
		}
	}
	s := served(t)
	call(t, s, "sendTelepathy", `{}`)
	call(t, s, "sendMessageDraft", `{"chat_id":7,"draft_id":1,"text":"","can_stop":true}`)
	if len(s.Errors()) != 1 {
		t.Errorf("errors %v", s.Errors())
	}
}

func TestServer_checksTexts(t *testing.T) {
	t.Parallel()
	entity := func(kind string, offset, length int) Entity {
		return Entity{Type: kind, Offset: offset, Length: length}
	}
	for name, c := range map[string]struct {
		text     string
		entities []Entity
		want     string
	}{
		"good":               {"a🙂b", []Entity{entity("bold", 0, 3), entity("italic", 1, 2)}, ""},
		"longest":            {strings.Repeat("🙂", 2048), nil, ""},
		"too long":           {strings.Repeat("🙂", 2048) + "a", nil, "message is too long"},
		"empty":              {" ", nil, "message text is empty"},
		"out of the text":    {"abc", []Entity{entity("bold", 1, 3)}, "out of the text"},
		"empty entity":       {"abc", []Entity{entity("bold", 1, 0)}, "out of the text"},
		"within a character": {"🙂", []Entity{entity("bold", 0, 1)}, "within a character"},
		"overlap":            {"abcd", []Entity{entity("bold", 0, 2), entity("italic", 1, 2)}, "overlap"},
		"code in bold":       {"abcd", []Entity{entity("bold", 0, 3), entity("code", 1, 1)}, "code within"},
		"bold in code":       {"abcd", []Entity{entity("pre", 0, 3), entity("bold", 1, 1)}, "code within"},
		"code in quote":      {"abcd", []Entity{entity("blockquote", 0, 3), entity("pre", 1, 1)}, ""},
		"nested quotes": {"abcd", []Entity{entity("expandable_blockquote", 0, 3), entity("blockquote", 1, 1)},
			"nested quotes"},
		"too many": {strings.Repeat("a", 101), manyEntities(), "ENTITIES_TOO_LONG"},
	} {
		f := checkText(c.text, c.entities)
		if got := f == nil; got != (c.want == "") || f != nil && !strings.Contains(f.description, c.want) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func manyEntities() []Entity {
	var out []Entity
	for i := range 101 {
		out = append(out, Entity{Type: "bold", Offset: i, Length: 1})
	}
	return out
}

// A third-party client that sends multipart works with the server.
func TestServer_foreignClient(t *testing.T) {
	t.Parallel()
	s := served(t)
	b, err := bot.New(Token, bot.WithServerURL(s.URL()), bot.WithHTTPClient(time.Minute, s.client))
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.SendMessage(t.Context(), &bot.SendMessageParams{
		ChatID: 7, Text: "hello", Entities: []models.MessageEntity{{Type: "bold", Offset: 0, Length: 5}},
		ReplyParameters: &models.ReplyParameters{MessageID: 1, AllowSendingWithoutReply: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	edit := &bot.EditMessageTextParams{ChatID: 7, MessageID: m.ID, Text: "hello again"}
	if _, err := b.EditMessageText(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	if _, err := b.EditMessageText(t.Context(), edit); err == nil || !strings.Contains(err.Error(), "not modified") {
		t.Errorf("got %v", err)
	}
	s.Fail("sendMessage", 1, Failure{Code: 429, RetryAfter: 7})
	_, err = b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 7, Text: "x"})
	var flood *bot.TooManyRequestsError
	if !errors.As(err, &flood) || flood.RetryAfter != 7 {
		t.Errorf("got %v", err)
	}
	sent := s.Sent(7)
	if len(sent) != 1 || sent[0].Text != "hello again" || !sent[0].Edited || sent[0].ReplyTo != 1 {
		t.Errorf("sent %+v", sent)
	}
	if errs := s.Errors(); len(errs) > 0 {
		t.Errorf("errors %v", errs)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	s := served(t)
	do := func(method, path, body string) string {
		req, _ := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return strings.TrimSpace(string(b))
	}
	if got := do("POST", "/control/say", `{"chat":7,"text":"hi"}`); got != `{"message_id":1}` {
		t.Errorf("say: %s", got)
	}
	do("POST", "/control/offer", `{"message":{"message_id":3}}`)
	if s.Pending() != 2 {
		t.Errorf("%d updates", s.Pending())
	}
	do("POST", "/control/fail", `{"method":"sendMessage","code":403}`)
	if r := call(t, s, "sendMessage", `{"chat_id":7,"text":"x"}`); r.Code != 403 {
		t.Errorf("got %+v", r)
	}
	call(t, s, "sendMessage", `{"chat_id":7,"text":"x"}`)
	if got := do("GET", "/control/sent?chat=7", ""); !strings.Contains(got, `"text":"x"`) {
		t.Errorf("sent: %s", got)
	}
	if got := do("GET", "/control/errors", ""); got != "[]" {
		t.Errorf("errors: %s", got)
	}
}

// form posts a form with one file and returns the answer.
func form(t *testing.T, s *Server, method, field string, values map[string]string, data []byte) result {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, v := range values {
		if err := w.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	f, err := w.CreateFormFile(field, "a.bin")
	if err == nil {
		_, err = f.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(s.URL()+"/bot"+Token+"/"+method, w.FormDataContentType(), &b)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var r result
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestServer_keepsAndChecksFiles(t *testing.T) {
	t.Parallel()
	s := New()
	defer s.Close()
	if r := form(t, s, "sendDocument", "document", map[string]string{"chat_id": "7", "caption": "12",
		"caption_entities": `[{"type":"bold","offset":0,"length":2}]`}, []byte("data")); !r.OK {
		t.Errorf("got %+v", r)
	}
	sent := s.Sent(7)
	if len(sent) != 1 || sent[0].Text != "12" || len(sent[0].Entities) != 1 || sent[0].File == nil ||
		string(sent[0].File.Data) != "data" || sent[0].File.Name != "a.bin" {
		t.Errorf("kept %+v", sent)
	}
	for name, c := range map[string]struct {
		method, field string
		values        map[string]string
		data          string
		code          int
		known         bool // in the description
	}{
		"empty":      {"sendDocument", "document", map[string]string{"chat_id": "7"}, "", 400, true},
		"no picture": {"sendPhoto", "photo", map[string]string{"chat_id": "7"}, "data", 400, true},
		"a long caption": {"sendDocument", "document",
			map[string]string{"chat_id": "7", "caption": strings.Repeat("x", 1025)}, "data", 400, true},
		"entities elsewhere": {"sendDocument", "document", map[string]string{"chat_id": "7", "caption": "x",
			"caption_entities": `[{"type":"bold","offset":0,"length":9}]`}, "data", 400, true},
		"a wrong field": {"sendDocument", "photo", map[string]string{"chat_id": "7"}, "data", 400, false},
		"a wrong type": {"sendDocument", "document",
			map[string]string{"chat_id": "7", "disable_notification": "perhaps"}, "data", 400, false},
	} {
		if !c.known && !HasDescription() {
			continue
		}
		before := len(s.Errors())
		if r := form(t, s, c.method, c.field, c.values, []byte(c.data)); r.OK || r.Code != c.code {
			t.Errorf("%s: got %+v", name, r)
		}
		if noted := len(s.Errors()) > before; noted == c.known {
			t.Errorf("%s: noted is %v", name, noted)
		}
	}
	if len(s.Sent(7)) != 1 {
		t.Errorf("sent %+v", s.Sent(7))
	}
}

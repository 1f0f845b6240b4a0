package whatsapptest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func send(t *testing.T, s *Server, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v23.0/"+PhoneNumberID+"/messages",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+Token)
	req.Header.Set("User-Agent", "test")
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// A message that differs from Meta's description is detected.
func TestDescription(t *testing.T) {
	if !HasDescription() {
		t.Skip("no description of the API next to the checkout (../shared/data)")
	}
	const common = `"messaging_product":"whatsapp","recipient_type":"individual","to":"+16505551234"`
	for body, good := range map[string]bool{
		`{` + common +
			`,"type":"text","text":{"body":"a","preview_url":false}}`: true,
		`{"messaging_product":"whatsapp","recipient_type":"individual","recipient":"US.1","type":"text","text":{"body":"a"},"biz_opaque_callback_data":"k"}`: true,
		`{` + common +
			`,"type":"text","text":{"body":"a"},"context":{"message_id":"wamid.X"}}`: true,
		`{` + common +
			`,"type":"template","template":{"name":"n","language":{"policy":"deterministic","code":"en"},"components":[{"type":"button","sub_type":"quick_reply","index":"0"}]}}`: true,
		`{"messaging_product":"whatsapp","to":"+16505551234","type":"text","text":{"body":"a"}}`:           false,
		`{"messaging_product":"whatsapp","recipient_type":"individual","type":"text","text":{"body":"a"}}`: false,
		`{` + common +
			`,"type":"text","text":{"body":"a","markup":true}}`: false,
		`{` + common +
			`,"type":"text","txt":{"body":"a"}}`: false,
		`{` + common +
			`,"type":"text","text":{"body":7}}`: false,
		`{` + common +
			`,"type":"image","image":{}}`: false,
		`{` + common +
			`,"type":"template","template":{"name":"n","language":{"code":"en"}}}`: false,
		`{` + common +
			`,"type":"poem","poem":{}}`: false,
	} {
		if err := checkMessage([]byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := New()
	defer s.Close()
	for body, code := range map[string]string{
		`{"type":"text","recipient_type":"individual","to":"16505551234","text":{"body":"a"}}`:  "131009",
		`{"type":"text","recipient_type":"individual","to":"+16505551234","text":{"body":" "}}`: "131008",
		`{"type":"text","recipient_type":"individual","to":"+16505551234","text":{"body":"` + strings.Repeat("x", 4097) +
			`"}}`: `"code":100`,
		`{"type":"image","recipient_type":"individual","to":"+16505551234","image":{"id":"1"}}`: "131009",
		`{"status":"read","message_id":"wamid.X"}`:                                              "131009",
		`{`: `"code":100`,
	} {
		if status, answer := send(t, s, body); status != 400 || !strings.Contains(answer, code) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if n := len(s.Sent()); n > 0 {
		t.Errorf("%d messages were accepted", n)
	}
}

// Bodies have the service's exact form, on which signatures depend.
func TestBody_isEscaped(t *testing.T) {
	body := Body(Person{Phone: "1", Name: "Zoë"}, "w", time.Unix(5, 0),
		map[string]any{"type": "text", "text": map[string]any{"body": "a/b 🙂"}})
	for _, want := range []string{`a\/b \ud83d\ude42`, `Zo\u00eb`, `"timestamp":"5"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	if !json.Valid(body) {
		t.Errorf("%s", body)
	}
}

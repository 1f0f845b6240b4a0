//go:build e2e && bench

package e2etest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
)

// Hooks posts the n-th message of one of 50 people, and waits until it is accepted.
func (w *Town) Hooks(g *Gateway) map[string]func(n int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	post := func(path string, body []byte, header, value string) {
		r, err := http.NewRequest(http.MethodPost, g.URL+path, bytes.NewReader(body))
		Must(w.T, err)
		r.Header.Set(header, value)
		resp, err := client.Do(r)
		Must(w.T, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			w.T.Errorf("%s answers %s", path, resp.Status)
		}
	}
	return map[string]func(n int){
		"telegram": func(n int) {
			body, err := json.Marshal(map[string]any{"update_id": n + 1, "message": Written(int64(2000+n%50), int64(n+1),
				fmt.Sprint("message ", n))})
			Must(w.T, err)
			post("/webhooks/telegram", body, "X-Telegram-Bot-Api-Secret-Token", WebhookKey)
		},
		"whatsapp": func(n int) {
			body := whatsapptest.Body(whatsapptest.Person{Phone: fmt.Sprint(16505550000 + n%50),
				UserID: fmt.Sprint("US.", 1000+n%50), Name: "Ada"},
				fmt.Sprint("wamid.", n), time.Now(), map[string]any{"type": "text",
					"text": map[string]any{"body": fmt.Sprint("message ", n)}})
			post("/webhooks/whatsapp", body, "X-Hub-Signature-256", whatsapptest.Sign(body))
		},
	}
}

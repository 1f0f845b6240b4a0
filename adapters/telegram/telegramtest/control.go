package telegramtest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// control serves the methods of the package as HTTP requests:
//
//	POST /control/say    {"chat": 7, "text": "hello"}  → {"message_id": 1}
//	POST /control/offer  an update without update_id   → {"update_id": 700000001}
//	POST /control/fail   {"method": "sendMessage", "n": 1, "code": 429, "retry_after": 3}
//	GET  /control/sent?chat=7                          → the bot's messages
//	GET  /control/errors                               → errors of requests
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	what := strings.TrimPrefix(r.URL.Path, "/control/")
	var answer any
	var err error
	switch r.Method + " " + what {
	case "POST say":
		answer, err = s.controlSay(r)
	case "POST offer":
		answer, err = s.controlOffer(r)
	case "POST fail":
		answer, err = s.controlFail(r)
	case "GET sent":
		chat, _ := strconv.ParseInt(r.URL.Query().Get("chat"), 10, 64)
		answer = append([]Message{}, s.Sent(chat)...)
	case "GET errors":
		list := []string{}
		for _, e := range s.Errors() {
			list = append(list, e.Error())
		}
		answer = list
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *Server) controlSay(r *http.Request) (any, error) {
	var in struct {
		Chat int64  `json:"chat"`
		Text string `json:"text"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	return map[string]any{"message_id": s.Say(in.Chat, in.Text)}, nil
}

func (s *Server) controlOffer(r *http.Request) (any, error) {
	var u map[string]any
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	if err := d.Decode(&u); err != nil {
		return nil, err
	}
	return map[string]any{"update_id": s.Offer(u)}, nil
}

func (s *Server) controlFail(r *http.Request) (any, error) {
	var in struct {
		Method string `json:"method"`
		N      int    `json:"n"`
		Failure
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	s.Fail(in.Method, max(1, in.N), in.Failure)
	return map[string]any{"ok": true}, nil
}

package matrixtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
)

// keys holds the server's data for encryption.
type keys struct {
	devices  map[string]map[string]json.RawMessage // user → device → keys
	oneTime  map[string]map[string]json.RawMessage // user and device → key id → key
	toDevice []toDevice
}

type toDevice struct {
	pos          int
	user, device string
	event        map[string]any
}

// AddUser logs in another user, who receives only to-device messages.
func (s *Server) AddUser(user, token, device string) {
	s.Lock()
	defer s.Unlock()
	s.tokens[token], s.others[token] = device, user
}

// HoldKeys holds to-device messages until ReleaseKeys.
func (s *Server) HoldKeys() {
	s.Lock()
	defer s.Unlock()
	s.held = true
}

// ReleaseKeys releases the held messages.
func (s *Server) ReleaseKeys() {
	s.Lock()
	defer s.Unlock()
	s.held = false
	for i := range s.keys.toDevice {
		if s.keys.toDevice[i].pos < 0 {
			s.pos++
			s.keys.toDevice[i].pos = s.pos
		}
	}
	s.Signal()
}

// user returns the user of a request's token. The caller holds the lock.
func (s *Server) user(r *http.Request) string {
	if u, ok := s.others[token(r)]; ok {
		return u
	}
	return s.User
}

func (s *Server) keyRoutes(m *http.ServeMux) {
	const base = "/_matrix/client/v3/"
	m.HandleFunc("POST "+base+"keys/upload", s.authed("keys", s.uploadKeys))
	m.HandleFunc("POST "+base+"keys/query", s.authed("keys", s.queryKeys))
	m.HandleFunc("POST "+base+"keys/claim", s.authed("keys", s.claimKeys))
	m.HandleFunc("PUT "+base+"sendToDevice/{type}/{txn}", s.authed("to_device", s.sendToDevice))
}

func (s *Server) uploadKeys(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Device  json.RawMessage            `json:"device_keys"`
		OneTime map[string]json.RawMessage `json:"one_time_keys"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.Lock()
	defer s.Unlock()
	if s.keys.devices == nil {
		s.keys.devices, s.keys.oneTime = map[string]map[string]json.RawMessage{}, map[string]map[string]json.RawMessage{}
	}
	user, device := s.user(r), s.tokens[token(r)]
	if s.keys.devices[user] == nil {
		s.keys.devices[user] = map[string]json.RawMessage{}
	}
	if len(in.Device) > 4 {
		s.keys.devices[user][device] = in.Device
	}
	if s.keys.oneTime[user+device] == nil {
		s.keys.oneTime[user+device] = map[string]json.RawMessage{}
	}
	maps.Copy(s.keys.oneTime[user+device], in.OneTime)
	answer(w, map[string]any{"one_time_key_counts": map[string]int{"signed_curve25519": len(s.keys.oneTime[user+device])}})
}

func (s *Server) queryKeys(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Keys map[string][]string `json:"device_keys"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.Lock()
	defer s.Unlock()
	out := map[string]map[string]json.RawMessage{}
	for user := range in.Keys {
		out[user] = s.keys.devices[user]
	}
	answer(w, map[string]any{"device_keys": out})
}

func (s *Server) claimKeys(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Keys map[string]map[string]string `json:"one_time_keys"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.Lock()
	defer s.Unlock()
	out := map[string]map[string]map[string]json.RawMessage{}
	for user, devices := range in.Keys {
		out[user] = map[string]map[string]json.RawMessage{}
		for device, algorithm := range devices {
			for id, k := range s.keys.oneTime[user+device] {
				if strings.HasPrefix(id, algorithm+":") {
					out[user][device] = map[string]json.RawMessage{id: k}
					delete(s.keys.oneTime[user+device], id)
					break
				}
			}
		}
	}
	answer(w, map[string]any{"one_time_keys": out})
}

func (s *Server) sendToDevice(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages map[string]map[string]json.RawMessage `json:"messages"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.Lock()
	defer s.Unlock()
	for user, devices := range in.Messages {
		for device, content := range devices {
			m := toDevice{pos: -1, user: user, device: device, event: map[string]any{"type": r.PathValue("type"),
				"sender": s.user(r), "content": content}}
			if !s.held {
				s.pos++
				m.pos = s.pos
			}
			s.keys.toDevice = append(s.keys.toDevice, m)
		}
	}
	s.Signal()
	answer(w, struct{}{})
}

// addKeys adds a device's data since a position, and reports whether there was any.
func (s *Server) addKeys(out map[string]any, user, device string, since int) bool {
	events := []any{}
	for _, m := range s.keys.toDevice {
		if m.user == user && (m.device == device || m.device == "*") && m.pos > since {
			events = append(events, m.event)
		}
	}
	out["to_device"] = map[string]any{"events": events}
	out["device_one_time_keys_count"] = map[string]int{"signed_curve25519": len(s.keys.oneTime[user+device])}
	return len(events) > 0
}

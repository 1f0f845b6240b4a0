package recall

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// Sample is one long conversation of two people and questions about it, as in the data set LoCoMo. The first speaker is
// taken for the user and the second for the assistant; each session is a day.
type Sample struct {
	Name      string
	Names     map[string]core.Role // of the two speakers
	Sessions  []Session            // in order
	Questions []Question
}

// Session is the messages of one time.
type Session struct {
	At    time.Time // UTC
	Turns []Utterance
}

// Utterance is one message of a session.
type Utterance struct {
	Key  string // such as D3:11, the eleventh of the third session
	Role core.Role
	Text string // with the caption of its photo
}

// Question asks for something in a conversation.
type Question struct {
	Text     string
	Answer   string
	Evidence []string // keys of the utterances that answer it
	Category int      // 1 several facts, 2 when, 3 needs to be inferred, 4 one fact, 5 was never said so
}

// rawSample is a conversation in LoCoMo's JSON.
type rawSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []rawQuestion              `json:"qa"`
}

type rawQuestion struct {
	Question string          `json:"question"`
	Answer   json.RawMessage `json:"answer"` // a string or a number
	Evidence []string        `json:"evidence"`
	Category int             `json:"category"`
}

type rawTurn struct {
	Speaker string `json:"speaker"`
	Key     string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// ReadLoCoMo reads conversations in the JSON of LoCoMo: a list of samples. Evidence that names no utterance is left
// out; a session without a readable time is an error.
func ReadLoCoMo(r io.Reader) ([]Sample, error) {
	var raw []rawSample
	if err := json.NewDecoder(r).Decode(&raw); err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	var out []Sample
	for i, s := range raw {
		sample, err := s.sample()
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", i+1, err)
		}
		out = append(out, sample)
	}
	return out, nil
}

func (s rawSample) sample() (Sample, error) {
	user, assistant := jsonText(s.Conversation["speaker_a"]), jsonText(s.Conversation["speaker_b"])
	out := Sample{Name: s.ID, Names: map[string]core.Role{user: core.RoleUser, assistant: core.RoleAssistant}}
	known := map[string]bool{}
	for _, n := range s.sessions() {
		session, err := s.session(n, user)
		if err != nil {
			return out, fmt.Errorf("session %d: %w", n, err)
		}
		for _, u := range session.Turns {
			known[u.Key] = true
		}
		if len(session.Turns) > 0 {
			out.Sessions = append(out.Sessions, session)
		}
	}
	slices.SortStableFunc(out.Sessions, func(a, b Session) int { return a.At.Compare(b.At) })
	for _, q := range s.QA {
		out.Questions = append(out.Questions, Question{q.Question, jsonText(q.Answer), evidence(q.Evidence, known),
			q.Category})
	}
	return out, nil
}

// jsonText returns a JSON string, or another value as it is written.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// sessions returns the numbers of the sessions that have turns.
func (s rawSample) sessions() []int {
	var out []int
	for name := range maps.Keys(s.Conversation) {
		if rest, ok := strings.CutPrefix(name, "session_"); ok {
			if n, err := strconv.Atoi(rest); err == nil {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (s rawSample) session(n int, user string) (Session, error) {
	var turns []rawTurn
	name := fmt.Sprintf("session_%d", n)
	if err := json.Unmarshal(s.Conversation[name], &turns); err != nil {
		return Session{}, fmt.Errorf("turns: %w", err)
	}
	began := strings.TrimSpace(jsonText(s.Conversation[name+"_date_time"])) // such as 1:56 pm on 8 May, 2023
	at, err := time.Parse("3:04 PM on 2 January, 2006",
		strings.NewReplacer("am on", "AM on", "pm on", "PM on").Replace(began))
	if err != nil {
		err = fmt.Errorf("time %q: want one such as 1:56 pm on 8 May, 2023", began)
	}
	out := Session{At: at}
	for _, t := range turns {
		u := Utterance{Key: t.Key, Role: core.RoleAssistant, Text: t.Text}
		if t.Speaker == user {
			u.Role = core.RoleUser
		}
		if keys := evidence([]string{t.Key}, nil); len(keys) == 1 {
			u.Key = keys[0]
		}
		if t.Caption != "" {
			u.Text = strings.TrimSpace(u.Text + " [photo: " + t.Caption + "]")
		}
		out.Turns = append(out.Turns, u)
	}
	return out, err
}

var dialogueKey = regexp.MustCompile(`D:?(\d+):(\d+)`)

// evidence reads keys, perhaps several in one string and with superfluous zeros or
// colons. Unknown keys are left out; known nil: all are known.
func evidence(raw []string, known map[string]bool) []string {
	var out []string
	for _, s := range raw {
		for _, m := range dialogueKey.FindAllStringSubmatch(s, -1) {
			session, _ := strconv.Atoi(m[1])
			turn, _ := strconv.Atoi(m[2])
			key := fmt.Sprintf("D%d:%d", session, turn)
			if (known == nil || known[key]) && !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	return out
}

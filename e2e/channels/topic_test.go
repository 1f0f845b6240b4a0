//go:build e2e

package channels

import (
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// The answer to a question in a topic comes there, and a command's too; a question outside is answered outside.
func TestTopics_keepTheirAnswers(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewTown(t, database(t))
		w.Start()
		topic := func(text string) map[string]any {
			return map[string]any{"text": text, "message_thread_id": 116834, "is_topic_message": true}
		}
		w.Telegram.Write(e2etest.Ada, topic("in a topic"))
		w.Sent(e2etest.Ada, 1)
		w.Telegram.Write(e2etest.Ada, topic("/help"))
		w.Sent(e2etest.Ada, 2)
		w.Telegram.Write(e2etest.Ada, map[string]any{"text": "outside"})
		for n, m := range w.Sent(e2etest.Ada, 3)[:3] {
			if want := []int64{116834, 116834, 0}[n]; m.Topic != want {
				t.Errorf("%.40q was sent to the topic %d, want %d", m.Text, m.Topic, want)
			}
		}
	})
}

//go:build e2e

package data

import (
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

// Text in a script without spaces, or with marks that people leave out in searches, is
// found by a part of it.
func TestSearch_anyScript(t *testing.T) {
	t.Parallel()
	e2etest.Engines(t, func(t *testing.T, database func(*testing.T) string) {
		w := e2etest.NewClock(t, database(t))
		g := w.Start("EVERTHREAD_SUMMARIES_POST_FORWARD=off")
		said := map[string]string{
			"成语接龙":       "今天我们玩成语接龙，下雨就改到星期五",
			"しりとり":       "今日は成語しりとりをした。金曜日は温泉へ行く",
			"끝말잇기":       "오늘 끝말잇기 게임을 했다",
			"ตลาดน้ำ":    "วันนี้เราไปตลาดน้ำกับคุณยาย",
			"foret":      "J'ai garé la voiture à La Forêt-Fouesnant",
			"schlussel":  "Die Schlüssel hängen im Geräteschuppen",
			"μαρμελαδα":  "Η μαρμελάδα είναι στο ράφι",
			"Фолькетинг": "Завтра заседает фолькетинг",
		}
		for _, text := range said {
			w.Ask(text)
		}
		w.Ledger().Until(`SELECT COUNT(*) FROM users WHERE id > 0 AND indexed < last_message`, 0, g)
		for query, want := range said {
			if got := w.Search(query); got.First() != want {
				t.Errorf("%s: got %+v, want %q", query, got, want)
			}
		}
	})
}

package gateway

import (
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
)

// speaks reports whether a reply is also spoken: the person wants it, and the channel
// supports it.
func (g *Gateway) speaks(u core.User, p core.Prompt, channel string) bool {
	return g.Settings.Speaks && u.Settings.Voice.Speaks(p.Heard) && g.Channels.Capabilities(channel).Voice
}

// tellMissed adds to an answer which of the person's messages it could not consider.
func (g *Gateway) tellMissed(language string, p core.Prompt, a *core.Answer) {
	tellCut(language, p.Cut, a)
	g.tellUnheard(language, p, a)
}

// tellUnheard adds to an answer that a voice note was too long to be transcribed.
func (g *Gateway) tellUnheard(language string, p core.Prompt, a *core.Answer) {
	if !p.Unheard || len(a.Messages) == 0 {
		return
	}
	if m := &a.Messages[len(a.Messages)-1]; m.Role == core.RoleAssistant {
		most := g.Settings.LongestVoice
		note := fmt.Sprintf(say(language).VoiceLong, fmt.Sprintf("%d:%02d", most/time.Minute, most%time.Minute/time.Second))
		m.Text, m.Tokens = strings.TrimSpace(m.Text+"\n\n"+note), 0
	}
}

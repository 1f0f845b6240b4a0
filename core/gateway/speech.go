package gateway

import (
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// speaks reports whether a reply is also spoken: the person wants it, and the channel
// supports it.
func (g *Gateway) speaks(u core.User, p core.Prompt, channel string) bool {
	return g.Settings.Speaks && u.Settings.Voice.Speaks(p.Heard) && g.Channels.Capabilities(channel).Voice
}

// tellMissed adds to an answer which of the person's messages it could not consider: how much
// of them had no room in the prompt, and that a voice note was too long to be transcribed.
func (g *Gateway) tellMissed(language string, p core.Prompt, a *core.Answer) {
	n := len(a.Messages) - 1
	if n < 0 || a.Messages[n].Role != core.RoleAssistant {
		return
	}
	if p.Cut.Percent() > 0 && len(a.Messages[n].ToolCalls) == 0 {
		sayAlso(a, fmt.Sprintf(say(language).ToldCut, p.Cut.Percent()), false)
	}
	if p.Unheard {
		most := g.Settings.LongestVoice
		length := fmt.Sprintf("%d:%02d", most/time.Minute, most%time.Minute/time.Second)
		sayAlso(a, fmt.Sprintf(say(language).VoiceLong, length), false)
	}
}

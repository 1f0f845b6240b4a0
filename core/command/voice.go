package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/text"
)

// voice shows or sets when answers are also spoken. In a chat, only it reports why the last
// answer was not spoken.
func (c *Commands) voice(ctx context.Context, r *request) (core.Outcome, error) {
	s := r.user.Settings
	if r.arg == "" {
		return c.voiceIs(ctx, r)
	}
	switch choice := core.VoiceChoice(text.Fold(r.arg)); {
	case slices.Contains(core.Voices(), choice):
		s.Voice = choice
	case means(r.arg, yes):
		s.Voice = core.VoiceOn
	case means(r.arg, no):
		s.Voice = core.VoiceOff
	default:
		return r.say(r.words.VoiceUnknown), nil
	}
	return r.say(r.spoken(s.Voice) + c.mute(r)).With(core.SetSettings{Settings: s}), nil
}

// voiceIs shows the choice, and why the last answer was not spoken.
func (c *Commands) voiceIs(ctx context.Context, r *request) (core.Outcome, error) {
	said := r.spoken(r.user.Settings.Voice) + "\n" + r.words.VoiceChange + c.mute(r)
	cause, since, err := c.Store.SpeechTrouble(ctx, r.user.ID)
	if err != nil {
		return core.Outcome{}, err
	}
	switch at := since.In(c.location(r)).Format("2006-01-02 15:04"); {
	case cause == "" || !c.Defaults.Voice:
	case r.user.Role == core.RoleOwner:
		said += "\n\n" + fmt.Sprintf(r.words.VoiceFailedOwner, at, "`"+strings.ReplaceAll(cause, "`", "'")+"`")
	default:
		said += "\n\n" + fmt.Sprintf(r.words.VoiceFailed, at)
	}
	return r.say(said), nil
}

// spoken describes when answers are spoken.
func (r *request) spoken(v core.VoiceChoice) string {
	switch v {
	case core.VoiceOn:
		return r.words.VoiceOn
	case core.VoiceOff:
		return r.words.VoiceOff
	}
	return r.words.VoiceAuto
}

// mute returns a note if no service that speaks is configured.
func (c *Commands) mute(r *request) string {
	if c.Defaults.Voice {
		return ""
	}
	return "\n\n" + r.words.VoiceNone
}

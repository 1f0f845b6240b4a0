package markup

import "github.com/everthread/everthread/core"

// Parts renders Markdown as parts for a channel.
func Parts(md string, c core.Capabilities) []core.Part { return parts(Parse(md), c) }

// Refit turns the parts of a message, at least one, into parts for another channel.
// They stay silent or folded.
func Refit(old []core.Part, c core.Capabilities) []core.Part {
	var whole Text
	for n, p := range old {
		if n > 0 {
			whole.Text += "\n\n"
		}
		for _, s := range p.Spans {
			s.Start, s.End = s.Start+len(whole.Text), s.End+len(whole.Text)
			whole.Spans = append(whole.Spans, s)
		}
		whole.Text += p.Text
	}
	out := parts(whole, c)
	for i := range out {
		out[i].Quiet, out[i].Fold = old[0].Quiet, old[0].Fold
	}
	return out
}

func parts(t Text, c core.Capabilities) (out []core.Part) {
	pieces := []Text{t}
	if c.MaxText > 0 {
		pieces = Split(t, c.MaxText, c.Length)
	}
	for _, p := range pieces {
		out = append(out, p.Part())
	}
	return out
}

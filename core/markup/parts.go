package markup

import "github.com/everthread/everthread/core"

// Parts renders Markdown as the parts that a channel can carry.
func Parts(md string, c core.Capabilities) []core.Part { return carried(Parse(md), c) }

// Refit makes the parts of a message, one at least, parts for another channel. What
// is silent or folded stays so.
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
	out := carried(whole, c)
	for i := range out {
		out[i].Quiet, out[i].Fold = old[0].Quiet, old[0].Fold
	}
	return out
}

func carried(t Text, c core.Capabilities) (out []core.Part) {
	pieces := []Text{t}
	if c.MaxText > 0 {
		pieces = Split(t, c.MaxText, c.Length)
	}
	for _, p := range pieces {
		out = append(out, p.Part())
	}
	return out
}

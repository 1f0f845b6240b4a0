package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
)

// Searcher searches the continuous thread.
type Searcher interface {
	Search(ctx context.Context, q core.SearchQuery) (core.SearchResult, error)
}

// found bounds the hits of a search that are shown.
const found = 6

// search searches the continuous thread.
func (c *Commands) search(ctx context.Context, r *request) (core.Outcome, error) {
	if r.arg == "" {
		return r.say(r.words.SearchWhat), nil
	}
	q := core.SearchQuery{User: r.user.ID, Query: r.arg, Matching: true, Limit: found, Now: r.now, Location: c.location(r)}
	if r.user.Name != "" {
		q.Names = map[string]core.Role{r.user.Name: core.RoleUser}
	}
	res, err := c.Search.Search(ctx, q)
	if err != nil {
		return core.Outcome{}, err
	}
	lines := []string{fmt.Sprintf(r.words.SearchTitle, escaper.Replace(title(r.arg))), ""}
	for _, h := range res.Hits[:min(len(res.Hits), found)] {
		lines = append(lines, "- "+c.hit(r, h))
	}
	if len(res.Hits) == 0 {
		lines = []string{fmt.Sprintf(r.words.SearchNothing, bold(r.arg))}
	}
	if res.Mode != "hybrid" {
		lines = append(lines, "", "*"+r.words.SearchWords+"*")
	}
	return core.Outcome{Text: strings.Join(lines, "\n")}, nil
}

// hit shows a hit with its time, author and text, and with the messages around it.
func (c *Commands) hit(r *request, h core.Hit) string {
	when := c.name(r, h.Label)
	if h.Kind == core.DocSummary {
		return "**" + when + "** · " + r.words.FromSummary + ": " + plainLine(markup.Excerpt(h.Snippet))
	}
	if h.Kind == core.DocFile {
		return "**" + when + "** · " + fmt.Sprintf(r.words.FromFile, escaper.Replace(h.Page.Name), h.Page.Number) + ": " +
			plainLine(h.Snippet)
	}
	lines := []string{"**" + when + ", " + h.Message.SentAt.In(c.location(r)).Format("15:04") + "** · " +
		said(r, h.Message.Role, h.Snippet)}
	if h.Before.Message != 0 {
		lines = append(lines, "  - *"+r.words.SaidBefore+"* "+said(r, h.Before.Role, h.Before.Snippet))
	}
	if h.After.Message != 0 {
		lines = append(lines, "  - *"+r.words.SaidAfter+"* "+said(r, h.After.Role, h.After.Snippet))
	}
	return strings.Join(lines, "\n")
}

// said shows the author and the text of a message.
func said(r *request, role core.Role, text string) string {
	who := map[core.Role]string{core.RoleUser: r.words.FromYou, core.RoleAssistant: r.words.FromMe}[role]
	switch {
	case who == "":
		who = r.words.FromTool
	case role == core.RoleAssistant:
		text = markup.Plain(text)
	}
	return who + ": " + plainLine(text)
}

// plainLine returns a text as one line of Markdown that shows it verbatim.
func plainLine(s string) string { return escaper.Replace(oneLine(s)) }

package whatsapp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/when"
	"github.com/everthread/everthread/core/words"
)

// waitingPayload is the payload of the template's button.
const waitingPayload = "everthread:waiting"

// templateRef is a template with its parameters.
type templateRef struct {
	Name       string      `json:"name"`
	Language   language    `json:"language"`
	Components []component `json:"components"`
}

type language struct {
	Policy string `json:"policy"`
	Code   string `json:"code"`
}

type component struct {
	Type       string      `json:"type"`
	SubType    string      `json:"sub_type,omitempty"`
	Index      string      `json:"index,omitempty"`
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	Type    string `json:"type"`
	Text    string `json:"text,omitempty"`
	Payload string `json:"payload,omitempty"`
}

// Reopen sends the template of the options, with today's date as its parameter. A press
// of its button is core.InAsked.
func (t *reopening) Reopen(ctx context.Context, to core.Address, key string) (core.Receipt, error) {
	m, err := addressed(to, core.Part{Key: key})
	if err != nil {
		return core.Receipt{}, err
	}
	m.Type = "template"
	m.Template = summaryTemplate(t.opts.SummaryTemplate, t.opts.TemplateLanguage,
		dateInWords(t.opts.TemplateLanguage, t.now()))
	receipt, err := t.deliver(ctx, to, m)
	if err != nil {
		return core.Receipt{}, fmt.Errorf("send the template %s: %w", t.opts.SummaryTemplate, err)
	}
	return receipt, nil
}

func summaryTemplate(name, code, date string) *templateRef {
	return &templateRef{Name: name, Language: language{Policy: "deterministic", Code: code}, Components: []component{
		{Type: "body", Parameters: []parameter{{Type: "text", Text: oneLine(date)}}},
		{Type: "button", SubType: "quick_reply", Index: "0",
			Parameters: []parameter{{Type: "payload", Payload: waitingPayload}}},
	}}
}

// oneLine returns s as a valid parameter: no line breaks, tabs or runs of blanks, and not
// empty.
func oneLine(s string) string { return cmp.Or(strings.Join(strings.Fields(s), " "), "-") }

// dateInWords returns the date of t in the language of a template. Languages without a
// catalogue get the ISO form.
func dateInWords(code string, t time.Time) string {
	language, _, _ := strings.Cut(strings.ToLower(code), "_")
	if words.Match(language) == language {
		return when.DayOfMonth(t.Day(), language) + " " + when.MonthName(t.Month(), language)
	}
	return t.Format(time.DateOnly)
}

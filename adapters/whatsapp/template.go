package whatsapp

import (
	"context"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// waitingPayload comes back when somebody presses the button of the template.
const waitingPayload = "everthread:waiting"

// templateRef names a template and fills it in.
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

// Reopen sends the template of the options, with today's date as its parameter
// and a button whose press is core.InAsked.
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

// oneLine returns s as a parameter may be: no line break, no tab, no run of
// blanks, and never empty.
func oneLine(s string) string {
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return "-"
	}
	return s
}

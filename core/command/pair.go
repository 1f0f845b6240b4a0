package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/trust"
)

// pair lists strangers who ask to be admitted.
func (c *Commands) pair(ctx context.Context, r *request) (core.Outcome, error) {
	codes, err := c.Store.Codes(ctx, core.CodePair, r.now)
	if err != nil {
		return core.Outcome{}, err
	}
	if len(codes) == 0 {
		return r.say(r.words.NoRequests), nil
	}
	lines := []string{r.words.RequestsTitle, ""}
	for _, code := range codes {
		until := code.Expires.In(c.location(r)).Format("15:04")
		lines = append(lines, "- `"+code.Hint+"` · "+who(code)+" · "+fmt.Sprintf(r.words.RequestUntil,
			code.Address.Channel, until))
	}
	lines = append(lines, "", fmt.Sprintf(r.words.RequestsMore, codes[0].Hint, codes[0].Hint))
	return core.Outcome{Text: strings.Join(lines, "\n")}, nil
}

// who returns the stranger's name, or address.
func who(c core.Code) string { return bold(cmp.Or(title(c.Name), c.Address.External)) }

func (c *Commands) approve(ctx context.Context, r *request) (core.Outcome, error) {
	code, name, err := c.requested(ctx, r)
	if err != nil || code == nil {
		return r.noCode("approve"), err
	}
	shown := *code
	shown.Name = cmp.Or(name, code.Name)
	return r.sayf(r.words.Approved, who(shown)).With(core.Approve{CodeHash: code.Hash, Name: name, At: r.now}), nil
}

func (c *Commands) deny(ctx context.Context, r *request) (core.Outcome, error) {
	code, _, err := c.requested(ctx, r)
	if err != nil || code == nil {
		return r.noCode("deny"), err
	}
	return r.sayf(r.words.Denied, who(*code)).With(core.Deny{CodeHash: code.Hash, At: r.now}), nil
}

// requested returns the request whose code begins the argument, and the rest of the
// argument; nil if there is none.
func (c *Commands) requested(ctx context.Context, r *request) (*core.Code, string, error) {
	f := strings.Fields(r.arg)
	if len(f) == 0 {
		return nil, "", nil
	}
	codes, err := c.Store.Codes(ctx, core.CodePair, r.now)
	for _, code := range codes {
		if code.Hash == trust.CodeHash(f[0]) {
			return &code, title(strings.Join(f[1:], " ")), err
		}
	}
	return nil, "", err
}

// noCode answers what is wrong with the code of a command.
func (r *request) noCode(name string) core.Outcome {
	if r.arg == "" {
		return r.sayf(r.words.CodeWhich, r.usage(name))
	}
	return r.say(r.words.CodeUnknown)
}

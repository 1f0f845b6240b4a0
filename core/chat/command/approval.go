package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text"
	"github.com/everthread/everthread/core/trust"
)

// reply is a text that may answer a question.
type reply struct {
	yes, no bool
	always  bool   // with a yes: the tool of the question is allowed for a while
	code    string // of the question; empty: it is not named
	typed   string // the text itself, in capitals
}

// yesWords and noWords are answers in languages without a catalogue.
var yesWords, noWords = []string{"si", "sim"}, []string{"nao"}

// Answers reports whether a text may answer a question: yes, no, or a word that must be
// typed. It is cheap enough for every text.
func (c *Commands) Answers(text string) bool {
	_, ok := readReply(text)
	return ok
}

func readReply(said string) (reply, bool) {
	const longest = 40
	if len(said) > longest {
		return reply{}, false
	}
	word := strings.ToLower(strings.TrimFunc(said, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(".!«»\"'`*", r)
	}))
	r := reply{typed: strings.ToUpper(word)}
	if l, ok := parse(said); ok {
		word, r.code = l.word, l.arg
		if f := strings.Fields(l.arg); len(f) == 2 && means(f[1], func(t *typed) []string { return t.Always }) {
			r.code, r.always = f[0], true
		}
	}
	folded := text.Fold(word)
	r.yes, r.no = means(word, yes) || slices.Contains(yesWords, folded), means(word, no) ||
		slices.Contains(noWords, folded)
	return r, r.yes || r.no || r.typed == trust.OwnerWord
}

// answer takes a text as the answer to an open question. ok is false if it answers none: it is conversation then, and
// the text of out tells how to answer the question, if there is one.
func (c *Commands) answer(ctx context.Context, r *request, a reply) (out core.Outcome, ok bool, err error) {
	open, passed, err := c.Store.OpenApprovals(ctx, r.user.ID, r.at.ID, r.now)
	if err != nil {
		return out, false, err
	}
	command := strings.HasPrefix(strings.TrimSpace(r.in.Text), "/") || strings.HasPrefix(strings.TrimSpace(r.in.Text), "!")
	if r.in.Quote != nil && !command {
		if open, err = c.repliedTo(ctx, r, open); err != nil || len(open) == 0 {
			return out, false, err
		}
		passed = false
	}
	q, found := meant(open, passed, a)
	if found && a.yes && a.code == "" && q.Word == "" {
		if found, err = c.plainly(ctx, q); err != nil {
			return out, false, err
		}
		command = command || !found // it can mean nothing else
	}
	switch {
	case !found && len(open) == 0 && command:
		return r.say(r.words.ApprovalNone), true, nil
	case !found && a.code != "":
		return r.say(r.words.ApprovalNone), true, nil
	case !found && len(open) > 0:
		q = open[len(open)-1]
		out = r.sayf(r.words.ApprovalByName, q.Code, q.Code)
		out.Once = "yes:" + q.Code
		return out, command, nil
	case !found:
		return out, false, nil
	case a.yes && q.Word != "":
		return r.sayf(r.words.ApprovalType, q.Word), true, nil
	}
	if a.always {
		if a.always, err = c.plainly(ctx, q); err != nil {
			return out, false, err
		}
	}
	return c.decide(ctx, r, q, a)
}

// repliedTo returns those of the open questions that a message replies to.
func (c *Commands) repliedTo(ctx context.Context, r *request, open []effect.Approval) ([]effect.Approval, error) {
	id, err := c.referred(ctx, r)
	return slices.DeleteFunc(open, func(q effect.Approval) bool { return id == 0 || q.Message != id }), err
}

// plainly reports whether a question is answered by a plain yes. One of a turn that read words of others is not: their
// author may have made the person say yes.
func (c *Commands) plainly(ctx context.Context, q effect.Approval) (bool, error) {
	ms, err := c.Store.Messages(ctx, q.User, []core.MessageID{q.Message})
	return err == nil && !slices.ContainsFunc(ms, func(m core.Message) bool { return m.Tainted }), err
}

// decide decides a question.
func (c *Commands) decide(ctx context.Context, r *request, q effect.Approval, a reply) (out core.Outcome, ok bool,
	err error) {
	yes := !a.no
	switch q.Kind {
	case effect.ApproveCall:
		return core.Outcome{Decides: &core.Decision{Approval: q.ID, Yes: yes, Always: yes && a.always}}, true, nil
	case effect.ApproveAccount:
		out = r.say(r.words.AccountNo)
		if yes {
			out = r.say(r.words.AccountYes)
		}
	case effect.ApproveStanding:
		out, err = c.acceptAlways(ctx, r, q, yes)
	case effect.ApproveTask, effect.ApproveResume:
		out, err = c.acceptTask(ctx, r, q, yes)
	case effect.ApproveJoin:
		out, err = c.join(r, q, yes)
	case effect.ApproveLink:
		out, err = c.acceptLink(r, q, yes)
	}
	decide := effect.Decide{Approval: q.ID, Identity: r.at.ID, Yes: yes, At: r.now}
	out.Effects = append([]core.Effect{decide}, out.Effects...)
	return out, true, err
}

// meant returns the question that a reply answers: the one that it names, or the only one, if nothing was said since it
// was asked.
func meant(open []effect.Approval, passed bool, a reply) (effect.Approval, bool) {
	switch {
	case a.code != "":
		open = slices.DeleteFunc(slices.Clone(open), func(q effect.Approval) bool { return !strings.EqualFold(q.Code, a.code) })
	case !a.yes && !a.no: // the word that a question requires
		open = slices.DeleteFunc(slices.Clone(open), func(q effect.Approval) bool { return q.Word != a.typed })
	}
	if len(open) != 1 || passed && a.code == "" && (a.yes || a.no && open[0].Word == "") {
		return effect.Approval{}, false
	}
	return open[0], true
}

func subject[T any](q effect.Approval) (about T, err error) {
	err = json.Unmarshal([]byte(q.Subject), &about)
	return about, err
}

// join uses a code after its user confirmed the merge.
func (c *Commands) join(r *request, q effect.Approval, yes bool) (core.Outcome, error) {
	if !yes {
		return r.say(r.words.LinkDeclined), nil
	}
	l, err := subject[effect.LinkSubject](q)
	if err != nil {
		return core.Outcome{}, err
	}
	who := trust.AddressName(l.Address, l.Name)
	out := r.sayf(r.words.LinkAsked, who).With(effect.UseLink{Hash: l.Hash, Identity: r.at.ID, At: r.now})
	out.Others = fmt.Sprintf(r.words.LinkJoins, who, trust.AddressName(r.at.Address, r.at.Name))
	return out, nil
}

// acceptLink links the address that used a code, or merges its user, after a yes.
func (c *Commands) acceptLink(r *request, q effect.Approval, yes bool) (core.Outcome, error) {
	l, err := subject[effect.LinkSubject](q)
	if err != nil {
		return core.Outcome{}, err
	}
	who := trust.AddressName(l.Address, l.Name)
	if !yes {
		return r.sayf(r.words.LinkNotMine, who), nil
	}
	out, told := r.sayf(r.words.LinkAccepted, who), r.words.LinkTold
	if l.User != 0 {
		out, told = r.say(r.words.LinkMerging), r.words.LinkMerged
	} else {
		out.Greet = &core.Greeting{To: l.Address, Text: r.words.Linked}
	}
	out.Others = fmt.Sprintf(told, who, trust.AddressName(r.at.Address, r.at.Name))
	return out.With(effect.AcceptLink{Subject: l, At: r.now}), nil
}

// askJoin asks a user who used a code whether to merge with the user who made it.
func (c *Commands) askJoin(r *request, hash string, l store.Link) (core.Outcome, error) {
	owner := l.Owner || r.user.Role == core.RoleOwner
	s := effect.LinkSubject{Hash: hash, User: l.User, Address: l.Made, Name: l.Name, Owner: owner}
	subject, err := json.Marshal(s)
	if err != nil {
		return core.Outcome{}, err
	}
	a := effect.Approval{Code: "J" + hash[:min(8, len(hash))], Kind: effect.ApproveJoin, Identity: r.at.ID,
		Subject: string(subject), AskedAt: r.now, Expires: r.now.Add(core.LinkLife)}
	who := trust.AddressName(l.Made, l.Name)
	out := r.sayf(r.words.JoinAsk, who, who)
	if owner {
		a.Word = trust.OwnerWord
		warning := r.words.JoinOwnerThem
		if r.user.Role == core.RoleOwner {
			warning = r.words.JoinOwnerYou
		}
		out.Text += "\n\n" + fmt.Sprintf(warning, trust.OwnerWord)
	} else {
		out.Text += "\n\n" + r.words.SayYesNo
	}
	out.Buttons = trust.YesNo(r.lang, a.Code, owner)
	return out.With(effect.AskApproval{Approval: a}), nil
}

// pair lists strangers who ask to be admitted.
func (c *Commands) pair(ctx context.Context, r *request) (core.Outcome, error) {
	codes, err := c.Store.Codes(ctx, effect.CodePair, r.now)
	if err != nil || len(codes) == 0 {
		return r.say(r.words.NoRequests), err
	}
	return list(r.words.RequestsTitle, codes, func(code effect.Code) string {
		until := code.Expires.In(c.location(r)).Format("15:04")
		return "- `" + code.Hint + "` · " + who(code) + " · " + fmt.Sprintf(r.words.RequestUntil, code.Address.Channel, until)
	}, "", fmt.Sprintf(r.words.RequestsMore, codes[0].Hint, codes[0].Hint)), nil
}

func who(c effect.Code) string { return bold(cmp.Or(title(c.Name), c.Address.External)) }

func (c *Commands) approve(ctx context.Context, r *request) (core.Outcome, error) {
	code, name, err := c.requested(ctx, r)
	if err != nil || code == nil {
		return r.noCode("approve"), err
	}
	shown := *code
	shown.Name = cmp.Or(name, code.Name)
	return r.sayf(r.words.Approved, who(shown)).With(effect.Approve{CodeHash: code.Hash, Name: name, At: r.now}), nil
}

func (c *Commands) deny(ctx context.Context, r *request) (core.Outcome, error) {
	code, _, err := c.requested(ctx, r)
	if err != nil || code == nil {
		return r.noCode("deny"), err
	}
	return r.sayf(r.words.Denied, who(*code)).With(effect.Deny{CodeHash: code.Hash, At: r.now}), nil
}

// requested returns the request whose code begins the argument, and the rest of the argument; nil if there is none.
func (c *Commands) requested(ctx context.Context, r *request) (*effect.Code, string, error) {
	f := strings.Fields(r.arg)
	if len(f) == 0 {
		return nil, "", nil
	}
	codes, err := c.Store.Codes(ctx, effect.CodePair, r.now)
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

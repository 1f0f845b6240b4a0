package whatsapp

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
)

// class is the meaning of an error for the next attempt.
type class int

const (
	permanent class = iota // this message will never be accepted
	away                   // no delivery before the person writes again
	unsure                 // the request may have been carried out
	busy                   // the account exceeds a limit
	pair                   // this person got too many messages
	later                  // the account is in maintenance at Meta
	held                   // no delivery for a day
	trouble                // the owner must act on the account
)

// Pauses where the service names none.
const (
	busyWait    = 10 * time.Second
	laterWait   = 5 * time.Minute
	troubleWait = 5 * time.Minute
	spamWait    = 15 * time.Minute
	heldWait    = 24 * time.Hour
	maxPair     = 6 // the longest wait is 4^6 s, a bit over an hour
)

// classOf classifies an error by its code, or else by the status of the answer.
func classOf(e *apiError) class {
	switch code := e.Code; {
	case code == 100 && e.Subcode == 33, code >= 200 && code <= 299:
		return trouble
	case code != 0:
		return classOfCode(code)
	case e.HTTP == http.StatusTooManyRequests:
		return busy
	case e.HTTP == http.StatusUnauthorized, e.HTTP == http.StatusForbidden, e.HTTP == http.StatusNotFound:
		return trouble
	case e.HTTP >= 500, e.HTTP == 0, e.HTTP == http.StatusOK:
		return unsure
	}
	return permanent
}

func classOfCode(code int) class {
	switch code {
	case 3, 10, 33, 190, 368, 131031, 131042, 131045, 131048, 133010, 133016:
		return trouble
	case 1, 2, 131000, 131016, 133004:
		return unsure
	case 4, 80007, 130429:
		return busy
	case 131056:
		return pair
	case 131057:
		return later
	case 131026, 131047:
		return away
	case 131049:
		return held
	}
	return permanent
}

// advices are the keys of the advice for the owner, by error code.
var advices = map[int]string{3: "may_not_send", 10: "may_not_send", 33: "no_number", 100: "no_number", 368: "locked",
	131031: "locked", 131042: "cannot_charge", 131045: "not_registered", 133010: "not_registered",
	133016: "not_registered", 131048: "blocked"}

// troubled returns an error of class trouble with advice for the owner.
func troubled(e *apiError) error {
	key := advices[e.Code]
	switch {
	case key == "" && e.Code >= 200 && e.Code <= 299:
		key = "lacks_permission"
	case key == "":
		key = "refused"
	}
	return fmt.Errorf("whatsapp: %w", &channel.Trouble{Err: e,
		Advice: func(language string) string { return say(language).Advice[key] }})
}

// plain explains the codes for which the service's own description does not say why a
// message is refused.
func plain(code int) string {
	switch code {
	case 131047:
		return "more than 24 hours passed since the person last wrote"
	case 131026:
		return "the person cannot receive it: they are not on WhatsApp, have an old version or have not accepted its terms"
	case 131030:
		return "the number is a test number, and the person is not on its list of recipients"
	case 131021:
		return "the recipient is the number itself"
	case 130497:
		return "the business may not write to people in that country"
	case 131049, 130472, 131050:
		return "WhatsApp does not deliver this kind of message to the person now"
	case 131051, 131052, 131053:
		return "WhatsApp does not take this file"
	}
	return ""
}

// explain returns e with its explanation in front.
func explain(e *apiError) error {
	if words := plain(e.Code); words != "" {
		return fmt.Errorf("send to whatsapp: %s: %w", words, e)
	}
	return fmt.Errorf("send to whatsapp: %w", e)
}

// classify wraps the error of a failed request to send for the retry policy, and stores
// one that the owner must know for Check.
func (c *Channel) classify(err error, to core.Address) error {
	refused, ok := errors.AsType[*apiError](err)
	if !ok {
		err = fmt.Errorf("send to whatsapp: %w", err)
		if lost, ok := errors.AsType[*netError](err); ok && lost.Left {
			return &core.Unknown{Err: err}
		}
		return err
	}
	err = explain(refused)
	switch classOf(refused) {
	case away:
		return &core.Unreachable{Err: err}
	case unsure:
		return &core.Unknown{Err: err}
	case busy:
		return &core.RetryAfter{After: max(refused.Wait, busyWait), Account: true, Err: err}
	case later:
		return &core.RetryAfter{After: max(refused.Wait, laterWait), Account: true, Err: err}
	case pair:
		return &core.RetryAfter{After: max(refused.Wait, c.pairs.note(to.External, c.now())), Err: err}
	case held:
		return &core.RetryAfter{After: heldWait, Err: err}
	case trouble:
		return c.inTrouble(refused)
	}
	return &core.Permanent{Err: err}
}

// inTrouble stores the error for Check, and returns one that pauses all messages.
func (c *Channel) inTrouble(e *apiError) error {
	err := troubled(e)
	c.state.refused(err, false)
	wait := troubleWait
	if e.Code == 131048 {
		wait = spamWait
	}
	return &core.RetryAfter{After: wait, Account: true, Err: err}
}

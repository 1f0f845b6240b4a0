package setup

import (
	"errors"
	"strings"
)

// Wrong is a kind of what a trial finds.
type Wrong string

// What trials find. Where and Detail of the Fault are beside each.
const (
	WrongAddress       Wrong = "address"        // no web address
	WrongUnreached     Wrong = "unreached"      // host; why
	WrongKey           Wrong = "key"            // host; what it said
	WrongModelDown     Wrong = "model down"     // host; what it said
	WrongModelBusy     Wrong = "model busy"     // host; what it said
	WrongModel         Wrong = "model"          // host; what it said
	WrongModelWindow   Wrong = "model window"   // host; what it said
	WrongModelRefuses  Wrong = "model refuses"  // host; what it said
	WrongModelCutOff   Wrong = "model cut off"  // host
	WrongTelegram      Wrong = "telegram"       // host; what it said
	WrongToken         Wrong = "token"          // what Telegram said
	WrongDatabase      Wrong = "database"       // why
	WrongDatabaseURL   Wrong = "database url"   // nothing
	WrongNumber        Wrong = "number"         // what Meta said
	WrongNumberID      Wrong = "number id"      // nothing
	WrongAccount       Wrong = "account"        // what was typed
	WrongHomeserver    Wrong = "homeserver"     // host; what it said
	WrongPassword      Wrong = "password"       // account; what the homeserver said
	WrongDeactivated   Wrong = "deactivated"    // account
	WrongLater         Wrong = "later"          // host; what it said
	WrongOtherAccount  Wrong = "other account"  // whose it is
	WrongDeviceRemains Wrong = "device remains" // the device; why
)

// Reason is why something is not reached, as far as that can be told apart.
type Reason string

// Reasons.
const (
	ReasonRefused     Reason = "refused"
	ReasonNoHost      Reason = "no host"
	ReasonTime        Reason = "time"
	ReasonCertificate Reason = "certificate"
	ReasonPassword    Reason = "password"    // of a database
	ReasonNoDatabase  Reason = "no database" // of this name
)

// Fault is what a trial found wrong, for a person in their own language.
type Fault struct {
	Wrong  Wrong
	Where  string
	Reason Reason // takes the place of Detail where it is known
	Detail string // what the other side said, in its own words
	Err    error  // may be nil
}

// Error returns the English words.
func (f *Fault) Error() string { return english().fault(f) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// fault is a fault in words, one sentence without its full stop.
func (w words) fault(f *Fault) string {
	detail := f.Detail
	if said := w.reasons[f.Reason]; said != "" {
		detail = said
	}
	text := w.faults[f.Wrong]
	if detail == "" {
		text = strings.ReplaceAll(text, " ({detail})", "")
	}
	return strings.NewReplacer("{where}", f.Where, "{detail}", strings.TrimSuffix(detail, ".")).Replace(text)
}

// said is an error as a person reads it.
func (w words) said(err error) string {
	var f *Fault
	if errors.As(err, &f) {
		return w.fault(f)
	}
	return plain(err)
}

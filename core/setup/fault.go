package setup

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/words"
)

// Wrong names what is wrong with an answer.
type Wrong string

// Kinds of faults, with the meaning of Where and Detail.
const (
	WrongAddress      Wrong = "address"       // no web address
	WrongUnreached    Wrong = "unreached"     // host; why
	WrongKey          Wrong = "key"           // host; what it said
	WrongModelDown    Wrong = "model down"    // host; what it said
	WrongModelBusy    Wrong = "model busy"    // host; what it said
	WrongModel        Wrong = "model"         // host; what it said
	WrongModelWindow  Wrong = "model window"  // host; what it said
	WrongModelRefuses Wrong = "model refuses" // host; what it said
	WrongModelCutOff  Wrong = "model cut off" // host
	WrongDatabase     Wrong = "database"      // why
	WrongDatabaseURL  Wrong = "database url"  // nothing
)

// Reason says why something is not reached; empty: unknown.
type Reason string

const (
	ReasonRefused     Reason = "refused"
	ReasonNoHost      Reason = "no host"
	ReasonTime        Reason = "time"
	ReasonCertificate Reason = "certificate"
	ReasonPassword    Reason = "password"    // of a database
	ReasonNoDatabase  Reason = "no database" // with this name
)

// reason returns why a service or a database does not answer.
func reason(err error) Reason {
	var (
		pg      *pgconn.PgError
		name    *net.DNSError
		timeout net.Error
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &pg) && (pg.Code == "28P01" || pg.Code == "28000"):
		return ReasonPassword
	case errors.As(err, &pg) && pg.Code == "3D000":
		return ReasonNoDatabase
	case errors.Is(err, syscall.ECONNREFUSED):
		return ReasonRefused
	case errors.As(err, &name) && name.IsNotFound:
		return ReasonNoHost
	case errors.As(err, &cert):
		return ReasonCertificate
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return ReasonTime
	}
	return ""
}

// Fault is what a trial found wrong, for a person in their own language.
type Fault struct {
	Wrong  Wrong
	Where  string
	Reason Reason // replaces Detail if it is known
	Detail string // the words of the other side
	Err    error  // may be nil
}

// Error returns the fault in English.
func (f *Fault) Error() string { return wordsOf(words.English).fault(f) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// fault returns a fault in one sentence without its full stop.
func (w *texts) fault(f *Fault) string {
	return channel.Fill(w.Faults[f.Wrong], f.Where, cmp.Or(w.Reasons[f.Reason], f.Detail))
}

// said returns an error as a person reads it.
func (w *texts) said(err error) string {
	var f *Fault
	var away *channel.Unreached
	switch {
	case errors.As(err, &f):
		return w.fault(f)
	case errors.As(err, &away):
		return w.fault(&Fault{Wrong: WrongUnreached, Where: away.Where, Reason: reason(away.Err), Detail: away.Err.Error()})
	}
	return strings.TrimSuffix(strings.TrimSpace(err.Error()), ".")
}

// texts are the words of the wizard in one language.
type texts struct {
	Wrong                                      string
	LeftOut                                    string // title of a field
	NoOption, NoAnswer, MoreOptions, NotShown  string
	ProviderTitle, ProviderHelp, ProviderWrong string
	Services                                   map[string]string
	DemoChosen                                 string
	URLTitle, URLHelp, URLWrong                string
	KeyTitle                                   string
	KeyHelp                                    map[string]string
	KeyFound                                   string
	ModelTitle, ModelHelp, ModelUnlisted       string
	ModelTrying, ModelAnswers                  string
	WindowIs, WindowShort                      string // number
	WindowSmall                                string // number, number
	MoreTitle, MoreNo, MoreDatabase            string
	DatabaseTitle, DatabaseHelp, DatabaseGood  string

	Faults  map[Wrong]string
	Reasons map[Reason]string

	Texts
}

// Texts are the words around the questions.
type Texts struct {
	Hello, Overwrite, OverwriteHelp, Yes, No, Kept, Written, Stopped, Pair, PairCode, Scan, Waiting, Came, Answered,
	NobodyCame, Own, Served, WebLink, Doctor, Service, ServiceHere, ServiceUser, ServiceSystem, ServiceCompose, ServiceNo,
	ServiceWritten, StartUser, StartSystem, StartSystemCopy, StartCompose, StartSelf, Here, Temporary, NoCompose, EnvKept,
	StartKeys string
	File fileTexts
}

var wordsOf = words.In[texts]("setup")

// TextsOf returns the words around the questions in a language.
func TextsOf(language string) Texts { return wordsOf(language).Texts }

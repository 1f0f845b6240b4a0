// Package source is what calendars and mailboxes share: why one could not be read, and the bounds of reading it.
package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"

	"github.com/everthread/everthread/core/trust/egress"
)

// Fault is why a source could not be read. Its text is for the log; people read that of the catalogue. It never repeats
// an address or a password.
type Fault string

// Faults.
const (
	Slow        Fault = "it did not answer in time"
	Unreachable Fault = "it cannot be reached"
	Untrusted   Fault = "its certificate is not valid"
	Forbidden   Fault = "its address, or one that it leads to, may not be reached"
	Refused     Fault = "it refuses the address or the password"
	Missing     Fault = "there is nothing at this address"
	NoCalendar  Fault = "what it answers is no calendar"
	NoFolder    Fault = "it has no such folder"
	TooLarge    Fault = "it is too large"
	Broken      Fault = "its answer cannot be understood"
)

// Error returns the text.
func (f Fault) Error() string { return string(f) }

// Of returns the fault that an error of a connection means.
func Of(err error) Fault {
	if f, ok := errors.AsType[Fault](err); ok {
		return f
	}
	var slow net.Error
	var host *x509.HostnameError
	var authority *x509.UnknownAuthorityError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return Slow
	case errors.Is(err, egress.ErrPrivate), errors.Is(err, egress.ErrUnlisted):
		return Forbidden
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, &host), errors.As(err, &authority),
		errors.As(err, new(x509.CertificateInvalidError)):
		return Untrusted
	}
	return Unreachable
}

// Bounded is a reader that fails with TooLarge after Left bytes, and with the error of its context once that ends.
type Bounded struct {
	Context context.Context
	Reader  io.Reader
	Left    int64
}

// Read reads.
func (b *Bounded) Read(p []byte) (int, error) {
	if err := b.Context.Err(); err != nil {
		return 0, err
	}
	if b.Left <= 0 {
		return 0, TooLarge
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.Left)])
	b.Left -= int64(n)
	return n, err
}

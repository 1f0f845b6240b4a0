//go:build !goolm

package matrix

import (
	"context"

	"go.uber.org/zap"
)

// openCrypto logs that this build cannot read encrypted rooms.
func (c *Channel) openCrypto(context.Context, *session) (cryptor, error) {
	if c.opts.CryptoDB != nil {
		c.log.Warn("encrypted rooms cannot be read: this program was built without -tags goolm",
			zap.String("do", "use a release, or build with make"))
	}
	return nil, nil
}

// cryptoBuilt reports whether this build can read encrypted rooms.
const cryptoBuilt = false

func (c *Channel) cryptoStatus(context.Context, *session, *findings) (string, bool) { return "", false }

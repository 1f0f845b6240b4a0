package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// CodeHash is how a code is kept that people type: hex SHA-256 of its signs in capitals,
// without how people write it in groups.
func CodeHash(code string) string {
	clean := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(strings.TrimSpace(code)))
	sum := sha256.Sum256([]byte(clean))
	return hex.EncodeToString(sum[:])
}

package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// CodeHash returns the stored form of a code: the hex SHA-256 of its capital characters,
// without the separators of groups.
func CodeHash(code string) string {
	clean := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(strings.TrimSpace(code)))
	sum := sha256.Sum256([]byte(clean))
	return hex.EncodeToString(sum[:])
}

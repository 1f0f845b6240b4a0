package whatsapp

import (
	"fmt"
	"strings"
	"time"

	"github.com/everthread/everthread/core/when"
)

// dateInWords returns the date of t in the language of a template; languages
// other than English and French get the form that is read everywhere.
func dateInWords(code string, t time.Time) string {
	switch language, _, _ := strings.Cut(strings.ToLower(code), "_"); language {
	case "en", "fr":
		return fmt.Sprintf("%d %s", t.Day(), when.MonthName(t.Month(), language))
	}
	return t.Format("2006-01-02")
}

package whatsapp

import (
	"strings"
	"time"

	"github.com/everthread/everthread/core/when"
	"github.com/everthread/everthread/core/words"
)

// dateInWords returns the date of t in the language of a template; languages
// that are not spoken get the form that is read everywhere.
func dateInWords(code string, t time.Time) string {
	language, _, _ := strings.Cut(strings.ToLower(code), "_")
	if words.Match(language) == language {
		return when.DayOfMonth(t.Day(), language) + " " + when.MonthName(t.Month(), language)
	}
	return t.Format("2006-01-02")
}

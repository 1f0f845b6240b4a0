package whatsapp

import (
	"fmt"
	"strings"
	"time"
)

// frenchMonths are the months as they are written in French.
var frenchMonths = [...]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"}

// dateInWords returns the date of t in the language of a template; languages
// other than English and French get the form that is read everywhere.
func dateInWords(code string, t time.Time) string {
	switch language, _, _ := strings.Cut(strings.ToLower(code), "_"); language {
	case "en":
		return t.Format("2 January")
	case "fr":
		return fmt.Sprintf("%d %s", t.Day(), frenchMonths[t.Month()-1])
	}
	return t.Format("2006-01-02")
}

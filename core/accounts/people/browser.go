package people

import (
	"cmp"
	"fmt"
	"strings"
)

// Browser returns the displayed name of a browser, given its user agent.
func Browser(language, agent string) string {
	find := func(pairs ...string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if strings.Contains(agent, pairs[i]) {
				return pairs[i+1]
			}
		}
		return ""
	}
	name := find("Edg", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "FxiOS", "Firefox", "CriOS", "Chrome", "Chromium",
		"Chromium", "Chrome/", "Chrome", "Safari/", "Safari")
	system := find("Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Windows", "Windows", "CrOS", "ChromeOS",
		"Mac OS X", "macOS", "Linux", "Linux")
	switch {
	case name != "" && system != "":
		return fmt.Sprintf(say(language).BrowserOn, name, system)
	case name != "":
		return name
	}
	return cmp.Or(strings.ToValidUTF8(agent[:min(len(agent), 60)], ""), say(language).BrowserUnknown)
}

//go:build e2e

package web

import (
	"github.com/everthread/everthread/e2e/e2etest"
)

// deed is an action of a person on a page, in steps. A step operates a control, writes into it ("#q
// = harbour"), or picks a file ("file").
type deed struct {
	page  string // where it begins; empty: where the one before ended
	steps string // separated by " | "
	sees  string // what holds on the page afterwards
	look  bool   // also look at the page that it leads to
}

// own selects the newest message of the person, and answer that of the assistant.
const own = "#entries > .entry.user.said:nth-last-child(1 of .user.said)"

// says returns an expression that is true if an element contains a text.
func says(selector, text string) string {
	return "[...document.querySelectorAll(" + e2etest.Quote(selector) + ")].some((x) => x.innerText.includes(" +
		e2etest.Quote(text) + "))"
}

// gone returns an expression that is true if an element does not exist or is not shown.
func gone(selector string) string {
	return "![...document.querySelectorAll(" + e2etest.Quote(selector) + ")].some((x) => x.checkVisibility())"
}

// fresh returns an expression that is true only on another page than the one where a deed began.
func fresh(expression string) string { return "!window.old && " + expression }

// toast returns an expression that is true if the page shows a notice with a text.
func toast(text string) string { return says("#toast", text) }

// begins tries a code that is not the owner's.
var begins = []deed{
	{"/", "#start-code = nobodys-code | main .button.primary", fresh(says(".note", "already been used")), true},
}

// arrives signs in, creates a key without any other app, and links apps.
var arrives = []deed{
	{"", "#clocks label:nth-of-type(2) input", "document.querySelector('#clocks input[value=UTC]').checked", false},
	{"", "#signin button", "document.querySelector('#write')", false},
	{"/settings/keys", "#keys details.fold:last-of-type > summary | #key-name = robot | #keys input[value=admin] | #keys .form .button",
		"document.querySelector('.confirm')", true},
	{"/", ".answer button >> Yes", gone(".answer button"), false},
	{"/settings/keys", "#keys details.fold:last-of-type > summary | #key-name = robot | #keys input[value=admin] | #keys .form .button",
		"document.querySelector('#secret')", true},
	{"", ".secret button", toast("Copied"), false},
	{"/settings/keys", "#keys .sure > summary | #keys .sure-form button", says("#keys", "You have no keys."), false},
	{"/settings/channels", "#channels > form button", "document.querySelector('.codes')", false},
	{"", ".secret button", toast("Copied"), false},
	{"", "form[action='/settings/channels/link'] button", fresh("document.querySelector('.codes')"), true},
}

// rings are actions on notifications of a person without an app.
var rings = []deed{
	{"/", "#text = /remind in 9 hours ring the bell | #send", "document.querySelector('#offer')?.checkVisibility()", true},
	{"", "#offer [data-later]", "!document.querySelector('#offer')", false},
	{"", "?#promises:not([open]) > summary | #promises form[action$=cancel] button", "!" + says("#promises", "ring the bell"), false},
	{"/settings/notifications", "#notifications input[name=texts] | #notifications form[data-push] .button",
		fresh(says("#notifications .rows", "shows the text")), true},
	{"", "#notifications form[action$=texts] [name=texts] | #notifications form[action$=texts] .button",
		fresh(says("#notifications .rows", "only says")), false},
	{"", "#notifications form[action$=test] button", toast("on its way"), false},
	{"", "#notifications form[action$=off] button", gone("#notifications .rows"), false},
}

// writes are actions on messages of today's page.
var writes = []deed{
	{"/", "#text = what of the **second**? | #send", says(".entry.agent .prose", "what of the second?") + "&&" + gone(".writing"), false},
	{"", answer + " .quick .reply", "!document.querySelector('#replying').hidden", false},
	{"", "#replying .unquote", "document.querySelector('#replying').hidden", false},
	{"", answer + " .quick .copy", toast("Copied."), false},
	{"", ".copy-code", toast("Copied."), false},
	{"", answer + " .quick .again", says(answer+" .variants", "Answer 2 of 2"), false},
	{"", answer + " .variants button", says(answer+" .variants", "Answer 1 of 2"), false},
	{"", answer + " .variants button", says(answer+" .variants", "Answer 2 of 2"), false},
	{"", own + " .quick .edit | .panel-here textarea = what of the third? | .panel-here .button.primary",
		says(own+" .prose", "what of the third?") + "&&" + says(answer+" .prose", "what of the third?"), false},
	{"", own + " .meta > a.inline | .panel-here .crumb a", gone(".panel-here"), false},
	{"", answer + " .why | .panel-here .prompt summary", says(".panel-here", "what of the third?"), false},
	{"", ".panel-here .crumb a", gone(".panel-here"), false},
	{"", own + " .acts summary | " + own + " .acts a >> Remember | .panel-here textarea = They ask of thirds | " +
		".panel-here .button.primary", toast("Remembered."), false},
	{"", answer + " .acts summary | " + answer + " .acts a[data-copied]", toast("copied"), false},
	{"", answer + " .acts summary | " + answer + " .acts [data-listen]", "window.spoken > 0", false},
	{"", own + " .acts summary | " + own + " .acts a >> Undo | .panel-here .button.danger",
		"!document.querySelector('#entries').innerText.includes('of the third?')", false},
	{"", "#text = a passing word | #send", says(".entry.agent .prose", "a passing word") + "&&" + gone(".writing"), false},
	{"", own + " .acts summary | " + own + " .acts a >> Forget | .panel-here .button.danger",
		"![...document.querySelectorAll('.entry.user .prose')].some((x) => x.innerText.includes('a passing word'))", false},
	{"", "#text = {long} | #send", says(own, "Show all") + "&&" + says(".entry.agent .prose", "many lines") + "&&" +
		gone(".writing"), false},
	{"", own + " .whole summary", says(own, "Show less"), false},
	{"", "file | .picked button", gone("#picked"), false},
	{"", "file | #text = look at this sail | #send", says(".entry.agent .prose", "look at this sail") + "&&" + gone(".writing"), false},
	{"", ".picture", "document.querySelector('dialog.viewer[open] img')?.naturalWidth > 0", false},
	{"", ".viewer button", gone(".viewer"), false},
	{"", "#text = say 900 words | #send | #status .stop-button", gone("#status .stop-button"), false},
	{"", "#record | #record-stop", "document.activeElement.id === 'record-send'", false},
	{"", "#record-discard", gone("#recording"), false},
	{"", "#record", says("#recorded", "0:01"), false},
	{"", "#record-stop", "document.activeElement.id === 'record-send'", false},
	{"", "#record-send", gone("#recording"), false},
	{"/", "?#promises:not([open]) > summary", "document.querySelector('#promises').open", false},
	{"", "#promises .snooze > summary | .snooze[open] button >> Tomorrow", says("#promises li:first-child .promise", "feed the cat"), false},
	{"", "#promises form[action$=cancel] button", "!" + says("#promises", "feed the cat"), false},
	{"", "#promises form[action$=done] button", "!" + says("#promises", "choose the paint"), false},
	{"", "#promises details[id^=runs] > summary | #promises details[id^=runs] a", "location.pathname.endsWith('/why')", false},
	{"/", "?#promises:not([open]) > summary | #promises form[action$=resume] button",
		toast("Resumed") + "&&" + gone("#promises form[action$=resume]"), false},
	{"", "#promises form[action^='/tasks'][action$=cancel] button", "!" + says("#promises", "tell the news"), false},
	{"", "#promises li[id^=l] a[href]", "document.querySelector('.entry.found')", false},
}

// goesAbout are actions on days, searches, threads, and the header of the page.
var goesAbout = []deed{
	{"/", "#previous-day", "location.pathname.startsWith('/day/')", false},
	{"", "#next-day", says("h1", "Today"), false},
	{"/", ".days .segments a >> Yesterday", says("h1", "Yesterday"), false},
	{"", "#summary button[value=reopen]", gone("#summary button[value=reopen]"), false},
	{"", ".summary-foot form button", "(" + toast("written") + "||" + toast("summary") + ")&&" +
		says("#summary .about", "Version 2") + "&&!!document.activeElement.closest('.summary-foot')", false},
	{"", ".summary-foot a.inline | .panel-here .version summary", "document.querySelector('.panel-here .version[open]')", false},
	{"", ".panel-here .crumb a", gone(".panel-here"), false},
	{"", ".pick > summary | .pick .calendar-nav[rel=prev]", "document.querySelector('.pick .calendar-nav[rel=next]')", false},
	{"", ".pick .calendar-nav[rel=next]", "document.querySelector('.pick .day-cell[href]')", false},
	{"", ".pick .day-cell[href]", "location.pathname.startsWith('/day/')", false},
	{"/days", "#date = 2026-10-24 | .inline-form button", "location.pathname === '/day/2026-10-24'", false},
	{"/", "?.to-search | #q = harbour | .search button", "document.querySelector('.hit')", false},
	{"/search?q=harbour&day=2026-10-24", ".searching .chip", "document.querySelector('.searching .chip[aria-current]')", false},
	{"", ".searching .chip[aria-current]", "document.querySelector('.searching .chip:not([aria-current])')", false},
	{"/search", ".filters > summary | #q = harbour | #f-who = me | #f-from = 2026-10-20 | .searching .search button",
		says("main h2", "1 result"), false},
	{"", ".hit .why-found summary", says(".why-found", "score"), false},
	{"", ".hit-foot a", "document.querySelector('.entry.found')", false},
	{"/threads", "#title = A trip to Lyon | main form button", says("h1", "A trip to Lyon"), false},
	{"", "#text = which train? | #send", says(".entry.agent", "which train?"), false},
	{"", ".crumb a", "location.pathname === '/threads'", false},
	{"", ".cards a", says("h1", "A trip to Lyon"), false},
	{"", ".crumb a >> Rename | main .buttons a", says("h1", "A trip to Lyon"), false},
	{"", ".crumb a >> Rename", says("h1", "Rename or delete"), true},
	{"", ".crumb a", says("h1", "A trip to Lyon"), false},
	{"", ".crumb a >> Rename | #title = A trip to Paris | main .button.primary", says("h1", "A trip to Paris"), false},
	{"", ".crumb a >> Rename | main .danger", "location.pathname === '/threads' && !document.querySelector('.cards')", false},
	{"/", ".account summary | .account button[value=dark]", "document.documentElement.dataset.theme === 'dark'", false},
	{"", ".account summary | .account button[value=light]", "document.documentElement.dataset.theme === 'light'", false},
	{"", ".account summary | .account button[value=auto]", "!document.documentElement.dataset.theme", false},
	{"", ".account summary | [data-notify]", "document.querySelector('[data-notify]').ariaPressed === 'true'", false},
	{"/", ".account summary | [data-keys]", "document.querySelector('#shortcuts').open", false},
	{"", "#shortcuts button", "!document.querySelector('#shortcuts').open", false},
}

// keeps are actions on memory and settings.
var keeps = []deed{
	{"/memory", ".add > summary | #add-text = Plays the cello | #add-type = preference | .add .button", says(".statement", "Plays the cello"), false},
	{"/memory", ".noted button", toast("Archived."), false},
	{"/memory?q=cello", ".item .edit summary | .item textarea = Plays the viola | .edit .button", toast("Corrected."), false},
	{"/memory?q=viola", ".item .wordings summary", says(".wordings", "cello"), false},
	{"/memory?q=viola", ".item form[action$=archive] button", toast("Archived."), false},
	{"/memory", "#q = viola | .filter input[name=archived] | .filter #type = preference | .filter button", says(".item", "viola"), false},
	{"", ".item form[action$=restore] button", toast("estored"), false},
	{"/memory?q=viola", ".item .delete summary | .delete .button", toast("Deleted for good."), false},
	{"/settings/profile", "#name = Ada | [data-zone] | #profile .button.primary", fresh("document.querySelector('.account summary[aria-label=Ada]')"), false},
	{"/settings/assistant", "#assistant input[name=memory][value=off] | #assistant .button", fresh("document.querySelector('#assistant input[name=memory][value=off]').checked"), false},
	{"/settings/assistant", "#assistant input[name=memory][value=on] | #assistant .button", fresh("document.querySelector('#assistant input[name=memory][value=on]').checked"), false},
	{"/settings/assistant", "#assistant input[name=voice][value=on] | #assistant .button", fresh("document.querySelector('#assistant input[name=voice][value=on]').checked"), false},
	{"/settings/assistant", "#assistant input[name=voice][value=auto] | #assistant .button", fresh("document.querySelector('#assistant input[name=voice][value=auto]').checked"), false},
	{"/settings/assistant", "#assistant input[name=model][value=home] | #assistant .button", fresh("document.querySelector('#assistant input[name=model][value=home]').checked"), false},
	{"/settings/assistant", "#assistant .rows button", gone("#assistant .rows"), false},
	{"/", ".model a", "location.pathname === '/settings/assistant'", false},
	{"/memory", "#wish = answer in one sentence | #standing .form button", says("#standing b", "answer in one sentence"), false},
	{"/settings/standing", "#standing .rows button", gone("#standing .rows"), false},
	{"/settings/data", "#trace = harbour | #data .left-of button", "location.pathname === '/settings/data' && document.querySelector('.found')", false},
	{"", "main form button", fresh("document.querySelector('.found')"), true},
}

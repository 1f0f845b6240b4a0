//go:build e2e

package web

// administers are actions of the owner.
var administers = []deed{
	{"/admin/requests", ".request .fields button", "document.querySelectorAll('.request').length === 1", false},
	{"/admin/requests", ".request .sure > summary | .request .sure-form button", gone(".request"), false},
	{"/admin/users", ".pager a[rel=next]", "location.search.includes('page=')", false},
	{"", ".pager a[rel=prev]", "document.querySelector('.pager a[rel=next]')", false},
	{"/admin/users", "#who = person 1200 | #users form[role=search] button", says("#users", "Person 1200"), false},
	{"", "#users .row-acts button", "document.querySelector('#secret, .confirm')", false},
	{"/admin/channels", "#channels form[action$=check] button", fresh("document.querySelector('.finding')"), true},
	{"", "main form button", fresh("document.querySelector('.finding')"), false},
	{"/admin/deliveries", "#deliveries form button", "document.querySelector('#toast').innerText", false},
	{"/admin/jobs", "#jobs form button", "document.querySelector('#toast').innerText", false},
	{"/admin/usage", "#usage .months a[rel=prev]", "location.search.includes('month=') && document.querySelector('#usage .months a[rel=next]')", false},
	{"", "#usage .months a[rel=next]", "!document.querySelector('#usage .months a[rel=next]')", false},
	{"/admin/usage", "#usage details > summary", "document.querySelector('#usage details[open] table').checkVisibility()", false},
	{"/admin/usage", "#usage table a", fresh("document.querySelector('#usage-purposes')"), true},
	{"", ".crumb a", fresh("document.querySelector('#usage .months')"), false},
	{"/admin/channels", "#channels a[href='/setup']", fresh("document.querySelector('main a[href$=calendars]')"), true},
	{"", "main a[href$=calendars]", fresh("document.querySelector('#new-name')"), true},
	{"", "#new-name = Work | #n-0 = http://127.0.0.1:9/work.ics | main button[value=test]", fresh(says("main", "It does not work")), true},
	{"", "main button[value=force]", fresh(says("h2", "Work")), false},
	{"", "main .sure > summary | main .sure-form button", gone("main .card"), false},
	{"/setup", "main a[href$=speech]", fresh("document.querySelector('main button[value=save]')"), true},
	{"", "main button[value=save]", toast("saved"), false},
	{"/setup/channel-signal", "main button[value=scan]", fresh("document.querySelector('.qr')"), true},
	{"", "main button[value=scan]", fresh("!document.querySelector('[data-arrives]').hidden"), true},
	{"", "main .note.good a", fresh("document.querySelector('#connect-title')"), false},
	{"/setup", "main details > summary", "document.querySelector('main a[href$=file]').checkVisibility()", false},
	{"", "main a[href$=file]", "true", false},
	{"/admin/check", "#check button", fresh("document.querySelector('.finding')"), false},
}

// links are actions on a person's apps, keys and embeddings.
var links = []deed{
	{"/settings/channels", "#channels details.fold > summary | #agent-key = key-of-adas-agent-fedcba9876543210 | " +
		"#channels form[action$=agents] button", toast("agent"), false},
	{"/settings/channels", "#channels .fold .sure > summary | #channels .fold .sure-form button", toast("emoved"), false},
	{"/settings/services", "#services form button", "document.querySelector('form[action=\"/connect\"] button')", true},
	{"", "form[action='/connect'] button", says("main", "can use tracker now"), true},
	{"", "main a[href='/settings/services']", "document.querySelector('#services .sure')", false},
	{"", "#services .sure > summary | #services .sure-form button", toast("disconnected"), false},
	{"/settings/channels", "#channels form[action$=home] button", "document.querySelector('#channels .tag')", false},
	{"/settings/embeddings", "#model = emulated-embeddings | #base_url = {model}/v1 | #dimensions = 256 | #embeddings button[value=test]",
		"document.querySelector('#embeddings .note.good')", false},
	{"", "#embeddings button[value=save]", "document.querySelector('#embeddings .ask')", true},
	{"", "#embeddings button[value=confirm]", toast("embedded again"), false},
	{"/settings/embeddings", "#embeddings .sure > summary | #embeddings button[value=clear]", gone("#embeddings .sure"), false},
}

// outdates is the owner's yes after a change of the gateway's embedding model.
var outdates = []deed{
	{"/settings/embeddings", "#embeddings button[value=again]", gone("#embeddings button[value=again]"), false},
}

// unlinks unlinks an app, which signs out the browsers that it signed in.
var unlinks = []deed{
	{"/settings/channels", "#channels > .rows li:last-child .sure > summary | #channels details[open] .button.danger", fresh("document.querySelector('main')"), false},
}

// signsIn and goes are actions of a returning user, who ends sessions and signs out.
var (
	signsIn = []deed{{"", "#signin button", "document.querySelector('#write')", false}}
	goes    = []deed{
		{"/settings/sessions", "#sessions .rows li:not(:has(.tag)) button", "document.querySelectorAll('#sessions .rows li').length < 3", false},
		{"/", ".account summary | .account form[action='/signout'] button", says("main", "You are signed out"), false},
	}
	endsAll = []deed{
		{"/settings/keys", "#keys details.fold:last-of-type > summary | #key-name = script | #keys .form .button", "document.querySelector('#secret')", false},
		{"/settings/sessions", "#sessions > .sure > summary | #sessions [name=keys] | #sessions .sure-form button", says("main", "You are signed out"), false},
	}
	leavesAll = []deed{{"/settings/data", ".danger-zone summary | #word = DELETE | .danger-zone form button | .confirm button[name=yes]",
		"document.querySelector('.farewell .note.good')", false}}
)

// withoutNetwork are actions on messages that wait on the device.
var withoutNetwork = []deed{
	{"/threads/99999", "#later = written on a hill | #write-later .button", says("#outbox", "written on a hill"), false},
	{"", "#outbox button >> Dis", gone("#outbox li"), false},
	{"", "#later = to a thread that is gone | #write-later .button", says("#outbox", "to a thread that is gone"), false},
	{"", "#again", "!window.old && document.querySelector('#offline')", true},
}

// refused are actions on waiting messages that are refused.
var refused = []deed{
	{"", "#outbox button >> Retry", "(window.calm = document.querySelector('#outbox .state.failed') ? (window.calm || 0) + 1 : 0) > 40", false},
	{"", "#outbox button >> Dis", gone("#outbox li"), false},
}

package office

import "github.com/everthread/everthread/core/words"

// texts are the room's texts in one language. The comments list the values for the
// formatting verbs in order.
type texts struct {
	Attachments words.Counted // number
	Memory      memoryWords
	Standing    standingWords
	Settings    settingsWords
	Admin       adminWords
}

var say = words.In[texts]("office")

type memoryWords struct {
	Title, Lead, Themes, AllThemes, Words, Type, AnyType      string
	Archives, Show, Results, Newest, Add, Archive, Restore    string
	Archived, Restored, Same, IsArchived, From, Tags, Foreign string
	Edit, EditDo, Edited, SameEdit, History, Until            string // Until: date and time
	Delete, DeleteLead, DeleteDo, Deleted, NotedToday, Undo   string
	None, NoneHint, NoneFound, NoneFoundHint, ShowAll         string
	Waiting, Ready, Failed                                    string
	Vectors, NoVectors                                        string
	VectorsReady, VectorsWaiting, VectorsFailed               string // number
	VectorsFault                                              string // number, reason
	Newer, Older                                              string
}

type standingWords struct {
	Title, Lead, New, Example, Add, Remove string
	Added, Known, Removed                  string
	Proposed, Waiting                      string
}

type settingsWords struct {
	Title, Lead, Sections, Saved, Save, Remove, Detail, Copy, Copied string // Detail: the error
	AskedTitle, AskedLead, AskedGoOn                                 string // AskedLead: channel, name

	// Profile.
	Profile, Name, NameHint, NameEmpty, NameLong,
	ProfileSet string // NameLong: number; ProfileSet: clock
	Zone, ZoneHint, ZoneNow, ZoneHouse, ZoneUnknown, ZoneNear,
	ZoneHere string // ZoneNow: time, day, zone; ZoneHouse: zone
	Language, LanguageAuto                                                                 string
	Assistant, Summaries, PostsHome, PostsHomeHint, PostsAll, PostsAllHint                 string
	PostsOff, PostsOffHint, Strategy, Continuous, ContinuousHint, Long, LongHint, Truncate string
	Voice, VoiceAuto, VoiceAutoHint, VoiceOn, VoiceOnHint, VoiceOff, VoiceOffHint          string
	TruncateHint, Memory, MemoryOn, MemoryOnHint, MemoryOff, MemoryOffHint                 string
	Never, JustNow                                                                         string
	MinutesAgo                                                                             words.Counted // number
	HoursAgo                                                                               words.Counted // number
	DaysAgo                                                                                words.Counted // number
	Channels, ChannelsLead, LinksNone, LinksNoneHint, Own, LastUsed                        string        // Own: names
	LinkOpen, LinkBlocked, LinkNoPush, LinkClosed, LinkUntil, LinkOff                      string        // LinkUntil: time
	Home, HomeMake, HomeSet, HomeAuto,
	HomeCannot string // HomeSet: channel
	Unlink, UnlinkHint, UnlinkLast, UnlinkDo, Split, SplitHint string
	SplitLast, SplitDo, Unlinked,
	Splitting string // Unlinked, Splitting: name
	LinkNew, LinkTitle, LinkLead, LinkUntilThen, LinkAny,
	LinkOpens string // LinkUntilThen: minutes, time; LinkOpens: app
	LinkScan, LinkSecret, LinkAgain, Back                            string
	Agents, AgentsLead, AgentName, AgentKey, AgentKeyHint, AgentAdd  string
	AgentDefault, AgentNoKey, AgentRefused, AgentAdded, AgentRemoved string // AgentRefused: why
	AgentSince, AgentRemoveHint                                      string // AgentSince: date

	// Search by meaning.
	Meaning, MeaningLead, MeaningSystem                                          string // MeaningSystem: configuration
	Provider, ProviderOpenAI, ProviderCustom, ProviderMissing, Address           string
	AddressHint, AddressMissing, Model, ModelMissing, Dimensions, DimensionsHint string
	DimensionsWrong, Key, KeyHint, KeyKept, KeyTyped, Test, MeaningOff           string // DimensionsWrong: number
	MeaningWorks,
	MeaningDo string // MeaningWorks: dimensions, milliseconds
	MeaningAsk                                                         words.Counted // number
	MeaningSaved                                                       words.Counted // number
	MeaningRemove, MeaningRemoveHint, MeaningPrivate, MeaningSlow      string        // MeaningSlow: seconds
	MeaningDown, MeaningBusy, MeaningAuth, MeaningConfig, MeaningFails string
	MeaningUnlisted, MeaningSpent                                      string

	// Keys and sessions.
	Keys, KeysLead, KeysNone, KeyNew, KeyName, KeyNameHint, KeyMake, KeyMade string
	KeyMadeLead, KeyUse, KeyNameWrong, KeyNoScope, KeyScopes, KeySince,
	KeyUsed string // KeyMadeLead: name; KeyUse: address; KeySince: date
	KeyRevoke, KeyRevokeHint, KeyRevoked                                       string
	Scopes                                                                     map[string]string
	Sessions, SessionsLead, SessionThis, SessionEnd, SessionEnded, SessionsEnd string
	SessionsEndHint, BrowserOn,
	BrowserUnknown string // SessionsLead: days; BrowserOn: browser, system

	// Usage and data.
	Usage, UsageLead, UsageToday, UsageBudget, UsageTasks, UsageNone, UsageTable,
	UsageDay string // UsageToday: number; UsageBudget: number, number; UsageTasks: number
	UsageRead, UsageCached, UsageWritten, UsageTurns, UsageCost, UsageLimit         string
	Data, Export, ExportLead, ExportDo, ExportBusy, Delete, DeleteLead, DeleteOwner string
	ExportAbout,
	ExportAboutFiles string // ExportAbout: messages; ExportAboutFiles: messages, files, size
	DeleteTitle, DeleteWord, DeleteType, DeleteWrong, DeleteDo, Gone, GoneLead string // DeleteType, DeleteWrong: word

	// Account deletion.
	Leave, LeaveLead, LeaveBreaks, LeaveCount, LeaveFound, LeaveRows,
	LeaveRowsOf string // LeaveFound: messages, files; LeaveRowsOf: messages
	LeaveFiles, LeaveFilesOf, LeaveClean, LeaveLook,
	LeaveSeconds string // LeaveFilesOf: number, number; LeaveSeconds: number
	GoneProof, GoneBackups string
	LeftTitle, LeftLead, LeftDo, StayTitle, StayLead, HalfTitle, HalfLead, DoubtTitle,
	DoubtLead string // LeftDo, HalfLead: command
	StayBack, StayMoving, LeaveStopping string

	// Traces of a text.
	Traces, TracesLead, TracesText, TracesHint, TracesDo, TracesShort, TracesLong,
	TracesBusy string // TracesShort, TracesLong: number
	TracesNone, TracesNoneLead, TracesFiles, TracesNoFiles,
	TracesMore string // TracesMore: number
	TracesFound               words.Counted // number
	TracesForget, TracesAgain string
	Places                    map[string]string
}

type adminWords struct {
	Title, Lead, Requests, RequestsNone, RequestsHint, Asked, Until              string // Asked: how long ago; Until: time
	NewUser, As, CallThem, Approve, Approved, Deny, DenyHint, Denied, CodeGone   string
	Taken, Users, UsersHint, Owner, Paused, NoAddress, Tokens, LinkMake          string
	LinkTitle, LinkLead, LinkMore                                                string // LinkLead: name, minutes
	Channels, Fine, Deliveries, DeliveriesNone, DeliveriesHint, Retry, Resent    string
	Who                                                                          string
	Jobs, JobsHint, Queue, Ready, Running, Waiting, Dead, Oldest, JobsNone       string
	DeadTitle, DeadNone, Attempts, Revived                                       string
	Usage, UsageHint, UsageNone, UsageTable, UsageSum, Others, Prices, Parked    string // UsageSum: number, number
	Check, CheckHint, CheckDo, CheckAgain, CheckRuns, CheckFine, CheckLate, Okay string
	Problem                                                                      string
	CheckWrong                                                                   words.Counted // number
	Audit, AuditLead, AuditNone, AuditOlder, AuditNewest, AuditWhen, AuditWhat   string
	AuditThrough, AuditIdentity                                                  string // AuditIdentity: number
	Setup, SetupLead, SetupOn, SetupOff, SetupSet, SetupMissing, SetupFile       string
	SetupTry, SetupTryHint, SetupKeep, SetupWorks, SetupNot                      string
	SetupCheck, Kept, KeptSizes, KeptFiles                                       string // KeptSizes: size, size; KeptFiles: size
	UsersSearch, UsersNone, UsersBefore, UsersAfter, UsersOf                     string // UsersOf: number, number, number
	Kinds, Queues                                                                map[string]string
}

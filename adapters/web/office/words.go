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
	Title, Lead, Themes, AllThemes, Words, Type, AnyType, Archives, Show, Results, Newest, Add, Archive, Restore,
	Archived, Restored, Same, IsArchived, From, Tags, Foreign, Edit, EditDo, Edited, SameEdit, History, Delete,
	DeleteLead, DeleteDo, Deleted, NotedToday, Undo, None, NoneHint, NoneFound, NoneFoundHint, ShowAll, Waiting, Ready,
	Failed, Vectors, NoVectors, Newer, Older string
	Until                                       string // date and time
	VectorsReady, VectorsWaiting, VectorsFailed string // number
	VectorsFault                                string // number, reason
}

type standingWords struct {
	Title, Lead, New, Example, Add, Remove, Added, Known, Removed, Proposed, Waiting string
}

type settingsWords struct {
	Title, Lead, Sections, Saved, Save, Remove, Copy, Copied, AskedTitle, AskedGoOn string
	Detail                                                                          string // the error
	AskedLead                                                                       string // channel, name

	// Profile.
	Profile, Name, NameHint, NameEmpty, Zone, ZoneHint, ZoneUnknown, ZoneNear, ZoneHere, Language, LanguageAuto,
	Assistant, Summaries, PostsHome, PostsHomeHint, PostsAll, PostsAllHint, PostsOff, PostsOffHint, Strategy, Continuous,
	ContinuousHint, Long, LongHint, Truncate, Voice, VoiceAuto, VoiceAutoHint, VoiceOn, VoiceOnHint, VoiceOff,
	VoiceOffHint, TruncateHint, Memory, MemoryOn, MemoryOnHint, MemoryOff, MemoryOffHint, Never, JustNow, Channels,
	ChannelsLead, LinksNone, LinksNoneHint, LastUsed, LinkOpen, LinkBlocked, LinkNoPush, LinkClosed, LinkOff, Home,
	HomeMake, HomeAuto, HomeCannot, Unlink, UnlinkHint, UnlinkLast, UnlinkDo, Split, SplitHint, SplitLast, SplitDo,
	LinkNew, LinkTitle, LinkLead, LinkAny, LinkScan, LinkSecret, LinkAgain, Back, Agents, AgentsLead, AgentName, AgentKey,
	AgentKeyHint, AgentAdd, AgentDefault, AgentNoKey, AgentAdded, AgentRemoved, AgentRemoveHint string
	NameLong, ProfileSet          string        // NameLong: number; ProfileSet: clock
	ZoneNow, ZoneHouse            string        // ZoneNow: time, day, zone; ZoneHouse: zone
	MinutesAgo, HoursAgo, DaysAgo words.Counted // number
	Own                           string        // names
	LinkUntil                     string        // time
	HomeSet                       string        // channel
	Unlinked, Splitting           string        // Unlinked, Splitting: name
	LinkUntilThen, LinkOpens      string        // LinkUntilThen: minutes, time; LinkOpens: app
	AgentRefused                  string        // why
	AgentSince                    string        // date

	// Search by meaning.
	Meaning, MeaningLead, Provider, ProviderOpenAI, ProviderCustom, ProviderMissing, Address, AddressHint, AddressMissing,
	Model, ModelMissing, Dimensions, DimensionsHint, Key, KeyHint, KeyKept, KeyTyped, Test, MeaningOff, MeaningDo,
	MeaningRemove, MeaningRemoveHint, MeaningPrivate, MeaningDown, MeaningBusy, MeaningAuth, MeaningConfig, MeaningFails,
	MeaningUnlisted, MeaningSpent string
	MeaningSystem            string        // configuration
	DimensionsWrong          string        // number
	MeaningWorks             string        // dimensions, milliseconds
	MeaningAsk, MeaningSaved words.Counted // number
	MeaningSlow              string        // seconds

	// Keys and sessions.
	Keys, KeysLead, KeysNone, KeyNew, KeyName, KeyNameHint, KeyMake, KeyMade, KeyNameWrong, KeyNoScope, KeyScopes,
	KeyUsed, KeyRevoke, KeyRevokeHint, KeyRevoked, Sessions, SessionsLead, SessionThis, SessionEnd, SessionEnded,
	SessionsEnd string
	KeyMadeLead, KeyUse, KeySince              string // KeyMadeLead: name; KeyUse: address; KeySince: date
	Scopes                                     map[string]string
	SessionsEndHint, BrowserOn, BrowserUnknown string // SessionsLead: days; BrowserOn: browser, system

	// Usage and data.
	Usage, UsageLead, UsageNone, UsageTable, UsageDay, UsageRead, UsageCached, UsageWritten, UsageTurns, UsageCost,
	UsageLimit, Data, Export, ExportLead, ExportDo, ExportBusy, Delete, DeleteLead, DeleteOwner, DeleteTitle, DeleteWord,
	DeleteDo, Gone, GoneLead string
	UsageToday, UsageBudget, UsageTasks string // UsageToday: number; UsageBudget: number, number; UsageTasks: number
	ExportAbout, ExportAboutFiles       string // ExportAbout: messages; ExportAboutFiles: messages, files, size
	DeleteType, DeleteWrong             string // DeleteType, DeleteWrong: word

	// Account deletion.
	Leave, LeaveLead, LeaveBreaks, LeaveCount, LeaveRows, LeaveFiles, LeaveClean, LeaveLook, GoneProof, GoneBackups,
	LeftTitle, LeftLead, StayTitle, StayLead, HalfTitle, DoubtTitle, DoubtLead, StayBack, StayMoving, LeaveStopping string
	LeaveFound, LeaveRowsOf    string // LeaveFound: messages, files; LeaveRowsOf: messages
	LeaveFilesOf, LeaveSeconds string // LeaveFilesOf: number, number; LeaveSeconds: number
	LeftDo, HalfLead           string // LeftDo, HalfLead: command

	// Traces of a text.
	Traces, TracesLead, TracesText, TracesHint, TracesDo, TracesBusy, TracesNone, TracesNoneLead, TracesFiles,
	TracesNoFiles, TracesForget, TracesAgain string
	TracesShort, TracesLong string        // TracesShort, TracesLong: number
	TracesMore              string        // number
	TracesFound             words.Counted // number
	Places                  map[string]string
}

type adminWords struct {
	Title, Lead, Requests, RequestsNone, RequestsHint, NewUser, As, CallThem, Approve, Approved, Deny, DenyHint, Denied,
	CodeGone, Taken, Users, UsersHint, Owner, Paused, NoAddress, Tokens, LinkMake, LinkTitle, LinkMore, Channels, Fine,
	Deliveries, DeliveriesNone, DeliveriesHint, Retry, Resent, Who, Jobs, JobsHint, Queue, Ready, Running, Waiting, Dead,
	Oldest, JobsNone, DeadTitle, DeadNone, Attempts, Revived, Usage, UsageHint, UsageNone, UsageTable, Others, Prices,
	Parked, Check, CheckHint, CheckDo, CheckAgain, CheckRuns, CheckFine, CheckLate, Okay, Problem, Audit, AuditLead,
	AuditNone, AuditOlder, AuditNewest, AuditWhen, AuditWhat, AuditThrough, Setup, SetupLead, SetupOn, SetupOff, SetupSet,
	SetupMissing, SetupFile, SetupTry, SetupTryHint, SetupKeep, SetupWorks, SetupNot, SetupCheck, Kept, UsersSearch,
	UsersNone, UsersBefore, UsersAfter string
	Asked, Until         string        // Asked: how long ago; Until: time
	LinkLead             string        // name, minutes
	UsageSum             string        // number, number
	CheckWrong           words.Counted // number
	AuditIdentity        string        // number
	KeptSizes, KeptFiles string        // KeptSizes: size, size; KeptFiles: size
	UsersOf              string        // number, number, number
	Kinds, Queues        map[string]string
}

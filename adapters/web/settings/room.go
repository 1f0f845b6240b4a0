// Package settings is the part of the web page where a person manages memory, settings, data, browsers and keys, and the
// owner the whole gateway. Its pages are long, with sections, confirmations in place (class="sure") and charts. They
// share templates/parts/office.html and static/office.css, which {{define "head"}}{{template "office"}}{{end}}
// includes.
package settings

import (
	"context"
	"embed"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/audit"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/memory/items"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
)

// Options configure a Room. Fields without a comment are required.
type Options struct {
	Store      Store
	People     People
	Gateway    web.Gateway
	Memory     Memory
	Standing   Standing
	Engine     Engine
	Embeddings Embeddings
	Agents     Agents
	Services   Services
	Inspector  Inspector // for the owner's page
	Setup      Setup
	Push       Push

	Prices       core.PriceList // of all models
	TokensPerDay int            // budget of a user; 0: unlimited
	Summaries    string         // for people who chose none: home, all or off
	Strategy     string         // for people who chose none
	Voice        bool           // replies can be spoken
	// Models lists the models that a person may choose, the default first; nil: none.
	Models func(user core.UserID) []core.ModelChoice

	MediaDir  string // folder of the attachments
	PublicURL string // URL at which people reach the page

	Log  *zap.Logger
	Now  func() time.Time
	Rand io.Reader // for keys; safe for concurrent use
}

// Room serves memory, settings and administration. Its methods may be called concurrently.
type Room struct {
	Options
	exports, checks, looks *seats
}

var _ web.ResumingRoom = (*Room)(nil)

func New(o Options) *Room {
	return &Room{o, newSeats(exportsAtOnce), newSeats(1), newSeats(1)}
}

//go:embed templates static
var files embed.FS

func (r *Room) Name() string { return "office" }

func (r *Room) Words(lang string) any { return say(lang) }

func (r *Room) Files() fs.FS { return files }

func (r *Room) Routes() []web.Route {
	return slices.Concat(web.Needing(core.CanMemory, slices.Concat(r.memoryRoutes(), r.standingRoutes())...),
		web.Needing(core.CanAccount, slices.Concat(r.settingsRoutes(), r.connectRoutes())...),
		web.Needing(core.CanAdmin, slices.Concat(r.adminRoutes(), r.setupRoutes())...))
}

// Resume continues unfinished account deletions.
func (r *Room) Resume(ctx context.Context) {
	if err := r.Engine.Resume(ctx); err != nil && ctx.Err() == nil {
		r.Log.Error("unfinished account deletions not resumed", zap.Error(err))
	}
}

// Store holds the data that the room reads, and changes without effects.
type Store interface {
	Sessions(ctx context.Context, user core.UserID, now time.Time) ([]store.Session, error)
	EndSession(ctx context.Context, user core.UserID, id int64) error
	Subscribe(ctx context.Context, user core.UserID, session int64, was string, s store.Subscription) error
	Days(ctx context.Context, user core.UserID, before string, limit int) ([]core.Segment, error)
	Segment(ctx context.Context, user core.UserID, id core.SegmentID) (core.Segment, error)
	Thread(ctx context.Context, user core.UserID, id core.ThreadID) (core.Thread, error)
	Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *store.Snapshot, error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]effect.Approval, error)

	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	APIKeys(ctx context.Context, user core.UserID) ([]core.APIKey, error)
	RevokeAPIKey(ctx context.Context, user core.UserID, id int64) error
	UsageDays(ctx context.Context, user core.UserID, from, through string) ([]store.UsageDay, error)
	UsageParts(ctx context.Context, user core.UserID, from, through string) ([]store.UsagePart, error)
	UsageSums(ctx context.Context, from, through string) (map[core.UserID]core.Bill, error)
	EmbeddingCounts(ctx context.Context, user core.UserID, config string) (map[string]int, error)
	EmbeddingFaults(ctx context.Context, user core.UserID) ([]store.EmbeddingFault, error)
	Reembed(ctx context.Context, user core.UserID, config string, dry bool, now time.Time) (int, error)
	Enqueue(ctx context.Context, jobs ...store.NewJob) error

	// For the owner's page, without texts of other people.

	User(ctx context.Context, id core.UserID) (core.User, error)
	FindUsers(ctx context.Context, words string, offset, limit int) (users []core.User, total int, err error)
	Codes(ctx context.Context, kind effect.CodeKind, now time.Time) ([]effect.Code, error)
	PutCode(ctx context.Context, c effect.Code) error
	Deliveries(ctx context.Context, q store.DeliveryQuery) ([]core.Delivery, error)
	Redeliver(ctx context.Context, user core.UserID, id core.DeliveryID, now time.Time) error
	QueueStats(ctx context.Context) ([]store.QueueStat, error)
	DeadJobs(ctx context.Context, limit int) ([]store.Job, error)
	Audit(ctx context.Context, q store.AuditQuery) ([]audit.Row, error)
	Revive(ctx context.Context, user core.UserID, id core.JobID, now time.Time) error
}

// Memory reads and prepares memory items, as memory.Memory does.
type Memory interface {
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	Items(ctx context.Context, q store.ItemQuery) ([]core.Item, error)
	Item(ctx context.Context, user core.UserID, id core.ItemID) (core.Item, error)
	Search(ctx context.Context, q items.Query) (items.Found, error)
	Keep(ctx context.Context, i core.Item, now time.Time) (add *effect.AddItem, same core.Item, err error)
	Edit(ctx context.Context, user core.UserID, id core.ItemID, content string, now time.Time) (effect.EditItem, error)
}

// People creates codes and asks for confirmations, as people.People does.
type People interface {
	web.Doors
	NewLinkCode() (string, error) // for /link
	// EnsureOwner returns the owner, and a new code that makes an address theirs while they have none in an app.
	EnsureOwner(ctx context.Context) (core.User, string, error)
	// Sure reports whether a user has just confirmed an account change. If so, it has
	// applied effects and notified all of the user's identities; otherwise it asks on asked.
	Sure(ctx context.Context, u core.User, s store.Session, c effect.AccountSubject,
		effects ...core.Effect) (asked core.Identity, sure bool, err error)
	// Made makes a change that a user requested in a browser, and notifies their identities.
	Made(ctx context.Context, u core.User, s store.Session, c effect.AccountSubject, effects ...core.Effect) error
}

// Engine knows the running channels and handles a user's data as a whole, as engine.Engine does.
type Engine interface {
	// Running returns the capabilities of a channel; false: it is not running here.
	Running(channel string) (core.Capabilities, bool)
	// Health returns the error of each channel, or nil. Personal agents have one entry each, channel:account.
	Health() map[string]error
	// Apps returns the apps to which a link can send a /link code.
	Apps(ctx context.Context) []core.App
	// WebLink returns a link that signs a user in, and its code, which is not stored yet.
	WebLink(user core.UserID) (url string, code effect.Code, err error)
	// Export writes all of a user's data as a ZIP file.
	Export(ctx context.Context, w io.Writer, user core.UserID) error
	// Delete deletes a user's account, reports progress to tell, and lists the places that a final check found to hold
	// data still. For a deleted user, it finishes the remaining steps.
	Delete(ctx context.Context, user core.UserID, tell func(people.Deletion)) (left []string, err error)
	// Resume continues the deletions that an earlier process did not finish.
	Resume(ctx context.Context) error
	// Traces lists the places in a user's data that still hold a text, and reports
	// whether it searched the files of the database too.
	Traces(ctx context.Context, user core.UserID, text string) (found []store.Trace, files bool, err error)
}

// Inspector checks the gateway for its owner, as `everthread doctor` does.
type Inspector interface {
	// CheckChannel checks everything that an enabled channel needs, until ctx ends. It
	// returns core.ErrNotFound if the channel is not enabled.
	CheckChannel(ctx context.Context, channel, language string) ([]core.Finding, error)
	// Kept reports on the data folder, the store and its backups.
	Kept(ctx context.Context, language string) []core.Finding
	// DatabaseSize returns the size of the embedded database in bytes; 0: there is none.
	DatabaseSize() int64
	// Check checks the configuration as `everthread doctor` does, until ctx ends.
	Check(ctx context.Context, language string) []core.Finding
}

// seats limits concurrent long work: one of a user, and all in total.
type seats struct {
	all int

	mu    sync.Mutex
	taken map[core.UserID]bool
}

func newSeats(all int) *seats { return &seats{all: all, taken: map[core.UserID]bool{}} }

// take takes a seat for a user and reports whether there was one. The caller must then call leave.
func (s *seats) take(u core.UserID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[u] || len(s.taken) >= s.all {
		return false
	}
	s.taken[u] = true
	return true
}

func (s *seats) leave(u core.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, u)
}

// texts are the room's texts in one language. The comments list the values for the formatting verbs in order.
type texts struct {
	Attachments i18n.Counted // number
	Memory      memoryWords
	Standing    standingWords
	Connect     connectWords
	Settings    settingsWords
	Usage       usageWords
	Admin       adminWords
	Setup       setupWords
}

var say = i18n.In[texts]("office")

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

// connectWords are the texts of services and of the pages that connect them.
type connectWords struct {
	Services, ServicesLead, Not, Connect, Remove, Back, OldTitle, Old, Elsewhere string
	Since                                                                        string // day
	Title, Go, Going, FailedTitle, DoneTitle, Away, Unregistered, Denied         string // service
	RemoveHint, Gone, GoneUnsure                                                 string // service
	Lead                                                                         string // user, service, host
	Yours                                                                        string // user
	Other                                                                        string // who is signed in, user
	Until                                                                        string // time
	Done                                                                         string // user, service
}

type settingsWords struct {
	Title, Lead, Sections, Saved, Save, Remove, Copy, Copied, AskedTitle, AskedGoOn string
	Detail                                                                          string // the error
	AskedLead                                                                       string // channel, name

	ModelPrice   string // price read, price written, currency
	Allowed      string
	AllowedUntil string // day

	// Profile.
	Profile, Name, NameHint, NameEmpty, Zone, ZoneHint, ZoneUnknown, ZoneNear, ZoneHere, ZoneHereIs, Language,
	LanguageAuto,
	Assistant, Summaries, PostsHome, PostsHomeHint, PostsAll, PostsAllHint, PostsOff, PostsOffHint, Strategy, Continuous,
	ContinuousHint, Long, LongHint, Truncate, Voice, VoiceAuto, VoiceAutoHint, VoiceOn, VoiceOnHint, VoiceOff,
	VoiceOffHint, TruncateHint, Memory, MemoryOn, MemoryOnHint, MemoryOff, MemoryOffHint, AnswerModel, ModelDefault, Never, JustNow, Channels,
	ChannelsLead, LinksNone, LinksNoneHint, LastUsed, LinkOpen, LinkBlocked, LinkNoPush, LinkClosed, LinkOff, Home,
	HomeMake, HomeAuto, HomeCannot, Unlink, UnlinkHint, UnlinkBrowsers, UnlinkLast, UnlinkDo,
	LinkNew, LinkTitle, LinkLead, LinkAny, LinkScan, LinkSecret, LinkAgain, LinkArrived, Back, Agents, AgentsLead, AgentName, AgentKey,
	AgentKeyHint, AgentAdd, AgentDefault, AgentNoKey, AgentAdded, AgentRemoved, AgentRemoveHint string
	NameLong, ProfileSet          string       // NameLong: number; ProfileSet: clock
	ZoneNow, ZoneHouse            string       // ZoneNow: time, day, zone; ZoneHouse: zone
	MinutesAgo, HoursAgo, DaysAgo i18n.Counted // number
	Own                           string       // names
	LinkUntil                     string       // time
	HomeSet                       string       // channel
	Unlinked                      string       // name
	LinkUntilThen, LinkOpens      string       // LinkUntilThen: minutes, time; LinkOpens: app
	AgentRefused                  string       // why
	AgentSince                    string       // date

	// Search by meaning.
	Meaning, MeaningLead, Provider, ProviderOpenAI, ProviderCustom, ProviderMissing, Address, AddressHint, AddressMissing,
	Model, ModelMissing, Dimensions, DimensionsHint, Key, KeyHint, KeyKept, KeyTyped, Test, MeaningOff, MeaningDo,
	MeaningAgain, MeaningRemove, MeaningRemoveHint, MeaningPrivate, MeaningPrivateOwner, MeaningDown, MeaningBusy,
	MeaningAuth, MeaningConfig, MeaningFails,
	MeaningUnlisted, MeaningSpent string
	MeaningSystem            string       // configuration
	DimensionsWrong          string       // number
	MeaningWorks             string       // dimensions, milliseconds
	MeaningAsk, MeaningSaved i18n.Counted // number
	MeaningSlow              string       // seconds

	// Keys and sessions.
	Keys, KeysLead, KeysNone, KeyNew, KeyName, KeyNameHint, KeyMake, KeyMade, KeyNameWrong, KeyNoScope, KeyScopes,
	KeyUsed, KeyRevoke, KeyRevokeHint, KeyRevoked, Sessions, SessionsLead, SessionThis, SessionEnd, SessionEnded,
	SessionsEnd string
	KeyMadeLead, KeyUse, KeySince string // KeyMadeLead: name; KeyUse: address; KeySince: date
	Scopes                        map[string]string
	SessionsEndHint, SessionsKeys string

	// Notifications.
	Push, PushLead, PushScript, PushInsecure, PushUnsupported, PushDenied, PushShows, PushHides, PushOff, PushTest, PushEnded,
	PushTested, PushGone string
	PushFailed  string // how long ago, error
	PushRefused string // error

	// Usage and data.
	Usage, Data, Export, ExportLead, ExportDo, ExportBusy, Delete, DeleteLead, DeleteOwner, DeleteTitle, DeleteWord,
	DeleteDo, Gone, GoneLead string
	ExportAbout, ExportAboutFiles string // ExportAbout: messages; ExportAboutFiles: messages, files, size
	DeleteType, DeleteWrong       string // DeleteType, DeleteWrong: word

	// Account deletion.
	Leave, LeaveLead, LeaveBreaks, LeaveCount, LeaveRows, LeaveFiles, LeaveClean, LeaveLook, GoneProof, GoneBackups,
	LeftTitle, LeftLead, StayTitle, StayLead, HalfTitle, DoubtTitle, DoubtLead, StayBack, LeaveStopping string
	LeaveFound, LeaveRowsOf    string // LeaveFound: messages, files; LeaveRowsOf: messages
	LeaveFilesOf, LeaveSeconds string // LeaveFilesOf: number, number; LeaveSeconds: number
	LeftDo, HalfLead           string // LeftDo, HalfLead: command

	// Traces of a text.
	Traces, TracesLead, TracesText, TracesHint, TracesDo, TracesBusy, TracesNone, TracesNoneLead, TracesFiles,
	TracesNoFiles, TracesForget, TracesAgain string
	TracesShort, TracesLong string       // TracesShort, TracesLong: number
	TracesMore              string       // number
	TracesFound             i18n.Counted // number
	Places                  map[string]string
}

type usageWords struct {
	Lead, LeadAll, Prices, Table, ByPurpose, ByModel, ByPerson, Purpose, Model, Person, Day, Calls, Read, Cached, Written,
	Tokens, Turns, Cost, Limit, Compare string
	CompareHint          string       // cost
	Today, Budget, Tasks string       // Today: number; Budget: number, number; Tasks: number
	None                 string       // month
	Sum, SumCost         string       // tokens, calls; SumCost: with the cost
	CallsOf              i18n.Counted // number
	Of                   string       // name
}

type adminWords struct {
	Waits i18n.Counted // number
	Title, Lead, Requests, RequestsNone, RequestsHint, NewUser, NewGroup, As, CallThem, Approve, Approved, Deny, DenyHint, Denied,
	CodeGone, Taken, Users, UsersHint, Owner, Group, Paused, NoAddress, Tokens, LinkMake, LinkTitle, LinkMore, Channels, Fine,
	Deliveries, DeliveriesNone, DeliveriesHint, Retry, Resent, Who, Jobs, JobsHint, Queue, Ready, Running, Waiting, Dead,
	Oldest, JobsNone, DeadTitle, DeadNone, Attempts, Revived, Usage, Others,
	Parked, Check, CheckHint, CheckDo, CheckAgain, CheckRuns, CheckFine, CheckLate, Okay, Problem, Audit, AuditLead,
	AuditNone, AuditOlder, AuditNewest, AuditWhen, AuditWhat, AuditThrough, SetupOff, SetupCheck, Kept, UsersSearch,
	UsersNone, UsersBefore, UsersAfter string
	Asked, Until         string       // Asked: how long ago; Until: time
	LinkLead             string       // name, minutes
	CheckWrong           i18n.Counted // number
	AuditIdentity        string       // number
	KeptSizes, KeptFiles string       // KeptSizes: size, size; KeptFiles: size
	UsersOf              string       // number, number, number
	Kinds, Queues        map[string]string
}

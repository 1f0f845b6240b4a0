package office

import (
	"context"
	"io"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/memory"
	"github.com/everthread/everthread/core/people"
)

// Store is what the room reads and changes, besides what effects do.
type Store interface {
	Accounts
	Works
	Sessions(ctx context.Context, user core.UserID, now time.Time) ([]core.Session, error)
	EndSession(ctx context.Context, user core.UserID, id int64) error
	Days(ctx context.Context, user core.UserID, before string, limit int) ([]core.Segment, error)
	Segment(ctx context.Context, user core.UserID, id core.SegmentID) (core.Segment, error)
	Thread(ctx context.Context, user core.UserID, id core.ThreadID) (core.Thread, error)
	Turn(ctx context.Context, user core.UserID, id core.TurnID) (core.Turn, *core.Snapshot, error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	Approvals(ctx context.Context, user core.UserID, before core.ApprovalID, limit int) ([]core.Approval, error)
}

// Memory is what the page of memory reads and adds to, as memory.Memory does.
type Memory interface {
	Themes(ctx context.Context, user core.UserID, limit int) ([]core.Theme, error)
	Items(ctx context.Context, q core.ItemQuery) ([]core.Item, error)
	Item(ctx context.Context, user core.UserID, id core.ItemID) (core.Item, error)
	Search(ctx context.Context, q memory.Query) (memory.Found, error)
	Keep(ctx context.Context, i core.Item, now time.Time) (add *core.AddItem, same core.Item, err error)
	Edit(ctx context.Context, user core.UserID, id core.ItemID, content string, now time.Time) (core.EditItem, error)
}

// People make codes and links, and ask for a yes, as people.People does.
type People interface {
	web.Doors
	NewLinkCode() (string, error) // of /link
	// Sure reports whether a user has just said yes to an account change, which is then
	// made by effects and told to all of the user's identities; it asks if not.
	Sure(ctx context.Context, u core.User, s core.Session, c core.AccountSubject,
		effects ...core.Effect) (asked core.Identity, sure bool, err error)
}

// Engine knows the channels that run here, and does what is done with all that is a
// user's, as engine.Engine does.
type Engine interface {
	// Running are the capabilities of a channel; false: it is not running here.
	Running(channel string) (core.Capabilities, bool)
	// Health says of each channel what is wrong with it, or nil; of personal agents
	// one by one, as channel:account.
	Health() map[string]error
	// Apps are where a code of /link can be sent with a link.
	Apps(ctx context.Context) []core.App
	// WebLink makes a link that signs a user in, and what is to be stored of it.
	WebLink(user core.UserID) (url string, code core.Code, err error)
	// Export writes everything of a user as a ZIP file.
	Export(ctx context.Context, w io.Writer, user core.UserID) error
	// Delete removes a user with everything that is theirs, tells how far it is, and
	// lists what it found to be left when it looked everywhere. Of a user who is gone
	// already it does what remains to be done.
	Delete(ctx context.Context, user core.UserID, tell func(people.Deletion)) (left []string, err error)
	// Resume goes on with deletions that a process did not finish.
	Resume(ctx context.Context) error
	// Traces lists where a text still stands among what is a user's, and reports whether
	// it looked through the files of the database, too.
	Traces(ctx context.Context, user core.UserID, text string) (found []core.Trace, files bool, err error)
}

// Accounts is what the page reads and changes of a person, besides what effects do.
type Accounts interface {
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	APIKeys(ctx context.Context, user core.UserID) ([]core.APIKey, error)
	AddAPIKey(ctx context.Context, k core.APIKey) (core.APIKey, error)
	RevokeAPIKey(ctx context.Context, user core.UserID, id int64) error
	UsageDays(ctx context.Context, user core.UserID, from, through string) ([]core.UsageDay, error)
	EmbeddingCounts(ctx context.Context, user core.UserID, config string) (map[string]int, error)
	EmbeddingFaults(ctx context.Context, user core.UserID) ([]core.EmbeddingFault, error)
	Reembed(ctx context.Context, user core.UserID, config string, dry bool, now time.Time) (int, error)
	Enqueue(ctx context.Context, jobs ...core.NewJob) error
}

// Prices are what a million tokens cost; zero: it is not known.
type Prices struct {
	Prompt, Cached, Completion float64
	Currency                   string
}

// Inspector looks at the whole gateway for its owner, as `everthread doctor` does.
type Inspector interface {
	// Setups are the channels that there can be, as the configuration has them.
	Setups(language string) []channel.Setup
	// CheckChannel has one that is on look at all it needs, until ctx ends;
	// core.ErrNotFound: it is not on.
	CheckChannel(ctx context.Context, channel, language string) ([]core.Finding, error)
	// TryChannel tries one with answers to its fields, by their ids, that the
	// configuration does not hold; what is left out is taken from there. core.ErrNotFound:
	// it has no fields.
	TryChannel(ctx context.Context, channel, language string, answers map[string]string) (Tried, error)
	// Kept says how what is kept stands: the data folder, the store and its backups.
	Kept(ctx context.Context, language string) []core.Finding
	// DatabaseSize is how many bytes the embedded database takes; 0: there is none.
	DatabaseSize() int64
	// Check checks the configuration as `everthread doctor` does, until ctx ends.
	Check(ctx context.Context, language string) []core.Finding
}

// Tried is what came of answers: Wrong, or what the person is told and the lines of the
// configuration file, in which secrets are "…".
type Tried struct{ Wrong, Said, Lines string }

// Works is what the owner's page reads and changes. None of it holds what other
// people wrote.
type Works interface {
	User(ctx context.Context, id core.UserID) (core.User, error)
	FindUsers(ctx context.Context, words string, offset, limit int) (users []core.User, total int, err error)
	Identities(ctx context.Context, user core.UserID) ([]core.Identity, error)
	Codes(ctx context.Context, kind core.CodeKind, now time.Time) ([]core.Code, error)
	PutCode(ctx context.Context, c core.Code) error
	UsageDays(ctx context.Context, user core.UserID, from, through string) ([]core.UsageDay, error)
	Deliveries(ctx context.Context, q core.DeliveryQuery) ([]core.Delivery, error)
	Redeliver(ctx context.Context, user core.UserID, id core.DeliveryID, now time.Time) error
	QueueStats(ctx context.Context) ([]core.QueueStat, error)
	DeadJobs(ctx context.Context, limit int) ([]core.Job, error)
	Audit(ctx context.Context, q core.AuditQuery) ([]core.AuditRow, error)
	Revive(ctx context.Context, user core.UserID, id core.JobID, now time.Time) error
}

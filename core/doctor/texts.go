package doctor

import "github.com/everthread/everthread/core/words"

// texts are the words of findings in one language.
type texts struct {
	OK, Problem string
	Checks      map[string]string // names of checks that are no key, by the check with underscores

	Configuration                string
	DataWritable, DataUnwritable string // folder; why
	DatabaseNone, DatabaseNewer  string
	DatabaseAway                 string // why
	DatabaseUnusable             string // folder, why
	DatabaseOld                  string // its schema, ours
	DatabaseGood                 string // which, schema
	ProcessesHear, ProcessesDeaf string
	ConnectionsGood              string // processes, connections of each, of all, of the server
	ConnectionsMany              string
	DatabaseClockGood            string
	DatabaseClockOff             string // how far
	DatabaseClockWild            string // how far readings are apart
	DistributedGood              string
	DistributedHalf              string // tables
	TokensUsed, TokensNear       string // used, limit
	VectorsGood, VectorsUnseen   string
	VectorsMissing               words.Counted // why

	ListenOther         string // folder, address
	ListenRuns          string // address
	ListenMetrics       string
	ListenFree          string
	ListenProgram       string // address
	ListenStop          string // what, key
	ListenSuch          string // an address that is free
	ListenDenied        string // address
	ListenForeign       string
	ListenFails         string // address, why
	NameUnknown, NameIs string // name, why; name, addresses

	BackupHow                                 string
	BackupUnreadable                          string // why, folder
	BackupByHand, BackupOld                   string // when, how
	BackupServer                              string // folder, how
	BackupNone, BackupNever                   string // how; folder, how
	BackupDue                                 string // what, since when, folder
	BackupNoneMade, BackupFirst, BackupNewest string // when
	BackupBeside                              string
	ModelCutOff, ModelDemo, ModelGood         string // provider, model, milliseconds
	WindowGood                                string // it, prompt, results, answer; tools offered, of all
	WindowOver                                string // key, its value, window, what fits
	WindowTiny                                string // it, what is left
	EmbeddingsNone, EmbeddingsGood            string // which, dimensions
	TranscriptionNone, SpeechNone, Answers    string // model
	SpeechSample                              string // what is spoken to try it
	ServerDown, ServerGood                    string // why; tools
	ChannelLater, ChannelsNone                string // hint
	ClockUnknown, ClockOff, ClockGood         string // how far, whose; whose
}

var say = words.In[texts]("doctor")

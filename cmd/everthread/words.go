package main

import "github.com/everthread/everthread/core/words"

// texts are what commands say in one language. What a command is called, its help and
// what went wrong with it is English.
type texts struct {
	Hint, DaysHeader, DaysNone, TurnsHeader, TurnsNone, DeliveriesHeader, DeliveriesNone, JobsHeader, JobsNone,
	UsersHeader, UsersNone, AgentsHeader, AgentsNone, CodesHeader, CodesNone, AuditHeader, AuditNone,
	EmbeddingsHeader, EmbeddingsNone, KeysHeader, KeysNone, Retried, Redone, SummaryWriting, SummaryFailed,
	SummaryNone, SummaryHidden, SummaryVersion, DayTitle, Removed, SearchSummary, SearchFile, SearchNothing, KeyMade,
	KeyRevoked, UserNumbered, AgentAdded, AgentAsk, AgentGone, LetIn, Denied, UserAdded, Confirm, Yes, No,
	DeleteAsk, DeleteCount, DeleteRows, DeleteFiles, DeleteClean, DeleteLook, Gone, GoneWhole, GoneLeft, LinkAsk,
	Linked, ConfigRight, SchemaGood, SchemaWent, SchemaOld, BackupMade, BackupRemoved, BackupReadable, BytesRead,
	BytesUnpacked, Restored, RestoredAside, RestoredLeft, RestoredKey, RestoredTwice, ExportUnnoted, Exported,
	ExportDays, ExportSoFar, Forgotten, TracesNone, SecretNew, SecretNext, SecretHow, ChatHello, ChatOwner,
	ChatRetry, ImportReading, ImportDry, ImportProgress, ImportDone, ImportBack, ImportMissing,
	ImportUnsummarized, ImportSummaries, ImportSearch, ContentDigest string
	Messages, Tokens, Attachments, People, Rows, WebLink, Traces, Resealed, Unembedded, Reembedding, ImportDays,
	ImportFiles, ImportLeftOut words.Counted
}

var say = words.In[texts]("cli")

// turnTexts are what is said of a turn and of a score in one language.
type turnTexts struct {
	Title, Task, Error, Unanswered, WentOn, Began, Strategy, Parts, Total, Tools, Messages, Included, History, OfUser,
	Summaries, Usage, Times, Calls, Yes, No string
	Lexical, Semantic, Neighbours, Day, Named, Date, Covered string // of a score
	Epochs                                                   map[string]string
}

var sayOfTurns = words.In[turnTexts]("turn")

// words are what commands say, in the caller's language.
func (c *console) words() *texts { return say(c.language()) }

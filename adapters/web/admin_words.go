package web

import "github.com/everthread/everthread/core/words"

// adminWords are the words of the owner's page.
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
	Problem                                                                      string        // CheckWrong: number
	CheckWrong                                                                   words.Counted // number
	Audit, AuditLead, AuditNone, AuditOlder, AuditNewest, AuditWhen, AuditWhat   string
	AuditThrough, AuditIdentity                                                  string // AuditIdentity: number
	UsersSearch, UsersNone, UsersBefore, UsersAfter, UsersOf                     string // UsersOf: number, number, number
	Kinds, Queues                                                                map[string]string
}

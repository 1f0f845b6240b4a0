package people

import "github.com/everthread/everthread/core/words"

// texts are the messages of this package to people, in one language.
type texts struct {
	LinkQuestion          string // who used the code
	LinkJoins, LinkShares string
	LinkOwner             string // the word to type
	YesOrNo               string
	LinkAsked             string
	LinkLocked            string // minutes
	LinkWrong             string
	Joined, Split         string
	Pairing               string // code

	AccountQuestion            string // browser, one of the next four
	WantsAdminKey, WantsSignIn string // name
	WantsDelete, WantsExport   string
	MadeAdminKey, MadeSignIn   string // name
	MadeExport                 string
	DeletionAsked              string // browser, where the question is
}

var say = words.In[texts]("people")

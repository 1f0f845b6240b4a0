package export

import "github.com/everthread/everthread/core/words"

// texts are the words of the files that a person reads.
type texts struct {
	Readme                           string // name of the user, when it was written
	Zone                             string // of the times of a day
	Conversation, Deleted, Assistant string
	Task                             string // whose
}

var say = words.In[texts]("export")

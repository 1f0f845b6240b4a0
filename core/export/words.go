package export

import "github.com/everthread/everthread/core/words"

// texts are the texts of the files for people.
type texts struct {
	Readme                           string // name of the user, time of the export
	Zone                             string // zone of the times of a day
	Conversation, Deleted, Assistant string
	Task                             string // name of the user
}

var say = words.In[texts]("export")

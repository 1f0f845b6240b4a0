package web

// memoryWords are the words of the page of memory.
type memoryWords struct {
	Title, Lead, Themes, AllThemes, Words, Type, AnyType      string
	Archives, Show, Results, Newest, Add, Archive, Restore    string
	Archived, Restored, Same, IsArchived, From, Tags, Foreign string
	None, NoneHint, NoneFound, NoneFoundHint, ShowAll         string
	Waiting, Ready, Failed                                    string
	Vectors, NoVectors                                        string
	VectorsReady, VectorsWaiting, VectorsFailed               string // number
	VectorsFault                                              string // number, reason
	Newer, Older                                              string
}

package setup

import "github.com/everthread/everthread/core/words"

// texts are the words of the wizard in one language.
type texts struct {
	Wrong                                      string
	LeftOut                                    string // title of a field
	NoOption, NoAnswer, MoreOptions, NotShown  string
	ProviderTitle, ProviderHelp, ProviderWrong string
	Services                                   map[string]string
	DemoChosen                                 string
	URLTitle, URLHelp, URLWrong                string
	KeyTitle                                   string
	KeyHelp                                    map[string]string
	KeyFound                                   string
	ModelTitle, ModelHelp, ModelUnlisted       string
	ModelTrying, ModelAnswers                  string
	WindowIs, WindowShort                      string // number
	WindowSmall                                string // number, number
	MoreTitle, MoreNo, MoreDatabase            string
	DatabaseTitle, DatabaseHelp, DatabaseGood  string

	Faults  map[Wrong]string
	Reasons map[Reason]string

	Texts
}

// Texts are the words around the questions.
type Texts struct {
	Hello, Overwrite, OverwriteHelp, Yes, No, Kept, Written, Stopped string
	Pair, PairCode, Scan, Waiting, Came, Answered, NobodyCame        string
	Own, Served, WebLink, Doctor                                     string
	Service, ServiceHere, ServiceUser, ServiceSystem                 string
	ServiceCompose, ServiceNo, ServiceWritten, StartUser             string
	StartSystem, StartSystemCopy, StartCompose, StartSelf            string
	Here, Temporary, NoCompose, EnvKept, StartKeys                   string
	File                                                             fileTexts
}

// wordsOf returns the words of the wizard in a language.
var wordsOf = words.In[texts]("setup")

// TextsOf returns the words around the questions in a language.
func TextsOf(language string) Texts { return wordsOf(language).Texts }

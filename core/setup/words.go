package setup

import "github.com/everthread/everthread/core/words"

// words are the texts of the wizard in one language.
type texts struct {
	Wrong         string
	LeftOut       string // title of a field
	NoOption      string
	NoAnswer      string
	MoreOptions   string
	NotShown      string
	ProviderTitle string
	ProviderHelp  string
	ProviderWrong string
	Services      map[string]string
	DemoChosen    string
	URLTitle      string
	URLHelp       string
	URLWrong      string
	KeyTitle      string
	KeyHelp       map[string]string
	KeyFound      string
	ModelTitle    string
	ModelHelp     string
	ModelUnlisted string
	ModelTrying   string
	ModelAnswers  string
	WindowIs      string // number
	WindowShort   string // number
	WindowSmall   string // number, number
	MoreTitle     string
	MoreNo        string
	MoreDatabase  string
	DatabaseTitle string
	DatabaseHelp  string
	DatabaseGood  string

	Faults  map[Wrong]string
	Reasons map[Reason]string

	Texts
}

// Texts are what is said around the questions.
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

// wordsOf are the texts of the wizard in a language.
var wordsOf = words.In[texts]("setup")

// TextsOf are the texts around the questions in a language.
func TextsOf(language string) Texts { return wordsOf(language).Texts }

package setup

// words are the texts of the wizard in one language.
type words struct {
	wrong         string
	noOption      string
	noAnswer      string
	moreOptions   string
	notShown      string
	providerTitle string
	providerHelp  string
	providerWrong string
	services      map[string]string
	demoChosen    string
	urlTitle      string
	urlHelp       string
	urlWrong      string
	keyTitle      string
	keyHelp       map[string]string
	keyFound      string
	modelTitle    string
	modelHelp     string
	modelUnlisted string
	modelTrying   string
	modelAnswers  string
	moreTitle     string
	moreNo        string
	moreDatabase  string
	databaseTitle string
	databaseHelp  string
	databaseGood  string

	faults  map[Wrong]string
	reasons map[Reason]string

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

// TextsOf are the texts around the questions in a language.
func TextsOf(language string) Texts { return wordsOf(language).Texts }

func wordsOf(language string) words {
	if language == "fr" {
		return french()
	}
	return english()
}

func english() words {
	return words{
		faults: englishFaults(), reasons: englishReasons(),
		wrong: "That did not work: %s.", noOption: "Type one of the numbers from 1 to %d.", noAnswer: "Something has to stand here.", moreOptions: "and %d more; any name will do",
		notShown:      "(it is not shown)",
		providerTitle: "Which model is to answer?", providerHelp: "The demo understands nothing, but shows everything, and needs no key. The address of a server that speaks OpenAI's API will do too.",
		providerWrong: "%q is neither in the list nor a web address; choose from the list.",
		services: map[string]string{"openai": "OpenAI", "anthropic": "Anthropic (Claude)", "openrouter": "OpenRouter (many models, one key)", "ollama": "Ollama on this machine",
			"other": "Another server that speaks OpenAI's API", "demo": "The built-in demo"},
		demoChosen: "The demo answers; a real model can be set at any time.",
		urlTitle:   "The address of the server", urlHelp: "Up to and with /v1, such as http://127.0.0.1:8000/v1", urlWrong: "That is no web address; write it like http://127.0.0.1:8000/v1.",
		keyTitle: "Its key", keyHelp: map[string]string{"openai": "From https://platform.openai.com/api-keys", "anthropic": "From https://console.anthropic.com/settings/keys",
			"openrouter": "From https://openrouter.ai/keys", "other": "Nothing, if the server wants none."},
		keyFound:   "The key is the one of %s.",
		modelTitle: "Which of its models?", modelHelp: "Any can be chosen later.", modelUnlisted: "The server does not list its models: type the name.",
		modelTrying: "Asking %s …", modelAnswers: "%s answers.",
		moreTitle: "Anything else?", moreNo: "No, that is all", moreDatabase: "PostgreSQL instead of the embedded database",
		databaseTitle: "The address of the database", databaseHelp: "postgres://user:password@host/database, version 15 or later, with pgvector", databaseGood: "The database answers.",
		Texts: Texts{
			Hello:     "This makes %s: a model that answers, and an app to write from. Ctrl-C leaves everything as it is.",
			Overwrite: "%s is there already. Make a new one?", OverwriteHelp: "The old one is kept beside it.", Yes: "Yes", No: "No",
			Kept: "The old one is %s now.", Written: "%s is written. Only you can read it.", Stopped: "Stopped. Nothing was written.",
			Pair: "Open this link and tap on Start; that makes the bot yours:", PairCode: "Send this message to the assistant; that makes your address the owner's: /start %s", Scan: "Or scan it with your phone:",
			Waiting: "Waiting for you …", Came: "That was you, on %s.", Answered: "It was answered: %s", NobodyCame: "Nobody came. `everthread serve` goes on from here; its log shows how to make the bot yours.",
			Own: "The assistant has an owner already.", Served: "Another everthread runs on this data already: start it again to have it use this file.",
			WebLink: "Your page: %s (the link works once, for an hour)", Doctor: "`everthread doctor` checks everything at any time.",
			Service: "How is it to run from now on?", ServiceHere: "Here, until Ctrl-C", ServiceUser: "As a service of yours (systemd)", ServiceSystem: "As a service of this machine (systemd)", ServiceCompose: "With Docker Compose", ServiceNo: "I start it myself",
			ServiceWritten: "%s is written.", StartUser: "Start it with: systemctl --user daemon-reload && systemctl --user enable --now everthread && loginctl enable-linger",
			StartSystem: "Start it with: %ssystemctl daemon-reload && systemctl enable --now everthread", StartSystemCopy: "Start it with: sudo cp %s /etc/systemd/system/ && sudo systemctl daemon-reload && sudo systemctl enable --now everthread",
			StartCompose: "Start it with: docker compose -f %s up -d (after `docker build -t everthread .` in the source folder)", StartSelf: "Start it with: everthread serve", Here: "It runs. Ctrl-C ends it.",
			NoCompose: "there is no %s in this folder; run it in the source folder", EnvKept: "%s is there already, and stays as it is.", StartKeys: "Start it with: docker compose up -d",
			Temporary: "Build it first (go build -o everthread ./cmd/everthread): the service names %s.",
			File: fileTexts{head: "Everthread's configuration, made by `everthread init`.", rest: "Every key with its default: `everthread config example`. Is it right: `everthread doctor`.",
				model: "The model that answers.", place: "For people who chose neither.", data: "The database if it is embedded, attachments, keys.", database: "The database, and what encrypts keys in it.",
				listen: "The page, interfaces, webhooks. 8080 was taken.", channels: "The apps that can be written from."},
		},
	}
}

package recall

import "time"

// Settings are the weights of the ranking and the bounds of a search. Default
// returns the usual ones.
type Settings struct {
	K1, B float64 // of BM25

	Adjacent float64 // what a message gets of each neighbour in its day
	Next     float64 // and of each one further away
	Reply    float64 // factor for a neighbour that answers a question
	Meet     float64 // where a neighbour and what it stands beside meet, from the one that scores less
	Day      float64 // the most that its day adds, of the best message
	Named    float64 // factor for messages of a person, role or channel named
	NameWord float64 // weight of the name itself as a word of the query
	Date     float64 // what a date named adds, of the best message
	Phrase   float64 // factor for messages that hold a quoted phrase

	Semantic float64 // weight of the similarity of meaning
	Lexical  float64 // and of the words
	Covered  float64 // factor where a summary covers a message

	StandOut   float64 // how much of the way from the middle passage to the best one is a match
	LeastMatch float64 // similarity below which nothing is one

	Candidates   int // kept for each signal
	Matches      int // documents that the store hands out
	Limit        int // results, if none is asked for
	MaxLimit     int
	Snippet      int           // characters
	Context      int           // characters of what stands beside a hit
	EmbedTimeout time.Duration // how long the vector of a query may take
	Page         int           // messages that conversation_get returns
	PageTokens   int

	Threads        int // plain threads that a person's search reads, the newest
	ThreadMessages int // and messages of them
}

// Default returns the usual settings.
func Default() Settings {
	return Settings{
		K1: 0.6, B: 0.4,
		Adjacent: 0.5, Next: 0.3, Reply: 1.15, Meet: 0.6, Day: 0.5, Named: 2, NameWord: 0.3, Date: 0.5, Phrase: 1.25,
		Semantic: 0.7, Lexical: 0.3, Covered: 0.85, StandOut: 0.6, LeastMatch: 0.2,
		Candidates: 50, Matches: 20_000, Limit: 6, MaxLimit: 20, Snippet: 200, Context: 100,
		EmbedTimeout: 2 * time.Second, Page: 50, PageTokens: 4_000,
		Threads: 100, ThreadMessages: 4_000,
	}
}

package recall

import "time"

// Settings are the weights of the ranking and the bounds of a search. Default
// returns the usual ones.
type Settings struct {
	K1, B float64 // of BM25

	Adjacent float64 // share that a message gets of the score of each adjacent one in its day
	Next     float64 // and of each next to that
	Reply    float64 // factor for a neighbour that answers a question
	Meet     float64 // where a neighbour and its source meet, from the lower score
	Day      float64 // the most that its day adds, of the best message's score
	Named    float64 // factor for messages of a speaker or channel that the query names
	NameWord float64 // weight of the name itself as a word of the query
	Date     float64 // the addition for a date that the query names, of the best message's score
	Phrase   float64 // factor for messages that hold a quoted phrase

	Semantic float64 // weight of the similarity of meaning
	Lexical  float64 // and of the words
	Covered  float64 // factor for a message that a summary covers

	StandOut   float64 // from where on a passage matches, between the median one and the best
	LeastMatch float64 // similarity below which none matches

	Candidates   int // for each signal
	Matches      int // documents that the store returns
	Limit        int // of results, if the query has none
	MaxLimit     int
	Snippet      int           // characters
	Context      int           // characters of the messages beside a hit
	EmbedTimeout time.Duration // for the vector of a query
	Page         int           // messages that conversation_get returns
	PageTokens   int

	Threads        int // the newest plain threads that InThreads reads
	ThreadMessages int // and their messages
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

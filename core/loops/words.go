package loops

import "github.com/everthread/everthread/core/text"

// small reports whether a word says nothing about the topic of a loop: articles, pronouns,
// and usual phrases of loops (still, to do, decide whether).
var small = text.OneOf(smallWords)

const smallWords = " " +
	"a an the and or of to in on at by for from with about into is are was were be been it its this that these those my your his her our their " +
	"i me you he she we they him us them do does did done doing have has had will would should could can must may might " +
	"need needs still yet open loop todo question whether if when where what which how who why some any no not then also there please " +
	"decide find figure out check see up get let's lets one " +
	"le la les l un une des du de d au aux et ou a en dans sur par pour avec chez vers est sont etait etre ce cet cette ces ca cela mon ma mes ton ta tes son sa ses " +
	"notre nos votre vos leur leurs je j tu il elle on nous vous ils elles me te se lui y ne pas plus si quand quoi que qu qui quel quelle quels quelles comment pourquoi " +
	"faut faudra doit dois devoir reste encore toujours faire fait decider savoir trouver voir question sujet ouvert ouverte il'y "

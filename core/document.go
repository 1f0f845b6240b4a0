package core

// Document describes the text of an attachment.
type Document struct {
	Kind  string        `json:"kind"` // pdf, docx, …
	State DocumentState `json:"state"`
	Pages int           `json:"pages,omitempty"` // number of pages read
	// Preview is the beginning of the text.
	Preview string `json:"preview,omitempty"`
	// Problem says why not all of it was read; empty: all was.
	Problem DocumentProblem `json:"problem,omitempty"`
}

// DocumentState is the state of reading a document.
type DocumentState string

// States of documents.
const (
	DocumentReading DocumentState = "reading" // waiting, or being read
	DocumentRead    DocumentState = "read"    // to the extent that Problem allows
)

// DocumentProblem is the reason why a document, or a part of it, was not read.
type DocumentProblem string

// Problems of documents.
const (
	DocumentEncrypted DocumentProblem = "encrypted" // it needs a password
	DocumentScanned   DocumentProblem = "scanned"   // its pages are pictures without text
	DocumentEmpty     DocumentProblem = "empty"     // it has no text
	DocumentDamaged   DocumentProblem = "damaged"   // it is truncated, or not of the stated type
	DocumentLong      DocumentProblem = "long"      // it has more pages than are read
	DocumentSlow      DocumentProblem = "slow"      // reading took too long
	DocumentLarge     DocumentProblem = "large"     // reading took too much memory
	DocumentBomb      DocumentProblem = "bomb"      // it unpacks to more than any real document
	DocumentKind      DocumentProblem = "kind"      // its kind is not supported
	DocumentGuessed   DocumentProblem = "guessed"   // it was read in an encoding that may be wrong
	DocumentUnread    DocumentProblem = "unread"    // reading itself failed
)

// Unread reports whether the document has yet to be read.
func (d *Document) Unread() bool { return d != nil && d.State == DocumentReading }

// Note tells a model what was not read and why; empty: everything was read.
func (d *Document) Note() string {
	if d.Unread() {
		return "It is still being read: answer without it, or say that you need a moment."
	}
	return map[DocumentProblem]string{
		DocumentEncrypted: "It is locked with a password, so it could not be read.",
		DocumentScanned:   "Its pages are pictures without text, such as scans, so nothing could be read.",
		DocumentEmpty:     "It has no text.",
		DocumentDamaged:   "It is damaged, or is not what it says; no more of it could be read.",
		DocumentLong:      "It has more pages; only the first were read.",
		DocumentSlow:      "Reading it took too long; no more of it was read.",
		DocumentLarge:     "Reading it took too much memory; no more of it was read.",
		DocumentBomb:      "It unpacks to more than any document has, so it was not read.",
		DocumentKind:      "Files of this kind are not read.",
		DocumentGuessed:   "Its encoding is unknown, so some letters may be wrong.",
		DocumentUnread:    "It could not be read, by no fault of its own.",
	}[d.Problem]
}

// DocumentKey is the key of the jobs that read a user's documents, one after another.
const DocumentKey = "document"

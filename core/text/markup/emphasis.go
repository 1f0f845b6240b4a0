package markup

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// signs keeps runs of delimiters that are not meant as markup, and lets those stand beside a word that are.
type signs struct{}

// Trigger returns the delimiters.
func (signs) Trigger() []byte { return []byte("~*_") }

// dunder matches a name of Python that is followed by a call or an attribute.
var dunder = regexp.MustCompile(`^__[a-z][a-z0-9_]*__[.(]\w*`)

// Parse returns a run as text or as a delimiter, or nil.
func (signs) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	n := len(line) - len(strings.TrimLeft(string(line), string(line[:1])))
	after := ' '
	if n < len(line) {
		after, _ = utf8.DecodeRune(line[n:])
	}
	literal := false
	switch line[0] {
	case '~':
		literal = n != 2
	case '*': // 2*3*4, (a)*(b)*(c), x**2
		operand := plain(before) || before == ')'
		literal = operand && (n == 1 && (plain(after) || after == '(') || n == 2 && after >= '0' && after <= '9')
	case '_':
		name := dunder.Find(line)
		if name == nil {
			return nil
		}
		n, literal = len(name), true
	}
	if !literal {
		return delimiter(block, pc, before, after)
	}
	block.Advance(n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + n))
}

// delimiter returns the run of * or ~ between two characters. The standard wants white space or a sign outside where
// there is a sign inside; languages without spaces have none, and models leave it out after a colon or a currency.
func delimiter(block text.Reader, pc parser.Context, before, after rune) ast.Node {
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, pairs(line[0]))
	letter := func(r rune) bool { return unicode.IsLetter(r) && !plain(r) }
	d.CanOpen = d.CanOpen || letter(before) && !unicode.IsSpace(after) && !unicode.In(after, unicode.Pe, unicode.Pf)
	inner := !unicode.IsSpace(before) && !unicode.In(before, unicode.Ps, unicode.Pi)
	ends := strings.ContainsRune(":.!?;…%", before) || unicode.In(before, unicode.Sc, unicode.So)
	d.CanClose = d.CanClose || inner && (letter(after) || d.OriginalLength > 1 && ends && isWord(after))
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

// plain reports whether r is a letter or digit of ASCII. Languages without spaces mark up parts of words.
func plain(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// pairs makes markup of two runs of the same sign: emphasis of asterisks, struck-out text of tildes.
type pairs byte

// IsDelimiter reports whether c is the sign.
func (p pairs) IsDelimiter(c byte) bool { return c == byte(p) }

// CanOpenCloser reports whether both runs are of the sign.
func (p pairs) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch returns the markup of a pair.
func (p pairs) OnMatch(consumes int) ast.Node {
	if p == '~' {
		return east.NewStrikethrough()
	}
	return ast.NewEmphasis(consumes)
}

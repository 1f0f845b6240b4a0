#!/usr/bin/env bash
# Makes the small documents of core/files/document/testdata, each with a program that people
# use for such files: LibreOffice, Chromium, LaTeX, Ghostscript, qpdf. They are committed;
# run this only to change them.
set -euo pipefail
cd "$(dirname "$0")/../core/files/document/testdata"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/lease.html" <<'HTML'
<html><head><meta charset="utf-8"><title>Lease</title>
</head><body>
<h1>Lease of a flat</h1><p>Between Anna Müller and the Société Dupré. The flat lies at
Bergstraße 7, third floor.</p><p>The deposit is 1,450 euro and is held in a separate account.</p>
<h1 style="page-break-before:always">Costs</h1><table border="1"><tr><th>What</th><th>Euro a month</th></tr><tr><td>Rent</td>
<td>930</td></tr><tr><td>Heating</td><td>85</td></tr></table><p>Le chauffage est compris, l’électricité ne l’est pas.</p>
<h1 style="page-break-before:always">Notice</h1><p>Either side may end the lease with three months’ notice in writing.</p>
</body></html>
HTML
cat >"$tmp/prices.csv" <<'CSV'
Part,Price,Since
Valve 3/4,12.50,2026-01-15
Pump "Quiet",249.00,2025-11-02
Größe M,8.00,2026-03-01
CSV
cat >"$tmp/talk.fodp" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" office:version="1.3"
 office:mimetype="application/vnd.oasis.opendocument.presentation"><office:body><office:presentation>
<draw:page draw:name="Opening"><draw:frame svg:width="20cm" svg:height="3cm" svg:x="2cm" svg:y="2cm"><draw:text-box>
<text:p>Harvest of the year</text:p></draw:text-box></draw:frame></draw:page>
<draw:page draw:name="Numbers"><draw:frame svg:width="20cm" svg:height="3cm" svg:x="2cm" svg:y="2cm"><draw:text-box>
<text:p>Apples: 412 crates</text:p><text:p>Pears: 96 crates</text:p></draw:text-box></draw:frame></draw:page>
</office:presentation></office:body></office:document>
XML
cat >"$tmp/paper.tex" <<'TEX'
\documentclass{article}
\begin{document}
\section*{On efficient filters}
The affluent office filters fluid. Throughput rose to 37 litres an hour.
\newpage
\section*{Results}
\begin{tabular}{ll}Filter & Litres\\ A & 31\\ B & 37\end{tabular}
\end{document}
TEX

office() { soffice --headless "${@:3}" --convert-to "$1" --outdir "$tmp/out" "$2" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }; }
soffice --headless --writer --convert-to odt --outdir "$tmp/out" "$tmp/lease.html" >"$tmp/log" 2>&1
cp "$tmp/out/lease.odt" lease.odt
office docx lease.odt && cp "$tmp/out/lease.docx" .
office pdf lease.odt && cp "$tmp/out/lease.pdf" lease-office.pdf
office xlsx "$tmp/prices.csv" --infilter=CSV:44,34,76 && cp "$tmp/out/prices.xlsx" .
office ods "$tmp/prices.csv" --infilter=CSV:44,34,76 && cp "$tmp/out/prices.ods" .
office odp "$tmp/talk.fodp" && cp "$tmp/out/talk.odp" .
office pptx talk.odp && cp "$tmp/out/talk.pptx" .

chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf="$tmp/chromium.pdf" \
	"$tmp/lease.html" >"$tmp/log" 2>&1
cp "$tmp/chromium.pdf" lease-chromium.pdf
(cd "$tmp" && pdflatex -interaction=batchmode paper.tex >log && cp paper.pdf "$OLDPWD/paper-latex.pdf")
gs -q -sDEVICE=pdfwrite -o lease-ghostscript.pdf "$tmp/chromium.pdf"
gs -q -sDEVICE=pdfimage8 -r40 -o lease-scanned.pdf "$tmp/chromium.pdf"
qpdf --encrypt secret secret 256 -- "$tmp/chromium.pdf" lease-locked.pdf
qpdf --encrypt "" owner 256 -- "$tmp/chromium.pdf" lease-protected.pdf
head -c 9000 "$tmp/chromium.pdf" >lease-broken.pdf

mkdir -p "$tmp/book/META-INF" "$tmp/book/text"
printf 'application/epub+zip' >"$tmp/book/mimetype"
cat >"$tmp/book/META-INF/container.xml" <<'XML'
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
XML
cat >"$tmp/book/book.opf" <<'XML'
<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><manifest>
<item id="b" href="text/two.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/one%20.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/></spine></package>
XML
echo '<html><head><title>x</title></head><body><h1>The lighthouse</h1><p>Nobody had climbed it in years.</p></body></html>' \
	>"$tmp/book/text/one .xhtml"
echo '<html><body><h1>The storm</h1><p>The keeper was called Aurélie.</p><script>alert(1)</script></body></html>' \
	>"$tmp/book/text/two.xhtml"
rm -f book.epub
(cd "$tmp/book" && zip -q -X -0 "$OLDPWD/book.epub" mimetype && zip -q -X -r "$OLDPWD/book.epub" META-INF book.opf text)
ls -l

package web

func (q *qr) clear() {
	q.dark, q.fixed = make([][]bool, q.n), make([][]bool, q.n)
	for y := range q.n {
		q.dark[y], q.fixed[y] = make([]bool, q.n), make([]bool, q.n)
	}
}

// set draws a module of a pattern; what is outside is left out.
func (q *qr) set(x, y int, dark bool) {
	if x >= 0 && y >= 0 && x < q.n && y < q.n {
		q.dark[y][x], q.fixed[y][x] = dark, true
	}
}

// patterns draws what a reader finds the code by.
func (q *qr) patterns(s qrSize) {
	for i := range q.n {
		q.set(6, i, i%2 == 0)
		q.set(i, 6, i%2 == 0)
	}
	for _, corner := range [][2]int{{3, 3}, {q.n - 4, 3}, {3, q.n - 4}} {
		q.rings(corner[0], corner[1], 4, func(d int) bool { return d != 2 && d != 4 })
	}
	last := len(s.align) - 1
	for i, x := range s.align {
		for j, y := range s.align {
			if i == 0 && j == 0 || i == 0 && j == last || i == last && j == 0 {
				continue // a corner is there
			}
			q.rings(x, y, 2, func(d int) bool { return d != 1 })
		}
	}
	q.format(0) // keeps its place
	q.versions()
}

// rings draws squares around a centre, by their distance from it.
func (q *qr) rings(x, y, size int, dark func(distance int) bool) {
	for dy := -size; dy <= size; dy++ {
		for dx := -size; dx <= size; dx++ {
			q.set(x+dx, y+dy, dark(max(dx, -dx, dy, -dy)))
		}
	}
}

// format draws which mask is used; the correction is M, which is 0.
func (q *qr) format(mask int) {
	rest := mask
	for range 10 {
		rest = rest<<1 ^ rest>>9*0x537
	}
	bits := (mask<<10 | rest) ^ 0x5412
	bit := func(i int) bool { return bits>>i&1 == 1 }
	for i := range 6 {
		q.set(8, i, bit(i))
	}
	q.set(8, 7, bit(6))
	q.set(8, 8, bit(7))
	q.set(7, 8, bit(8))
	for i := 9; i < 15; i++ {
		q.set(14-i, 8, bit(i))
	}
	for i := range 8 {
		q.set(q.n-1-i, 8, bit(i))
	}
	for i := 8; i < 15; i++ {
		q.set(8, q.n-15+i, bit(i))
	}
	q.set(8, q.n-8, true)
}

// versions draws the number of the version, from 7 on.
func (q *qr) versions() {
	if q.version < 7 {
		return
	}
	rest := q.version
	for range 12 {
		rest = rest<<1 ^ rest>>11*0x1F25
	}
	bits := q.version<<12 | rest
	for i := range 18 {
		a, b := q.n-11+i%3, i/3
		q.set(a, b, bits>>i&1 == 1)
		q.set(b, a, bits>>i&1 == 1)
	}
}

// place draws the code words, in columns of two from the right, up and down.
func (q *qr) place(words []byte) {
	i := 0
	for right := q.n - 1; right >= 1; right -= 2 {
		if right == 6 {
			right = 5
		}
		for step := range q.n {
			y := step
			if (right+1)&2 == 0 {
				y = q.n - 1 - step
			}
			for _, x := range []int{right, right - 1} {
				if !q.fixed[y][x] && i < len(words)*8 {
					q.dark[y][x] = words[i/8]>>(7-i%8)&1 == 1
					i++
				}
			}
		}
	}
}

// mask takes the mask that leaves the fewest patterns that confuse a reader.
func (q *qr) mask() {
	best, least := 0, -1
	for m := range 8 {
		q.invert(m)
		q.format(m)
		if p := q.penalty(); least < 0 || p < least {
			best, least = m, p
		}
		q.invert(m)
	}
	q.invert(best)
	q.format(best)
}

func (q *qr) invert(mask int) {
	for y := range q.n {
		for x := range q.n {
			if !q.fixed[y][x] && inverts(mask, x, y) {
				q.dark[y][x] = !q.dark[y][x]
			}
		}
	}
}

func inverts(mask, x, y int) bool {
	switch mask {
	case 0:
		return (x+y)%2 == 0
	case 1:
		return y%2 == 0
	case 2:
		return x%3 == 0
	case 3:
		return (x+y)%3 == 0
	case 4:
		return (x/3+y/2)%2 == 0
	case 5:
		return x*y%2+x*y%3 == 0
	case 6:
		return (x*y%2+x*y%3)%2 == 0
	}
	return ((x+y)%2+x*y%3)%2 == 0
}

// penalty is how much a reader is confused: by runs, by squares, by what looks
// like a corner, and by too much of one colour.
func (q *qr) penalty() int {
	sum, dark := 0, 0
	for y := range q.n {
		sum += q.line(func(i int) bool { return q.dark[y][i] }) + q.line(func(i int) bool { return q.dark[i][y] })
		for x := range q.n {
			if q.dark[y][x] {
				dark++
			}
			if x+1 < q.n && y+1 < q.n && q.dark[y][x] == q.dark[y][x+1] && q.dark[y][x] == q.dark[y+1][x] && q.dark[y][x] == q.dark[y+1][x+1] {
				sum += 3
			}
		}
	}
	off := dark*20 - q.n*q.n*10
	return sum + max(off, -off)/(q.n*q.n)*10
}

// line is the penalty of one row or column.
func (q *qr) line(at func(i int) bool) int {
	sum, run := 0, 0
	window := 0 // the last eleven modules
	for i := range q.n {
		if i > 0 && at(i) == at(i-1) {
			run++
		} else {
			run = 1
		}
		if run == 5 {
			sum += 3
		} else if run > 5 {
			sum++
		}
		window = window << 1 & 0x7FF
		if at(i) {
			window |= 1
		}
		if i >= 10 && (window == 0x5D0 || window == 0x05D) {
			sum += 40
		}
	}
	return sum
}

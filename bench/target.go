package main

// What is probed.

//go:noinline
func entry(x int) int {
	var pad [8]int
	pad[x&7] = x
	return use(&pad)
}

//go:noinline
func use(p *[8]int) int { return p[3] }

func callEntry() { counter += entry(1) }

//go:noinline
func mirrored(a, b int) int { return a + b }

// An order is what serve is about.
type order struct {
	name  string
	items []int
	price int64
}

// serve has variables to name.
//
//go:noinline
func serve(o *order, customer string, number int) int {
	return len(o.items) + len(customer) + number
}

var anOrder = &order{"order", []int{1, 2, 3}, 7}

func callServe() { counter += serve(anOrder, "a customer", 12) }

// Implemented in target_amd64.s.

func plain()
func jump()
func inner()
func tsc() uint64
func pause()

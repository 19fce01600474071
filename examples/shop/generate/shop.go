// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// shop is everything that goes into the database.
type shop struct {
	customers []customer
	products  []product
	orders    []order
	reviews   []review
	staff     []member
}

type customer struct {
	name, email, city, country string
	since                      time.Time
}

type product struct {
	sku, name, category string
	cents, stock        int
}

type order struct {
	customer int // index
	placed   time.Time
	status   string
	lines    []line
}

type line struct{ product, quantity, cents int }

type review struct {
	product, customer, stars int
	text                     string
	written                  time.Time
}

type member struct{ name, role, secret string }

var (
	firstNames = strings.Fields("Ada Alan Barbara Claude Dorothy Edsger Frances Grace Hedy Ivan Joan Ken Leslie Margaret Niklaus Ole Peggy Radia Shafi Tim Ursula Vera Whitfield Xiaoyun Yukihiro Zohar")
	lastNames  = strings.Fields("Abe Becker Costa Dubois Eriksen Fischer García Haddad Ivanova Jansen Kowalski Lindqvist Müller Nakamura Okafor Petrov Quispe Rossi Silva Tanaka Ueda Virtanen Wang Xu Yilmaz Zhang")
	cities     = [][2]string{
		{"Berlin", "DE"},
		{"Lyon", "FR"},
		{"Porto", "PT"},
		{"Gdańsk", "PL"},
		{"Oslo", "NO"},
		{"Utrecht", "NL"},
		{"Bologna", "IT"},
		{"Sevilla", "ES"},
		{"Graz", "AT"},
		{"Gent", "BE"},
		{"Malmö", "SE"},
		{"Tampere", "FI"},
	}
	materials = strings.Fields("oak linen steel wool copper bamboo leather ceramic cotton glass")
	things    = map[string][]string{
		"kitchen": strings.Fields("kettle pan bowl knife board jar mug"),
		"home":    strings.Fields("lamp chair shelf blanket cushion mirror"),
		"office":  strings.Fields("desk stand organiser notebook tray"),
		"garden":  strings.Fields("planter trowel lantern bench hose"),
	}
	categories = []string{"garden", "home", "kitchen", "office"} // sorted: maps have no order
	praise     = []string{
		"Exactly as described.", "Sturdy, and prettier than on the picture.", "Arrived late, but worth the wait.",
		"The second one that I buy.", "Smaller than I thought.", "A scratch on the side; service was kind.",
		"Does what it should.", "Broke after a month.",
	}
)

// newShop invents a shop of so many orders.
func newShop(seed uint64, orders int) *shop {
	r := rand.New(rand.NewPCG(seed, 0x5409)) //nolint:gosec // invented data, the same each time
	opened := time.Date(2024, 1, 2, 8, 0, 0, 0, time.UTC)
	s := &shop{}
	for i := range max(orders/6, 1) {
		s.customers = append(s.customers, newCustomer(r, i, opened))
	}
	for i := range max(orders/40, len(categories)) {
		s.products = append(s.products, newProduct(r, i))
	}
	at := opened
	for range orders {
		at = at.Add(time.Duration(r.ExpFloat64() * float64(80*time.Minute))).Truncate(time.Second)
		s.orders = append(s.orders, s.newOrder(r, at))
	}
	for range orders / 2 {
		s.reviews = append(s.reviews, review{
			product: r.IntN(len(s.products)), customer: r.IntN(len(s.customers)), stars: min(1+r.IntN(6), 5),
			text: praise[r.IntN(len(praise))], written: opened.Add(time.Duration(r.Int64N(int64(at.Sub(opened)) + 1))).Truncate(time.Second),
		})
	}
	for i, role := range []string{"owner", "warehouse", "support", "accounts"} {
		s.staff = append(s.staff, member{
			name: firstNames[i*5] + " " + lastNames[i*3], role: role, secret: fmt.Sprintf("badge-%016x", r.Uint64()),
		})
	}
	return s
}

func newCustomer(r *rand.Rand, i int, opened time.Time) customer {
	first, last := firstNames[r.IntN(len(firstNames))], lastNames[r.IntN(len(lastNames))]
	place := cities[r.IntN(len(cities))]
	return customer{
		name: first + " " + last, email: fmt.Sprintf("%s.%d@example.com", strings.ToLower(first), i+1),
		city: place[0], country: place[1], since: opened.AddDate(0, 0, -r.IntN(900)),
	}
}

func newProduct(r *rand.Rand, i int) product {
	category := categories[i%len(categories)]
	kinds := things[category]
	material := materials[r.IntN(len(materials))]
	name := strings.ToUpper(material[:1]) + material[1:]
	return product{
		sku: fmt.Sprintf("%s-%04d", strings.ToUpper(category[:3]), i+1), category: category,
		name: name + " " + kinds[r.IntN(len(kinds))], cents: 490 + 10*r.IntN(2000), stock: r.IntN(400),
	}
}

func (s *shop) newOrder(r *rand.Rand, at time.Time) order {
	o := order{customer: r.IntN(len(s.customers)), placed: at, status: "delivered"}
	switch n := r.IntN(100); {
	case n < 4:
		o.status = "returned"
	case n < 7:
		o.status = "cancelled"
	case n < 12:
		o.status = "shipped"
	case n < 15:
		o.status = "placed"
	}
	taken := map[int]bool{}
	for range 1 + r.IntN(4) {
		p := min(int(r.ExpFloat64()*float64(len(s.products))/4), len(s.products)-1) // a few sell most
		if taken[p] {
			continue
		}
		taken[p] = true
		o.lines = append(o.lines, line{product: p, quantity: 1 + r.IntN(3), cents: s.products[p].cents})
	}
	return o
}

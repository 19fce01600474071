// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import "iter"

// expansion is how large a schema would be with its references replaced by
// what they name.
type expansion struct {
	doc *document
	// circular are the schemas that lead back to themselves. They count where
	// they are first met, and one for each further reference: paths through
	// them are endless, and even those without a repetition are too many.
	circular map[*node]bool
	met      map[*node]bool
	sizes    map[*node]int
}

func expand(doc *document) *expansion {
	c := circles{doc: doc, order: map[*node]int{}, low: map[*node]int{}, found: map[*node]bool{}}
	c.visit(doc.root)
	return &expansion{doc: doc, circular: c.found, met: map[*node]bool{}, sizes: map[*node]int{}}
}

// recursive reports whether some schema leads back to itself.
func (e *expansion) recursive() bool { return len(e.circular) > 0 }

// tooMany stands for every size that is over all bounds.
const tooMany = 1 << 30

// nodes returns the size of a schema, at most tooMany.
func (e *expansion) nodes(n *node) int {
	if e.circular[n] {
		if e.met[n] {
			return 1
		}
		e.met[n] = true
	} else if size, ok := e.sizes[n]; ok {
		return size
	}
	total := 1
	if !e.doc.dialect.refAlone(n) {
		total = n.size()
		for _, sub := range e.doc.dialect.subschemas(n) {
			total -= sub.size()
		}
	}
	for next := range e.doc.leads(n) {
		total = min(total+e.nodes(next), tooMany)
	}
	e.sizes[n] = total
	return total
}

// leads yields the schemas in a schema, and those that it refers to.
func (d *document) leads(n *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, sub := range d.dialect.subschemas(n) {
			if !yield(sub) {
				return
			}
		}
		for _, keyword := range refKeywords {
			ref, _ := n.get(keyword).str()
			if target := d.resolve(ref); target != nil && !yield(target) {
				return
			}
		}
	}
}

// circles finds the schemas that lead back to themselves: the strongly
// connected components of a document, by Tarjan's algorithm.
type circles struct {
	doc        *document
	order, low map[*node]int // order is 0 for what was not visited
	stack      []*node
	found      map[*node]bool
}

func (c *circles) visit(n *node) {
	c.order[n] = len(c.order) + 1
	c.low[n] = c.order[n]
	depth := len(c.stack)
	c.stack = append(c.stack, n)
	for next := range c.doc.leads(n) {
		if next == n {
			c.found[n] = true
		}
		if c.order[next] == 0 {
			c.visit(next)
		}
		// low is 0 for what belongs to another component already.
		if low := c.low[next]; low != 0 {
			c.low[n] = min(c.low[n], low)
		}
	}
	if c.low[n] < c.order[n] {
		return
	}
	component := c.stack[depth:]
	c.stack = c.stack[:depth]
	for _, member := range component {
		c.low[member] = 0
		if len(component) > 1 {
			c.found[member] = true
		}
	}
}

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// orderFamilies puts the family first that says most of a URI in plain text: a
// template that takes nearly everything takes nothing that another one names.
func (s *Snapshot) orderFamilies() {
	for _, o := range s.Templates {
		s.families = append(s.families, s.byName[o.Spec.Name])
	}
	slices.SortFunc(s.families, func(a, b slot) int {
		return cmp.Or(
			-cmp.Compare(len(plain(a.offer.Resource.URI)), len(plain(b.offer.Resource.URI))),
			strings.Compare(a.offer.Spec.Adapter, b.offer.Spec.Adapter),
			strings.Compare(a.offer.Spec.Name, b.offer.Spec.Name),
		)
	})
}

// plain is what stands before a template's first variable.
func plain(template string) string {
	text, _, _ := strings.Cut(template, "{")
	return text
}

// lookup finds a name, a URI also in a family.
func (s *Snapshot) lookup(name string) (slot, bool) {
	if found, ok := s.byName[name]; ok {
		return found, true
	}
	uri, ok := tool.ResourceURI(name)
	if !ok {
		return slot{}, false
	}
	for _, family := range s.families {
		o := family.offer
		if strings.HasPrefix(uri, plain(o.Resource.URI)) && o.Family.MatchString(uri) {
			member := *o
			member.Spec.Name = name
			return slot{&member, family.berth}, true
		}
	}
	return slot{}, false
}

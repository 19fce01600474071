// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Confirm is what a tool says of its approval: "" (nothing), true or false.
type Confirm string

// The values of Confirm.
const (
	ConfirmUnset Confirm = ""
	ConfirmTrue  Confirm = "true"
	ConfirmFalse Confirm = "false"
)

// Fingerprint is what one tool says of itself, as far as policy hangs on it,
// and the digest of the whole.
type Fingerprint struct {
	Effects    tool.Effects
	Idempotent bool
	Confirm    Confirm
	// Spec covers all that the plugin declares; not the adapter's name and
	// prefix, which are the operator's.
	Spec tool.Digest
}

// Of is the fingerprint of a spec.
func Of(spec tool.Spec) Fingerprint {
	f := Fingerprint{Effects: spec.Effects, Idempotent: spec.Idempotent}
	if spec.Confirm != nil {
		f.Confirm = Confirm(strconv.FormatBool(*spec.Confirm))
	}
	if f.Effects != tool.ReadOnly && f.Effects != tool.Additive && f.Effects != tool.Destructive {
		f.Effects = tool.EffectsUnset
	}
	spec.Name, spec.Adapter = "", ""
	spec.Seal()
	f.Spec = spec.Digest
	return f
}

// Apply makes the claims of a spec those of the fingerprint.
func (f Fingerprint) Apply(spec *tool.Spec) {
	spec.Effects, spec.Idempotent, spec.Confirm = f.Effects, f.Idempotent, nil
	if f.Confirm != ConfirmUnset {
		yes := f.Confirm == ConfirmTrue
		spec.Confirm = &yes
	}
}

// Stricter takes, claim by claim, what is stricter: f, unless now is.
func (f Fingerprint) Stricter(now Fingerprint) Fingerprint {
	if now.Effects.Harm() > f.Effects.Harm() {
		f.Effects = now.Effects
	}
	f.Idempotent = f.Idempotent && now.Idempotent
	if wariness(now.Confirm) > wariness(f.Confirm) {
		f.Confirm = now.Confirm
	}
	return f
}

// weakens reports whether now claims less than f holds.
func (f Fingerprint) weakens(now Fingerprint) bool {
	return now.Effects.Harm() < f.Effects.Harm() || now.Idempotent && !f.Idempotent ||
		wariness(now.Confirm) < wariness(f.Confirm)
}

func wariness(c Confirm) int {
	switch c {
	case ConfirmFalse:
		return 0
	case ConfirmTrue:
		return 2
	case ConfirmUnset:
	}
	return 1
}

// Changes says how now differs from f, for people.
func (f Fingerprint) Changes(now Fingerprint) string {
	var parts []string
	add := func(what, from, to string) {
		if from != to {
			parts = append(parts, fmt.Sprintf("%s %s -> %s", what, from, to))
		}
	}
	add("effects", word(string(f.Effects)), word(string(now.Effects)))
	add("idempotent", strconv.FormatBool(f.Idempotent), strconv.FormatBool(now.Idempotent))
	add("confirm", word(string(f.Confirm)), word(string(now.Confirm)))
	if len(parts) == 0 && f.Spec != now.Spec {
		parts = append(parts, "its description, its schemas or its tags have changed")
	}
	return strings.Join(parts, ", ")
}

// Claims says what a tool claims, for people.
func (f Fingerprint) Claims() string {
	s := word(string(f.Effects))
	if f.Effects == tool.EffectsUnset {
		s = "effects unset"
	}
	if f.Idempotent {
		s += ", idempotent"
	}
	if f.Confirm != ConfirmUnset {
		s += ", confirm " + string(f.Confirm)
	}
	return s
}

// Add adds the fingerprint of a spec; of two of the same name, the first. One
// without a name that can be written down is not offered and not added.
func (t Tools) Add(spec tool.Spec) {
	if _, twice := t[spec.Declared]; !twice && named.MatchString(spec.Declared) {
		t[spec.Declared] = Of(spec)
	}
}

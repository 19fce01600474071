// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

// Bounds of one schema. What lies beyond is refused by Compile.
const (
	// MaxBytes is its size as it came.
	MaxBytes = 64 << 10
	// MaxNodes counts the JSON values in it, with every local reference
	// replaced by what it names. What refers to itself counts once.
	MaxNodes = 10_000
	// MaxSubschemas counts the schemas in it, references not expanded.
	MaxSubschemas = 2_000
	// MaxRegex is the length of one regular expression, in bytes.
	MaxRegex = 1_024
	// MaxRegexSteps is how many instructions one regular expression may
	// compile to: what each byte of a text that it is tried on can cost.
	MaxRegexSteps = 10_000
	// MaxInlined is the size of what Inline returns, in bytes; a schema that
	// would become larger is given as it came.
	MaxInlined = 256 << 10
	// MaxEffort is how many times one value may be held against a schema or a
	// part of it: some tenths of a second. Recursive schemas need it, whose
	// cost can grow exponentially with the depth of the value.
	MaxEffort = 500_000

	// maxLocations bounds the JSON pointers of all subschemas together, in
	// bytes: deeply nested long names would else multiply.
	maxLocations = 512 << 10
)

// Bounds of error texts.
const (
	// MaxFindings is how many faults of a value are named.
	MaxFindings = 5

	maxShown = 64  // bytes of one value or name
	maxList  = 512 // bytes of a list of names or values
)

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema judges values by the JSON Schemas of tools, and brings those
// schemas into the form in which clients can use them.
//
// A schema comes from a plugin or an imported server and is not trusted:
// Compile bounds what it may cost, fetches nothing, and refuses what the host
// could not judge exactly. Two dialects are read, 2020-12 (also without
// $schema) and draft-07. "format" is an annotation in both and never judged;
// so are the content keywords.
//
// The judging itself is done by santhosh-tekuri/jsonschema. Around it stand a
// shape that accepts most good calls without decoding them, a bound on the work
// that one value can cause, and texts from which a model can mend its call.
package schema

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema knows Go types as JSON: their JSON Schemas, and how their
// values are read and written so that both agree.
//
// Inference is google/jsonschema-go's, refined where that and encoding/json
// disagree (null, time.Duration, []byte, marshalers) and by the tags default,
// enum, min, max and format.
package schema

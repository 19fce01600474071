// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Validate judges a value. Numbers are compared exactly. An error is a
// *tool.Error whose text names what is wrong, at most MaxFindings things. For
// Input and Config it is of kind ArgsInvalid, code "invalid_args"; for Output of
// kind OutputInvalid, code "output_invalid". The values that were given are
// told for Input only: configurations hold secrets, and a result has not been
// redacted yet. A value that would take more than MaxEffort to judge is refused.
func (s *Schema) Validate(j tool.JSON) error {
	canonical := j.Canonical()
	switch {
	case j.IsZero():
		return s.refuse("there is no value")
	case s.quickly(len(canonical)) && s.quick.accepts(canonical):
		return nil
	}
	return s.judge(parse(j).any(), len(canonical))
}

// ValidateValue judges a value that has not been read yet. It is refused, as by
// Validate, if it is not JSON as tool.ParseJSON has it.
func (s *Schema) ValidateValue(raw json.RawMessage) error {
	j, err := tool.ParseJSON(raw)
	if err != nil {
		return s.refuse(err.Error())
	}
	return s.Validate(j)
}

// judge asks the library. Whatever a schema from outside makes it do, the call
// is refused and the host goes on.
func (s *Schema) judge(value any, size int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e := s.refuse("it cannot be judged by its schema")
			e.Detail = fmt.Sprint("schema library: ", p)
			err = e
		}
	}()
	if !s.affordable(value, size) {
		return s.refuse("judging this by the schema would take too long; make it smaller")
	}
	var verr *jsonschema.ValidationError
	if err := s.compiled.Validate(value); errors.As(err, &verr) {
		return s.refuse(s.explain(verr, value))
	}
	return nil
}

// refuse returns the error for a value that does not match.
func (s *Schema) refuse(reason string) *tool.Error {
	if s.kind != Output {
		return &tool.Error{Kind: tool.ArgsInvalid, Code: "invalid_args", Text: reason}
	}
	return &tool.Error{
		Kind: tool.OutputInvalid,
		Code: "output_invalid",
		Text: "the result does not match the tool's output schema: " + reason,
	}
}

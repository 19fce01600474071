// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"fmt"
	"io"
	"log/slog"
	"reflect"

	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
)

// masked stands for every secret that is printed.
const masked = "***"

// Secret is a configuration field that nobody may see: the schema marks it
// writeOnly, so that the host takes its value from a reference and tells it to
// this plugin alone. Printed, logged or marshalled it is "***"; only [Secret.Reveal]
// gives it away. Keep it in exported fields, and not as the key of a map: fmt and
// encoding/json print those without asking their methods.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns "***".
func (s Secret) String() string { return masked }

// GoString returns "***".
func (s Secret) GoString() string { return masked }

// Format writes "***", whatever the verb: fmt would print the value of a verb
// that does not suit a string.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, masked) }

// MarshalJSON returns "***" in quotes.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + masked + `"`), nil }

// MarshalText returns "***".
func (s Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// LogValue returns "***".
func (s Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// known are the types of this package that schemas know.
func known() schema.Known {
	return schema.Known{reflect.TypeFor[Secret](): {Type: "string", WriteOnly: true}}
}

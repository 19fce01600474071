// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"reflect"
	"strings"
)

// field is a struct field as encoding/json sees it.
type field struct {
	reflect.StructField
	json    string // its name
	omit    bool   // omitempty or omitzero
	problem string // why it cannot be described
}

// fieldsOf returns the fields of a struct that are part of its JSON, promoted
// ones too, in order. Of fields with one name the outermost counts.
func fieldsOf(t reflect.Type) []field {
	var list []field
	for _, sf := range reflect.VisibleFields(t) {
		tag, tagged := sf.Tag.Lookup("json")
		name, rest, _ := strings.Cut(tag, ",")
		if sf.Anonymous {
			f := field{StructField: sf}
			switch {
			case tag == "-":
				f.problem = "an embedded field cannot be left out by a tag: name it"
			case tagged && name != "":
				f.problem = "an embedded field with a JSON name is not supported: name it"
			case base(sf.Type).Kind() != reflect.Struct:
				f.problem = "only structs may be embedded"
			default:
				continue
			}
			list = append(list, f)
			continue
		}
		if !sf.IsExported() || tag == "-" {
			continue
		}
		f := field{StructField: sf, json: name}
		if name == "" {
			f.json = sf.Name
		}
		for option := range strings.SplitSeq(rest, ",") {
			switch option {
			case "omitempty", "omitzero":
				f.omit = true
			case "string":
				f.problem = "the json option \"string\" is not supported: numbers keep their digits without it"
			}
		}
		list = append(list, f)
	}
	return list
}

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/marino/mysql"
)

// modes are the parts of sql_mode that change how a statement is read.
type modes struct {
	ansiQuotes, noBackslashEscapes bool
	parser                         mysql.SQLMode
}

// reading are the modes that the parser has to know, harmless those that only
// say how values are stored or compared. Any other, such as ORACLE, is another
// language.
var (
	reading = map[string]mysql.SQLMode{
		"ANSI_QUOTES":          mysql.ModeANSIQuotes,
		"IGNORE_SPACE":         mysql.ModeIgnoreSpace,
		"NO_BACKSLASH_ESCAPES": mysql.ModeNoBackslashEscapes,
		"PIPES_AS_CONCAT":      mysql.ModePipesAsConcat,
		"REAL_AS_FLOAT":        mysql.ModeRealAsFloat,
		"ANSI":                 0, // stands beside the modes that it is made of
	}
	harmless = set(`
		ALLOW_INVALID_DATES EMPTY_STRING_IS_NULL ERROR_FOR_DIVISION_BY_ZERO IGNORE_BAD_TABLE_OPTIONS
		NO_AUTO_CREATE_USER NO_AUTO_VALUE_ON_ZERO NO_DIR_IN_CREATE NO_ENGINE_SUBSTITUTION
		NO_FIELD_OPTIONS NO_KEY_OPTIONS NO_TABLE_OPTIONS
		NO_UNSIGNED_SUBTRACTION NO_ZERO_DATE NO_ZERO_IN_DATE ONLY_FULL_GROUP_BY PAD_CHAR_TO_FULL_LENGTH
		SIMULTANEOUS_ASSIGNMENT STRICT_ALL_TABLES STRICT_TRANS_TABLES TIME_ROUND_FRACTIONAL
		TIME_TRUNCATE_FRACTIONAL TRADITIONAL`)
	ansi = mysql.ModeANSIQuotes | mysql.ModeIgnoreSpace | mysql.ModePipesAsConcat | mysql.ModeRealAsFloat
)

func parseModes(s string) (modes, error) {
	var m modes
	for name := range strings.SplitSeq(s, ",") {
		name = strings.ToUpper(strings.TrimSpace(name))
		mode, ok := reading[name]
		if !ok && name != "" && !harmless[name] {
			return modes{}, fmt.Errorf("sql_mode %s changes how statements are read in a way that is not known here", name)
		}
		if name == "ANSI" {
			mode = ansi
		}
		m.parser |= mode
	}
	m.ansiQuotes = m.parser&mysql.ModeANSIQuotes != 0
	m.noBackslashEscapes = m.parser&mysql.ModeNoBackslashEscapes != 0
	return m, nil
}

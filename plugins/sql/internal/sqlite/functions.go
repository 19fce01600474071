// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import "strings"

// functions are the functions that a statement may call: none that reads
// files, reports on the engine's insides or writes to its log. What is not
// here is refused, so that a new SQLite brings nothing in unasked.
var functions = set(`
	abs acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10
	log2 max min mod pi pow power radians round sign sin sinh sqrt tan tanh trunc
	decimal decimal_add decimal_cmp decimal_mul decimal_sub decimal_sum

	char concat concat_ws format glob instr length like lower ltrim octet_length printf quote regexp
	regexpi replace rtrim soundex substr substring trim unicode unistr unistr_quote upper

	coalesce if ifnull iif likelihood likely nullif typeof unlikely
	base64 hex unhex random randomblob zeroblob sqlite_version

	current_date current_time current_timestamp date datetime julianday strftime time timediff unixepoch

	-> ->> json json_array json_array_insert json_array_length json_error_position json_extract
	json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote
	json_remove json_replace json_set json_type json_valid
	jsonb jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object
	jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set

	avg count group_concat median percentile percentile_cont percentile_disc string_agg sum total
	cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number

	match bm25 highlight snippet
`)

// modules are table-valued functions that work on their arguments alone.
var modules = set(`json_each json_tree jsonb_each jsonb_tree generate_series`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

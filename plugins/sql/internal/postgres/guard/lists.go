// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import "strings"

// functions only compute. None reads files, tables named in strings, settings
// or the catalogue; none keeps a lock, writes, sleeps or changes the session;
// none makes a huge value of a small one (repeat, array_fill), but for those in
// bounded.
var functions = set(`
	abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh
	cot cotd degrees div erf erfc exp factorial floor gcd lcm ln log log10 min_scale mod pi power pow
	radians random round scale sign sin sind sinh sqrt tan tand tanh trim_scale trunc width_bucket

	ascii bit_length btrim casefold char_length character_length chr concat concat_ws decode encode
	format get_bit get_byte bit_count initcap is_normalized left length like_escape lower lpad ltrim md5
	normalize octet_length overlay parse_ident position quote_ident quote_literal quote_nullable
	regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
	regexp_split_to_array regexp_split_to_table regexp_substr replace reverse right rpad rtrim
	sha224 sha256 sha384 sha512 similar_to_escape split_part starts_with string_to_array
	string_to_table strpos substr substring text_like to_ascii to_bin to_hex to_oct translate
	unistr upper convert convert_from convert_to

	age clock_timestamp date_add date_bin date_part date_subtract date_trunc extract isfinite
	justify_days justify_hours justify_interval make_date make_interval make_time make_timestamp
	make_timestamptz now overlaps statement_timestamp timeofday timezone to_char to_date to_number
	to_timestamp transaction_timestamp
	current_date current_time current_timestamp localtime localtimestamp

	bool date float4 float8 int2 int4 int8 interval numeric text time timestamp timestamptz timetz
	varchar bpchar json jsonb uuid

	coalesce greatest least nullif num_nonnulls num_nulls pg_typeof gen_random_uuid uuidv4 uuidv7
	uuid_extract_timestamp uuid_extract_version

	array_agg array_append array_cat array_dims array_length array_lower array_ndims array_position
	array_positions array_prepend array_remove array_replace array_reverse array_sample array_shuffle
	array_sort array_to_json array_to_string array_upper cardinality trim_array unnest
	generate_series generate_subscripts

	any_value avg bit_and bit_or bit_xor bool_and bool_or count every max min range_agg
	range_intersect_agg string_agg sum corr covar_pop covar_samp regr_avgx regr_avgy regr_count
	regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp
	var_pop var_samp variance mode percentile_cont percentile_disc grouping
	cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number

	json_agg json_agg_strict json_array_elements json_array_elements_text json_array_length
	json_build_array json_build_object json_each json_each_text json_extract_path
	json_extract_path_text json_object json_object_agg json_object_agg_strict json_object_agg_unique
	json_object_keys json_populate_record json_populate_recordset json_scalar json_strip_nulls
	json_to_record json_to_recordset json_typeof row_to_json to_json
	jsonb_agg jsonb_agg_strict jsonb_array_elements jsonb_array_elements_text jsonb_array_length
	jsonb_build_array jsonb_build_object jsonb_concat jsonb_contains jsonb_delete jsonb_each
	jsonb_each_text jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path
	jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_agg_strict
	jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz
	jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first
	jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record jsonb_populate_recordset
	jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset
	jsonb_typeof to_jsonb

	daterange int4range int8range numrange tsrange tstzrange datemultirange int4multirange
	int8multirange nummultirange tsmultirange tstzmultirange multirange isempty lower_inc lower_inf
	upper_inc upper_inf range_merge

	abbrev broadcast family host hostmask inet_merge inet_same_family masklen netmask network
	set_masklen macaddr8_set7bit

	array_to_tsvector get_current_ts_config numnode phraseto_tsquery plainto_tsquery querytree setweight
	strip to_tsquery to_tsvector json_to_tsvector jsonb_to_tsvector ts_delete ts_filter ts_headline
	ts_rank ts_rank_cd tsquery_phrase tsvector_to_array websearch_to_tsquery

	area bound_box box center circle diagonal diameter height isclosed isopen isparallel
	isperpendicular ishorizontal isvertical line lseg npoints path pclose point polygon popen radius
	slope width
`)

// bounded functions pad to a length. The length has to stand in the statement
// and be no greater than maxPadding: a number from elsewhere makes a gigabyte
// of nothing.
var bounded = set(`lpad rpad`)

const maxPadding = 10_000

// operators are built in and only compute.
var operators = set(`
	+ - * / % ^ |/ ||/ @ & | # ~ << >> = <> != < > <= >=
	~~ !~~ ~~* !~~* ~* !~ !~* ^@ || ~<~ ~<=~ ~>~ ~>=~
	-> ->> #> #>> #- @> <@ ? ?| ?& @? @@ @@@ && !! <->
	-|- &< &> <<= >>= <<| |>> &<| |&> ## ?# ?- ?-| ?|| ~= @-@ <^ >^
`)

// types are built in and say nothing of the catalogue: none of those that look
// a name up (regclass and its like), no row of a table.
var types = set(`
	bool int2 int4 int8 float4 float8 numeric money text varchar bpchar char name bytea bit varbit
	date time timetz timestamp timestamptz interval uuid json jsonb jsonpath oid
	inet cidr macaddr macaddr8 tsvector tsquery
	int4range int8range numrange tsrange tstzrange daterange
	int4multirange int8multirange nummultirange tsmultirange tstzmultirange datemultirange
	point line lseg box path polygon circle
`)

// samplings are the methods of TABLESAMPLE that are built in; any other is a
// function by another way.
var samplings = set(`system bernoulli`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

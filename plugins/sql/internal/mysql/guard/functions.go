// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"strings"

	"github.com/sqlc-dev/marino/ast"
)

// functions are the functions that a statement may call: none that reads
// files, waits, locks, reports on the server or on other sessions, keeps state
// in a session, or says in its errors what it was given. What is not here is
// refused, so that a new server brings nothing in unasked, and stored functions
// are here only if the operator names them.
var functions = set(`
	abs acos asin atan atan2 ceil ceiling conv cos cot crc32 crc32c degrees exp floor ln log log10 log2
	mod pi pow power radians rand round sign sin sqrt tan truncate

	ascii bin bit_length char char_func char_length character_length chr concat concat_ws elt
	export_set field find_in_set format format_bytes from_base64 hex insert insert_func instr lcase left length
	lengthb locate lower lpad ltrim make_set mid natural_sort_key oct octet_length ord position quote
	regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rpad rtrim
	sformat soundex space strcmp substr substring substring_index to_base64 to_char to_number trim
	ucase unhex upper weight_string

	md5 sha sha1 sha2 compress uncompress uncompressed_length

	coalesce greatest if ifnull interval isnull least nullif nvl nvl2
	cast convert binary charset collation coercibility bit_count
	any_value database grouping schema uuid version

	add_months adddate addtime convert_tz curdate current_date current_time current_timestamp curtime
	date date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear extract
	from_days from_unixtime get_format hour last_day localtime localtimestamp makedate maketime
	microsecond minute month monthname now period_add period_diff quarter sec_to_time second
	str_to_date subdate subtime sysdate time time_format time_to_sec timediff timestamp timestampadd
	timestampdiff to_days to_seconds unix_timestamp utc_date utc_time utc_timestamp week weekday
	weekofyear year yearweek

	json_array json_array_append json_array_insert json_array_intersect json_compact json_contains
	json_contains_path json_depth json_detailed json_equals json_exists json_extract json_insert
	json_key_value json_keys json_length json_loose json_memberof json_merge json_merge_patch
	json_merge_preserve json_normalize json_object json_object_filter_keys json_object_to_array
	json_overlaps json_pretty json_query json_quote json_remove json_replace json_schema_valid
	json_search json_set json_storage_size json_table json_type json_unquote json_valid json_value

	avg bit_and bit_or bit_xor count group_concat json_arrayagg json_objectagg max median min
	percentile_cont percentile_disc std stddev stddev_pop stddev_samp sum var_pop var_samp variance
	approx_count_distinct
	cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number

	bin_to_uuid inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv4_compat is_ipv4_mapped
	is_ipv6 is_uuid uuid_to_bin

	st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_buffer st_centroid st_contains
	st_convexhull st_crosses st_difference st_dimension st_disjoint st_distance st_distance_sphere
	st_endpoint st_envelope st_equals st_geohash st_geometryn st_geometrytype st_geomfromgeojson
	st_geomfromtext st_geomfromwkb st_intersection st_intersects st_isclosed st_isempty st_issimple
	st_isvalid st_latitude st_length st_longitude st_numgeometries st_numinteriorrings st_numpoints
	st_overlaps st_pointfromtext st_pointn st_simplify st_srid st_startpoint st_symdifference
	st_touches st_union st_within st_x st_y mbrcontains mbrintersects mbrwithin point
`)

// variables are the system variables that say how statements are read and
// values compared, and nothing of the machine.
var variables = set(`
	autocommit character_set_client character_set_connection character_set_results
	collation_connection collation_database lower_case_table_names sql_mode time_zone
	transaction_isolation transaction_read_only tx_isolation tx_read_only version
`)

// literals are what the parser calls the literals DATE '...' and the like, by
// names that no server has.
var literals = map[string]string{
	ast.DateLiteral: "date", ast.TimeLiteral: "time", ast.TimestampLiteral: "timestamp",
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

module github.com/toolwharf/toolwharf/plugins/sql

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.13.0
	github.com/ncruces/go-sqlite3 v0.37.0
	github.com/pganalyze/pg_query_go/v6 v6.2.2
	github.com/sqlc-dev/marino v0.3.1
	github.com/toolwharf/toolwharf/sdk/go v0.0.0
	github.com/wasilibs/go-pgquery v0.0.0-20260728010200-155ebad2880e
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
	github.com/toolwharf/toolwharf/proto v0.0.0 // indirect
	github.com/wasilibs/wazero-helpers v0.0.0-20250123031827-cd30c44769bb // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
)

replace (
	github.com/toolwharf/toolwharf/proto => ../../proto
	github.com/toolwharf/toolwharf/sdk/go => ../../sdk/go
)

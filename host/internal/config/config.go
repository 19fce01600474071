// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// Config is toolwharf.yaml with defaults filled in, paths made absolute and
// references to secrets unexpanded. Each `key` tag names the key of schema.json
// that the field holds; a test keeps the two together.
type Config struct {
	// File is the absolute path of the file; empty when there is none.
	File string
	// Sum is the SHA-256 of the file.
	Sum [sha256.Size]byte
	// Dir is the absolute directory that relative paths start from.
	Dir string

	Name         string `key:"name"`
	Version      string `key:"version"` // empty: the host's own
	Instructions string `key:"instructions"`
	State        string `key:"state,path"`
	Store        string `key:"store"` // "sqlite", or a URL that may hold references

	Plugins  Plugins   `key:"plugins"`
	Adapters []Adapter `key:"adapters"`   // sorted by name
	Servers  []Server  `key:"mcpServers"` // sorted by name

	Rules    []Rule   `key:"rules"`
	Defaults Defaults `key:"defaults"`
	Approval Approval `key:"approval"`
	Hooks    []Hook   `key:"hooks"`
	Limits   Limits   `key:"limits"`
	Ledger   Ledger   `key:"ledger"`
	HTTP     HTTP     `key:"http"`
	Log      Log      `key:"log"`
}

// Plugins says where plugins are looked for.
type Plugins struct {
	Dirs    []string `key:"dirs,path"`
	Trust   string   `key:"trust"` // "directory" or "pinned"
	Builtin bool     `key:"builtin"`
}

// Adapter is one instance of a plugin.
type Adapter struct {
	Name   string
	Line   int    // of the adapter's name; 0 when no file names it
	Plugin string `key:"plugin"`
	// Config is a JSON tree: map[string]any, []any, string, json.Number, bool,
	// nil. Always a map[string]any. Numbers keep the digits of the file.
	Config any `key:"config"`
	// Prefix is "<name>_" unless the file says otherwise; an explicit "" stays.
	Prefix        string                `key:"prefix"`
	Env           map[string]string     `key:"env"`
	Limits        AdapterLimits         `key:"limits"`
	Tools         map[string]ToolPolicy `key:"tools"` // by declared name
	Include       []string              `key:"include"`
	Exclude       []string              `key:"exclude"`
	Sandbox       string                `key:"sandbox.mode,short"` // "auto", "strict" or "off"
	Allow         Grants                `key:"sandbox.allow"`
	PassPrincipal bool                  `key:"pass_principal"`
	MayAsk        *bool                 `key:"may_ask"` // unset: it may, being named
	AllowURLs     bool                  `key:"allow_urls"`

	source source
}

// AdapterLimits are the limits of one adapter.
type AdapterLimits struct {
	Timeout     time.Duration `key:"timeout"`
	MaxInFlight int           `key:"max_in_flight"`
	Rate        string        `key:"rate"`        // empty: not limited
	Memory      int64         `key:"memory,size"` // bytes; 0: not limited
	Restarts    int           `key:"restarts"`
}

// ToolPolicy is what the operator says about one tool. Unset pointers leave it
// to the plugin.
type ToolPolicy struct {
	Cache      *Cache      `key:"cache"`
	Rate       string      `key:"rate"`      // empty: not limited
	Cost       json.Number `key:"cost"`      // as in the file; empty: not known
	MaxCalls   int         `key:"max_calls"` // 0: not limited
	OncePerRun bool        `key:"once_per_run"`
	Confirm    *bool       `key:"confirm"`
	Effects    string      `key:"effects"` // empty: the plugin's
	Idempotent *bool       `key:"idempotent"`
	Tags       []string    `key:"tags"`
}

// Cache is how long answers may be repeated.
type Cache struct {
	TTL    time.Duration `key:"ttl,short"`
	Shared bool          `key:"shared"`
}

// Grants are what a sandboxed process may reach.
type Grants struct {
	Read    []string `key:"read,path"`
	Write   []string `key:"write,path"`
	Connect []string `key:"connect"` // host:port
	Private bool     `key:"private"` // names may lead to private addresses
}

// Server is an MCP server whose tools are served as the host's own.
type Server struct {
	Name          string
	Line          int
	Type          string                `key:"type"`
	Command       string                `key:"command"`
	Args          []string              `key:"args"`
	Env           map[string]string     `key:"env"`
	EnvFile       string                `key:"envFile,path"`
	Cwd           string                `key:"cwd,path"`
	URL           string                `key:"url"`
	Headers       map[string]string     `key:"headers"`
	Disabled      bool                  `key:"disabled"`
	Timeout       time.Duration         `key:"timeout"` // 0: the default of adapters
	DisabledTools []string              `key:"disabledTools"`
	Prefix        string                `key:"prefix"`
	Tools         map[string]ToolPolicy `key:"tools"`
	Include       []string              `key:"include"`
	Exclude       []string              `key:"exclude"`
	SendIDs       bool                  `key:"send_ids"`
	Trust         string                `key:"trust"` // "" or "hints"
	Sandbox       string                `key:"sandbox.mode,short"`
	Allow         Grants                `key:"sandbox.allow"`
	MayAsk        bool                  `key:"may_ask"`
	AllowURLs     bool                  `key:"allow_urls"`
	Auth          *ServerAuth           `key:"auth"`

	source source
}

// ServerAuth is the host's OAuth client at an MCP server.
type ServerAuth struct {
	ClientID     string   `key:"client_id"`
	ClientSecret string   `key:"client_secret"`
	Scopes       []string `key:"scopes"`
}

// Rule is one line of policy. Exactly one of Allow, Confirm and Deny is set.
type Rule struct {
	Line       int
	Allow      []string `key:"allow"`
	Confirm    []string `key:"confirm"`
	Deny       []string `key:"deny"`
	Adapters   []string `key:"adapters"`
	Effects    []string `key:"effects"`
	Tags       []string `key:"tags"`
	Principals []string `key:"principals"`
	Scopes     []string `key:"scopes"`
	When       string   `key:"when"`
}

// Defaults decide what no rule matches: "allow", "confirm" or "deny".
type Defaults struct {
	ReadOnly    string `key:"read_only"`
	Additive    string `key:"additive"`
	Destructive string `key:"destructive"`
}

// Approval is what happens to calls that need a confirmation.
type Approval struct {
	Mode       string        `key:"mode,short"` // "deny" or "deferred"
	ClientForm bool          `key:"client_form"`
	Expires    time.Duration `key:"expires"`
	Wait       time.Duration `key:"wait"`
	Approvers  string        `key:"approvers"`
	Self       bool          `key:"self"`
	StateKeys  []string      `key:"state_keys"`
	Webhooks   []Webhook     `key:"webhooks"`
}

// Webhook is a program elsewhere that is told of approvals.
type Webhook struct {
	URL              string   `key:"url"`
	Secret           string   `key:"secret"`
	Events           []string `key:"events"`
	IncludeArguments bool     `key:"include_arguments"`
}

// Hook lets an adapter judge or edit the calls of others.
type Hook struct {
	Adapter string        `key:"adapter"`
	Tools   []string      `key:"tools"`
	Powers  []string      `key:"powers"`
	Timeout time.Duration `key:"timeout"`
	Fail    string        `key:"fail"` // "closed" or "open"
}

// Limits are the limits over all adapters.
type Limits struct {
	Admission  string        `key:"admission"` // empty: not limited, and so below
	Rate       string        `key:"rate"`
	MaxCalls   int           `key:"max_calls"`
	Budget     json.Number   `key:"budget"` // as in the file
	DefaultRun time.Duration `key:"default_run"`
	Cache      int64         `key:"cache,size"`
}

// Ledger says how calls are recorded.
type Ledger struct {
	Reads string `key:"reads"` // "behind" or "sync"
}

// Log is what the host says about itself.
type Log struct {
	Level  string `key:"level"`
	Format string `key:"format"` // empty: text on a terminal, JSON elsewhere
	Access bool   `key:"access"`
}

// HTTP is the HTTP endpoint.
type HTTP struct {
	Listen         string        `key:"listen"`
	Path           string        `key:"path"`
	PublicURL      string        `key:"public_url"`
	AllowedHosts   []string      `key:"allowed_hosts"`
	AllowedOrigins []string      `key:"allowed_origins"`
	AllowAnonymous *bool         `key:"allow_anonymous"`
	MaxBody        int64         `key:"max_body,size"`
	MaxHeader      int64         `key:"max_header,size"`
	MaxConnections int           `key:"max_connections"`
	MaxIdle        int           `key:"max_idle"`
	MaxInFlight    int           `key:"max_in_flight"`
	MaxListens     int           `key:"max_listens"`
	HeaderTimeout  time.Duration `key:"header_timeout"`
	BodyTimeout    time.Duration `key:"body_timeout"`
	IdleTimeout    time.Duration `key:"idle_timeout"`
	TLS            *TLS          `key:"tls"`
	Auth           *Auth         `key:"auth"`
}

// TLS names the files of the HTTP endpoint's certificate.
type TLS struct {
	Cert string `key:"cert,path"`
	Key  string `key:"key,path"`
}

// Auth is how callers over HTTP prove who they are.
type Auth struct {
	Issuer        string         `key:"issuer"`
	Audience      string         `key:"audience"`
	JWKS          string         `key:"jwks"`
	Introspection *Introspection `key:"introspection"`
	Tokens        []Token        `key:"tokens"`
	Principal     string         `key:"principal"`
	StepUp        bool           `key:"step_up"`
	Login         *Login         `key:"login"`
}

// Login is how people sign in at the issuer to decide (OpenID Connect).
type Login struct {
	ClientID     string   `key:"client_id"`
	ClientSecret string   `key:"client_secret"`
	Scopes       []string `key:"scopes"`
}

// Introspection asks the issuer about opaque tokens (RFC 7662).
type Introspection struct {
	URL          string `key:"url"`
	ClientID     string `key:"client_id"`
	ClientSecret string `key:"client_secret"`
	// Cache is how long an answer is good for.
	Cache time.Duration `key:"cache"`
}

// Token is one fixed bearer token, known by its digest.
type Token struct {
	SHA256   string   `key:"sha256"`
	ClientID string   `key:"client_id"`
	Subject  string   `key:"subject"`
	Scopes   []string `key:"scopes"`
}

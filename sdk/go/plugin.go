// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"

	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
)

// Info says what a plugin is.
type Info struct {
	// Name is the plugin's own name, [a-z][a-z0-9_-]{0,62}.
	Name string
	// Version is free text; semantic versions are customary.
	Version string
	// Title is one line for people.
	Title string
	// Description says what the plugin does, in a few sentences, for people.
	Description string
}

// None is the state of a plugin that has none.
type None struct{}

// Plugin is a plugin in the making: add tools, resources, prompts and hooks to it,
// then [Plugin.Serve]. S is its state.
type Plugin[S any] struct{ core *core }

// PluginOption says something about a plugin; see [New].
type PluginOption interface{ applyPlugin(*core) }

type pluginOption func(*core)

func (f pluginOption) applyPlugin(c *core) { f(c) }

// core is a plugin without its type parameters.
type core struct {
	registry

	info   Info
	base   *catalogue // what is offered whatever the configuration
	offers []Feature
	before beforeHook
	after  afterHook

	config    *schema.Type  // nil: takes no configuration
	given     *schema.Given // of ConfigSchema, if any
	givenJSON []byte
	state     reflect.Type
	open      opener
	check     checker
	checkType reflect.Type
}

type (
	// opener decodes a configuration and opens the state of it.
	opener func(ctx context.Context, config []byte) (any, error)
	// checker decodes a configuration and judges it.
	checker func(ctx context.Context, config []byte) ([]Grant, error)
)

// New makes a plugin with a configuration C, a struct, and a state S, which
// open makes of it. See the package comment for the tags that C's fields may
// have; a field of type [Secret] holds a secret.
//
// Open returns either a state or an error: [ConfigError]s, joined by
// errors.Join, become diagnostics at their places, any other error one
// diagnostic for the whole configuration. Its ctx ends when it returns. A state
// that is an [io.Closer] is closed when it has been replaced and its calls are
// done, and when the plugin stops.
func New[C, S any](info Info, open func(context.Context, C) (*S, error), opts ...PluginOption) *Plugin[S] {
	c := newCore(info)
	c.state = reflect.TypeFor[S]()
	t := reflect.TypeFor[C]()
	decode := func(config []byte) (C, error) {
		var value C
		return value, c.decodeConfig(config, &value)
	}
	c.open = func(ctx context.Context, config []byte) (any, error) {
		value, err := decode(config)
		if err != nil {
			return nil, err
		}
		state, err := open(ctx, value)
		if err == nil && state == nil {
			err = errors.New("the plugin opened nothing and gave no reason")
		}
		return state, err
	}
	c.check = func(_ context.Context, config []byte) ([]Grant, error) {
		_, err := decode(config)
		return nil, err
	}
	c.apply(opts)
	if t != reflect.TypeFor[None]() {
		var err error
		if c.config, err = schema.Input(t, known()); err != nil {
			c.config = schema.Opaque()
			if c.givenJSON == nil {
				c.fault("configuration: %w", err)
			}
		}
	}
	if c.checkType != nil && c.checkType != t {
		c.fault("Check judges a %v, but the configuration is a %v", c.checkType, t)
	}
	return &Plugin[S]{c}
}

// NewStateless makes a plugin that has no state and takes no configuration.
func NewStateless(info Info, opts ...PluginOption) *Plugin[None] {
	return New(info, func(context.Context, None) (*None, error) { return new(None), nil }, opts...)
}

// Check judges a configuration and names what the plugin needs from the
// operating system under it. It opens nothing, connects nowhere and changes
// nothing: the host runs it in a bare sandbox to learn what the real one must
// allow. It is run before every open as well. C is the type that [New] has.
func Check[C any](check func(context.Context, C) ([]Grant, error)) PluginOption {
	return pluginOption(func(c *core) {
		c.checkType = reflect.TypeFor[C]()
		c.check = func(ctx context.Context, config []byte) ([]Grant, error) {
			var value C
			if err := c.decodeConfig(config, &value); err != nil {
				return nil, err
			}
			return check(ctx, value)
		}
	})
}

// ConfigSchema replaces the schema that is inferred from the configuration
// type: JSON Schema 2020-12 of an object, `writeOnly` marks secrets. Defaults are
// still taken from the type's tags only.
func ConfigSchema(schemaJSON json.RawMessage) PluginOption {
	return pluginOption(func(c *core) {
		var err error
		if c.given, err = schema.Parse(schemaJSON, true); err != nil {
			c.fault("ConfigSchema: %w", err)
		}
		c.givenJSON = schemaJSON
	})
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

func newCore(info Info) *core {
	c := &core{info: info, base: newCatalogue()}
	c.registry = registry{into: c.base}
	if !pluginName.MatchString(info.Name) {
		c.fault("the plugin's name %q does not match [a-z][a-z0-9_-]{0,62}", info.Name)
	}
	return c
}

func (c *core) apply(opts []PluginOption) {
	for _, o := range opts {
		o.applyPlugin(c)
	}
}

// configSchema is what hosts validate configurations by; nil: there is none.
func (c *core) configSchema() []byte {
	switch {
	case c.config == nil:
		return nil
	case c.givenJSON != nil:
		return c.givenJSON
	}
	return c.config.JSON
}

// validateConfig judges a configuration as a host does before it sends it.
func (c *core) validateConfig(config []byte) error {
	switch {
	case c.config == nil:
		return nil // opening refuses
	case c.given != nil:
		return c.given.Validate(config)
	}
	return c.config.Validate(config)
}

// decodeConfig reads a configuration into value; its errors are ConfigErrors
// that quote nothing.
func (c *core) decodeConfig(config []byte, value any) error {
	if c.config == nil {
		if !emptyObject(config) {
			return ConfigFault("", "this plugin takes no configuration")
		}
		return nil
	}
	err := c.config.Decode(config, value)
	if field, ok := errors.AsType[*schema.FieldError](err); ok {
		return ConfigFault(field.Pointer, field.Plain())
	}
	return err
}

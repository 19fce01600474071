// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"testing"
)

func TestTracesAreSentOnlyWhereTheEnvironmentSays(t *testing.T) {
	for name, c := range map[string]struct {
		env    map[string]string
		wanted bool
		fault  string
	}{
		"nothing":                  {nil, false, ""},
		"an endpoint":              {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, true, ""},
		"one of traces":            {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, true, ""},
		"the default endpoint":     {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"an endpoint, no traces":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"all of it off":            {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"the protocol that it has": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, true, ""},
		"another protocol":         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "only http/protobuf"},
		"another exporter":         {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "only otlp and none"},
		"a protocol of nothing":    {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := TracesWanted(func(name string) string { return c.env[name] })
			if wanted != c.wanted || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%v, %v", wanted, err)
			}
		})
	}
}

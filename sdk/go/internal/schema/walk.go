// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
)

// members rewrites the values of one JSON object, in order; more may add
// further ones. What is not an object is returned as it is.
func members(data json.RawMessage, each func(string, json.RawMessage) (json.RawMessage, error),
	more func(add func(string, json.RawMessage)) error,
) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if !opened(d, '{') {
		return data, nil
	}
	var out bytes.Buffer
	out.Grow(len(data) + 64)
	out.WriteByte('{')
	add := func(key string, v json.RawMessage) {
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		k, _ := marshal(key)
		out.Write(k)
		out.WriteByte(':')
		out.Write(v)
	}
	for d.More() {
		key, v, ok := member(d)
		if !ok {
			return data, nil
		}
		v, err := each(key, v)
		if err != nil {
			return nil, err
		}
		add(key, v)
	}
	if !closed(d) {
		return data, nil
	}
	if more != nil {
		if err := more(add); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// elements rewrites the values of one JSON array. What is not an array is
// returned as it is.
func elements(data json.RawMessage, each func(int, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if !opened(d, '[') {
		return data, nil
	}
	var out bytes.Buffer
	out.Grow(len(data) + 64)
	out.WriteByte('[')
	for i := 0; d.More(); i++ {
		v, ok := value(d)
		if !ok {
			return data, nil
		}
		v, err := each(i, v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(v)
	}
	if !closed(d) {
		return data, nil
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

func opened(d *json.Decoder, with json.Delim) bool {
	t, err := d.Token()
	return err == nil && t == with
}

func member(d *json.Decoder) (key string, v json.RawMessage, ok bool) {
	t, err := d.Token()
	if err != nil {
		return "", nil, false
	}
	key, _ = t.(string) // the keys of an object are
	v, ok = value(d)
	return key, v, ok
}

func value(d *json.Decoder) (v json.RawMessage, ok bool) {
	err := d.Decode(&v)
	return v, err == nil
}

// closed reads the end of an object or array, and says whether nothing follows.
func closed(d *json.Decoder) bool {
	if _, err := d.Token(); err != nil {
		return false
	}
	_, err := d.Token()
	return err != nil
}

// marshal is json.Marshal without the escapes that are for HTML.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

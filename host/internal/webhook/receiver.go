// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Receiver is one place that is told.
type Receiver struct {
	// Name is what the outbox calls it; see NameOf.
	Name, URL string
	// Secret signs what it is told.
	Secret Secret
	// IncludeArguments: it is told the arguments of calls too.
	IncludeArguments bool
}

// NameOf is the name of a receiver by its URL as configured, which may hold
// references to secrets: it is the same in every process of that configuration.
func NameOf(url string) string {
	sum := sha256.Sum256([]byte(url))
	return "hook_" + hex.EncodeToString(sum[:12])
}

// CheckURL refuses what nothing should be posted to. The error does not hold it.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Fragment != "" {
		return errors.New("must be a URL such as https://chat.example.com/hooks/1")
	}
	addr, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return errors.New("must be https, or http on this machine: what is told would be read on the way")
	}
	return nil
}

// Secret is a key of a receiver.
type Secret []byte

// Bounds of a secret, in bytes (Standard Webhooks).
const (
	minSecret = 24
	maxSecret = 64

	prefixSecret = "whsec_"
)

// ParseSecret reads a secret as Standard Webhooks writes it: whsec_ and base64.
// The error does not hold it.
func ParseSecret(s string) (Secret, error) {
	text, ok := strings.CutPrefix(s, prefixSecret)
	if !ok {
		return nil, errors.New("a secret begins with " + prefixSecret)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("a secret is %s and %d to %d bytes in base64", prefixSecret, minSecret, maxSecret)
	}
	return key, nil
}

// Sign returns the signature of a message, with its version before it.
func (s Secret) Sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, s)
	_, _ = mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

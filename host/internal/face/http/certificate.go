// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often it is looked whether a certificate's files have changed, at
// most: with a handshake, so that nothing runs for a server that nobody asks.
const lookEvery = time.Second

// Certificate is a server's, from two files. When they change, so does it; a new
// pair that cannot be used leaves the old one serving.
type Certificate struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	seen   [2]mark // of the files that were read last, good or not
	looked time.Time
}

// mark tells a file that has changed.
type mark struct {
	changed time.Time
	size    int64
}

// OpenCertificate reads a certificate and its chain, and its key (PEM).
func OpenCertificate(cert, key string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, log: log, looked: time.Now(), seen: [2]mark{markOf(cert), markOf(key)}}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	c.pair = &pair
	return c, nil
}

// config is what a server speaks TLS by: 1.2 or later, and HTTP/1.1, whose
// connections are what is bounded.
func (c *Certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now(), nil },
	}
}

// now is the pair of the next handshake.
func (c *Certificate) now() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookEvery {
		return c.pair
	}
	c.looked = time.Now()
	seen := [2]mark{markOf(c.cert), markOf(c.key)}
	if seen == c.seen {
		return c.pair
	}
	c.seen = seen // before they are read: what changes meanwhile is seen again
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		c.log.Error("http.tls: the new certificate cannot be used; the old one serves on", "cert", c.cert, "key", c.key, "error", err)
		return c.pair
	}
	c.pair = &pair
	c.log.Info("http.tls: the certificate was read anew", "cert", c.cert)
	return c.pair
}

// markOf is a file's; zero if there is none.
func markOf(file string) mark {
	info, err := os.Stat(file)
	if err != nil {
		return mark{}
	}
	return mark{info.ModTime(), info.Size()}
}

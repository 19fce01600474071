// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 15 * time.Second
)

// host is the running `toolwharf serve`.
type host struct {
	process *os.Process
	ended   chan struct{} // closed when the process has ended
	log     log
}

// serve starts the host and waits until it is ready.
func serve(ctx context.Context, binary, config string) (*host, error) {
	// The host would say so too, but among its log.
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("something else listens on %s: end it first, or set http.listen in %s and connect there by yourself (%w)", address, config, err)
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	h := &host{ended: make(chan struct{})}
	cmd := exec.Command(binary, "serve", "-c", config, "--log-format", "text")
	cmd.Stdout, cmd.Stderr = &h.log, &h.log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h.process = cmd.Process
	go func() {
		_ = cmd.Wait() // why it ended is in its log
		close(h.ended)
	}()
	if err := h.awaitReady(ctx); err != nil {
		return nil, errors.Join(h.fault(err), h.stop())
	}
	return h, nil
}

func (h *host) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close() // only the status matters
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-h.ended:
			return errors.New("the host ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("the host is not ready: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the host and its plugins.
func (h *host) stop() error {
	if err := h.process.Signal(syscall.SIGTERM); err != nil {
		_ = h.process.Kill() // there is no asking on this system, or nobody to ask
	}
	select {
	case <-h.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = h.process.Kill()
		<-h.ended
		return fmt.Errorf("the host did not end within %v", stopTimeout)
	}
}

// fault adds what the host has said to an error.
func (h *host) fault(err error) error {
	if text := strings.TrimSpace(h.log.String()); text != "" {
		return fmt.Errorf("%w; the host said:\n%s", err, text)
	}
	return err
}

// showLog writes what the host says from now on.
func (h *host) showLog(w io.Writer) { h.log.passOn(w) }

// log keeps what is written to it until it is told to pass it on.
type log struct {
	mu   sync.Mutex
	kept bytes.Buffer
	to   io.Writer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to != nil {
		return l.to.Write(p)
	}
	return l.kept.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.String()
}

func (l *log) passOn(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = w
	l.kept.Reset()
}

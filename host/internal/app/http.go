// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// ServeHTTP is a stopgap.
func (h *Host) ServeHTTP(ctx context.Context) error {
	l, err := net.Listen("tcp", h.config.HTTP.Listen)
	if err != nil {
		return err
	}
	face := h.face(h.config.HTTP.AllowAnonymous)
	h.Start(ctx)
	closeControl, err := h.serveControl("http")
	mux := http.NewServeMux()
	mux.Handle(h.config.HTTP.Path, face.Handler())
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if !h.reconciler.Tried() {
			w.WriteHeader(503)
		}
	})
	s := &http.Server{Handler: mux}
	go s.Serve(l)
	<-ctx.Done()
	face.Close()
	sh, c := context.WithTimeout(context.Background(), 40*time.Second)
	defer c()
	s.Shutdown(sh)
	closeControl()
	return errors.Join(err, h.Close())
}

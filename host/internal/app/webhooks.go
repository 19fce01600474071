// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/secret"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
	"github.com/toolwharf/toolwharf/host/internal/webhook"
)

// receivers are who is told of approvals, by event. No secret is needed to know
// them: whoever decides writes what they are to be told, and a host tells them.
func receivers(c *config.Config) map[approval.Event][]string {
	m := map[approval.Event][]string{}
	for _, w := range c.Approval.Webhooks {
		for _, e := range w.Events {
			m[approval.Event(e)] = append(m[approval.Event(e)], webhook.NameOf(w.URL))
		}
	}
	return m
}

// newDeliverer tells the receivers.
func (h *Host) newDeliverer() (*webhook.Deliverer, error) {
	d := &webhook.Deliverer{
		Outbox: h.vault.store, Redactor: &h.redactor, PublicURL: h.config.HTTP.PublicURL, Log: telemetry.Slog(h.log.Named("webhooks")),
	}
	for i, w := range h.config.Approval.Webhooks {
		at := fmt.Sprintf("approval.webhooks[%d]", i)
		to := webhook.Receiver{Name: webhook.NameOf(w.URL), IncludeArguments: w.IncludeArguments}
		url, err := h.expand(at+".url", w.URL)
		if err == nil {
			if err = webhook.CheckURL(url); err != nil {
				err = fmt.Errorf("%s.url: %w", at, err)
			}
		}
		if err != nil {
			return nil, err
		}
		to.URL = url
		key, err := h.expand(at+".secret", w.Secret)
		if err == nil {
			if to.Secret, err = webhook.ParseSecret(key); err != nil {
				err = fmt.Errorf("%s.secret: %w", at, err)
			}
		}
		if err != nil {
			return nil, err
		}
		d.Receivers = append(d.Receivers, to)
	}
	return d, nil
}

// expand replaces the references of a setting of the host.
func (h *Host) expand(key, text string) (string, error) {
	expanded, missing, err := secret.Expand(text, secret.System{Dir: h.config.Dir})
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("%s: secret missing: %s", key, missing[0])
	}
	return expanded, nil
}

// tell delivers until ctx ends.
func (h *Host) tell(ctx context.Context) {
	defer close(h.told)
	if len(h.deliverer.Receivers) > 0 {
		h.deliverer.Run(ctx)
	}
}

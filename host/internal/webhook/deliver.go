// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
)

const (
	// pause is how often the outbox is looked at.
	pause = time.Second
	// answerTime is how long a receiver may take. lease outlasts it: no other host
	// delivers the same meanwhile.
	answerTime = 10 * time.Second
	lease      = 15 * time.Second
	// attempts is how often something is tried, the first time after firstWait,
	// each further one after three times as long, but not more than maxWait.
	attempts  = 10
	firstWait = 5 * time.Second
	maxWait   = 8 * time.Hour
	// maxAnswer of a receiver is read, in bytes, so that its connection can be used
	// again.
	maxAnswer = 16 << 10
)

// Outbox is what is still to be told; see store/sqlite.
type Outbox interface {
	Due(ctx context.Context, receiver string, lease time.Duration) (*approval.Notice, error)
	Forget(ctx context.Context, id string) error
	Postpone(ctx context.Context, id string, after time.Duration) error
	Approval(ctx context.Context, id string) (*approval.Record, error)
}

// Redactor takes secrets out of what leaves the host.
type Redactor interface {
	Text(adapter, s string) string
	JSON(adapter string, raw []byte) []byte
}

// Deliverer tells receivers.
type Deliverer struct {
	Outbox    Outbox
	Receivers []Receiver
	Redactor  Redactor
	// PublicURL is where people reach the host; empty: messages have no link.
	PublicURL string
	Log       *slog.Logger
}

// Run delivers until ctx ends. Each receiver is told in its own time: one that does
// not answer holds up no other.
func (d *Deliverer) Run(ctx context.Context) {
	client := &http.Client{
		Timeout:       answerTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for i := range d.Receivers {
		all.Go(func() { d.serve(ctx, client, &d.Receivers[i]) })
	}
	all.Wait()
}

func (d *Deliverer) serve(ctx context.Context, client *http.Client, to *Receiver) {
	look := time.NewTicker(pause)
	defer look.Stop()
	for {
		n, err := d.Outbox.Due(ctx, to.Name, lease)
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("webhooks: the outbox cannot be read", "error", err)
		}
		if n != nil {
			d.deliver(ctx, client, to, n)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// deliver tells a receiver, and says in the outbox what came of it. What ctx
// interrupts is delivered again once its lease is over.
func (d *Deliverer) deliver(ctx context.Context, client *http.Client, to *Receiver, n *approval.Notice) {
	about := []any{"receiver", to.Name, "event", n.Event, "approval", n.Approval, "attempt", n.Attempt}
	err := d.tell(ctx, client, to, n)
	switch {
	case err == nil:
		err = d.Outbox.Forget(context.WithoutCancel(ctx), n.ID)
	case ctx.Err() != nil:
		return
	case n.Attempt >= attempts || errors.Is(err, errGone):
		d.Log.Error("webhook given up", append(about, "error", err)...)
		err = d.Outbox.Forget(ctx, n.ID)
	default:
		d.Log.Warn("webhook not delivered; it is tried again", append(about, "error", err)...)
		err = d.Outbox.Postpone(ctx, n.ID, wait(n.Attempt))
	}
	if err != nil && ctx.Err() == nil {
		d.Log.Warn("webhook will be delivered again", append(about, "error", err)...)
	}
}

// wait is how long until the next attempt.
func wait(attempt int) time.Duration {
	w := firstWait
	for range attempt - 1 {
		w = min(3*w, maxWait)
	}
	return w
}

// errGone: nobody will ever be told there.
var errGone = errors.New("it is gone")

func (d *Deliverer) tell(ctx context.Context, client *http.Client, to *Receiver, n *approval.Notice) error {
	record, err := d.Outbox.Approval(ctx, n.Approval)
	if errors.Is(err, approval.ErrNone) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	if err != nil {
		return err
	}
	body, err := d.message(n, record, to)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL cannot be used") // which may be a secret
	}
	now := time.Now()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "toolwharf")
	r.Header.Set("Webhook-Id", n.ID)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("Webhook-Signature", to.Secret.Sign(n.ID, now, body))
	resp, err := client.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // whose text has the URL
			err = failed.Err
		}
		return fmt.Errorf("no answer: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	case resp.StatusCode == http.StatusGone: // it says that it wants no more of this
		return fmt.Errorf("%w: it answered %s", errGone, resp.Status)
	default:
		return fmt.Errorf("it answered %s", resp.Status)
	}
}

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// message is what a receiver is told.
type message struct {
	Type      approval.Event `json:"type"`
	Timestamp time.Time      `json:"timestamp"`
	Data      data           `json:"data"`
}

type data struct {
	Approval  string          `json:"approval_id"`
	Status    approval.Status `json:"status"`
	Tool      string          `json:"tool"`
	Adapter   string          `json:"adapter"`
	Effects   tool.Effects    `json:"effects"`
	Principal string          `json:"principal"`
	Why       string          `json:"why,omitempty"`
	Created   time.Time       `json:"created"`
	Expires   time.Time       `json:"expires"`
	// URL is where a person decides.
	URL       string `json:"url,omitempty"`
	DecidedBy string `json:"decided_by,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Changed: other arguments run than those that were asked.
	Changed bool            `json:"edited,omitempty"`
	Args    json.RawMessage `json:"arguments,omitempty"`
	Edited  json.RawMessage `json:"edited_arguments,omitempty"`
}

// message words a notice.
func (d *Deliverer) message(n *approval.Notice, r *approval.Record, to *Receiver) ([]byte, error) {
	m := message{Type: n.Event, Timestamp: n.At.UTC(), Data: data{
		Approval: r.ID, Status: n.Status, Tool: r.Tool, Adapter: r.Adapter, Effects: r.Effects, Principal: r.Principal,
		Why: r.Why, Created: r.Created.UTC(), Expires: r.Expires.UTC(),
	}}
	if d.PublicURL != "" {
		m.Data.URL = approval.Link(d.PublicURL, r.ID)
	}
	if n.Event == approval.EventDecided {
		m.Data.DecidedBy, m.Data.Reason, m.Data.Changed = r.DecidedBy, d.Redactor.Text(r.Adapter, r.Reason), r.Edited != nil
	}
	if to.IncludeArguments {
		m.Data.Args = d.Redactor.JSON(r.Adapter, r.Args)
		if n.Event == approval.EventDecided {
			m.Data.Edited = d.Redactor.JSON(r.Adapter, r.Edited)
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("notice of %s: %w", r.ID, err)
	}
	return raw, nil
}

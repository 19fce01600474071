// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"time"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// heedTime is how long a plugin may take to hear of one resource.
const heedTime = 5 * time.Second

// featureSubscriptions is the feature of a plugin that tells of resources by
// request; any other tells of what it likes, or of nothing.
const featureSubscriptions = "resource_subscriptions"

// Heed asks the plugin to tell of these resources and of no others. What fails is
// asked again at the next change.
func (in *instance) Heed(ctx context.Context, uris []string) {
	if !in.subscribes {
		return
	}
	client := pluginv1.NewResourceServiceClient(in.conn)
	wanted := map[string]bool{}
	for _, uri := range uris {
		wanted[uri] = true
	}
	for uri := range in.heeded {
		if !wanted[uri] {
			delete(in.heeded, uri)
			in.tell(ctx, "resource not unsubscribed", uri, func(ctx context.Context) error {
				_, err := client.UnsubscribeResource(ctx, &pluginv1.UnsubscribeResourceRequest{Uri: uri})
				return err
			})
		}
	}
	for _, uri := range uris {
		if !in.heeded[uri] && in.tell(ctx, "resource not subscribed", uri, func(ctx context.Context) error {
			_, err := client.SubscribeResource(ctx, &pluginv1.SubscribeResourceRequest{Uri: uri})
			return err
		}) {
			in.heeded[uri] = true
		}
	}
}

func (in *instance) tell(ctx context.Context, failure, uri string, call func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, heedTime)
	defer cancel()
	err := call(ctx)
	if err != nil {
		in.log.Debug(failure, "uri", uri, "error", err)
	}
	return err == nil
}

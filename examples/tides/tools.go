// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/toolwharf/toolwharf/sdk/go"
)

type portIn struct {
	Port string `json:"port" jsonschema:"name of the port" min:"1" max:"64"`
}

type highWater struct {
	Port string    `json:"port"`
	At   time.Time `json:"at"`
}

func (t *tides) highWater(ctx context.Context, in portIn) (highWater, error) {
	if !slices.Contains(t.config.Ports, in.Port) {
		return highWater{}, toolwharf.NotFound("unknown_port", "there is no port of that name; ask for another")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+t.config.Service+"/high?port="+url.QueryEscape(in.Port), nil)
	if err != nil {
		return highWater{}, err
	}
	req.Header.Set("Authorization", "Bearer "+t.config.Key.Reveal())
	resp, err := t.client.Do(req)
	if err != nil {
		return highWater{}, toolwharf.Downstream(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests {
		busy := &toolwharf.Error{Kind: toolwharf.KindRateLimited, Text: "the tide service is busy", Ran: toolwharf.RanNo}
		return highWater{}, toolwharf.Retryable(busy, time.Minute)
	}
	out := highWater{Port: in.Port}
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<16)).Decode(&out); err != nil {
		return highWater{}, toolwharf.Downstream(err)
	}
	return out, nil
}

type surveyOut struct {
	HighWaters []highWater `json:"high_waters"`
}

func (t *tides) survey(ctx context.Context, _ struct{}) (surveyOut, error) {
	var out surveyOut
	for i, port := range t.config.Ports {
		toolwharf.Progress(ctx, float64(i), float64(len(t.config.Ports)), port)
		found, err := t.highWater(ctx, portIn{port})
		if err != nil {
			toolwharf.Log(ctx).Warn("a port was left out", "port", port, "error", err)         // for the operator
			toolwharf.Notify(ctx, toolwharf.LevelWarning, map[string]string{"left_out": port}) // for the client
			continue
		}
		out.HighWaters = append(out.HighWaters, found)
	}
	return out, nil
}

type reportIn struct {
	Port   string `json:"port"`
	Remark string `json:"remark" min:"1" max:"1000"`
}

type sure struct {
	Sure bool `json:"sure" jsonschema:"whether the remark is written"`
}

func (t *tides) report(ctx context.Context, in reportIn) (struct{}, error) {
	answer, action, ok := toolwharf.Answer[sure](ctx, "sure")
	switch {
	case !ok:
		return struct{}{}, toolwharf.Ask(toolwharf.Form[sure]("sure", "Write into the log of "+in.Port+"?"))
	case action != toolwharf.ActionAccept || !answer.Sure:
		return struct{}{}, toolwharf.ToolError("not_written", "the user would rather not")
	}
	t.log.write(in.Port, in.Remark)
	toolwharf.CatalogOf[tides](ctx).ResourceUpdated("tides://log/" + in.Port)
	return struct{}{}, nil
}

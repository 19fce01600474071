// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Outbound is what a plugin does to reach something: it asks each URL for its page with
// the SDK's dialer, and then once without it.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func main() {
	client := http.Client{Transport: &http.Transport{DialContext: toolwharf.Dialer().DialContext, DisableKeepAlives: true}}
	for _, to := range os.Args[1:] {
		fmt.Println(page(&client, to))
	}
	to, err := url.Parse(os.Args[1])
	if err == nil {
		_, err = net.Dial("tcp", to.Host)
	}
	fmt.Println("without it:", err)
}

func page(client *http.Client, url string) string {
	resp, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// browsers are the names that Chromium goes by.
func browsers() []string { return []string{"chromium", "chromium-browser", "google-chrome", "chrome"} }

// tab is one tab of a browser that nobody has used before.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // which is how chromedp names a tab
}

// browse starts a browser of the test's own.
func browse(t *testing.T) *tab {
	t.Helper()
	program := os.Getenv("CHROMIUM")
	for _, name := range browsers() {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		absent(t, "Chromium is not installed (apt-get install chromium), so the approval page is NOT tested")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, // root has none
		chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		closeTab()
		cancel()
		end()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return &tab{t, ctx}
}

// do does something on the page, each within the usual patience.
func (b *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		b.t.Fatalf("%s: %v; the page says:\n%.2000s", what, err, text)
	}
}

func (b *tab) open(url string) { b.t.Helper(); b.do("open "+url, chromedp.Navigate(url)) }

// submit presses a button, and waits for the page that comes.
func (b *tab) submit(button string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(button))); err != nil {
		b.t.Fatalf("press %s: %v", button, err)
	}
	b.do("the page after "+button, chromedp.WaitReady(chromedp.CSS("body")))
}

// fill puts a text into a field, in the place of what is there.
func (b *tab) fill(field, text string) {
	b.t.Helper()
	b.do("fill "+field, chromedp.WaitReady(chromedp.CSS(field)), chromedp.SetValue(chromedp.CSS(field), text))
}

// eval returns what an expression gives on the page.
func eval[T any](b *tab, expression string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (b *tab) text() string {
	b.t.Helper()
	return eval[string](b, "document.body.innerText")
}

// has fails the test unless the page says all of these.
func (b *tab) has(parts ...string) {
	b.t.Helper()
	text := b.text()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.t.Errorf("the page lacks %q:\n%.3000s", part, text)
		}
	}
}

// signIn opens the page of an approval and signs in with the operator's token.
func (b *tab) signIn(h *host, id string) {
	b.t.Helper()
	b.open(h.base + "/approve/" + id)
	b.fill("#token", operatorToken(b.t, h.dir))
	b.submit("main button")
	b.has(id)
}

// console collects what the browser says of pages.
type console struct {
	mu    sync.Mutex
	lines []string
}

func (c *console) add(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

func (c *console) has(part string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(strings.Join(c.lines, "\n"), part)
}

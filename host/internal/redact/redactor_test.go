// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/redact"
)

const secret = `p/W+d?"<&>é\ 'Q~%x`

func knowing(secrets ...string) *redact.Redactor {
	r := &redact.Redactor{}
	r.Set("orders", secrets)
	return r
}

func TestASecretIsFoundHoweverItIsSpelled(t *testing.T) {
	noHTML := func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		return strings.Trim(strings.TrimSpace(b.String()), `"`)
	}
	withHTML, _ := json.Marshal(secret)
	every := func(form string) (s string) {
		for _, r := range secret {
			if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
				s += string(r)
			} else {
				s += fmt.Sprintf(form, r)
			}
		}
		return s
	}
	inUserInfo := url.UserPassword("u", secret).String()
	for name, spelled := range map[string]string{
		"plain":                     secret,
		"a query":                   url.QueryEscape(secret),
		"a query, small hex":        lowerHex(url.QueryEscape(secret)),
		"a path":                    url.PathEscape(secret),
		"a path, small hex":         lowerHex(url.PathEscape(secret)),
		"a user's password":         strings.TrimPrefix(inUserInfo, "u:"),
		"encodeURIComponent":        "p%2FW%2Bd%3F%22%3C%26%3E%C3%A9%5C%20'Q~%25x",
		"encodeURI":                 "p/W+d?%22%3C&%3E%C3%A9%5C%20'Q~%25x",
		"a form":                    "p%2FW%2Bd%3F%22%3C%26%3E%C3%A9%5C+%27Q%7E%25x",
		"JSON":                      noHTML(secret),
		"JSON for HTML":             strings.Trim(string(withHTML), `"`),
		"JSON with escaped slashes": strings.ReplaceAll(noHTML(secret), "/", `\/`),
		"JSON in ASCII":             strings.ReplaceAll(noHTML(secret), "é", `\u00e9`),
		"JSON, all escaped":         every(`\u%04x`),
		"JSON, all escaped, large":  every(`\u%04X`),
		"base64":                    base64.RawStdEncoding.EncodeToString([]byte(secret)),
		"base64 for URLs":           base64.RawURLEncoding.EncodeToString([]byte(secret)),
	} {
		t.Run(name, func(t *testing.T) {
			got := knowing(secret).Text("orders", "before "+spelled+" after")
			if got != "before [redacted] after" && !strings.HasPrefix(name, "base64") {
				t.Errorf("%q becomes %q", spelled, got)
			}
			if !strings.Contains(got, redact.Mark) || len(got) > len("before [redacted] after")+2 {
				t.Errorf("%q becomes %q", spelled, got)
			}
		})
	}
}

func lowerHex(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '%' {
			copy(b[i:i+3], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

func TestASecretIsFoundInsideALongerBase64Text(t *testing.T) {
	r := knowing("correct horse battery")
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOf(rapid.Byte()).Draw(t, "before")
		after := rapid.SliceOf(rapid.Byte()).Draw(t, "after")
		e := rapid.SampledFrom([]*base64.Encoding{
			base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding,
		}).Draw(t, "encoding")
		got := r.Text("orders", e.EncodeToString(append(append(before, "correct horse battery"...), after...)))
		if !strings.Contains(got, redact.Mark) {
			t.Fatalf("not found in %q", got)
		}
		// At most one character at each end has bits of it.
		if rest := len(got) - len(redact.Mark); rest > (len(before)+len(after)+2)/3*4+8 {
			t.Fatalf("%d characters are left of %d bytes", rest, len(before)+len(after))
		}
	})
}

func TestShortSecretsAreLeft(t *testing.T) {
	r := knowing("hello-world", "")
	if got := r.Text("orders", "hello-world"); got != "hello-world" {
		t.Errorf("got %q", got)
	}
}

func TestSecretsThatOverlapLeaveNothing(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"<abcdefghijklmnopqrstuvwxyz>", "<[redacted]>"},
		{"<abcdefghijklm>", "<[redacted]m>"},
		{"<abcdefghijklabcdefghijkl>", "<[redacted][redacted]>"},
		{"<abcdefghijk>", "<abcdefghijk>"},
		{"<klmnopqrstuvwxyz>", "<[redacted]>"},
	} {
		r := knowing("abcdefghijkl", "abcdefghijklmnop", "klmnopqrstuvwxyz")
		if got := r.Text("orders", tc.text); got != tc.want {
			t.Errorf("%q becomes %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestLinesAndPasswordsOfASecretAreSecrets(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAtoolong\nshort\n  ZZ9plural/alpha==  \r\n-----END PRIVATE KEY-----\n"
	for _, tc := range []struct{ secret, text, want string }{
		{key, key, redact.Mark},
		{key, "x MC4CAQAwBQYDK2VwBCIEIAtoolong x", "x [redacted] x"},
		{key, "x ZZ9plural/alpha== x", "x [redacted] x"},
		{key, "short", "short"},
		{key, "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----"},
		{key, strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(key), redact.Mark},
		{"a-password-of-file\n", "a-password-of-file", redact.Mark},
		{"postgres://ann:correct%20horse%21@db/x", "password correct horse! is wrong", "password [redacted] is wrong"},
		{"postgres://ann:correct%20horse%21@db/x", "for correct%20horse%21", "for [redacted]"},
		{"ann:correct-horse@tcp(db:3306)/x", "for correct-horse", "for [redacted]"},
		{"host=db password='correct horse' user=ann", "for correct horse", "for [redacted]"},
		{"Server=db;Pwd=correct-horse;", "for correct-horse", "for [redacted]"},
	} {
		if got := knowing(tc.secret).Text("orders", tc.text); got != tc.want {
			t.Errorf("%q becomes %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestAnAdapterHasItsOwnSecretsAndTheHosts(t *testing.T) {
	const orders, shop, host = "secret-of-orders", "secret-of-the-shop", "secret-of-the-host"
	text := orders + " " + shop + " " + host
	r := &redact.Redactor{}
	say := func(adapter, want string) {
		t.Helper()
		if got := r.Text(adapter, text); got != want {
			t.Errorf("%s: %q, want %q", adapter, got, want)
		}
	}
	say("orders", text)
	r.SetHost([]string{host})
	say("orders", orders+" "+shop+" [redacted]")
	r.Set("orders", []string{orders})
	r.Set("shop", []string{shop})
	say("orders", "[redacted] "+shop+" [redacted]")
	say("shop", orders+" [redacted] [redacted]")
	say("other", orders+" "+shop+" [redacted]")
	r.SetHost(nil)
	say("orders", "[redacted] "+shop+" "+host)
	r.Set("orders", nil)
	say("orders", text)
	say("shop", orders+" [redacted] "+host)
}

func TestNothingIsFoundThatIsNotThereAndAllThatIs(t *testing.T) {
	alphabet := rapid.StringMatching(`[ab]{12,16}`)
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(alphabet, 1, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[ab]{0,80}`).Draw(t, "text")
		// Naively: what any secret covers.
		covered := make([]bool, len(text)+1)
		for _, s := range secrets {
			for i := range text {
				if strings.HasPrefix(text[i:], s) {
					for j := range s {
						covered[i+j] = true
					}
				}
			}
		}
		want, got := "", strings.ReplaceAll(knowing(secrets...).Text("orders", text), redact.Mark, "#")
		for i := range text {
			if !covered[i] {
				want += text[i : i+1]
			}
		}
		if strings.ReplaceAll(got, "#", "") != want {
			t.Fatalf("%q without %q is %q", text, secrets, got)
		}
	})
}

func TestSecretsAreChangedWhileTextsAreRead(t *testing.T) {
	r := &redact.Redactor{}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 200 {
				r.Set(fmt.Sprint("adapter", i), []string{fmt.Sprintf("a secret of %d %d", i, n)})
				r.SetHost([]string{"a secret of the host", fmt.Sprint("another one ", n)})
			}
		})
		wg.Go(func() {
			for range 200 {
				_ = r.Text(fmt.Sprint("adapter", i), "a secret of 1 1")
			}
		})
	}
	wg.Wait()
	if got := r.Text("adapter1", "a secret of 1 199 a secret of the host"); got != "[redacted] [redacted]" {
		t.Errorf("got %q", got)
	}
}

func TestWithoutSecretsNothingIsDone(t *testing.T) {
	r := &redact.Redactor{}
	text, raw := strings.Repeat("x", 1<<10), []byte(`{"a":"b"}`)
	if n := testing.AllocsPerRun(100, func() {
		_ = r.Text("orders", text)
		_ = r.JSON("orders", raw)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	r.SetHost([]string{secret})
	if n := testing.AllocsPerRun(100, func() {
		_ = r.Text("orders", text)
		_ = r.JSON("orders", raw)
	}); n > 0 {
		t.Errorf("%v allocations where nothing is found", n)
	}
}

func TestTextStaysUTF8(t *testing.T) {
	r := knowing("ganz geheim: äöü", strings.Repeat("\xff", 12))
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "a") + "ganz geheim: äöü" + rapid.String().Draw(t, "b")
		if got := r.Text("orders", s); !utf8.ValidString(got) || strings.Contains(got, "geheim") {
			t.Fatalf("%q", got)
		}
	})
}

func secrets(n int) []string {
	rnd := rand.New(rand.NewPCG(1, 2))
	list := make([]string, n)
	for i := range list {
		b := make([]byte, 24)
		for j := range b {
			b[j] = byte(rnd.IntN(256))
		}
		list[i] = base64.StdEncoding.EncodeToString(b)
	}
	return list
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("A line of a text that a tool has read from somewhere, 0123456789.\n", 1<<20/66)
	for name, r := range map[string]*redact.Redactor{
		"none": {}, "20 secrets": knowing(secrets(20)...), "200 secrets": knowing(secrets(200)...),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				_ = r.Text("orders", text)
			}
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	row := `{"id":12345,"name":"A name with \"quotes\"","note":"a line\nand another","price":12.50},`
	raw := []byte("[" + strings.Repeat(row, 1<<20/len(row)) + "1]")
	plain := []byte(strings.NewReplacer(`\"`, "", `\n`, "").Replace(string(raw)))
	r := knowing(secrets(20)...)
	for name, raw := range map[string][]byte{"escaped": raw, "plain": plain} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				_ = r.JSON("orders", raw)
			}
		})
	}
}

func BenchmarkSet(b *testing.B) {
	list := secrets(20)
	r := &redact.Redactor{}
	b.ReportAllocs()
	for b.Loop() {
		r.Set("orders", list)
	}
}

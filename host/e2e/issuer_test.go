// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// builtProvider builds the OpenID provider, once, for the tests that need it. It
// is a module of its own, and not of the workspace.
var builtProvider = sync.OnceValues(func() (string, error) {
	program := filepath.Join(built, "provider")
	build := exec.Command("go", "build", "-C", "provider", "-o", program, ".")
	build.Env = append(os.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return program, nil
})

// provider is a running OpenID provider.
type provider struct {
	t      *testing.T
	issuer string
	stop   func()
}

func provide(t *testing.T, listen string) *provider {
	t.Helper()
	program, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-listen", listen)
	var said buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, stop: sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })}
	t.Cleanup(p.stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider: %v: %s", err, said.String())
	}
	p.issuer = strings.TrimSpace(line)
	return p
}

// post posts to the provider and returns what it answers.
func (p *provider) post(path, user, kind string, body io.Reader) []byte {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.issuer+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	if user != "" {
		r.SetBasicAuth(user, "secret")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s %v: %s", path, resp.Status, err, raw)
	}
	return raw
}

// token is what the provider gives a client.
func (p *provider) token(client string, scopes ...string) string {
	p.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {strings.Join(scopes, " ")}}
	var said struct {
		Token string `json:"access_token"`
	}
	raw := p.post("/oauth/token", client, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if err := json.Unmarshal(raw, &said); err != nil || said.Token == "" {
		p.t.Fatalf("%v: %s", err, raw)
	}
	return said.Token
}

// signed is a token with claims that the provider would never make, and its
// signature all the same.
func (p *provider) signed(typ string, claims map[string]any) string {
	p.t.Helper()
	raw, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(p.post("/test/sign?typ="+url.QueryEscape(typ), "", "application/json", bytes.NewReader(raw)))
}

// key is the provider's public key, and its name.
func (p *provider) key() (id string, key *rsa.PublicKey) {
	p.t.Helper()
	resp, err := http.Get(p.issuer + "/keys")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var set struct {
		Keys []struct{ Kid, N string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&set); err != nil || len(set.Keys) != 1 {
		p.t.Fatalf("%+v, %v", set, err)
	}
	n, err := base64.RawURLEncoding.DecodeString(set.Keys[0].N)
	if err != nil {
		p.t.Fatal(err)
	}
	return set.Keys[0].Kid, &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537}
}

// guarding is a host that asks for tokens of the provider, with a rule that needs a
// scope by way of its principal's name.
func guarding(t *testing.T, issuer, more string) *host {
	t.Helper()
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, auth: {issuer: %q, audience: toolwharf%s}}\n", freePort(t), issuer, more))
	install(t, "echo", plugins)
	return serve(t, dir)
}

func bearer(token string) headers { return headers{"Authorization": "Bearer " + token} }

func TestTokensOfARealProviderLetInAndNothingThatIsNearlyOne(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	h := guarding(t, p.issuer, "")
	good := p.token("desk", "read")
	s := h.connectWith(bearer(good), "", nil)
	lists(t, s, "echo_echo", true)
	if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_echo", Arguments: map[string]any{"text": "x"}}); err != nil || r.IsError {
		t.Fatalf("%v %+v", err, r)
	}
	if got := principals(t, h.dir, 1); !slices.Equal(got, []string{fmt.Sprintf(`["desk",%q,"desk"]`, p.issuer)}) {
		t.Errorf("the ledger has calls of %q", got)
	}

	claims := func(change map[string]any) map[string]any {
		now := time.Now().Unix()
		c := map[string]any{"iss": p.issuer, "aud": "toolwharf", "sub": "ada", "client_id": "desk", "iat": now, "exp": now + 300}
		maps.Copy(c, change)
		maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
		return c
	}
	kid, public := p.key()
	asPublished, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	forged := func(method jwt.SigningMethod, key any) string {
		token := jwt.NewWithClaims(method, jwt.MapClaims(claims(nil)))
		token.Header["kid"] = kid
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	now := time.Now().Unix()
	head, rest, _ := strings.Cut(good, ".")
	for name, c := range map[string]struct {
		token string
		good  bool
	}{
		"good":                              {p.signed("", claims(nil)), true},
		"good, an access token by its type": {p.signed("at+jwt", claims(nil)), true},
		"good, for several":                 {p.signed("", claims(map[string]any{"aud": []string{"x", "toolwharf"}})), true},
		"good, of a clock that is ahead":    {p.signed("", claims(map[string]any{"iat": now + 10, "nbf": now + 10})), true},
		"good, of a client alone":           {p.signed("", claims(map[string]any{"sub": nil, "client_id": nil, "azp": "desk"})), true},
		"expired":                           {p.signed("", claims(map[string]any{"exp": now - 300})), false},
		"without an end":                    {p.signed("", claims(map[string]any{"exp": nil})), false},
		"of tomorrow":                       {p.signed("", claims(map[string]any{"nbf": now + 86400})), false},
		"made tomorrow":                     {p.signed("", claims(map[string]any{"iat": now + 86400})), false},
		"for another audience":              {p.signed("", claims(map[string]any{"aud": "another"})), false},
		"for a longer audience":             {p.signed("", claims(map[string]any{"aud": "toolwharf2"})), false},
		"for nobody":                        {p.signed("", claims(map[string]any{"aud": nil})), false},
		"of another issuer":                 {p.signed("", claims(map[string]any{"iss": "https://evil.example"})), false},
		"of an issuer with a slash more":    {p.signed("", claims(map[string]any{"iss": p.issuer + "/"})), false},
		"of no issuer":                      {p.signed("", claims(map[string]any{"iss": nil})), false},
		"of nobody":                         {p.signed("", claims(map[string]any{"sub": nil, "client_id": nil})), false},
		"of a client with a line break":     {p.signed("", claims(map[string]any{"client_id": "a\nb"})), false},
		"an ID token by its type":           {p.signed("id_token+jwt", claims(nil)), false},
		"with alg none":                     {forged(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType), false},
		"with HS256 and the public key":     {forged(jwt.SigningMethodHS256, asPublished), false},
		"with HS256 and its PEM":            {forged(jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: asPublished})), false},
		"with another key of that name":     {forged(jwt.SigningMethodRS256, other), false},
		"without its signature":             {good[:strings.LastIndex(good, ".")+1], false},
		"with another header":               {base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + rest, false},
		"with a header alone":               {head, false},
	} {
		t.Run(name, func(t *testing.T) {
			status, challenge, code, message := h.refusal(t, h.url, bearer(c.token))
			if c.good {
				if status != http.StatusOK {
					t.Errorf("%d %q %q", status, code, message)
				}
				return
			}
			if status != http.StatusUnauthorized || code != "unauthorized" || !strings.Contains(challenge, `error="invalid_token"`) ||
				!strings.Contains(challenge, `resource_metadata="`) {
				t.Errorf("%d %q %q %q", status, challenge, code, message)
			}
		})
	}
	if log := h.stderr.String(); strings.Contains(log, strings.Split(good, ".")[2]) {
		t.Error("the log has a token")
	}

	// A new key is found by the first token that names it, and the old one is gone.
	p.post("/test/rotate", "", "text/plain", http.NoBody)
	if status, _, code, _ := h.refusal(t, h.url, bearer(p.token("desk"))); status != http.StatusOK {
		t.Errorf("signed with a new key: %d %s", status, code)
	}
	if status, _, _, _ := h.refusal(t, h.url, bearer(good)); status != http.StatusUnauthorized {
		t.Errorf("signed with a key that is withdrawn: %d", status)
	}
	// What is known is good without the issuer.
	token := p.token("desk")
	p.stop()
	if status, _, code, _ := h.refusal(t, h.url, bearer(token)); status != http.StatusOK {
		t.Errorf("while the issuer is away: %d %s", status, code)
	}
}

func TestAHostServesBeforeItsIssuerDoesAndLetsNobodyIn(t *testing.T) {
	t.Parallel()
	address := freePort(t)
	h := guarding(t, "http://"+address, "")
	eventually(t, "/readyz says so", func() error {
		resp, err := http.Get(strings.Replace(h.url, "/mcp", "/readyz", 1))
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		raw, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(raw, []byte("issuer http://"+address)) {
			return fmt.Errorf("%s %s %w", resp.Status, raw, err)
		}
		return nil
	})
	if status, challenge, _, _ := h.refusal(t, h.url, nil); status != http.StatusUnauthorized || !strings.Contains(challenge, "resource_metadata") {
		t.Errorf("no token: %d %q", status, challenge)
	}
	if status, _, _, _ := h.refusal(t, h.url, bearer("x.y.z")); status != http.StatusUnauthorized {
		t.Errorf("no JWT: %d", status)
	}
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	looks := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"iss": "http://" + address, "aud": "toolwharf", "sub": "x", "exp": time.Now().Unix() + 60})
	text, err := looks.SignedString(own)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, code, _ := h.refusal(t, h.url, bearer(text)); status != http.StatusServiceUnavailable || code != "issuer-unavailable" {
		t.Errorf("what cannot be told: %d %s", status, code)
	}
	p := provide(t, address)
	eventually(t, "its tokens let in", func() error {
		if status, _, code, _ := h.refusal(t, h.url, bearer(p.token("desk"))); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, code)
		}
		return nil
	})
	h.logs("toolwharf.auth", "error", "tokens cannot be checked, and their bearers are refused; it is tried again", address)
}

func TestClientsLearnWhereTokensAreFrom(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	h := guarding(t, p.issuer, "")
	base := strings.TrimSuffix(h.url, "/mcp")
	status, challenge, _, _ := h.refusal(t, h.url, nil)
	if want := fmt.Sprintf(`resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, base); status != http.StatusUnauthorized || !strings.Contains(challenge, want) {
		t.Errorf("the challenge is %s, without %s", challenge, want)
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		err = json.NewDecoder(resp.Body).Decode(&said)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || said.Resource != h.url || !slices.Equal(said.Servers, []string{p.issuer}) ||
			!slices.Equal(said.Methods, []string{"header"}) || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %s %+v %v", path, resp.Status, said, err)
		}
	}

	// A host with fixed tokens alone has nobody to send clients to.
	desk := newToken(t, "--client-id", "desk")
	dir, _ := workspace(t, fmt.Sprintf("http: {listen: %q, public_url: 'https://tools.example.com', auth: {tokens: [%s]}}\n", freePort(t), desk.entry()))
	fixed := serve(t, dir)
	resp, err := http.Get(strings.TrimSuffix(fixed.url, "/mcp") + "/.well-known/oauth-protected-resource")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if _, challenge, _, _ := fixed.refusal(t, fixed.url, nil); resp.StatusCode != http.StatusNotFound || strings.Contains(challenge, "resource_metadata") {
		t.Errorf("%s %s", resp.Status, challenge)
	}
}

func TestOpaqueTokensAreAskedAboutAndARevokedOneEnds(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	t.Run("alone", func(t *testing.T) {
		dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, auth: {issuer: %q, audience: toolwharf, introspection: "+
			"{url: %q, client_id: host, client_secret: \"${file:secret}\"}}}\n", freePort(t), p.issuer, p.issuer+"/oauth/introspect"))
		install(t, "echo", plugins)
		if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		h := serve(t, dir)
		opaque, jwt := p.token("opaque-desk", "read"), p.token("desk")
		for name, token := range map[string]string{"an opaque token": opaque, "a JWT": jwt} {
			if status, _, code, _ := h.refusal(t, h.url, bearer(token)); status != http.StatusOK {
				t.Errorf("%s: %d %s", name, status, code)
			}
		}
		for name, token := range map[string]string{"half a token": opaque[:20], "one of the host's": "twh_x"} {
			if status, challenge, _, _ := h.refusal(t, h.url, bearer(token)); status != http.StatusUnauthorized || !strings.Contains(challenge, "invalid_token") {
				t.Errorf("%s: %d %s", name, status, challenge)
			}
		}
		p.post("/test/revoke", "", "text/plain", http.NoBody)
		if status, _, code, _ := h.refusal(t, h.url, bearer(p.token("opaque-desk"))); status != http.StatusOK {
			t.Errorf("a new token: %d %s", status, code)
		}
		gone := p.token("opaque-desk")
		p.post("/test/revoke", "", "text/plain", http.NoBody)
		if status, _, _, _ := h.refusal(t, h.url, bearer(gone)); status != http.StatusUnauthorized {
			t.Errorf("one that was revoked before it was seen: %d", status)
		}
		if log := h.stderr.String(); strings.Contains(log, opaque) || strings.Contains(log, gone) {
			t.Error("the log has a token")
		}
	})
	t.Run("without its secret", func(t *testing.T) {
		dir, _ := workspace(t, fmt.Sprintf("http: {listen: %q, auth: {issuer: %q, audience: toolwharf, introspection: "+
			"{url: %q, client_id: host, client_secret: \"${file:absent}\"}}}\n", freePort(t), p.issuer, p.issuer+"/oauth/introspect"))
		if _, stderr, code := run(t, dir, "serve"); code == 0 || !strings.Contains(stderr, "http.auth.introspection.client_secret") {
			t.Errorf("exit %d: %s", code, stderr)
		}
	})
}

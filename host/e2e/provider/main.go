// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Program provider is an OpenID provider for the end-to-end tests, on a loopback
// address: zitadel/oidc's, certified by the OpenID Foundation, with what tests need
// beside it. It is a module of its own, outside the workspace: what it depends on
// never meets what is shipped.
//
// Every client id is a client, whose secret is "secret". Its tokens are JWTs for the
// audience of -audience; those of clients whose name begins with "opaque" are opaque,
// and the client "host" may introspect them, which says nothing of the end of those of
// "opaque-endless". POST /test/rotate takes another key, POST
// /test/sign signs the claims in its body whatever they are, POST /test/revoke ends
// all opaque tokens. Browsers are sent back to the URL of the latest POST /test/return,
// ID tokens have the claims of the latest POST /test/twist in place of their own, and
// nobody but test-user is granted the scope toolwharf:operate. Clients whose name
// begins with "public" have no secret.
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	audience := flag.String("audience", "toolwharf", "what tokens are for")
	flag.Parse()
	if err := serve(*listen, *audience); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(listen, audience string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	issuer := "http://" + l.Addr().String()
	host := storage.WebClient("host", "secret", issuer+"/unused")
	storage.RegisterClients(host)
	s := &shelf{Storage: storage.NewStorage(storage.NewUserStore(issuer)), audience: audience, opaque: map[string]grant{}}
	if err := s.rotate(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	server := exampleop.SetupServer(issuer, s, nil, false)
	mux.Handle("/", server)
	mux.HandleFunc("POST /oauth/token", s.twisted(server))
	mux.HandleFunc("POST /test/return", s.sendTo)
	mux.HandleFunc("POST /test/twist", s.twist)
	mux.HandleFunc("POST /test/rotate", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.rotate(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /test/sign", s.sign)
	mux.HandleFunc("POST /test/revoke", func(http.ResponseWriter, *http.Request) { s.revoke() })
	mux.HandleFunc("GET /test/asked", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, s.asked.Load()) })
	if _, err := fmt.Fprintln(os.Stdout, issuer); err != nil {
		return err
	}
	return (&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}).Serve(l)
}

var _ op.ClientCredentialsStorage = (*shelf)(nil)

// shelf is the provider's storage.
type shelf struct {
	*storage.Storage

	audience string
	asked    atomic.Int64 // introspections

	mu     sync.Mutex
	keys   int
	key    key
	opaque map[string]grant
	back   string         // where browsers are sent back to
	other  map[string]any // claims of ID tokens
}

type grant struct {
	client string
	scopes []string
	ends   time.Time
}

// key is a key of the provider, both halves.
type key struct {
	id   string
	pair *rsa.PrivateKey
}

func (k key) ID() string                                  { return k.id }
func (k key) Key() any                                    { return k.pair }
func (k key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }

// public is the half that everybody may have.
type public struct{ key }

func (p public) Key() any                           { return &p.pair.PublicKey }
func (p public) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (p public) Use() string                        { return "sig" }

func (s *shelf) rotate() error {
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys++
	s.key = key{"key" + strconv.Itoa(s.keys), pair}
	return nil
}

func (s *shelf) now() key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

func (s *shelf) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.opaque)
}

func (s *shelf) SigningKey(context.Context) (op.SigningKey, error) { return s.now(), nil }

func (s *shelf) KeySet(context.Context) ([]op.Key, error) { return []op.Key{public{s.now()}}, nil }

func (s *shelf) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

// sign signs whatever claims it is given.
func (s *shelf) sign(w http.ResponseWriter, r *http.Request) {
	var claims map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&claims); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	token, err := s.now().signed(claims, r.URL.Query().Get("typ"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprint(w, token)
}

// signed is a JWT of some type, none if that is empty.
func (k key) signed(claims map[string]any, typ string) (string, error) {
	options := &jose.SignerOptions{}
	if typ != "" {
		options.WithType(jose.ContentType(typ))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: k.pair, KeyID: k.id}}, options)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

func (s *shelf) sendTo(w http.ResponseWriter, r *http.Request) {
	to, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<10))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back = string(to)
}

func (s *shelf) twist(w http.ResponseWriter, r *http.Request) {
	var claims map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&claims); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = claims
}

// twisted puts other claims into the ID tokens that a handler gives, and signs them;
// null takes one out.
func (s *shelf) twisted(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		other := maps.Clone(s.other)
		s.mu.Unlock()
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		if id := idToken(body); id != "" && len(other) > 0 {
			var err error
			if body, err = s.changed(body, id, other); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	}
}

func idToken(answer []byte) string {
	var said struct {
		ID string `json:"id_token"`
	}
	_ = json.Unmarshal(answer, &said) // what is no JSON has none
	return said.ID
}

func (s *shelf) changed(answer []byte, id string, other map[string]any) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(id, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return nil, err
	}
	var claims, all map[string]any
	if err := errors.Join(json.Unmarshal(signed.UnsafePayloadWithoutVerification(), &claims), json.Unmarshal(answer, &all)); err != nil {
		return nil, err
	}
	maps.Copy(claims, other)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	if all["id_token"], err = s.now().signed(claims, ""); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// client is any client.
type client struct {
	op.Client

	id string
}

func (c client) GetID() string { return c.id }
func (c client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}
func (c client) isOpaque() bool { return strings.HasPrefix(c.id, "opaque") }
func (c client) AccessTokenType() op.AccessTokenType {
	if c.isOpaque() {
		return op.AccessTokenTypeBearer
	}
	return op.AccessTokenTypeJWT
}

// page is any client at which people sign in.
type page struct {
	op.Client

	id, back string
}

func (p page) RedirectURIs() []string     { return []string{p.back} }
func (p page) IsScopeAllowed(string) bool { return true }
func (p page) isPublic() bool             { return strings.HasPrefix(p.id, "public") }
func (p page) AuthMethod() oidc.AuthMethod {
	if p.isPublic() {
		return oidc.AuthMethodNone
	}
	return oidc.AuthMethodBasic
}

func (s *shelf) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return page{storage.WebClient(id, "secret"), id, s.back}, nil
}

func (s *shelf) AuthorizeClientIDSecret(_ context.Context, _, secret string) error {
	if secret != "secret" {
		return errors.New("wrong secret")
	}
	return nil
}

// visit is somebody who signs in, with what that grants.
type visit struct{ op.AuthRequest }

func (v visit) GetScopes() []string {
	return slices.DeleteFunc(slices.Clone(v.AuthRequest.GetScopes()), func(scope string) bool {
		return scope == "toolwharf:operate" && v.GetSubject() != "id1"
	})
}

func (s *shelf) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	r, err := s.Storage.AuthRequestByCode(ctx, code)
	if err != nil {
		return nil, err
	}
	return visit{r}, nil
}

func (s *shelf) ClientCredentials(_ context.Context, id, secret string) (op.Client, error) {
	if secret != "secret" {
		return nil, errors.New("wrong secret")
	}
	return client{storage.WebClient(id, secret), id}, nil
}

func (s *shelf) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	return &oidc.JWTTokenRequest{Subject: id, Audience: []string{s.audience}, Scopes: scopes}, nil
}

func (s *shelf) GetPrivateClaimsFromScopes(_ context.Context, _, _ string, scopes []string) (map[string]any, error) {
	return map[string]any{"scope": strings.Join(scopes, " "), "team": "north"}, nil
}

func (s *shelf) CreateAccessToken(ctx context.Context, r op.TokenRequest) (string, time.Time, error) {
	id, ends, err := s.Storage.CreateAccessToken(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opaque[id] = grant{r.GetSubject(), r.GetScopes(), ends}
	return id, ends, err
}

func (s *shelf) SetIntrospectionFromToken(_ context.Context, to *oidc.IntrospectionResponse, id, subject, _ string) error {
	s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.opaque[id]
	if !ok {
		return errors.New("there is no such token")
	}
	to.Subject, to.ClientID, to.Scope, to.Audience = subject, g.client, g.scopes, oidc.Audience{s.audience}
	to.TokenType = oidc.BearerToken
	if g.client != "opaque-endless" {
		to.Expiration = oidc.FromTime(g.ends)
	}
	return nil
}

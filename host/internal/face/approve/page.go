// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// byCommand is where a form does not do.
const byCommand = "On the host's machine, `toolwharf approvals approve ID --args @FILE` takes arguments of any size."

// maxForm bounds a form without arguments, in bytes.
const maxForm = 16 << 10

//go:embed style.css
var style string

var (
	styleElement = "<style>" + style + "</style>"
	policy       = "default-src 'none'; style-src '" + hashOf(style) + "'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Config is what the page is made of.
type Config struct {
	// Host is the host's name.
	Host      string
	Desk      *approval.Desk
	Operators *auth.Operators
	Sealer    Sealer
	// PublicURL is where people reach the host, empty if nobody said so.
	PublicURL string
	// Login is where people sign in who have no token; nil: nowhere.
	Login *auth.Login
	// Tool says what a tool is now: its title, and the digests that an approval of
	// it would hold for; nil: nobody knows.
	Tool func(name string) (title string, spec, origin tool.Digest, there bool)
	// MaxForm is the largest form that can be sent, in bytes.
	MaxForm int64
	Log     *slog.Logger
}

type page struct {
	Config

	public *url.URL
}

// Handler serves everything under /approve/.
func Handler(c Config) http.Handler {
	p := &page{c, publicOf(c.PublicURL)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /approve/{id}", p.show)
	mux.HandleFunc("POST /approve/{id}", p.decide)
	mux.HandleFunc("POST /approve/login", p.login)
	mux.HandleFunc("POST /approve/logout", p.logout)
	if c.Login != nil {
		mux.HandleFunc("GET /approve/start", p.start)
		mux.HandleFunc("GET /approve/callback", p.callback)
	}
	mux.HandleFunc("/approve/", p.nothing)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		// Not no-referrer: browsers would then send `Origin: null` with this page's own
		// forms too, and what sent them could not be told.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// nothing is the answer to what is not there, and to what is nobody's business:
// the two look the same.
func (p *page) nothing(w http.ResponseWriter, r *http.Request) {
	p.render(w, r, http.StatusNotFound, notice(p.frame("Nothing to decide", p.session(r)),
		"There is no such approval, or it is not yours to decide."))
}

func (p *page) frame(title string, s *session) frameOf {
	return frameOf{Host: approval.Visible(p.Host), Title: title, Session: s}
}

func (p *page) render(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var b bytes.Buffer
	if err := c.Render(r.Context(), &b); err != nil {
		p.Log.Error("approval page", "path", r.URL.Path, "error", err)
		http.Error(w, "the page could not be made; the host's log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever asked may have gone
}

func (p *page) show(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s := p.session(r)
	switch {
	case s == nil && elsewhere(r):
		f := p.frame("One moment", nil)
		f.Again = true
		p.render(w, r, http.StatusOK, notice(f, "This page opens itself again. Reload it if it does not."))
	case s == nil:
		p.askWho(w, r, id, http.StatusUnauthorized, "")
	default:
		record, err := p.Desk.Store.Approval(r.Context(), id)
		if err != nil {
			p.failed(w, r, err)
			return
		}
		p.showRecord(w, r, http.StatusOK, s, record, "", "")
	}
}

func (p *page) showRecord(w http.ResponseWriter, r *http.Request, status int, s *session, record *approval.Record, fault, draft string) {
	v := p.view(record, s, time.Now())
	v.Fault, v.Draft = approval.Visible(fault), draft
	p.render(w, r, status, decide(p.frame(v.State+": "+v.Tool, s), v))
}

// askWho asks who it is. Whether there is anything at the id is not for who has
// not said.
func (p *page) askWho(w http.ResponseWriter, r *http.Request, next string, status int, fault string) {
	if !tool.IsID(tool.PrefixApproval, next) {
		next = ""
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="toolwharf"`)
	}
	p.render(w, r, status, signIn(p.frame("Sign in", nil), p.issuer(next), next, fault))
}

// form reads a form that a page of ours has sent, of at most so many bytes.
func (p *page) form(w http.ResponseWriter, r *http.Request, most int64) bool {
	if !p.own(r) {
		p.Log.Warn("approval page: a form from elsewhere was refused", "peer", r.RemoteAddr, "origin", r.Header.Get("Origin"))
		p.render(w, r, http.StatusForbidden, notice(p.frame("Not sent from here", nil),
			"This form was not sent by a page of this host, so nothing was done."))
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	err := r.ParseForm() // which the next one would do too, but keep the error to itself
	if err == nil {
		err = r.ParseMultipartForm(most) //nolint:gosec // it is bounded above
	}
	if errors.Is(err, http.ErrNotMultipart) {
		err = nil
	}
	if r.MultipartForm != nil {
		_ = r.MultipartForm.RemoveAll()
	}
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		p.render(w, r, http.StatusRequestEntityTooLarge, notice(p.frame("Too large", nil),
			"What was sent is too large for a form. Nothing was decided. "+byCommand))
	case err != nil:
		p.render(w, r, http.StatusBadRequest, notice(p.frame("Not a form", nil), "What was sent is no form, so nothing was done."))
	default:
		return true
	}
	return false
}

func (p *page) login(w http.ResponseWriter, r *http.Request) {
	if !p.form(w, r, maxForm) {
		return
	}
	next, token := r.PostForm.Get("next"), strings.TrimSpace(r.PostForm.Get("token"))
	shows := r.Clone(r.Context()) // what an API's client would have sent
	shows.Header.Set("Authorization", "Bearer "+token)
	who, refused := p.Operators.Identify(shows)
	if refused != nil {
		p.Log.Warn("approval page: nobody was signed in", "error", refused.Code, "cause", refused.Err, "peer", r.RemoteAddr)
		p.askWho(w, r, next, http.StatusUnauthorized, "This is no token of an operator of this host.")
		return
	}
	if err := p.begin(w, r, newSession(who.Principal, p.Operators.Fingerprint()), who.Until); err != nil {
		p.failed(w, r, err)
		return
	}
	if !tool.IsID(tool.PrefixApproval, next) {
		p.render(w, r, http.StatusOK, notice(p.frame("Signed in", nil), "You are signed in. Open the link of an approval again."))
		return
	}
	seeOther(w, next)
}

func (p *page) logout(w http.ResponseWriter, r *http.Request) {
	if !p.form(w, r, maxForm) {
		return
	}
	if s := p.session(r); s != nil && s.sent(r.PostForm.Get("csrf")) {
		p.end(w, r)
	}
	p.render(w, r, http.StatusOK, notice(p.frame("Signed out", nil), "You are signed out."))
}

func (p *page) decide(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s := p.session(r)
	if s == nil && p.own(r) {
		p.askWho(w, r, id, http.StatusUnauthorized, "You are not signed in any more. Nothing was decided.")
		return
	}
	if !p.form(w, r, p.MaxForm) {
		return
	}
	if !s.sent(r.PostForm.Get("csrf")) {
		p.render(w, r, http.StatusForbidden, notice(p.frame("Not sent from here", s),
			"This form was not made for you. Open the page again; nothing was decided."))
		return
	}
	d := approval.Decision{Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	draft := ""
	switch r.PostForm.Get("decision") {
	case "approve":
		d.Approve = true
	case "edit":
		draft = r.PostForm.Get("arguments")
		d.Approve, d.Edited = true, compact(draft)
		if len(d.Edited) == 0 {
			p.refused(w, r, s, &approval.FaultError{Text: "there are no arguments"}, "")
			return
		}
	case "deny":
	default:
		p.render(w, r, http.StatusBadRequest, notice(p.frame("No decision", s), "The form says neither yes nor no. Nothing was decided."))
		return
	}
	if _, err := p.Desk.Decide(r.Context(), id, s.who, d); err != nil {
		p.refused(w, r, s, err, draft)
		return
	}
	seeOther(w, id)
}

// refused shows why a decision is none, and the approval as it is now.
func (p *page) refused(w http.ResponseWriter, r *http.Request, s *session, err error, draft string) {
	var status *approval.StatusError
	var fault *approval.FaultError
	var code int
	var says string
	switch {
	case errors.As(err, &fault):
		code, says = http.StatusUnprocessableEntity, "Nothing was decided: "+fault.Text
	case errors.As(err, &status):
		code, says, draft = http.StatusConflict, "Nothing was decided by you: it was not waiting any more.", ""
	case errors.Is(err, approval.ErrSelf):
		code, says, draft = http.StatusForbidden, "Nothing was decided: whoever asked for a call may not approve it.", ""
	case errors.Is(err, approval.ErrNotApprover):
		code, says, draft = http.StatusForbidden, "Nothing was decided: approval.approvers does not let you decide about this call.", ""
	default:
		p.failed(w, r, err)
		return
	}
	record, err := p.Desk.Store.Approval(r.Context(), r.PathValue("id"))
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.showRecord(w, r, code, s, record, says, draft)
}

// failed is what went wrong that is nobody's doing here.
func (p *page) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, approval.ErrNone) || errors.Is(err, approval.ErrNotOperator) {
		p.nothing(w, r)
		return
	}
	p.Log.Error("approval page", "path", r.URL.Path, "error", err)
	p.render(w, r, http.StatusInternalServerError, notice(p.frame("Something failed", p.session(r)),
		"The host's log says what. Open the page again to see whether a decision was taken."))
}

// seeOther sends the browser to an approval. The location is relative, since a
// proxy may have another path for this host.
func seeOther(w http.ResponseWriter, id string) {
	w.Header().Set("Location", id)
	w.WriteHeader(http.StatusSeeOther)
}

// compact takes the white space out that makes arguments readable. What is no JSON
// stays as it is, for others to refuse.
func compact(text string) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return bytes.TrimSpace([]byte(text))
	}
	return b.Bytes()
}

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package approve is the page at /approve/{id}, on which a person decides about
// one call. A link to it grants nothing: who opens it signs in first, and sees
// only then whether there is such an approval.
//
//	GET /approve/{id}       shows; it changes nothing
//	POST /approve/{id}      decides
//	POST /approve/login     signs in, with the operator token or that of a bearer of the scope
//	POST /approve/logout    signs out
//	GET /approve/start      sends the browser to the issuer, where people sign in
//	GET /approve/callback   signs in who comes back from there
//
// What a page elsewhere could do to a browser that is signed in:
//
//   - send a form: it has another Origin, and no token of the session
//   - show the page in a frame: frame-ancestors 'none'
//   - bring its script in: there is none, and the policy lets none run
//
// Cookies know no ports, so what serves another port of the same host name may see
// that of the session. A host that people reach by a name of its own
// (http.public_url) shares it with nobody.
//
// Everything that a caller, a model or an adapter has written is shown so that a
// person sees what is there: see approval.Readable.
package approve

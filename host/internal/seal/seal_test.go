// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	now   = time.Unix(1_800_000_000, 0)
	later = now.Add(10 * time.Minute)
	one   = bytes.Repeat([]byte{1}, MinKey)
	two   = bytes.Repeat([]byte{2}, MinKey)
)

func sealer(t testing.TB, audience string, secrets ...[]byte) *Sealer {
	t.Helper()
	s, err := New(audience, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsSealedOpensForTheSamePurposeUntilItsTime(t *testing.T) {
	s := sealer(t, "host", one)
	state := s.Seal("approve", []byte("payload"), later)
	if got, err := s.Open("approve", state, later.Add(-time.Second)); err != nil || string(got) != "payload" {
		t.Errorf("open: %q, %v", got, err)
	}
	if strings.Contains(state, "payload") {
		t.Error("the payload can be read")
	}
	if again := s.Seal("approve", []byte("payload"), later); again == state {
		t.Error("the same twice: the nonce is not fresh")
	}
	for name, c := range map[string]struct {
		s       *Sealer
		purpose string
		at      time.Time
		want    error
	}{
		"at its time":      {s, "approve", later, ErrExpired},
		"another purpose":  {s, "question", now, ErrInvalid},
		"another audience": {sealer(t, "other", one), "approve", now, ErrInvalid},
		"another secret":   {sealer(t, "host", two), "approve", now, ErrInvalid},
		// "host" + "approve" and "hosta" + "pprove" are not the same.
		"a shifted border": {sealer(t, "hosta", one), "pprove", now, ErrInvalid},
	} {
		if _, err := c.s.Open(c.purpose, state, c.at); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, should be %v", name, err, c.want)
		}
	}
}

func TestASecretIsRotatedWithoutLosingOpenStates(t *testing.T) {
	old := sealer(t, "host", one).Seal("p", []byte("x"), later)
	rotated := sealer(t, "host", two, one)
	if _, err := rotated.Open("p", old, now); err != nil {
		t.Errorf("an open state after the rotation: %v", err)
	}
	if _, err := sealer(t, "host", two).Open("p", rotated.Seal("p", nil, later), now); err != nil {
		t.Errorf("the new secret does not seal: %v", err)
	}
}

func TestEveryChangedByteIsRefused(t *testing.T) {
	s := sealer(t, "host", one)
	state := s.Seal("p", []byte("x"), later)
	for i := range len(state) {
		for _, c := range []byte{'A', 'B', '.', '=', 0} {
			changed := []byte(state)
			if changed[i] == c {
				continue
			}
			changed[i] = c
			if _, err := s.Open("p", string(changed), now); !errors.Is(err, ErrInvalid) {
				t.Fatalf("byte %d as %q: %v", i, c, err)
			}
		}
	}
	for _, state := range []string{"", "v1.", "v2." + state[3:], state + "A", state + state, strings.Repeat("A", MaxState+1)} {
		if _, err := s.Open("p", state, now); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.20q: %v", state, err)
		}
	}
}

func TestShortSecretsAreRefused(t *testing.T) {
	if _, err := New("host"); err == nil {
		t.Error("no secret was taken")
	}
	if _, err := New("host", one, one[:MinKey-1]); err == nil || !strings.Contains(err.Error(), "secret 2") {
		t.Errorf("a short secret: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	s := sealer(f, "host", one)
	f.Add(s.Seal("p", []byte("x"), later))
	f.Add("v1.AAAA")
	f.Fuzz(func(t *testing.T, state string) {
		got, err := s.Open("p", state, now)
		if err == nil && string(got) != "x" {
			t.Errorf("opened what was never sealed: %q", got)
		}
	})
}

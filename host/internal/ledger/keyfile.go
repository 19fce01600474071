// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files of keys are PEM: PKCS#8 for a signing key, PKIX for a public one, as
// openssl reads and writes them, and 32 bytes of our own type for the key of
// digests.
const (
	pemPrivate = "PRIVATE KEY"
	pemPublic  = "PUBLIC KEY"
	pemDigest  = "TOOLWHARF DIGEST KEY"

	digestKeySize = 32
	maxKeyFile    = 64 << 10
)

// LoadOrCreateSigner returns the signer whose key is in the file at path, a new
// one if there is no file: whoever creates it first, all processes get the same.
// The public key lies beside it, in the same name with ".pub", for those who
// verify elsewhere.
//
// It refuses a file that another user owns or that others than its owner may
// read or write, and a directory that does not exist.
func LoadOrCreateSigner(path string) (*Signer, error) {
	var s *Signer
	err := LoadOrCreate(path, func() ([]byte, error) {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), nil
	}, func(content []byte) (err error) {
		s, err = parseSigner(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger key %s: %w", path, err)
	}
	if err := publish(path+".pub", s.public); err != nil {
		return nil, fmt.Errorf("ledger key %s.pub: %w", path, err)
	}
	return s, nil
}

// LoadOrCreateKey returns the 32 bytes in the file at path that [NewKeyer]
// takes, new ones if there is no file. Otherwise it is as LoadOrCreateSigner.
func LoadOrCreateKey(path string) ([]byte, error) {
	var key []byte
	err := LoadOrCreate(path, func() ([]byte, error) {
		fresh := make([]byte, digestKeySize)
		_, _ = rand.Read(fresh) // never fails
		return pem.EncodeToMemory(&pem.Block{Type: pemDigest, Bytes: fresh}), nil
	}, func(content []byte) (err error) {
		key, err = parseDigestKey(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("digest key %s: %w", path, err)
	}
	return key, nil
}

// LoadVerifier returns a verifier with the keys in the files: public keys, any
// number in one file, or a signing key, of which the public half is taken.
func LoadVerifier(paths ...string) (*Verifier, error) {
	var keys []ed25519.PublicKey
	for _, path := range paths {
		content, err := readBounded(path)
		if err == nil {
			var more []ed25519.PublicKey
			more, err = ParsePublicKeys(content)
			keys = append(keys, more...)
		}
		if err != nil {
			return nil, fmt.Errorf("ledger key %s: %w", path, err)
		}
	}
	return NewVerifier(keys...), nil
}

// ParsePublicKeys reads PEM blocks: PUBLIC KEY, or PRIVATE KEY for its public
// half, each Ed25519. Anything else between them is an error.
func ParsePublicKeys(content []byte) ([]ed25519.PublicKey, error) {
	var keys []ed25519.PublicKey
	for rest := bytes.TrimSpace(content); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		block, after := pem.Decode(rest)
		if block == nil || !bytes.HasPrefix(rest, []byte("-----BEGIN ")) {
			return nil, errors.New("not a key in PEM")
		}
		rest = after
		switch block.Type {
		case pemPublic:
			parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("not a public key: %w", err)
			}
			key, ok := parsed.(ed25519.PublicKey)
			if !ok {
				return nil, errors.New("not an Ed25519 key")
			}
			keys = append(keys, key)
		case pemPrivate:
			private, err := parsePrivate(block.Bytes)
			if err != nil {
				return nil, err
			}
			keys = append(keys, NewSigner(private).public)
		default:
			return nil, fmt.Errorf("a %q, where a key of the ledger belongs", block.Type)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("no key in it")
	}
	return keys, nil
}

func parseSigner(content []byte) (*Signer, error) {
	der, err := onlyBlock(content, pemPrivate)
	if err != nil {
		return nil, err
	}
	private, err := parsePrivate(der)
	if err != nil {
		return nil, err
	}
	return NewSigner(private), nil
}

func parsePrivate(der []byte) (ed25519.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("not a signing key: %w", err)
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("not an Ed25519 key")
	}
	return private, nil
}

func parseDigestKey(content []byte) ([]byte, error) {
	key, err := onlyBlock(content, pemDigest)
	if err == nil && len(key) != digestKeySize {
		err = fmt.Errorf("it has %d bytes, not %d", len(key), digestKeySize)
	}
	if err != nil {
		return nil, err
	}
	return key, nil
}

// onlyBlock returns the content of the one PEM block that a file has.
func onlyBlock(content []byte, kind string) ([]byte, error) {
	content = bytes.TrimSpace(content)
	block, rest := pem.Decode(content)
	switch {
	case block == nil || !bytes.HasPrefix(content, []byte("-----BEGIN ")) || len(bytes.TrimSpace(rest)) > 0:
		return nil, fmt.Errorf("not one %q in PEM", kind)
	case block.Type != kind:
		return nil, fmt.Errorf("a %q, where a %q belongs", block.Type, kind)
	default:
		return block.Bytes, nil
	}
}

// LoadOrCreate reads the file of a secret at path; if there is none, it writes
// what fresh returns. The new file gets its name only when it is complete, and only if no
// other process was first, whose file is then read. It refuses what
// LoadOrCreateSigner refuses.
func LoadOrCreate(path string, fresh func() ([]byte, error), parse func([]byte) error) error {
	content, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		var made []byte
		if made, err = fresh(); err != nil {
			return err
		}
		if err := create(path, made, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		content, err = readPrivate(path)
	}
	if err != nil {
		return err
	}
	return parse(content)
}

// create writes a file that is complete and on the disk before it has its name.
// It returns fs.ErrExist if there is one of that name: a link does not replace,
// where a rename would.
func create(path string, content []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, ".new-key-*") // O_EXCL, 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.Write(content)
	if err := errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// publish writes the public key beside the private one, unless it is there.
func publish(path string, public ed25519.PublicKey) error {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return err
	}
	content := pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: der})
	err = create(path, content, 0o644)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	is, err := readBounded(path)
	if err == nil && !bytes.Equal(is, content) {
		err = errors.New("it is of another key; remove it if the key was changed on purpose")
	}
	return err
}

// readPrivate reads a file that is for its owner's eyes only, and that this
// process's user owns.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := guardKey(info); err != nil {
		return nil, err
	}
	return readAll(f)
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(f *os.File) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(content) > maxKeyFile {
		err = errors.New("too large for a key")
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

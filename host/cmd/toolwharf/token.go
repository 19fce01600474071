// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/toolwharf/toolwharf/host/internal/auth"
)

// maxTokenName is the longest client id and subject that a configuration takes.
const maxTokenName = 256

// tokenEntry is an item of http.auth.tokens.
type tokenEntry struct {
	SHA256   string   `json:"sha256" yaml:"sha256"`
	ClientID string   `json:"client_id" yaml:"client_id"`
	Subject  string   `json:"subject,omitempty" yaml:"subject,omitempty"`
	Scopes   []string `json:"scopes,omitempty" yaml:"scopes,omitempty"`
}

func (p *program) tokens() *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Make bearer tokens for clients over HTTP"}
	c.AddCommand(p.tokenNew())
	return c
}

func (p *program) tokenNew() *cobra.Command {
	var entry tokenEntry
	c := &cobra.Command{
		Use: "new", Short: "Make a token, and the entry by which the host knows it", Args: cobra.NoArgs,
		Example: "  toolwharf token new --client-id desk --subject ada",
		Long: "New prints a bearer token of 32 random bytes, and the entry for http.auth.tokens that has its SHA-256.\n" +
			"The token itself is printed once and kept nowhere.",
		RunE: func(c *cobra.Command, _ []string) error {
			if entry.ClientID == "" {
				return &usageError{errors.New("--client-id is missing: it says who holds the token")}
			}
			for flag, text := range map[string]string{"--client-id": entry.ClientID, "--subject": entry.Subject} {
				if len(text) > maxTokenName {
					return &usageError{fmt.Errorf("%s has more than %d bytes", flag, maxTokenName)}
				}
			}
			var token string
			token, entry.SHA256 = auth.NewToken()
			if p.json {
				return print(c, struct {
					Token string `json:"token"`
					tokenEntry
				}{token, entry})
			}
			text, err := yaml.Marshal(map[string]any{"http": map[string]any{"auth": map[string]any{"tokens": []tokenEntry{entry}}}})
			if err != nil {
				return fmt.Errorf("entry: %w", err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n\n# The client sends that as Authorization: Bearer <token>. It is shown this once.\n"+
				"# The host knows it by this entry in toolwharf.yaml, from its next start on:\n%s", token, text)
			return err
		},
	}
	c.Flags().StringVar(&entry.ClientID, "client-id", "", "`ID` of who holds the token")
	c.Flags().StringVar(&entry.Subject, "subject", "", "on whose behalf (`NAME`) the holder acts")
	c.Flags().StringArrayVar(&entry.Scopes, "scope", nil, "a `SCOPE` of the token; may be given several times")
	return c
}

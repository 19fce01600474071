package main

import (
	"testing"
)

func TestGreet(t *testing.T) {
	g, err := open(t.Context(), config{Greeting: "Ahoy"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.greet(t.Context(), greetIn{Name: "Ada"})
	if err != nil || out.Text != "Ahoy, Ada!" {
		t.Errorf("got %q, %v", out.Text, err)
	}
	if _, err := g.greet(t.Context(), greetIn{}); err == nil {
		t.Error("nobody was greeted")
	}
}

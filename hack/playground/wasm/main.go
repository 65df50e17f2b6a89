// SPDX-License-Identifier: Apache-2.0

//go:build js && wasm

// Command wasm is package playground for a Web Worker: it sets the functions ask and choices of the global object llamastack,
// which take and return JSON, and never ends.
package main

import (
	"context"
	"encoding/json"
	"syscall/js"

	"github.com/llamastack/llama-stack-k8s-operator/internal/playground"
)

func main() {
	engine, err := playground.New()
	if err != nil {
		panic(err) // the embedded CustomResourceDefinition is wrong, which tests exclude
	}
	js.Global().Set("llamastack", map[string]any{
		"ask":     function(func(q playground.Question) (any, error) { return engine.Ask(context.Background(), q) }),
		"choices": function(func(at playground.Place) (any, error) { return engine.Choices(at), nil }),
	})
	select {}
}

// function makes a function of one JSON text from one of Go. It returns a JSON object with either result or error.
func function[T any](of func(T) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		var in T
		var result any
		err := json.Unmarshal([]byte(args[0].String()), &in)
		if err == nil {
			result, err = of(in)
		}
		answer := map[string]any{"result": result}
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return `{"error":"the answer cannot be written"}`
		}
		return string(text)
	})
}

// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

// Command wasm is package playground as a WebAssembly module whose functions take and return JSON.
//
// The caller gets memory from input, writes a request there, and calls ask or choices, which return the size of the
// response at output: an object with either result or error. There is no activity between two calls, so snapshot.mjs
// can stop the module after a call and keep its memory.
package main

import (
	"context"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"unsafe"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/playground"
)

// growth is the percentage by which the heap grows before a garbage collection: memory is cheaper than the reader's
// time.
const growth = 400

var (
	engine   = start()
	question []byte
	answer   []byte
)

func start() *playground.Engine {
	e, err := playground.New()
	if err != nil {
		panic(err) // the built-in settings are wrong, which tests exclude
	}
	return e
}

func main() {}

//go:wasmexport input
func input(size uint32) unsafe.Pointer {
	question = make([]byte, size)
	return unsafe.Pointer(unsafe.SliceData(question))
}

//go:wasmexport output
func output() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(answer)) }

//go:wasmexport ask
func ask() uint32 {
	return respond(func(q playground.Request) (any, error) { return engine.Run(context.Background(), q) })
}

//go:wasmexport choices
func choices() uint32 {
	return respond(func(at playground.Position) (any, error) { return engine.Complete(at), nil })
}

// settle prepares for a snapshot: it frees all memory that later calls do not need.
//
//go:wasmexport settle
func settle() {
	question, answer = nil, nil
	runtime.GC()
	runtime.GC() // frees what the first one finalized
	clearFree()
	runtime.GC()
	debug.SetGCPercent(growth)
}

// clearFree zeroes unused memory, which a snapshot omits, by allocating all of it in smaller and smaller blocks.
func clearFree() {
	var taken [][]byte
	for size := 1 << 20; size >= 8<<10; size /= 2 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for after = before; after.HeapSys == before.HeapSys; runtime.ReadMemStats(&after) {
			taken = append(taken, make([]byte, size))
		}
	}
	runtime.KeepAlive(taken)
}

func respond[T any](of func(T) (any, error)) uint32 {
	var in T
	var result any
	err := json.Unmarshal(question, &in)
	if err == nil {
		result, err = of(in)
	}
	content := map[string]any{"result": result}
	if err != nil {
		content = map[string]any{"error": err.Error()}
	}
	if answer, err = json.Marshal(content); err != nil {
		answer = []byte(`{"error":"the answer cannot be written"}`)
	}
	return uint32(len(answer))
}

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

// gcPercent lets the heap grow far before a garbage collection: memory is cheaper than the reader's time.
const gcPercent = 400

var (
	engine   = start()
	request  []byte
	response []byte
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
	request = make([]byte, size)
	return unsafe.Pointer(unsafe.SliceData(request))
}

//go:wasmexport output
func output() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(response)) }

//go:wasmexport ask
func runRequest() uint32 {
	return respond(func(r playground.Request) (any, error) { return engine.Run(context.Background(), r) })
}

//go:wasmexport choices
func complete() uint32 {
	return respond(func(p playground.Position) (any, error) { return engine.Complete(p), nil })
}

// prepareSnapshot prepares for a snapshot: it frees all memory that later calls do not need.
//
//go:wasmexport settle
func prepareSnapshot() {
	request, response = nil, nil
	runtime.GC()
	runtime.GC() // frees what the first one finalized
	zeroFreeMemory()
	runtime.GC()
	debug.SetGCPercent(gcPercent)
}

// zeroFreeMemory zeroes unused memory, which a snapshot omits, by allocating all of it in smaller and smaller blocks.
func zeroFreeMemory() {
	var blocks [][]byte
	for size := 1 << 20; size >= 8<<10; size /= 2 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for after = before; after.HeapSys == before.HeapSys; runtime.ReadMemStats(&after) {
			blocks = append(blocks, make([]byte, size))
		}
	}
	runtime.KeepAlive(blocks)
}

func respond[T any](handle func(T) (any, error)) uint32 {
	var in T
	var result any
	err := json.Unmarshal(request, &in)
	if err == nil {
		result, err = handle(in)
	}
	content := map[string]any{"result": result}
	if err != nil {
		content = map[string]any{"error": err.Error()}
	}
	if response, err = json.Marshal(content); err != nil {
		response = []byte(`{"error":"the response cannot be encoded"}`)
	}
	return uint32(len(response))
}

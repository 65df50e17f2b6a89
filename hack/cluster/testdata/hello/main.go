// SPDX-License-Identifier: Apache-2.0

// Command hello answers HTTP requests on port 8080; "hello get URL" makes one.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "get" {
		client := &http.Client{Timeout: 5 * time.Second}
		response, err := client.Get(os.Args[2])
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, _ = io.Copy(os.Stdout, response.Body)
		return
	}
	fmt.Println("listening")
	err := http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "hello")
	}))
	fmt.Println(err)
	os.Exit(1)
}

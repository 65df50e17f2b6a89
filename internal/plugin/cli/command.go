// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

const (
	// ExitOK means that there are no errors; there may be warnings.
	ExitOK = 0
	// ExitFailure means that the input has errors.
	ExitFailure = 1
	// ExitUsage means that the command line is invalid.
	ExitUsage = 2
)

// InputError is an error in a verb's input, not in the command line.
type InputError struct {
	// Err is the cause; nil if the verb has printed it.
	Err error
	// Code is the exit code; 0 means Wrong.
	Code int
}

// Error returns the message of the cause.
func (f *InputError) Error() string {
	if f.Err == nil {
		return "there are errors"
	}
	return f.Err.Error()
}

// Unwrap returns the cause.
func (f *InputError) Unwrap() error { return f.Err }

// Fail wraps an error as an InputError; nil stays nil.
func Fail(err error) error {
	if err == nil {
		return nil
	}
	return &InputError{Err: err}
}

// FailWith returns an InputError with an exit code.
func FailWith(code int, err error) error { return &InputError{Err: err, Code: code} }

// Finish prints the error unless the verb has done so, and returns the exit code. hint refers to the command's help.
func Finish(err error, streams Streams, hint string) int {
	var failure *InputError
	switch {
	case err == nil:
		return ExitOK
	case !errors.As(err, &failure):
		_, _ = fmt.Fprintf(streams.Err, "error: %v\n%s\n", err, hint)
		return ExitUsage
	case failure.Err != nil:
		_, _ = fmt.Fprintf(streams.Err, "error: %v\n", failure.Err)
	}
	if failure.Code != ExitOK {
		return failure.Code
	}
	return ExitFailure
}

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

// The exit codes.
const (
	// OK: everything is as it should be; there may be warnings.
	OK = 0
	// Wrong: a file or a resource is wrong.
	Wrong = 1
	// WrongUsage: the command line is wrong; nothing was looked at.
	WrongUsage = 2
)

// InputError is the error of a verb that has found something wrong with what it was given, not with how it was called.
type InputError struct {
	// Err reports what is wrong; nil where the verb has said so itself.
	Err error
	// Code is the exit code; 0 stands for Wrong.
	Code int
}

// Error returns what is wrong.
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

// FailWith wraps an error as an InputError with an exit code of its own.
func FailWith(code int, err error) error { return &InputError{Err: err, Code: code} }

// Finish reports the error, where the verb has not, and returns the exit code. The hint names the help of the command.
func Finish(err error, streams Streams, hint string) int {
	var failure *InputError
	switch {
	case err == nil:
		return OK
	case !errors.As(err, &failure):
		_, _ = fmt.Fprintf(streams.Err, "error: %v\n%s\n", err, hint)
		return WrongUsage
	case failure.Err != nil:
		_, _ = fmt.Fprintf(streams.Err, "error: %v\n", failure.Err)
	}
	if failure.Code != OK {
		return failure.Code
	}
	return Wrong
}

// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"flag"
	"io"
	"strconv"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// MaxVerbosity is the highest verbosity: from 8 on, client-go logs the bodies of requests, including Secrets.
const MaxVerbosity = 7

// FlagLevel is the name of the flag with the log level.
const FlagLevel = "zap-log-level"

// Options are the options of the logger.
type Options struct {
	zap   zap.Options
	level cappedLevel
}

// BindFlags adds controller-runtime's flags of the logger, with the level limited to MaxVerbosity.
func (o *Options) BindFlags(flags *flag.FlagSet) {
	var all flag.FlagSet
	o.zap.BindFlags(&all)
	all.VisitAll(func(f *flag.Flag) {
		if f.Name == FlagLevel {
			o.level.Value = f.Value
			flags.Var(&o.level, f.Name, f.Usage+". Levels above "+strconv.Itoa(MaxVerbosity)+" are treated as "+
				strconv.Itoa(MaxVerbosity)+", because they would print the bodies of requests, including Secrets.")
			return
		}
		flags.Var(f.Value, f.Name, f.Usage)
	})
}

// Logger returns a logger that writes to w. It logs whether the level was lowered.
func (o *Options) Logger(w io.Writer) logr.Logger {
	log := zap.New(zap.UseFlagOptions(&o.zap), zap.WriteTo(w))
	if o.level.requested > MaxVerbosity {
		log.Info("log level lowered: higher levels print the bodies of requests, Secrets included",
			"flag", "--"+FlagLevel, "requested", o.level.requested, "level", MaxVerbosity)
	}
	return log
}

type cappedLevel struct {
	flag.Value
	requested int // the given number; 0 for a name
}

// Set sets the level by name or number.
func (l *cappedLevel) Set(text string) error {
	l.requested = 0
	if number, err := strconv.Atoi(text); err == nil {
		l.requested = number
	}
	if l.requested > MaxVerbosity {
		text = strconv.Itoa(MaxVerbosity)
	}
	return l.Value.Set(text)
}

// String returns the level. The flag package calls it on a zero value.
func (l *cappedLevel) String() string {
	if l.Value == nil {
		return ""
	}
	return l.Value.String()
}

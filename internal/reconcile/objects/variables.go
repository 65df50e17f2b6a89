// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"
	"strings"
)

var (
	// configVariables locate the configuration for the start scripts and the server.
	configVariables = []string{
		"RUN_CONFIG_PATH", "LLAMA_STACK_CONFIG", "OGX_CONFIG", "LLAMA_STACK_CONFIG_DIR", "OGX_CONFIG_DIR", "DISTRO_NAME",
		"CLI_NAME", "PACKAGE_NAME",
	}
	// codeVariables and codePrefixes are variables by which shells, the linker and OpenSSL find programs and libraries.
	codeVariables = []string{
		"PATH", "HOME", "ENV", "IFS", "PS4", "SHELLOPTS", "BASHOPTS", "GCONV_PATH", "OPENSSL_CONF", "OPENSSL_ENGINES",
		"OPENSSL_MODULES",
	}
	codePrefixes = []string{"PYTHON", "LD_", "BASH_", "GLIBC_"}
	// harmlessPythonVariables are Python's variables that load no code.
	harmlessPythonVariables = []string{
		"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED",
		"PYTHONFAULTHANDLER", "PYTHONTRACEMALLOC",
		"PYTHONMALLOC", "PYTHONASYNCIODEBUG", "PYTHONOPTIMIZE", "PYTHONDEBUG", "PYTHONVERBOSE", "PYTHONDEVMODE",
		"PYTHONNODEBUGRANGES",
	}
)

// SelectsCode reports whether a variable decides which code or configuration a server's image runs.
func SelectsCode(variable string) bool {
	return slices.Contains(configVariables, variable) || slices.Contains(codeVariables, variable) ||
		slices.ContainsFunc(codePrefixes, func(prefix string) bool { return strings.HasPrefix(variable, prefix) }) &&
			!slices.Contains(harmlessPythonVariables, variable)
}

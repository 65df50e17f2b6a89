# SPDX-License-Identifier: Apache-2.0

# Generators and linters, built on demand from the versions in hack/tools/go.mod, hack/tools/lint/go.mod,
# hack/tools/prose/go.mod (vale, partly C and C++) and hack/tools/mutation/go.mod (gremlins). The cache directory's name
# is a hash of the inputs, so binaries are built once and never outdated. The linter has its own module, so that
# generating does not wait for it.

sha256 := $(shell command -v sha256sum >/dev/null 2>&1 && echo sha256sum || echo shasum -a 256)
tools-key = $(shell (go env GOVERSION GOHOSTOS GOHOSTARCH; cat $(1)) | $(sha256) | cut -c1-16)

GENERATORS_DIR := $(CACHE)/tools/$(call tools-key,hack/tools/go.mod hack/tools/go.sum hack/tools/crdgen/*.go)
GENERATORS := $(GENERATORS_DIR)/.built
CONTROLLER_GEN := $(GENERATORS_DIR)/controller-gen
CRDGEN := $(GENERATORS_DIR)/crdgen
CRD_REF_DOCS := $(GENERATORS_DIR)/crd-ref-docs
KUSTOMIZE := $(GENERATORS_DIR)/kustomize
GOTESTSUM := $(GENERATORS_DIR)/gotestsum

LINT_DIR := $(CACHE)/tools/$(call tools-key,hack/tools/lint/go.mod hack/tools/lint/go.sum)
GOLANGCI_LINT := $(LINT_DIR)/golangci-lint

PROSE_DIR := $(CACHE)/tools/$(call tools-key,hack/tools/prose/go.mod hack/tools/prose/go.sum)
VALE := $(PROSE_DIR)/vale

MUTATION_DIR := $(CACHE)/tools/$(call tools-key,hack/tools/mutation/go.mod hack/tools/mutation/go.sum)
GREMLINS := $(MUTATION_DIR)/gremlins

# Tools run on this machine, whatever the operator's platform, and one of them needs cgo.
build-tools = env -u CGO_ENABLED GOOS= GOARCH= GOFLAGS= go build -o

$(GENERATORS):
	@echo "building the generators into $(GENERATORS_DIR)"
	@mkdir -p $(GENERATORS_DIR)
	@cd hack/tools && $(build-tools) $(GENERATORS_DIR)/ tool ./crdgen
	@touch $@

# gotestsum is in the generators' module, but tests do not wait for the generators.
$(GOTESTSUM):
	@mkdir -p $(GENERATORS_DIR)
	@cd hack/tools && $(build-tools) $@ gotest.tools/gotestsum

$(GOLANGCI_LINT):
	@echo "building the linter into $(LINT_DIR); the first time takes minutes"
	@mkdir -p $(LINT_DIR)
	@cd hack/tools/lint && $(build-tools) $(LINT_DIR)/ tool

$(VALE):
	@command -v $${CC:-gcc} >/dev/null && command -v $${CXX:-g++} >/dev/null || \
		{ echo "the prose linter is partly C and C++: install gcc and g++, or set CC and CXX" >&2; exit 1; }
	@echo "building the prose linter into $(PROSE_DIR)"
	@mkdir -p $(PROSE_DIR)
	@cd hack/tools/prose && $(build-tools) $(PROSE_DIR)/ tool

$(GREMLINS):
	@echo "building the mutation tester into $(MUTATION_DIR)"
	@mkdir -p $(MUTATION_DIR)
	@cd hack/tools/mutation && $(build-tools) $(MUTATION_DIR)/ tool

.PHONY: tools
tools: $(GENERATORS) $(GOLANGCI_LINT)

# SPDX-License-Identifier: Apache-2.0

# "make" lists the targets. Everything is built from source with the Go toolchain; outside the checkout, only the cache
# is written (LLSD_CACHE, XDG_CACHE_HOME or ~/.cache, in this order).

MODULE := github.com/llamastack/llama-stack-k8s-operator

# The release. IMG is the image reference in the install manifest.
VERSION ?= $(shell cat VERSION 2>/dev/null)
IMG ?= quay.io/llamastack/llama-stack-k8s-operator:v$(VERSION)
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)

# RACE=1 runs the unit tests with the race detector, which needs cgo and a C compiler.
RACE ?=
# Tests and programs share one build, without cgo and without the path of the checkout, as in a release.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
ifeq ($(RACE),)
export CGO_ENABLED ?= 0
endif
# TESTFLAGS is added to every go test, for example TESTFLAGS='-run TestName -v'.
TESTFLAGS ?=
# RERUN=1 runs a failed test once more, alone; if it passes then, it is reported as flaky, and the run passes
# (hack/make/gotest.sh).
RERUN ?=
E2E_TIMEOUT ?= 60m
FUZZTIME ?= 10m

BIN := $(CURDIR)/bin
CACHE := $(or $(LLSD_CACHE),$(XDG_CACHE_HOME),$(HOME)/.cache)/llama-stack-k8s-operator

# Generators, linters, the cluster and the image packer have their own modules, so that the operator's module does not
# require them. The modules of the oldest Kubernetes and of Contour have no code; only test-oldest and test-e2e download
# their requirements.
MODULES = $(shell find . -name go.mod -not -path './.git/*' -not -path './bin/*' -not -path './hack/cluster/oldest/*' -not -path './tests/e2e/contour/*' -exec dirname {} \; | sort)
# The modules that pin one tool each have no code.
CODE_MODULES = $(filter-out ./hack/tools/lint ./hack/tools/prose ./hack/tools/mutation ./hack/tools/vuln,$(MODULES))

include hack/make/tools.mk

# $(GO_TEST) DIR "PACKAGES" FLAG... runs "go test"; targets that use it have the prerequisite $(TESTER).
GO_TEST = RERUN='$(if $(RERUN),$(GOTESTSUM))' hack/make/gotest.sh
TESTER = $(if $(RERUN),$(GOTESTSUM))

SHELL := /bin/bash
.SHELLFLAGS := -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The order of prerequisites is the order in which they must run; go itself uses every core.
.NOTPARALLEL:

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## "; print "usage: make TARGET [VARIABLE=VALUE]" } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

##@ Development

.PHONY: generate
generate: generate-code generate-crds generate-rbac generate-docs install-manifest generate-chart generate-bundle ## Generate everything that is generated and committed.

.PHONY: generate-code
generate-code: $(GENERATORS) # deepcopy functions of the API types
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: generate-crds
generate-crds: $(GENERATORS) generate-code # CustomResourceDefinition
	rm -f config/crd/bases/*.yaml
	$(CRDGEN) -output config/crd/bases ./api/...

.PHONY: generate-rbac
generate-rbac: $(GENERATORS) generate-code # the manager's ClusterRole, from +kubebuilder:rbac markers
	$(CONTROLLER_GEN) rbac:roleName=manager-role paths=./internal/reconcile/... paths=./internal/webhook/certificates/... paths=./internal/upgrade/storageversion/... \
	  paths=./internal/upgrade/release09/leftovers/... paths=./internal/manager/tlsprofile/... \
	  output:rbac:artifacts:config=config/rbac

.PHONY: generate-docs
generate-docs: $(GENERATORS) # docs/api-overview.md, docs/status.md, docs/metrics.md, docs/alerts.md, config/dashboards
	@mkdir -p docs
	go run ./hack/statuspage
	go run ./hack/metricspage
	go run ./hack/dashboards
	$(CRD_REF_DOCS) --log-level=ERROR --source-path=./api --config=hack/crd-ref-docs/config.yaml \
	  --templates-dir=hack/crd-ref-docs/templates --renderer=markdown --output-path=docs/api-overview.md

.PHONY: generate-chart
generate-chart: install-manifest # charts/, from dist/install.yaml
	go run ./hack/chart

.PHONY: generate-bundle
generate-bundle: install-manifest # bundle/, for the Operator Lifecycle Manager, from dist/install.yaml
	go run ./hack/bundle

# LINE=1.5 reads only the package of that release line.
.PHONY: catalog
catalog: ## Read what the server's release lines know from their packages: catalog, starter bases, docs/providers.md (LINE=1.5 for one).
	go run ./hack/catalog $(addprefix -line ,$(LINE))

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the Go code and sort its imports.
	@for module in $(CODE_MODULES); do (cd $$module && $(GOLANGCI_LINT) fmt ./...) || exit 1; done

.PHONY: vet
vet: ## Run go vet on every module.
	@for module in $(CODE_MODULES); do (cd $$module && go vet ./...) || exit 1; done

.PHONY: lint
lint: lint-prose $(GOLANGCI_LINT) ## Check the words of the pages, and run golangci-lint on every module.
	$(GOLANGCI_LINT) config verify
	@for module in $(CODE_MODULES); do (cd $$module && $(GOLANGCI_LINT) run ./...) || exit 1; done

# All pages, including generated ones, except the API reference.
PROSE := README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md $(filter-out docs/api-overview.md,$(wildcard docs/*.md docs/*/*.md)) \
  $(wildcard hack/*/README.md charts/*/README.md)

# Comments are checked at level error only: the words of the other rules ("line", "tells") mostly have another meaning
# there.
PROSE_CODE = $(shell git ls-files '*.go')

.PHONY: lint-prose
lint-prose: $(VALE) ## Check the words of pages and comments against the glossary (hack/tools/prose).
	@$(VALE) --config hack/tools/prose/vale.ini --output=line --minAlertLevel=error $(PROSE_CODE)
	@found=$$($(VALE) --config hack/tools/prose/vale.ini --output=line $(PROSE)) || failed=yes; \
	if [ -n "$$found$${failed:-}" ]; then printf '%s\n' "$$found" 'pages have no findings: reword, or teach the rule in hack/tools/prose'; exit 1; fi

.PHONY: verify
verify: verify-headers verify-format verify-modules verify-generated verify-catalog vet lint ## Check generated files, format, modules, vet and lint.

.PHONY: verify-headers
verify-headers:
	@missing=$$(find . \( -name '*.go' -o -name '*.sh' -o -name '*.py' \) -not -path './.git/*' -not -path './bin/*' \
	  -exec grep -L 'SPDX-License-Identifier: Apache-2.0' {} +) || true; \
	if [ -n "$$missing" ]; then printf 'no SPDX-License-Identifier line in:\n%s\n' "$$missing"; exit 1; fi

.PHONY: verify-format
verify-format:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then printf 'not formatted (make fmt):\n%s\n' "$$unformatted"; exit 1; fi

.PHONY: verify-modules
verify-modules:
	@for module in $(MODULES); do (cd $$module && go mod tidy -diff) || { echo "$$module: go mod tidy needed"; exit 1; }; done

.PHONY: verify-generated
verify-generated:
	@hack/make/verify-generated.sh

# Manual edits are found on every platform, by the content hash in each header. Comparing with the packages needs a
# Python that can run them, without which test-server fails. verify-patches, a part of nightly, checks older patch
# releases.
.PHONY: verify-catalog
verify-catalog:
	@if (. tests/server/lib.sh && find_python) >/dev/null; then go run ./hack/catalog -newest -check; \
	else go run ./hack/catalog -hashes; echo "verify-catalog: only the content hashes, because there is no Python for the server's packages"; fi

##@ Testing

# The tests that need more than the Go toolchain. Every other package is a unit test.
SPECIAL_TESTS := $(MODULE)/tests/(integration|lifecycle|hostile|chaos|e2e|server)(/|$$)

.PHONY: test
test: test-unit test-integration ## Run the unit and the integration tests.

# "make verify" runs vet, which takes long without a cache. Four packages run at a time, also on two processors, because
# one waits half a minute for an API server that does not respond.
.PHONY: test-unit
test-unit: $(TESTER) ## Run the tests that need nothing but Go.
	$(GO_TEST) . "$$(go list ./... | grep -Ev '$(SPECIAL_TESTS)' | tr '\n' ' ')" -p 4 -vet=off $(if $(RACE),-race) $(TESTFLAGS)

INTEGRATION = $(BIN)/cluster build --tier controlplane && LLSD_CLUSTER=$(BIN)/cluster $(GO_TEST) .

.PHONY: test-integration
test-integration: cluster $(TESTER) ## Run the tests against a real API server.
	$(INTEGRATION) ./tests/integration -vet=off -count=1 -timeout 40m -parallel 8 $(TESTFLAGS)

# Most of these tests need their own control plane.
.PHONY: test-lifecycle
test-lifecycle: cluster $(TESTER) ## Install, upgrade from release 0.9, replace and remove operators, most of them in a control plane of their own.
	$(INTEGRATION) ./tests/lifecycle -vet=off -count=1 -timeout 40m -parallel 8 $(TESTFLAGS)

# LLSD_HOSTILE_REPORT=FILE writes the table of the results to FILE.
.PHONY: test-hostile
test-hostile: cluster build $(TESTER) ## Send the operator what an attacker would send, in a control group with its memory limit (Linux and root).
	$(BIN)/cluster build --tier controlplane
	LLSD_CLUSTER=$(BIN)/cluster LLSD_OPERATOR=$(BIN)/manager $(GO_TEST) . ./tests/hostile -count=1 -timeout 35m $(TESTFLAGS)

# LLSD_CHAOS=full runs the long faults, too; LLSD_CHAOS_REPORT=FILE writes the table of docs/maintainers/reliability.md
# to FILE.
.PHONY: test-chaos
test-chaos: cluster build $(TESTER) ## Break the world around the operator, and measure how soon nothing of it shows (Linux and root).
	$(BIN)/cluster build --tier controlplane
	LLSD_CLUSTER=$(BIN)/cluster LLSD_OPERATOR=$(BIN)/manager $(GO_TEST) . ./tests/chaos -count=1 -timeout 90m $(TESTFLAGS)

SOAK ?= 2h
.PHONY: soak
soak: cluster build ## Do random things to 50 custom resources for SOAK (2h), and look at what is left (Linux and root).
	$(BIN)/cluster build --tier controlplane
	LLSD_SOAK=$(SOAK) LLSD_CLUSTER=$(BIN)/cluster LLSD_OPERATOR=$(BIN)/manager go test -count=1 -timeout 24h -v -run TestSoak $(TESTFLAGS) ./tests/chaos

# SIZES are the numbers of custom resources. MEMORY is the operator's memory limit, by default that of the manifest;
# 10,000 custom resources need 768Mi. LLSD_BENCH_REPORT=FILE writes the table to FILE, too. It needs an otherwise idle
# machine.
SIZES ?= 1,50,200,500
MEMORY ?=
.PHONY: bench-cluster
bench-cluster: cluster build ## Measure many new custom resources, edits among them and a restart, beside a replay of the same writes (Linux and root).
	$(BIN)/cluster build --tier controlplane
	LLSD_BENCH=$(SIZES) LLSD_BENCH_MEMORY=$(MEMORY) LLSD_CLUSTER=$(BIN)/cluster LLSD_OPERATOR=$(BIN)/manager go test -count=1 -timeout 120m -v -run TestManyNewCustomResources $(TESTFLAGS) ./tests/hostile

# The programs of the oldest Kubernetes are built once, in about nine minutes. Run it by hand before each release.
.PHONY: test-oldest
test-oldest: cluster $(TESTER) ## Run the integration and lifecycle tests on the oldest Kubernetes that is supported.
	$(BIN)/cluster build --tier controlplane --kubernetes hack/cluster/oldest
	LLSD_CLUSTER=$(BIN)/cluster LLSD_KUBERNETES=$(CURDIR)/hack/cluster/oldest $(GO_TEST) . "./tests/integration ./tests/lifecycle" -count=1 -timeout 60m -p 1 -parallel 4 $(TESTFLAGS)

.PHONY: test-server
test-server: $(TESTER) ## Let real llama-stack servers load the generated configurations.
	$(GO_TEST) . ./tests/server/... -timeout 60m -parallel 4 $(TESTFLAGS)

.PHONY: test-server-full
test-server-full: ## Boot every sample and every user story, with real databases too, on the real server of every release line.
	LLSD_BOOT_EVERYTHING=1 go test -count=1 -timeout 90m -v -run 'TestStories|TestState|TestLint' $(TESTFLAGS) ./tests/server/...

.PHONY: test-e2e
test-e2e: cluster image $(TESTER) ## Run the tests against a real cluster with real servers (Linux and root).
	$(BIN)/cluster build --tier node
	server_image=$$(hack/serverimage/build.sh); newest_image=$$(hack/serverimage/build.sh newest); pgvector=$$(tests/server/pgvector.sh); contour=$$(tests/e2e/contour.sh); \
	LLSD_PGVECTOR="$$pgvector" LLSD_CONTOUR="$$contour" LLSD_CLUSTER=$(BIN)/cluster LLSD_OPERATOR_IMAGE=$(BIN)/operator-image.tar LLSD_SERVER_IMAGE="$$server_image" LLSD_NEWEST_SERVER_IMAGE="$$newest_image" \
	  $(GO_TEST) --verbose tests/e2e . -count=1 -timeout $(E2E_TIMEOUT) $(TESTFLAGS)

.PHONY: test-node-faults
test-node-faults: ## Break the API server and the network of a node where the operator runs as pods (Linux and root; a quarter of an hour).
	LLSD_CHAOS=full $(MAKE) test-e2e TESTFLAGS='-v -run TestNodeFaults $(TESTFLAGS)'

.PHONY: test-server-faults
test-server-faults: ## Break a server on a node in 25 ways, and measure what happens to it (Linux and root; half an hour).
	LLSD_CHAOS=full $(MAKE) test-e2e TESTFLAGS='-v -run TestServerFaults $(TESTFLAGS)'

# Slow tests that rarely fail. NIGHTLY selects some of them.
NIGHTLY ?= test-chaos-full test-node-faults test-server-faults test-server-full verify-patches test-oldest test-loops fuzz-minute bench bench-cluster dashboard-pictures newcomer
.PHONY: nightly
nightly: ## Run what .ci/run leaves out, before a release: hours (Linux and root; NIGHTLY='test-oldest' for a part).
	hack/make/nightly.sh $(BIN)/nightly $(NIGHTLY)

# Exit status 1 means that there is a newer release.
.PHONY: upstream
upstream: ## Look for releases of the server that the catalog does not have, and try the newest one (every week).
	hack/make/upstream.sh

.PHONY: verify-patches
verify-patches: # the catalog against the packages of all patch releases
	go run ./hack/catalog -check

.PHONY: test-chaos-full
test-chaos-full: # all faults, and with the goals of docs/maintainers/reliability.md
	LLSD_CHAOS=full $(MAKE) test-chaos

.PHONY: test-loops
test-loops: # the unit tests with many rounds of random input
	LLSD_LOOPS=full $(MAKE) test-unit

.PHONY: fuzz-minute
fuzz-minute:
	$(MAKE) fuzz FUZZTIME=1m

.PHONY: newcomer
newcomer: # .ci/run in a bare Debian with empty caches
	hack/newcomer/newcomer.sh ci

# The libraries of Helm, Argo CD and Flux are in a separate module.
.PHONY: test-packages
test-packages: cluster $(TESTER) ## Test the packages with the libraries of Helm, OLM, Flux and Argo CD, and with a real API server.
	$(BIN)/cluster build --tier controlplane
	LLSD_CLUSTER=$(BIN)/cluster $(GO_TEST) hack/tools/packages ./... -count=1 -timeout 20m $(TESTFLAGS)

# The browser is Debian's Chromium; CHROMIUM names another one.
.PHONY: test-site
test-site: export QUALITY ?= 9
test-site: site build test-built-site ## Test the docs site and the playground in a headless Chromium.

# Tests the result of "make site build" without building it again, because other tests use it at the same time.
.PHONY: test-built-site
test-built-site:
	"$$(hack/site/venv.sh)/bin/python" hack/site/test_site.py --site $(BIN)/site --plugin $(BIN)/kubectl-llamastack $(TESTFLAGS)

# PICTURES=docs/pictures writes those of the docs. Their data is invented by hack/tools/packages/replay.
PICTURES ?= $(BIN)/pictures
.PHONY: dashboard-pictures
dashboard-pictures: ## Draw the Grafana dashboards with Grafana's own components, into bin/pictures (Debian's package chromium).
	hack/dashboards/pictures/draw.sh '$(PICTURES)'

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10m), one after the other.
	hack/make/fuzz.sh $(FUZZTIME)

# Each mutant builds and runs the unit tests of its package, which takes minutes to an hour for a package; it is not in
# CI. PACKAGE+OTHER counts the unit tests of OTHER too.
MUTATE ?= internal/serverconfig $(addprefix internal/serverconfig/,address catalog disabled document environment integrity provider release resource server storage) \
  internal/serverconfig/auth+internal/serverconfig internal/serverconfig/parse internal/problem \
  $(addprefix internal/,admission bounds cli/offered cli/redact describe desired dsn events hosts objects oci panics passthrough pods release09 secret settings status suggest) api/v1alpha1 api/v1alpha2 distributions
.PHONY: mutate
mutate: $(GREMLINS) ## Change the code of pure packages (MUTATE) in small ways, and see that their unit tests notice.
	hack/make/mutate.sh $(GREMLINS) $(MUTATE)

.PHONY: bench
bench: ## Run the benchmarks.
	go test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./api/... ./internal/... ./cmd/...

.PHONY: cluster
cluster: # the command that runs a real cluster for tests and the demo
	cd hack/cluster && go build -o $(BIN)/cluster ./cmd/cluster

# Reads Go's vulnerability database, and fails for a vulnerability that the programs can reach. A release needs it.
.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what the programs call.
	go tool -modfile=hack/tools/vuln/go.mod govulncheck ./cmd/...

##@ Build

LDFLAGS = -s -w -X $(MODULE)/internal/version.version=$(VERSION) -X $(MODULE)/internal/version.commit=$(COMMIT) \
  -X $(MODULE)/internal/version.image=$(IMG)
GO_BUILD = CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'

.PHONY: build
build: ## Build the operator and the kubectl plugin into bin/.
	$(GO_BUILD) -o $(BIN)/ ./cmd/...

# The page is embedded in the next build of the plugin. It needs Python 3.12, which provides Node; both are cached.
.PHONY: playground
playground: ## Make the page of the playground for the plugin (docs/playground.md).
	LDFLAGS='$(LDFLAGS)' hack/playground/build.sh internal/plugin/playground/page

# The page is compressed as in a release, because visitors load it often.
.PHONY: site
site: export QUALITY ?= 11
site: playground ## Make the docs site, with the playground, in bin/site.
	hack/site/build.sh $(BIN)/site

.PHONY: image
image: ## Build the operator's image archive, bin/operator-image.tar, without a container engine.
	GOOS=linux $(GO_BUILD) -o $(BIN)/linux/ ./cmd/manager ./cmd/provider-installer
	go -C hack/cluster run ./cmd/image --binary $(BIN)/linux/manager --ref '$(IMG)' --output $(BIN)/operator-image.tar \
	  --file $(BIN)/linux/provider-installer:/provider-installer \
	  --label org.opencontainers.image.version='$(VERSION)' --label org.opencontainers.image.revision='$(COMMIT)'

.PHONY: server-image
server-image: ## Build an image archive of the real server for tests and the demo, print its path (Linux and root).
	@hack/serverimage/build.sh

# config/manager names the image "controller:latest", which this target replaces by IMG.
.PHONY: install-manifest
install-manifest: $(GENERATORS) ## Write dist/install.yaml, which installs the operator image IMG.
	@mkdir -p dist
	$(KUSTOMIZE) build config/default | sed 's|image: controller:latest$$|image: $(IMG)|' > dist/install.yaml

RELEASE := $(BIN)/release
PLUGIN_PLATFORMS ?= darwin/amd64 darwin/arm64 linux/amd64 linux/arm64 windows/amd64
IMAGE_ARCHITECTURES ?= amd64 arm64

# Equal commits give equal bytes with the same Go. Only uncached Go modules and packages of the playground are
# downloaded.
.PHONY: release
release: ## Make the files of a release in bin/release: images, plugin, chart, SBOMs, checksums (docs/maintainers/releasing.md).
	rm -rf $(RELEASE) $(BIN)/build
	QUALITY=11 LDFLAGS='$(LDFLAGS)' hack/playground/build.sh internal/plugin/playground/page
	@for p in $(PLUGIN_PLATFORMS); do echo "kubectl-llamastack for $$p"; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} $(GO_BUILD) -buildvcs=false -o $(BIN)/build/plugin/$${p/\//-}/ ./cmd/kubectl-llamastack || exit 1; done
	@for arch in $(IMAGE_ARCHITECTURES); do echo "operator for linux/$$arch"; mkdir -p $(BIN)/build/image/$$arch; \
	  GOOS=linux GOARCH=$$arch $(GO_BUILD) -buildvcs=false -o $(BIN)/build/image/$$arch/ ./cmd/manager ./cmd/provider-installer || exit 1; \
	  go -C hack/cluster run ./cmd/image --platform linux/$$arch --binary $(BIN)/build/image/$$arch/manager --ref '$(IMG)' \
	    --file $(CURDIR)/LICENSE:/licenses/LICENSE --file $(BIN)/build/image/$$arch/provider-installer:/provider-installer --output $(BIN)/build/image/linux-$$arch.tar \
	    --label org.opencontainers.image.version='$(VERSION)' --label org.opencontainers.image.revision='$(COMMIT)' || exit 1; \
	  mv $(BIN)/build/image/$$arch/manager $(BIN)/build/image/manager-linux-$$arch; done
	go run ./hack/release -build $(BIN)/build -output $(RELEASE) -version $(VERSION) -commit '$(COMMIT)' -image '$(IMG)' \
	  -time $$(git log -1 --format=%ct)
	@cat $(RELEASE)/checksums.txt

##@ Demo

.PHONY: demo
demo: ## Start a cluster with the operator and a server, and show how to use them (Linux and root).
	@hack/demo/demo.sh up

.PHONY: demo-down
demo-down: ## End the demo's cluster.
	@hack/demo/demo.sh down

MODEL_SERVER_IMG ?=
.PHONY: demo-images
demo-images: image ## Build the archives bin/operator-image.tar and bin/model-server.tar, named IMG and MODEL_SERVER_IMG, for demo-here.
	@test -n '$(MODEL_SERVER_IMG)' || { echo 'set MODEL_SERVER_IMG, the name of the image (docs/demo-here.md)'; exit 1; }
	GOOS=linux $(GO_BUILD) -o $(BIN)/linux/ ./tests/backend/cmd/model-server-double
	go -C hack/cluster run ./cmd/image --binary $(BIN)/linux/model-server-double --ref '$(MODEL_SERVER_IMG)' --output $(BIN)/model-server.tar

.PHONY: demo-here
demo-here: ## The demo in the cluster of the current kubeconfig; docs/demo-here.md has its variables.
	@IMG='$(IMG)' hack/demo/here.sh up

.PHONY: demo-here-down
demo-here-down: ## Remove the demo from the cluster of the current kubeconfig.
	@hack/demo/here.sh down

##@ Housekeeping

.PHONY: clean
clean: ## Remove what was built in the checkout. The cache stays.
	rm -rf $(BIN) coverage coverage.out
	find internal/plugin/playground/page -type f ! -name .gitignore -delete

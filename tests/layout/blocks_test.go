// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	atUsers   = "tests/e2e/pages_test.go"
	offline   = "internal/cli/offline/docs_test.go"
	reference = "tests/integration/pages_test.go"
	plugin    = "cmd/kubectl-llamastack/"
)

// followers are the tests that follow the blocks of a page: the file of each, which names the page. A block that none of them follows says why behind its
// fence: "```sh not followed: REASON".
var followers = map[string][]string{
	"README.md":                              {"tests/e2e/readme_test.go"},
	"docs/air-gapped.md":                     {plugin + "images_test.go"},
	"docs/auth.md":                           {plugin + "auth_test.go", offline, reference},
	"docs/backup.md":                         {atUsers},
	"docs/configuration-providers.md":        {offline},
	"docs/configuration-resources.md":        {offline},
	"docs/configuration-storage.md":          {offline},
	"docs/configuration.md":                  {offline},
	"docs/connect-model-server.md":           {atUsers},
	"docs/demo-here.md":                      {"tests/e2e/demo_test.go"},
	"docs/downgrade.md":                      {"tests/integration/replay_back_test.go", reference},
	"docs/external-providers.md":             {offline},
	"docs/gitops.md":                         {"hack/tools/packages/gitops_test.go"},
	"docs/images.md":                         {plugin + "images_test.go"},
	"docs/kubectl-plugin.md":                 {plugin + "main_test.go", reference, "hack/site/test_site.py"},
	"docs/metrics.md":                        {reference},
	"docs/migration-v1alpha1-to-v1alpha2.md": {"tests/integration/migration_page_test.go"},
	"docs/monitoring.md":                     {offline, reference},
	"docs/mutation-testing.md":               nil,
	"docs/namespaced.md":                     {"tests/integration/namespaced_test.go"},
	"docs/networking.md":                     {offline},
	"docs/operator-settings.md":              {offline},
	"docs/permissions.md":                    {reference},
	"docs/playground.md":                     {"hack/site/test_site.py"},
	"docs/providers.md":                      {offline},
	"docs/releasing.md":                      {"hack/release/release_test.go"},
	"docs/rotate-keys.md":                    {atUsers},
	"docs/scaling.md":                        {atUsers},
	"docs/sharding.md":                       {"hack/tools/packages/chart_test.go", reference},
	"docs/status.md":                         {reference},
	"docs/troubleshooting.md":                {atUsers},
	"docs/uninstall.md":                      {atUsers},
	"docs/upgrade.md":                        {atUsers},
	"docs/webhooks.md":                       {reference},
}

var (
	// opening is the fence before a block that somebody can run or apply. Blocks of steps of a list are indented.
	opening = regexp.MustCompile("(?m)^ *```(?:sh|bash|console|yaml)\\b(.*)$")
	target  = regexp.MustCompile(`(?m)^ *(?:\$ )?make ([a-z][a-z0-9-]*)`)
)

// Proves: NFR-004 (each block of the pages that can be executed is followed by a test, or says why not).
func TestBlocksOfPagesAreFollowed(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile := "\n" + text(t, filepath.Join(root, "Makefile"))
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	withBlocks := map[string]bool{}
	blocks, left := 0, 0
	for _, path := range append(pages, filepath.Join(root, "README.md")) {
		page := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		content, followed := text(t, path), 0
		for _, m := range opening.FindAllStringSubmatch(content, -1) {
			blocks++
			withBlocks[page] = true
			switch reason, marked := strings.CutPrefix(m[1], " not followed: "); {
			case !marked:
				followed++
			case len(strings.Fields(reason)) < 3:
				t.Errorf("%s: %q is no reason", page, reason)
			default:
				left++
			}
		}
		if _, known := followers[page]; !known && withBlocks[page] || (followed > 0) != (len(followers[page]) > 0) {
			t.Errorf("%s: %d blocks are to be followed, by %v", page, followed, followers[page])
		}
		for _, test := range followers[page] {
			if name := regexp.MustCompile(`[^\w-]` + regexp.QuoteMeta(filepath.Base(page)) + `\b`); !name.MatchString(text(t, filepath.Join(root, test))) {
				t.Errorf("%s does not name %s", test, page)
			}
		}
		for _, m := range target.FindAllStringSubmatch(content, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: make %s is no target", page, m[1])
			}
		}
	}
	if want := slices.Sorted(maps.Keys(followers)); !slices.Equal(slices.Sorted(maps.Keys(withBlocks)), want) {
		t.Errorf("pages with blocks are %q, want %q", slices.Sorted(maps.Keys(withBlocks)), want)
	}
	t.Logf("of %d blocks, %d are not followed", blocks, left)
	if left > 20 {
		t.Errorf("%d blocks are not followed: follow some of them", left)
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

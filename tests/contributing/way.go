// SPDX-License-Identifier: Apache-2.0

package contributing

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var (
	// inlineCode is text between backquotes.
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
	// aPath is a path in the repository: no blanks, and a directory or an ending.
	aPath = regexp.MustCompile(`^[\w.<>*-]+(/[\w.<>*-]+)*(/|\.(go|md|tsv|yaml|txt))$`)
	// placeholder stands for the name of what is added.
	placeholder = regexp.MustCompile(`<[a-z]+>`)
)

// steps returns the files that the way under a heading of the page names, in order.
func steps(page, heading string) []string {
	_, section, found := strings.Cut(page, "\n### "+heading+"\n")
	if !found {
		return nil
	}
	if end := regexp.MustCompile(`(?m)^##`).FindStringIndex(section); end != nil {
		section = section[:end[0]]
	}
	var files []string
	for _, code := range inlineCode.FindAllStringSubmatch(section, -1) {
		if aPath.MatchString(code[1]) {
			files = append(files, code[1])
		}
	}
	return files
}

// forgotten reports which steps of a way were not gone for an item. A step is a path:
//   - with a placeholder, a file or directory of the item's own must be there;
//   - without one, the file must name the item, and of several (*) one of them;
//   - a directory has to be there.
func forgotten(checkout fs.FS, files []string, item string) ([]string, error) {
	var missing []string
	for _, file := range files {
		done, err := gone(checkout, file, item)
		if err != nil {
			return nil, err
		}
		if !done {
			missing = append(missing, file)
		}
	}
	return missing, nil
}

func gone(checkout fs.FS, file, item string) (bool, error) {
	pattern := path.Clean(placeholder.ReplaceAllLiteralString(file, item))
	matches, err := fs.Glob(checkout, pattern)
	if err != nil {
		return false, fmt.Errorf("%s: %w", pattern, err)
	}
	if placeholder.MatchString(file) || strings.HasSuffix(file, "/") {
		return len(matches) > 0, nil
	}
	// A longer name of which the item is a part is another one: 1.5 is not in 1.5.0, and remote::a neither in remote::a-b nor in remote::a::b.
	named, err := regexp.Compile(`(?m)(?:^|[^\w:-])` + regexp.QuoteMeta(item) + `(?:$|[^\w:.-]|[.:](?:$|[^\d:]))`)
	if err != nil {
		return false, err
	}
	for _, match := range matches {
		content, err := fs.ReadFile(checkout, match)
		if err != nil {
			return false, err
		}
		if named.Match(content) {
			return true, nil
		}
	}
	return false, nil
}

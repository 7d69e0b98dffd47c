// Suite runs the public conformance suite of the language (module cel.dev/expr, tests/simple) against
// `kollect cel --batch`.
//
//	suite [-v] KOLLECT TESTDATA-DIR [NAME-PART]
//
// It prints, per section, how many cases passed, failed and are out of scope, then the classes of the latter, and fails
// when a case in scope fails.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"
	"kollect.dev/conformance/batch"
)

// A testCase of the suite with where it stands, and what became of it.
type testCase struct {
	*test.SimpleTest
	section    string
	outOfScope string // why, empty when the case is run
	failure    string
}

func load(folder string) ([]*testCase, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.textproto"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no test data in %s", folder)
	}
	sort.Strings(files)
	var cases []*testCase
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var file test.SimpleTestFile
		if err := prototext.Unmarshal(text, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, section := range file.GetSection() {
			for _, each := range section.GetTest() {
				cases = append(cases, &testCase{SimpleTest: each, section: file.GetName() + "/" + section.GetName()})
			}
		}
	}
	return cases, nil
}

// run fills in what became of each case.
func run(program string, cases []*testCase) error {
	var requests []batch.Request
	var asked []*testCase
	for _, each := range cases {
		each.outOfScope = reasonOutOfScope(each.SimpleTest)
		if each.outOfScope != "" {
			continue
		}
		request, err := requestFor(each.SimpleTest)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", each.section, each.GetName(), err)
		}
		request.ID = each.section + "/" + each.GetName()
		requests = append(requests, request)
		asked = append(asked, each)
	}
	answers, err := batch.Run(program, requests)
	if err != nil {
		return err
	}
	for n, each := range asked {
		each.failure = judge(each.SimpleTest, answers[n])
	}
	return nil
}

type count struct{ passed, failed, out int }

func (c *count) add(each *testCase) {
	switch {
	case each.outOfScope != "":
		c.out++
	case each.failure != "":
		c.failed++
	default:
		c.passed++
	}
}

func report(cases []*testCase, verbose bool) count {
	var order []string
	var total count
	sections := map[string]*count{}
	reasons := map[string]int{}
	for _, each := range cases {
		if sections[each.section] == nil {
			sections[each.section] = &count{}
			order = append(order, each.section)
		}
		sections[each.section].add(each)
		total.add(each)
		name := each.section + "/" + each.GetName()
		if each.outOfScope != "" {
			reasons[each.outOfScope]++
			if verbose {
				fmt.Printf("out of scope (%s): %s: %s\n", each.outOfScope, name, each.GetExpr())
			}
		}
		if each.failure != "" {
			fmt.Printf("FAILED %s\n  %s\n  %s\n", name, each.GetExpr(), each.failure)
		}
	}
	fmt.Printf("%-62s %7s %7s %7s\n", "section", "passed", "failed", "out")
	for _, name := range order {
		c := sections[name]
		fmt.Printf("%-62s %7d %7d %7d\n", name, c.passed, c.failed, c.out)
	}
	fmt.Printf("%-62s %7d %7d %7d\n", "all", total.passed, total.failed, total.out)
	var classes []string
	for reason := range reasons {
		classes = append(classes, reason)
	}
	sort.Strings(classes)
	for _, reason := range classes {
		fmt.Printf("out of scope: %4d  %s\n", reasons[reason], reason)
	}
	return total
}

func main() {
	verbose := flag.Bool("v", false, "list the cases that are out of scope")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "suite [-v] KOLLECT TESTDATA-DIR [NAME-PART]")
		os.Exit(2)
	}
	cases, err := load(flag.Arg(1))
	if err == nil && flag.NArg() > 2 {
		var chosen []*testCase
		for _, each := range cases {
			if strings.Contains(each.section+"/"+each.GetName(), flag.Arg(2)) {
				chosen = append(chosen, each)
			}
		}
		cases = chosen
	}
	if err == nil {
		err = run(flag.Arg(0), cases)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(2)
	}
	total := report(cases, *verbose)
	if total.failed > 0 || total.passed == 0 {
		os.Exit(1)
	}
}

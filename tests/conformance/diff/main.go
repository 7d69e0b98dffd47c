// Diff evaluates random expressions by the evaluator of the language's authors and by `kollect cel --batch` and compares.
//
//	diff [-n EXPRESSIONS] [-seed N] [-v] KOLLECT TABLE
//
// The same seed gives the same expressions. It fails on a difference that explained.go does not name, when an operation
// never gave a value, and when the classes of explained.go are not those of the table in the page TABLE.
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"

	"kollect.dev/conformance/batch"
)

// A comparison is one expression with both answers.
type comparison struct {
	expression
	ours, theirs batch.Answer
}

func (c comparison) equal() bool {
	if c.ours.Value == nil || c.theirs.Value == nil {
		return c.ours.Value == nil && c.theirs.Value == nil && c.theirs.Phase != "panic" &&
			(c.ours.Phase == "eval") == (c.theirs.Phase == "eval") // an error is found by both checkers or by none
	}
	if c.unordered {
		return batch.EqualInAnyOrder(c.ours.Value, c.theirs.Value)
	}
	return batch.Equal(c.ours.Value, c.theirs.Value, true)
}

func run(program string, seed uint64, count int) ([]comparison, error) {
	references := map[string]*reference{}
	for _, name := range []string{language, kubernetes} {
		var err error
		if references[name], err = newReference(name); err != nil {
			return nil, err
		}
	}
	bound, kinds, err := bindings()
	if err != nil {
		return nil, err
	}
	generator := newGenerator(seed)
	var comparisons []comparison
	var requests []batch.Request
	seen := map[string]bool{}
	for n := 0; len(comparisons) < count; n++ {
		e := generator.expression(n)
		if key := fmt.Sprint(e.evaluator, e.check, e.text); seen[key] || len(e.text) > 600 {
			continue
		} else {
			seen[key] = true
		}
		comparisons = append(comparisons, comparison{expression: e, theirs: references[e.evaluator].evaluate(e)})
		requests = append(requests, batch.Request{ID: fmt.Sprint(n), Expr: e.text, Check: e.check, Bindings: bound, Types: kinds,
			Evaluate: true})
	}
	answers, err := batch.Run(program, requests)
	if err != nil {
		return nil, err
	}
	for n := range comparisons {
		comparisons[n].ours = answers[n]
	}
	return comparisons, nil
}

func main() {
	count := flag.Int("n", 20000, "number of expressions")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	verbose := flag.Bool("v", false, "print the explained differences as well")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "diff [-n EXPRESSIONS] [-seed N] [-v] KOLLECT TABLE")
		os.Exit(2)
	}
	if err := compareTable(flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "diff:", err)
		os.Exit(1)
	}
	comparisons, err := run(flag.Arg(0), *seed, *count)
	if err != nil {
		fmt.Fprintln(os.Stderr, "diff:", err)
		os.Exit(2)
	}
	if !report(comparisons, *verbose) {
		os.Exit(1)
	}
}

// compareTable checks that the page has a line "| class | …" for each class, and no other below its heading.
func compareTable(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, section, found := strings.Cut(string(page), "| class |")
	if !found {
		return fmt.Errorf("%s has no table of classes", path)
	}
	listed := map[string]bool{}
	for _, line := range strings.Split(section, "\n")[2:] {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		name, _, _ := strings.Cut(line[2:], " |")
		listed[name] = true
	}
	for _, each := range explainedClasses {
		if !listed[each.name] {
			return fmt.Errorf("%s does not list %q", path, each.name)
		}
		delete(listed, each.name)
	}
	for name := range listed {
		return fmt.Errorf("%s lists %q, which is no class", path, name)
	}
	return nil
}

// report prints the sums and tells whether all is well.
func report(comparisons []comparison, verbose bool) bool {
	equal, values, unexplained := 0, 0, 0
	classes := map[string]int{}
	gaveValue := map[*template]bool{}
	for _, c := range comparisons {
		if c.ours.Value != nil {
			gaveValue[c.root] = true
		}
		if c.equal() {
			equal++
			if c.ours.Value != nil {
				values++
			}
			continue
		}
		class := explain(c)
		if class != "" {
			classes[class]++
		} else {
			unexplained++
		}
		if class == "" || verbose {
			fmt.Printf("%s: %s (checked: %v)\n  ours:      %s\n  reference: %s\n", differenceName(class, c), c.text, c.check, c.ours.Show(),
				c.theirs.Show())
		}
	}
	explained := len(comparisons) - equal - unexplained
	fmt.Printf("%d expressions, %d equal (%d values, %d errors), %d explained, %d unexplained\n", len(comparisons), equal, values,
		equal-values, explained, unexplained)
	var names []string
	for name := range classes {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("explained: %5d  %s\n", classes[name], name)
	}
	silent := 0
	all := map[*template]bool{}
	for _, c := range comparisons {
		all[c.root] = true
	}
	for t := range all {
		if !gaveValue[t] {
			silent++
			fmt.Printf("never gave a value: %s\n", t.text)
		}
	}
	fmt.Printf("%d operations, %d of them gave values\n", len(all), len(all)-silent)
	return unexplained == 0 && silent == 0
}

func differenceName(class string, c comparison) string {
	if class != "" {
		return class
	}
	return "DIFFERENT (" + c.evaluator + ")"
}

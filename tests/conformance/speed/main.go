// Times expressions with the evaluator of the language's authors.
//
//	speed POD.json < expressions
//
// An expression a line; for each a line of JSON: {"compile": ns, "evaluate": ns}. The object is decoded once, as a program that
// uses the evaluator holds it (map[string]any); a last line has the time of decoding: {"decode": ns}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func nanoseconds(call func()) float64 {
	result := testing.Benchmark(func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			call()
		}
	})
	return float64(result.T.Nanoseconds()) / float64(result.N)
}

func main() {
	testing.Init()
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var object map[string]any
	check(json.Unmarshal(text, &object))
	environment, err := cel.NewEnv(cel.OptionalTypes(), ext.Strings(), library.Quantity(), cel.Variable("object", cel.DynType))
	check(err)
	output := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		compile := func() cel.Program {
			ast, issues := environment.Compile(lines.Text())
			check(issues.Err())
			program, err := environment.Program(ast, cel.EvalOptions(cel.OptOptimize))
			check(err)
			return program
		}
		program := compile()
		activation := map[string]any{"object": object}
		_, _, err := program.Eval(activation)
		check(err)
		check(output.Encode(map[string]float64{
			"compile":  nanoseconds(func() { compile() }),
			"evaluate": nanoseconds(func() { program.Eval(activation) }),
		}))
	}
	check(lines.Err())
	check(output.Encode(map[string]float64{"decode": nanoseconds(func() {
		var fresh map[string]any
		check(json.Unmarshal(text, &fresh))
	})}))
}

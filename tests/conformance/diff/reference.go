package main

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"cel.dev/expr"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
	"kollect.dev/conformance/batch"
)

// variables are bound on both sides.
var variables = []variable{
	{"vi", parseKind("int")}, {"vu", parseKind("uint")}, {"vd", parseKind("double")}, {"vs", parseKind("string")},
	{"vb", parseKind("bool")}, {"vy", parseKind("bytes")}, {"vt", parseKind("timestamp")}, {"vr", parseKind("duration")},
	{"vl", parseKind("list(int)")}, {"vx", parseKind("list(string)")}, {"vm", parseKind("map(string, int)")},
	{"vo", parseKind("dyn")}, {"vn", parseKind("list(double)")},
}

var values = map[string]any{
	"vi": int64(-3), "vu": uint64(12), "vd": 2.75, "vs": "añb😀c", "vb": true, "vy": []byte("a\xffb"),
	"vt": time.Date(2025, 10, 26, 0, 30, 15, 250_000_000, time.UTC), "vr": -90*time.Minute + 5*time.Millisecond,
	"vl": []int64{5, -1, 5, 1 << 40}, "vx": []string{"b", "", "ä", "a"}, "vm": map[string]int64{"a": 1, "zz": -2},
	"vo": map[string]any{"a": map[string]any{"b": int64(1), "a": nil}, "list": []any{int64(1), "x", 2.5, nil, true}},
	"vn": []float64{1.5, -0.25, 1e10},
}

func celType(k *kind) *cel.Type {
	switch k.name {
	case "list":
		return cel.ListType(celType(k.params[0]))
	case "map":
		return cel.MapType(celType(k.params[0]), celType(k.params[1]))
	}
	return map[string]*cel.Type{"int": cel.IntType, "uint": cel.UintType, "double": cel.DoubleType, "string": cel.StringType,
		"bool": cel.BoolType, "bytes": cel.BytesType, "timestamp": cel.TimestampType, "duration": cel.DurationType, "dyn": cel.DynType}[k.name]
}

// A reference is the evaluator of the language's authors, with its own libraries or with those of Kubernetes.
type reference struct {
	environment *cel.Env
}

func newReference(evaluator string) (*reference, error) {
	options := []cel.EnvOption{
		cel.OptionalTypes(), cel.EnableIdentifierEscapeSyntax(), cel.CrossTypeNumericComparisons(true), ext.Strings(), ext.Math(), ext.Lists(), ext.Sets(), ext.Encoders(),
		ext.Regex(), ext.Bindings(), ext.TwoVarComprehensions(),
	}
	if evaluator == kubernetes {
		options = append(options, library.Quantity(), library.URLs(), library.IP(), library.CIDR(), library.Format(),
			library.Lists(library.ListsVersion(1)), library.Regex(), library.SemverLib(library.SemverVersion(1)))
	} else {
		options = append(options, ext.Network())
	}
	for _, each := range variables {
		options = append(options, cel.Variable(each.name, celType(each.kind)))
	}
	environment, err := cel.NewEnv(options...)
	return &reference{environment}, err
}

// evaluate gives the answer in the form of a batch.
func (r *reference) evaluate(e expression) (answer batch.Answer) {
	failed := func(phase string, err error) batch.Answer { return batch.Answer{Phase: phase, Error: err.Error()} }
	defer func() {
		if cause := recover(); cause != nil {
			answer = failed("panic", fmt.Errorf("%v", cause))
		}
	}()
	parsed, issues := r.environment.Parse(e.text)
	if issues.Err() != nil {
		return failed("parse", issues.Err())
	}
	if e.check {
		if parsed, issues = r.environment.Check(parsed); issues.Err() != nil {
			return failed("check", issues.Err())
		}
	}
	program, err := r.environment.Program(parsed)
	if err != nil {
		return failed("check", err)
	}
	result, _, err := program.Eval(values)
	if err != nil {
		return failed("eval", err)
	}
	value, err := toProto(result)
	if err != nil {
		return failed("eval", err)
	}
	return batch.Answer{Value: value}
}

// toProto writes a value as `kollect cel --batch` does: optionals as what they hold, values of libraries as texts.
func toProto(value ref.Val) (*expr.Value, error) {
	switch v := value.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return toProto(types.NullValue)
		}
		return toProto(v.GetValue())
	case traits.Lister:
		list := &expr.ListValue{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := toProto(it.Next())
			if err != nil {
				return nil, err
			}
			list.Values = append(list.Values, item)
		}
		return &expr.Value{Kind: &expr.Value_ListValue{ListValue: list}}, nil
	case traits.Mapper:
		entries := &expr.MapValue{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			protoKey, err := toProto(key)
			if err != nil {
				return nil, err
			}
			item, err := toProto(v.Get(key))
			if err != nil {
				return nil, err
			}
			entries.Entries = append(entries.Entries, &expr.MapValue_Entry{Key: protoKey, Value: item})
		}
		return &expr.Value{Kind: &expr.Value_MapValue{MapValue: entries}}, nil
	case apiservercel.Quantity:
		return text(canonical(v.Quantity)), nil
	case *apiservercel.Quantity:
		return text(canonical(v.Quantity)), nil
	case apiservercel.URL:
		return text(v.URL.String()), nil
	case apiservercel.Semver:
		return text(v.Version.String()), nil
	case types.String:
		if !utf8.ValidString(string(v)) {
			return nil, fmt.Errorf("invalid UTF-8")
		}
	case *types.Err, *types.Unknown:
		return nil, fmt.Errorf("%v", v)
	}
	switch value.Type().TypeName() {
	case "net.IP", "net.CIDR":
		return text(fmt.Sprint(value.Value())), nil
	}
	return cel.ValueAsProto(value)
}

// canonical is the text of a quantity that does not remember how it was written.
func canonical(q *resource.Quantity) string {
	computed := q.DeepCopy()
	computed.Add(resource.Quantity{Format: q.Format})
	return computed.String()
}

func text(s string) *expr.Value {
	return &expr.Value{Kind: &expr.Value_StringValue{StringValue: s}}
}

// bindings are the variables for a batch.
func bindings() (map[string]json.RawMessage, map[string]string, error) {
	bound := map[string]json.RawMessage{}
	kinds := map[string]string{}
	for _, each := range variables {
		value, err := toProto(types.DefaultTypeAdapter.NativeToValue(values[each.name]))
		if err != nil {
			return nil, nil, err
		}
		if bound[each.name], err = batch.ProtoJSON(value); err != nil {
			return nil, nil, err
		}
		kinds[each.name] = each.kind.String()
	}
	return bound, kinds, nil
}

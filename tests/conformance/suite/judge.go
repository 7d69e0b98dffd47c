package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"cel.dev/expr"
	"cel.dev/expr/conformance/test"
	"kollect.dev/conformance/batch"
)

// requestFor says a case as a line of a batch.
func requestFor(t *test.SimpleTest) (batch.Request, error) {
	request := batch.Request{
		Expr:      t.GetExpr(),
		Container: t.GetContainer(),
		Types:     map[string]string{},
		Functions: map[string]string{},
		Bindings:  map[string]json.RawMessage{},
		Check:     !t.GetDisableCheck(),
		Type:      t.GetTypedResult() != nil,
		Evaluate:  !t.GetCheckOnly(),
	}
	if t.GetDisableMacros() || t.GetLocale() != "" {
		return request, fmt.Errorf("disable_macros and locale have no counterpart")
	}
	for _, declaration := range t.GetTypeEnv() {
		if function := declaration.GetFunction(); function != nil {
			request.Functions[declaration.GetName()] = functionText(function)
		} else {
			request.Types[declaration.GetName()] = typeText(declaration.GetIdent().GetType())
		}
	}
	for name, binding := range t.GetBindings() {
		value, err := batch.ProtoJSON(binding.GetValue())
		if err != nil {
			return request, err
		}
		request.Bindings[name] = value
	}
	return request, nil
}

// functionText is the batch's form of overloads: "int, A -> list(A); …".
func functionText(function *expr.Decl_FunctionDecl) string {
	var forms []string
	for _, overload := range function.GetOverloads() {
		var params []string
		for _, param := range overload.GetParams() {
			params = append(params, typeText(param))
		}
		forms = append(forms, strings.Join(params, ", ")+" -> "+typeText(overload.GetResultType()))
	}
	return strings.Join(forms, "; ")
}

// typeText is the batch's form of a type: "list(string)", "map(string, dyn)", …
func typeText(t *expr.Type) string {
	with := func(name string, params ...*expr.Type) string {
		var texts []string
		for _, param := range params {
			texts = append(texts, typeText(param))
		}
		if len(texts) == 0 {
			return name
		}
		return name + "(" + strings.Join(texts, ", ") + ")"
	}
	switch kind := t.GetTypeKind().(type) {
	case *expr.Type_Null:
		return "null"
	case *expr.Type_Primitive:
		return map[expr.Type_PrimitiveType]string{
			expr.Type_BOOL: "bool", expr.Type_INT64: "int", expr.Type_UINT64: "uint", expr.Type_DOUBLE: "double",
			expr.Type_STRING: "string", expr.Type_BYTES: "bytes",
		}[kind.Primitive]
	case *expr.Type_WellKnown:
		return map[expr.Type_WellKnownType]string{
			expr.Type_TIMESTAMP: "timestamp", expr.Type_DURATION: "duration", expr.Type_ANY: "any",
		}[kind.WellKnown]
	case *expr.Type_Wrapper:
		return with("wrapper", &expr.Type{TypeKind: &expr.Type_Primitive{Primitive: kind.Wrapper}})
	case *expr.Type_MessageType:
		return kind.MessageType
	case *expr.Type_ListType_:
		return with("list", kind.ListType.GetElemType())
	case *expr.Type_MapType_:
		return with("map", kind.MapType.GetKeyType(), kind.MapType.GetValueType())
	case *expr.Type_Type:
		if kind.Type.GetTypeKind() == nil {
			return "type"
		}
		return with("type", kind.Type)
	case *expr.Type_TypeParam:
		return kind.TypeParam
	case *expr.Type_AbstractType_:
		return with(kind.AbstractType.GetName(), kind.AbstractType.GetParameterTypes()...)
	}
	return "dyn"
}

// judge is empty when the answer is what the case expects, otherwise it says how they differ.
func judge(t *test.SimpleTest, answer batch.Answer) string {
	differ := func(expected string) string { return fmt.Sprintf("expected %s, got %s", expected, answer.Show()) }
	switch matcher := t.GetResultMatcher().(type) {
	case *test.SimpleTest_EvalError, *test.SimpleTest_AnyEvalErrors:
		if answer.Phase == "" {
			return differ("an error")
		}
		return ""
	case *test.SimpleTest_TypedResult:
		if typeText(matcher.TypedResult.GetDeducedType()) != answer.Type {
			return differ("type " + typeText(matcher.TypedResult.GetDeducedType()))
		}
		if t.GetCheckOnly() {
			return ""
		}
		return compare(matcher.TypedResult.GetResult(), answer)
	case *test.SimpleTest_Value:
		return compare(matcher.Value, answer)
	case nil:
		return compare(&expr.Value{Kind: &expr.Value_BoolValue{BoolValue: true}}, answer)
	}
	return "the case expects an unknown"
}

func compare(expected *expr.Value, answer batch.Answer) string {
	if answer.Value != nil && batch.Equal(expected, answer.Value, false) {
		return ""
	}
	return fmt.Sprintf("expected %s, got %s", batch.Show(expected), answer.Show())
}

package main

import (
	"strings"

	"cel.dev/expr"
	"cel.dev/expr/conformance/test"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	// The messages of the suite: named here so that its texts can be read and its names told apart.
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// The engine has no protobuf messages and no enums. A case is out of scope only when it cannot be said without one. The
// well-known messages that stand for values of the language (Timestamp, Duration, wrappers, Value, Struct, ListValue) count
// as values.
const (
	literalOfMessage  = "the expression makes a message"
	namesMessage      = "the expression names a message type"
	namesEnum         = "the expression names a protobuf enum"
	variableOfMessage = "a variable is a message"
	resultIsMessage   = "the result is a message or an enum"
)

func isValue(name string) bool {
	short, ok := strings.CutPrefix(name, "google.protobuf.")
	if !ok {
		return false
	}
	switch short {
	case "Timestamp", "Duration", "Value", "Struct", "ListValue", "Any", "NullValue", "NullValue.NULL_VALUE":
		return true
	}
	return strings.HasSuffix(short, "Value") && !strings.Contains(short, ".")
}

func reasonOutOfScope(t *test.SimpleTest) string {
	for _, declaration := range t.GetTypeEnv() {
		if mentionsMessage(declaration.GetIdent().GetType()) {
			return variableOfMessage
		}
	}
	for _, binding := range t.GetBindings() {
		if holdsMessage(binding.GetValue()) {
			return variableOfMessage
		}
	}
	if reason := expressionReason(t); reason != "" {
		return reason
	}
	if holdsMessage(t.GetValue()) || holdsMessage(t.GetTypedResult().GetResult()) ||
		mentionsMessage(t.GetTypedResult().GetDeducedType()) {
		return resultIsMessage
	}
	return ""
}

func mentionsMessage(t *expr.Type) bool {
	switch kind := t.GetTypeKind().(type) {
	case *expr.Type_MessageType:
		return !isValue(kind.MessageType)
	case *expr.Type_ListType_:
		return mentionsMessage(kind.ListType.GetElemType())
	case *expr.Type_MapType_:
		return mentionsMessage(kind.MapType.GetKeyType()) || mentionsMessage(kind.MapType.GetValueType())
	case *expr.Type_AbstractType_:
		for _, parameter := range kind.AbstractType.GetParameterTypes() {
			if mentionsMessage(parameter) {
				return true
			}
		}
	}
	return false
}

func holdsMessage(value *expr.Value) bool {
	switch kind := value.GetKind().(type) {
	case *expr.Value_EnumValue:
		return true
	case *expr.Value_ObjectValue:
		return !isValue(string(kind.ObjectValue.MessageName()))
	case *expr.Value_TypeValue:
		return isMessageOrEnum(kind.TypeValue)
	case *expr.Value_ListValue:
		for _, item := range kind.ListValue.GetValues() {
			if holdsMessage(item) {
				return true
			}
		}
	case *expr.Value_MapValue:
		for _, entry := range kind.MapValue.GetEntries() {
			if holdsMessage(entry.GetKey()) || holdsMessage(entry.GetValue()) {
				return true
			}
		}
	}
	return false
}

func find(name string) protoreflect.Descriptor {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	return found
}

func isMessageOrEnum(name string) bool {
	switch find(name).(type) {
	case protoreflect.MessageDescriptor:
		return !isValue(name)
	case protoreflect.EnumDescriptor:
		return true
	}
	return false
}

// parse reads the expression as the suite's own runners do, with every macro.
func parse(text string) (*ast.AST, bool) {
	environment, err := cel.NewEnv(cel.OptionalTypes(), ext.Bindings(), ext.TwoVarComprehensions(), ext.Lists(), ext.Math(),
		ext.Protos(), cel.EnableIdentifierEscapeSyntax())
	if err != nil {
		panic(err)
	}
	parsed, issues := environment.Parse(text)
	if issues.Err() != nil {
		return nil, false
	}
	return parsed.NativeRep(), true
}

func expressionReason(t *test.SimpleTest) string {
	parsed, ok := parse(t.GetExpr())
	if !ok {
		return ""
	}
	reason := ""
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(node ast.Expr) {
		if reason != "" {
			return
		}
		switch node.Kind() {
		case ast.StructKind:
			if name, _ := resolve(t.GetContainer(), node.AsStruct().TypeName()); !isValue(name) {
				reason = literalOfMessage
			}
		case ast.IdentKind, ast.SelectKind:
			reason = nameReason(t.GetContainer(), chain(node))
		case ast.CallKind:
			// An enum is called like a function to convert a number to it.
			call := node.AsCall()
			name := call.FunctionName()
			if call.IsMemberFunction() {
				name = chain(call.Target()) + "." + name
			}
			reason = nameReason(t.GetContainer(), name)
		}
	}))
	return reason
}

// chain is the dotted name that a node spells, empty when it is none.
func chain(node ast.Expr) string {
	switch node.Kind() {
	case ast.IdentKind:
		return node.AsIdent()
	case ast.SelectKind:
		if operand := chain(node.AsSelect().Operand()); operand != "" {
			return operand + "." + node.AsSelect().FieldName()
		}
	}
	return ""
}

// resolve looks a name up in the container, then in each of its parents, then at the root.
func resolve(container, name string) (string, protoreflect.Descriptor) {
	if strings.HasPrefix(name, ".") {
		return name[1:], find(name[1:])
	}
	for {
		full := name
		if container != "" {
			full = container + "." + name
		}
		if found := find(full); found != nil {
			return full, found
		}
		if container == "" {
			return "", nil
		}
		if dot := strings.LastIndexByte(container, '.'); dot >= 0 {
			container = container[:dot]
		} else {
			container = ""
		}
	}
}

func nameReason(container, name string) string {
	if name == "" {
		return ""
	}
	full, found := resolve(container, name)
	switch found.(type) {
	case protoreflect.MessageDescriptor:
		if !isValue(full) {
			return namesMessage
		}
	case protoreflect.EnumDescriptor, protoreflect.EnumValueDescriptor:
		if !isValue(full) {
			return namesEnum
		}
	}
	return ""
}

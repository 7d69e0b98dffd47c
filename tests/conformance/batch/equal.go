package batch

import (
	"bytes"
	"fmt"
	"math"

	"cel.dev/expr"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Equal compares two values as the suite defines it: kinds count, maps have no order, NaN is NaN. The sign of a zero
// counts only when exact.
func Equal(a, b *expr.Value, exact bool) bool {
	switch x := a.GetKind().(type) {
	case *expr.Value_NullValue:
		_, ok := b.GetKind().(*expr.Value_NullValue)
		return ok
	case *expr.Value_BoolValue:
		y, ok := b.GetKind().(*expr.Value_BoolValue)
		return ok && x.BoolValue == y.BoolValue
	case *expr.Value_Int64Value:
		y, ok := b.GetKind().(*expr.Value_Int64Value)
		return ok && x.Int64Value == y.Int64Value
	case *expr.Value_Uint64Value:
		y, ok := b.GetKind().(*expr.Value_Uint64Value)
		return ok && x.Uint64Value == y.Uint64Value
	case *expr.Value_DoubleValue:
		y, ok := b.GetKind().(*expr.Value_DoubleValue)
		return ok && sameDouble(x.DoubleValue, y.DoubleValue, exact)
	case *expr.Value_StringValue:
		y, ok := b.GetKind().(*expr.Value_StringValue)
		return ok && x.StringValue == y.StringValue
	case *expr.Value_BytesValue:
		y, ok := b.GetKind().(*expr.Value_BytesValue)
		return ok && bytes.Equal(x.BytesValue, y.BytesValue)
	case *expr.Value_TypeValue:
		y, ok := b.GetKind().(*expr.Value_TypeValue)
		return ok && x.TypeValue == y.TypeValue
	case *expr.Value_ObjectValue:
		y, ok := b.GetKind().(*expr.Value_ObjectValue)
		return ok && sameMessage(x, y)
	case *expr.Value_ListValue:
		y, ok := b.GetKind().(*expr.Value_ListValue)
		return ok && sameList(x.ListValue.GetValues(), y.ListValue.GetValues(), exact)
	case *expr.Value_MapValue:
		y, ok := b.GetKind().(*expr.Value_MapValue)
		return ok && sameMap(x.MapValue.GetEntries(), y.MapValue.GetEntries(), exact)
	}
	return false
}

func sameDouble(x, y float64, exact bool) bool {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.IsNaN(x) && math.IsNaN(y)
	}
	return x == y && (!exact || math.Signbit(x) == math.Signbit(y))
}

func sameMessage(x, y *expr.Value_ObjectValue) bool {
	mine, err := x.ObjectValue.UnmarshalNew()
	if err != nil {
		return false
	}
	other, err := y.ObjectValue.UnmarshalNew()
	return err == nil && proto.Equal(mine, other)
}

func sameList(x, y []*expr.Value, exact bool) bool {
	if len(x) != len(y) {
		return false
	}
	for n := range x {
		if !Equal(x[n], y[n], exact) {
			return false
		}
	}
	return true
}

func sameMap(x, y []*expr.MapValue_Entry, exact bool) bool {
	if len(x) != len(y) {
		return false
	}
	for _, mine := range x {
		found := false
		for _, other := range y {
			found = found || Equal(mine.GetKey(), other.GetKey(), exact) && Equal(mine.GetValue(), other.GetValue(), exact)
		}
		if !found {
			return false
		}
	}
	return true
}

// Show is a value for people.
func Show(value *expr.Value) string {
	text, err := protojson.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.400s", text)
}

// Show is an answer for people.
func (a Answer) Show() string {
	switch {
	case a.Phase != "":
		return fmt.Sprintf("error of phase %s: %.200q", a.Phase, a.Error)
	case a.Value == nil:
		return "type " + a.Type
	case a.Type != "":
		return Show(a.Value) + " of type " + a.Type
	}
	return Show(a.Value)
}

// EqualInAnyOrder compares two lists as bags.
func EqualInAnyOrder(a, b *expr.Value) bool {
	left, right := a.GetListValue().GetValues(), b.GetListValue().GetValues()
	if a.GetListValue() == nil || b.GetListValue() == nil || len(left) != len(right) {
		return false
	}
	taken := make([]bool, len(right))
	for _, x := range left {
		found := false
		for n, y := range right {
			if !taken[n] && Equal(x, y, true) {
				taken[n], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

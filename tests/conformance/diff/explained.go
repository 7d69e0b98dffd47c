package main

import (
	"math"
	"regexp"
	"strings"

	"kollect.dev/conformance/batch"
)

// A class of differences that are meant. docs/cel.md has the reason of each.
type class struct {
	name    string
	applies func(c comparison) bool
}

func oursSays(c comparison, parts ...string) bool   { return containsAny(c.ours.Error, parts...) }
func theirsSays(c comparison, parts ...string) bool { return containsAny(c.theirs.Error, parts...) }
func textHas(c comparison, parts ...string) bool    { return containsAny(c.text, parts...) }

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

var hugeQuantity = regexp.MustCompile(`quantity\('[^']*([eE][0-9]{2,}|[0-9]{3,}E|[0-9]{15,}[PT])'\)`)
var withPosition = regexp.MustCompile(`ndexOf\(.*, `)
var withoutDigits = regexp.MustCompile(`uantity\('[+-]?\.?([a-zA-Z]|')`)
var withOffset = regexp.MustCompile(`[0-9][+-][0-9]{2}:[0-9]{2}'`)

var explainedClasses = []class{
	{"repeated keys", func(c comparison) bool { return oursSays(c, "a map cannot hold the same key twice") }},
	{"types of keys", func(c comparison) bool { return oursSays(c, "a key of a map cannot be of type") }},
	{"constants found wrong when compiled", func(c comparison) bool {
		return c.theirs.Phase != "eval" && theirsSays(c, "invalid ip argument", "invalid cidr argument", "error parsing regexp",
			"error during formatting", "could not parse formatting clause", "math.greatest() ", "math.least() ",
			"arguments supplied to string.format", "unexpected end of string", "out of range\n", "'math.@max' applied", "'math.@min' applied",
			"invalid int literal", "invalid qualifier type", "sortBy can only be applied")
	}},
	{"long durations", func(c comparison) bool {
		return c.ours.Value != nil && theirsSays(c, "integer overflow", "'string' to 'google.protobuf.Duration'") &&
			textHas(c, "timestamp", "duration", "vt", "vr")
	}},
	{"timestamps in UTC", func(c comparison) bool {
		return withOffset.MatchString(c.text) && textHas(c, "string(", ".format(")
	}},
	{"milliseconds of a duration", func(c comparison) bool {
		return textHas(c, ".getMilliseconds()") && textHas(c, "duration", "vr", " - ")
	}},
	{"spellings of numbers", func(c comparison) bool {
		return c.theirs.Value != nil && oursSays(c, "the text is no double")
	}},
	{"NaN beside other types", func(c comparison) bool {
		return c.theirs.Value != nil && oursSays(c, "'<' does not take", "'<=' does not take", "'>' does not take", "'>=' does not take") &&
			oursSays(c, "double")
	}},
	{"lists of mixed types", func(c comparison) bool {
		return c.theirs.Value != nil && oursSays(c, "'min' does not take", "'max' does not take", "'sum' does not take", "'isSorted' does not take") ||
			theirsSays(c, "no such overload: min(list)", "no such overload: max(list)", "no such overload: sum(list)", "no such overload: isSorted(list)", "no such overload: math.@min", "no such overload: math.@max")
	}},
	{"positions behind the end of a text", func(c comparison) bool {
		return c.theirs.Value != nil && c.ours.Value == nil && withPosition.MatchString(c.text)
	}},
	{"fields of optional scalars", func(c comparison) bool {
		return c.theirs.Value != nil && oursSays(c, "no such key") && textHas(c, ".?")
	}},
	{"types that are open", func(c comparison) bool {
		if theirsSays(c, "expected type 'optional_type(_var", "reference to undefined type: x") {
			return true
		}
		// A getter of timestamps and durations: taken for that of timestamps.
		if c.check && c.ours.Value != nil && theirsSays(c, "no such overload: get") {
			return true
		}
		open := textHas(c, "[]", "{}", "optional.none()", "math.least(", "math.greatest(") || c.ours.Phase == "eval"
		return c.theirs.Phase == "check" && open && theirsSays(c, "found no matching overload", "cannot be range of a comprehension", "expected type 'bool' but found",
			"does not support field selection")
	}},
	{"fields of maps without text keys", func(c comparison) bool { return oursSays(c, " of a map whose keys are ") }},
	{"equality with values of libraries", func(c comparison) bool {
		return c.ours.Value != nil && c.theirs.Error == "no such overload" && textHas(c, "url(", "ip(", "cidr(", "semver(", "quantity(")
	}},
	{"offsets of time zones", func(c comparison) bool { return c.theirs.Value != nil && oursSays(c, "there is no such time zone") }},
	{"quantities without digits", func(c comparison) bool {
		return withoutDigits.MatchString(c.text)
	}},
	{"prefixes with a dash at the end", func(c comparison) bool { return textHas(c, "Prefix().validate(") }},
	{"empty groups of a pattern", func(c comparison) bool { return textHas(c, "regex.extract") && textHas(c, "(") }},
	{"signs before durations", func(c comparison) bool { return oursSays(c, "'-' does not take (google.protobuf.Duration)") }},
	{"flatten of a flat list", func(c comparison) bool { return theirsSays(c, "'flatten' applied to 'list(") }},
	{"indexOf of lists", func(c comparison) bool {
		return theirsSays(c, "no such overload: indexOf(list", "no such overload: lastIndexOf(list", "'indexOf' applied", "'lastIndexOf' applied")
	}},
	{"approximate floats", func(c comparison) bool {
		ours, theirs := c.ours.Value.GetDoubleValue(), c.theirs.Value.GetDoubleValue()
		return textHas(c, ".asApproximateFloat()") && ours != 0 && math.Abs(theirs/ours-1) < 1e-12
	}},
	{"texts of durations", func(c comparison) bool { return textHas(c, "string(", "%s") && textHas(c, "duration(", "vr", " - ") }},
	{"parts of long durations", func(c comparison) bool {
		return textHas(c, ".getHours()", ".getMinutes()", ".getSeconds()") && textHas(c, "2540400h", " - ")
	}},
	{"keys that nothing has", func(c comparison) bool {
		return c.ours.Value != nil && theirsSays(c, "unsupported index value", "invalid qualifier type") && textHas(c, "[?")
	}},
	{"bytes as keys", func(c comparison) bool { return theirsSays(c, "hash of unhashable type") }},
	{"names of groups", func(c comparison) bool { return theirsSays(c, "invalid named capture") }},
	{"NaN in a sort", func(c comparison) bool {
		return textHas(c, ".sort()", ".sortBy(", ".isSorted()") && textHas(c, "NaN", "(0.0/0.0)")
	}},
	{"order of maps", func(c comparison) bool {
		return batch.EqualInAnyOrder(c.ours.Value, c.theirs.Value) ||
			c.ours.Value != nil && c.theirs.Value != nil && textHas(c, "dyn({") && textHas(c, ").map(", ").filter(", ").transformList(")
	}},
	{"numbers and keys in json.encode", func(c comparison) bool { return textHas(c, "json.encode(") }},
	{"fractions of times", func(c comparison) bool { return textHas(c, "format.datetime().validate(") }},
	{"values in place of optionals", func(c comparison) bool {
		return oursSays(c, "the body of optFlatMap() must be optional", "'or' does not take", "unwrapOpt' does not take", "'optional.unwrap' does not take")
	}},
	{"invalid UTF-8 in a format", func(c comparison) bool {
		return theirsSays(c, "invalid UTF-8") || textHas(c, ".format(") && textHas(c, "%s") && textHas(c, "b'", "vy")
	}},
	{"whole quantities", func(c comparison) bool { return textHas(c, ".isInteger()", ".asInteger()") }},
	{"huge quantities", func(c comparison) bool { return hugeQuantity.MatchString(c.text) }},
	{"computed quantities", func(c comparison) bool {
		return c.ours.Value != nil && theirsSays(c, "no such overload") && textHas(c, "quantity(") && textHas(c, ".add(", ".sub(")
	}},
	{"overflow of quantities", func(c comparison) bool {
		return textHas(c, "quantity(") && textHas(c, ".sub(") && textHas(c, "-9223372036854775808")
	}},
	{"large numbers of versions", func(c comparison) bool {
		return textHas(c, "semver('") && textHas(c, ".major()", ".minor()", ".patch()")
	}},
}

func explain(c comparison) string {
	for _, each := range explainedClasses {
		if each.applies(c) {
			return each.name
		}
	}
	return ""
}

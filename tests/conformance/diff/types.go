package main

import (
	"fmt"
	"strings"
)

// A kind is a static type: a name with parameters. Single capital letters are type parameters of a template. Names that
// are no types of the language ("regex", "small") are pools of literals that give a value of another type.
type kind struct {
	name   string
	params []*kind
}

func (k *kind) String() string {
	if len(k.params) == 0 {
		return k.name
	}
	var texts []string
	for _, param := range k.params {
		texts = append(texts, param.String())
	}
	return k.name + "(" + strings.Join(texts, ", ") + ")"
}

func of(name string, params ...*kind) *kind { return &kind{name, params} }

func (k *kind) isParameter() bool { return len(k.name) == 1 && k.name[0] >= 'A' && k.name[0] <= 'Z' }

// parseKind reads "list(map(string, A))".
func parseKind(text string) *kind {
	rest := text
	result := readKind(&rest)
	if strings.TrimSpace(rest) != "" {
		panic(fmt.Sprintf("%q is no type", text))
	}
	return result
}

func readKind(rest *string) *kind {
	text := strings.TrimLeft(*rest, " ")
	end := strings.IndexAny(text, "(), ")
	if end < 0 {
		end = len(text)
	}
	result := of(text[:end])
	text = text[end:]
	if strings.HasPrefix(text, "(") {
		for {
			text = text[1:]
			result.params = append(result.params, readKind(&text))
			text = strings.TrimLeft(text, " ")
			if text[0] == ')' {
				text = text[1:]
				break
			}
		}
	}
	*rest = text
	return result
}

// unify finds what the parameters of `form` must be for it to be `wanted`.
func unify(form, wanted *kind, bound map[string]*kind) bool {
	if form.isParameter() {
		if known := bound[form.name]; known != nil {
			return known.String() == wanted.String()
		}
		bound[form.name] = wanted
		return true
	}
	if form.name != wanted.name || len(form.params) != len(wanted.params) {
		return false
	}
	for n := range form.params {
		if !unify(form.params[n], wanted.params[n], bound) {
			return false
		}
	}
	return true
}

// substitute replaces bound parameters.
func (k *kind) substitute(bound map[string]*kind) *kind {
	if k.isParameter() {
		return bound[k.name]
	}
	if len(k.params) == 0 {
		return k
	}
	result := of(k.name)
	for _, param := range k.params {
		result.params = append(result.params, param.substitute(bound))
	}
	return result
}

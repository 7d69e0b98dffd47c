package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// Names of the evaluators on the other side.
const (
	language   = "language"
	kubernetes = "kubernetes"
)

// knownTo tells whether an evaluator has the operations of a group.
func knownTo(evaluator, group string) bool {
	switch group {
	case language:
		return evaluator == language
	case "kubernetes":
		return evaluator == kubernetes
	}
	return true
}

// An expression with where it came from.
type expression struct {
	text      string
	evaluator string
	check     bool
	unordered bool // the result is a list in the order of a map's entries
	root      *template
}

// A generator makes random expressions, the same ones for the same seed.
type generator struct {
	random    *rand.Rand
	templates []*template
	evaluator string
	scope     []variable
}

func newGenerator(seed uint64) *generator {
	return &generator{random: rand.New(rand.NewPCG(seed, 17)), templates: allTemplates()}
}

func (g *generator) chance(percent int) bool { return g.random.IntN(100) < percent }

func pick[T any](g *generator, from []T) T { return from[g.random.IntN(len(from))] }

var (
	plainKinds  = []string{"int", "uint", "double", "string", "bool", "bytes", "timestamp", "duration", "int", "string"}
	keyKinds    = []string{"int", "string", "string", "bool", "uint"}
	opaqueKinds = map[string]string{"net.IP": "ip({ip_text})", "net.CIDR": "cidr({cidr_text})",
		"kubernetes.Quantity": "quantity({quantity_text})", "kubernetes.URL": "url({url_text})", "kubernetes.Semver": "semver({semver_text})"}
)

// expression makes number n: each operation is the outermost one in turn.
func (g *generator) expression(n int) expression {
	root := g.templates[n%len(g.templates)]
	g.evaluator = language
	if root.group == "kubernetes" || root.group == "network" && g.chance(50) {
		g.evaluator = kubernetes
	}
	g.scope = nil
	depth := 1 + g.random.IntN(3)
	return expression{
		text:      g.fill(root, nil, depth),
		evaluator: g.evaluator,
		check:     g.chance(75),
		unordered: root.result.name == "unordered",
		root:      root,
	}
}

// fill writes a template with its holes filled; `bound` holds what its parameters must be.
func (g *generator) fill(t *template, bound map[string]*kind, depth int) string {
	types := map[string]*kind{}
	for name, k := range bound {
		types[name] = k
	}
	for _, each := range t.parts {
		g.bindParameters(each.kind, types, false)
		for _, local := range each.scope {
			g.bindParameters(local.kind, types, false)
		}
	}
	g.bindParameters(t.result, types, false)
	var out strings.Builder
	for _, each := range t.parts {
		out.WriteString(each.text)
		if each.kind == nil {
			continue
		}
		before := len(g.scope)
		for _, local := range each.scope {
			g.scope = append(g.scope, variable{local.name, local.kind.substitute(types)})
		}
		out.WriteString(g.make(each.kind.substitute(types), depth-1))
		g.scope = g.scope[:before]
	}
	return out.String()
}

// bindParameters chooses types for the parameters that have none yet.
func (g *generator) bindParameters(k *kind, types map[string]*kind, key bool) {
	if k == nil {
		return
	}
	if k.isParameter() {
		if types[k.name] == nil {
			types[k.name] = g.anyKind(key)
		}
		return
	}
	for n, param := range k.params {
		// Keys first, so that a parameter which is a key anywhere gets a type that may be one.
		g.bindParameters(param, types, k.name == "map" && n == 0)
	}
}

func (g *generator) anyKind(key bool) *kind {
	if key {
		return of(pick(g, keyKinds))
	}
	switch g.random.IntN(12) {
	case 0:
		return of("list", of(pick(g, plainKinds)))
	case 1:
		return of("map", of(pick(g, keyKinds)), of(pick(g, plainKinds)))
	}
	return of(pick(g, plainKinds))
}

// fits tells whether a template can give the type; keys of maps must be of a type that may be one.
func (g *generator) fits(t *template, wanted *kind) (map[string]*kind, bool) {
	if !knownTo(g.evaluator, t.group) {
		return nil, false
	}
	bound := map[string]*kind{}
	if !unify(t.result, wanted, bound) {
		return nil, false
	}
	for _, each := range t.parts {
		if each.kind != nil && !goodKeys(each.kind, bound) {
			return nil, false
		}
	}
	return bound, true
}

func goodKeys(k *kind, bound map[string]*kind) bool {
	if k.name == "map" && k.params[0].isParameter() && bound[k.params[0].name] != nil {
		switch bound[k.params[0].name].name {
		case "int", "uint", "string", "bool":
		default:
			return false
		}
	}
	for _, param := range k.params {
		if !goodKeys(param, bound) {
			return false
		}
	}
	return true
}

// make writes an expression of a type.
func (g *generator) make(k *kind, depth int) string {
	if k.name != "count" && g.chance(2) {
		// Of another type: an error of the checker, or hidden behind dyn() one of the evaluation.
		other := g.make(g.anyKind(false), depth-1)
		if g.chance(60) {
			return "dyn(" + other + ")"
		}
		return other
	}
	if typeName, isPool := poolType[k.name]; isPool {
		if g.chance(90) || depth <= 0 || k.name == "count" {
			return g.mutate(k.name, pick(g, pools[k.name]))
		}
		return g.make(of(typeName), depth)
	}
	if k.name == "format" {
		return g.format(depth)
	}
	if local, ok := g.variable(k); ok && g.chance(35) {
		return local
	}
	if depth > 0 && g.chance(65) {
		type candidate struct {
			t     *template
			bound map[string]*kind
		}
		var candidates []candidate
		for _, t := range g.templates {
			if bound, ok := g.fits(t, k); ok && t.result.name != "unordered" {
				candidates = append(candidates, candidate{t, bound})
			}
		}
		if len(candidates) > 0 {
			chosen := pick(g, candidates)
			return g.fill(chosen.t, chosen.bound, depth)
		}
	}
	return g.literal(k, depth)
}

// What mutations insert: characters with a meaning in numbers, times, addresses, URLs and patterns, and some without.
var inserted = strings.Split("0 1 2 5 9 . : - + / % e E K M G T Z z n u m i s h a b x ? # [ ] ( ) * & = @ , _ ~ é", " ")

// An exponent of many digits keeps the reference busy for minutes.
var largeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}`)

// mutate sometimes changes a character or two of a text that some function reads.
func (g *generator) mutate(pool, literal string) string {
	readable := strings.HasSuffix(pool, "_text") || pool == "regex" || pool == "zone"
	if !readable || !strings.HasPrefix(literal, "'") || strings.Contains(literal, `\`) || !g.chance(35) {
		return literal
	}
	runes := []rune(literal[1 : len(literal)-1])
	for n := g.random.IntN(2); n >= 0; n-- {
		at := g.random.IntN(len(runes) + 1)
		switch {
		case at < len(runes) && g.chance(40):
			runes = append(runes[:at:at], runes[at+1:]...)
		default:
			rest := runes[at:]
			if at < len(runes) && g.chance(50) {
				rest = runes[at+1:]
			}
			runes = append(append(runes[:at:at], []rune(pick(g, inserted))...), rest...)
		}
	}
	if text := string(runes); !largeExponent.MatchString(text) {
		return "'" + text + "'"
	}
	return literal
}

// variable is a local or a bound variable of the type.
func (g *generator) variable(k *kind) (string, bool) {
	var names []string
	shadowed := map[string]bool{}
	for n := len(g.scope) - 1; n >= 0; n-- {
		if local := g.scope[n]; !shadowed[local.name] && local.kind.String() == k.String() {
			names = append(names, local.name, local.name)
		}
		shadowed[g.scope[n].name] = true
	}
	for _, each := range variables {
		if each.kind.String() == k.String() {
			names = append(names, each.name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return pick(g, names), true
}

func (g *generator) literal(k *kind, depth int) string {
	if pool := pools[k.name]; pool != nil {
		return pick(g, pool)
	}
	if text := opaqueKinds[k.name]; text != "" {
		return g.fill(parseTemplate(text+" => "+k.name, ""), nil, depth)
	}
	switch k.name {
	case "dyn":
		return "dyn(" + g.make(g.anyKind(false), depth-1) + ")"
	case "list":
		var items []string
		for n := g.random.IntN(4); n > 0; n-- {
			items = append(items, g.make(k.params[0], depth-1))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case "map":
		var entries []string
		taken := map[string]bool{}
		for n := g.random.IntN(4); n > 0; n-- {
			key := g.make(k.params[0], 0)
			if k.params[0].name == "string" && g.chance(40) {
				key = pick(g, pools["key"])
			}
			if !taken[key] || g.chance(3) {
				entries = append(entries, key+": "+g.make(k.params[1], depth-1))
			}
			taken[key] = true
		}
		return "{" + strings.Join(entries, ", ") + "}"
	case "optional_type":
		if g.chance(25) {
			return "optional.none()"
		}
		return "optional.of(" + g.make(k.params[0], depth-1) + ")"
	}
	panic("no literal of type " + k.String())
}

// format writes a call of format() whose arguments mostly fit its clauses.
func (g *generator) format(depth int) string {
	var text strings.Builder
	var args []string
	for n := g.random.IntN(4); n >= 0; n-- {
		text.WriteString(pick(g, []string{"", "a ", "é", "%%", " : "}))
		clause := pick(g, []string{"s", "s", "s", "d", "f", "e", "x", "X", "o", "b", ".2f", ".0f", ".10e", ".1e", ".3f", ".3d", "q", ""})
		text.WriteString("%" + clause)
		wanted := "int"
		switch clause[max(len(clause)-1, 0):] {
		case "s":
			wanted = pick(g, append([]string{"list(dyn)", "map(string, dyn)", "null_type", "type", "list(double)", "dyn"}, plainKinds...))
		case "f", "e":
			wanted = pick(g, []string{"double", "double", "int", "uint"})
		case "x", "X":
			wanted = pick(g, []string{"int", "uint", "string", "bytes"})
		case "b":
			wanted = pick(g, []string{"int", "uint", "bool"})
		case "d", "o":
			wanted = pick(g, []string{"int", "uint"})
		}
		if g.chance(5) {
			wanted = pick(g, plainKinds)
		}
		args = append(args, g.make(parseKind(wanted), depth-1))
	}
	if g.chance(4) {
		args = args[1:]
	}
	return fmt.Sprintf("'%s'.format([%s])", text.String(), strings.Join(args, ", "))
}

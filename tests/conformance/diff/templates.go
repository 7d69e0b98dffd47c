package main

import (
	"regexp"
	"strings"
)

// A template is an operation: its text with a hole {type} for each argument, and the type of its result. A hole
// {type|x:T,y:U} may use the variables named behind the bar.
type template struct {
	text   string
	result *kind
	group  string // tells which evaluators know it: knownTo()
	parts  []part
}

type part struct {
	text  string // literal text when kind is nil
	kind  *kind
	scope []variable
}

type variable struct {
	name string
	kind *kind
}

var hole = regexp.MustCompile(`\{[^{}]*\}`)

func parseTemplate(line, group string) *template {
	text, result, ok := strings.Cut(line, " => ")
	if !ok {
		panic(line)
	}
	t := &template{text: strings.TrimSpace(text), result: parseKind(strings.TrimSpace(result)), group: group}
	at := 0
	for _, span := range hole.FindAllStringIndex(t.text, -1) {
		t.parts = append(t.parts, part{text: t.text[at:span[0]]}, parseHole(t.text[span[0]+1:span[1]-1]))
		at = span[1]
	}
	// «» stand for the braces of a map literal.
	t.parts = append(t.parts, part{text: t.text[at:]})
	for n := range t.parts {
		t.parts[n].text = strings.NewReplacer("«", "{", "»", "}").Replace(t.parts[n].text)
	}
	return t
}

func parseHole(text string) part {
	text, scope, _ := strings.Cut(text, "|")
	p := part{kind: parseKind(text)}
	for _, declaration := range strings.Split(scope, ";") {
		if name, kindText, ok := strings.Cut(declaration, ":"); ok {
			p.scope = append(p.scope, variable{name, parseKind(kindText)})
		}
	}
	return p
}

func parseTemplates(text, group string) []*template {
	var templates []*template
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) != "" {
			templates = append(templates, parseTemplate(line, group))
		}
	}
	return templates
}

// allTemplates is every operation of the language and its libraries.
func allTemplates() []*template {
	templates := parseTemplates(operators, "")
	templates = append(templates, orderings()...)
	for _, text := range []string{conversions, standard, times, macros, stringFunctions, mathFunctions, listFunctions,
		otherFunctions, optionals} {
		templates = append(templates, parseTemplates(text, "")...)
	}
	templates = append(templates, parseTemplates(networkFunctions, "network")...)
	templates = append(templates, parseTemplates(languageFunctions, "language")...)
	return append(templates, parseTemplates(kubernetesFunctions, "kubernetes")...)
}

func orderings() []*template {
	var templates []*template
	for _, operator := range []string{"<", "<=", ">", ">="} {
		for _, name := range []string{"int", "uint", "double", "string", "bytes", "bool", "timestamp", "duration"} {
			templates = append(templates, parseTemplate("({"+name+"} "+operator+" {"+name+"}) => bool", ""))
		}
		for _, pair := range []string{"int uint", "int double", "uint int", "uint double", "double int", "double uint", "dyn_number dyn_number"} {
			left, right, _ := strings.Cut(pair, " ")
			templates = append(templates, parseTemplate("({"+left+"} "+operator+" {"+right+"}) => bool", ""))
		}
	}
	return templates
}

const operators = `
({int} + {int}) => int
({int} - {int}) => int
({int} * {int}) => int
({int} / {int}) => int
({int} % {int}) => int
(-{int}) => int
({uint} + {uint}) => uint
({uint} - {uint}) => uint
({uint} * {uint}) => uint
({uint} / {uint}) => uint
({uint} % {uint}) => uint
({double} + {double}) => double
({double} - {double}) => double
({double} * {double}) => double
({double} / {double}) => double
(-{double}) => double
({string} + {string}) => string
({bytes} + {bytes}) => bytes
({list(A)} + {list(A)}) => list(A)
({timestamp} + {duration}) => timestamp
({duration} + {timestamp}) => timestamp
({duration} + {duration}) => duration
({timestamp} - {duration}) => timestamp
({timestamp} - {timestamp}) => duration
({duration} - {duration}) => duration
(!{bool}) => bool
({bool} && {bool}) => bool
({bool} || {bool}) => bool
({bool} && {bool} || {bool}) => bool
({bool} ? {A} : {A}) => A
({A} == {A}) => bool
({A} != {A}) => bool
({dyn} == {dyn}) => bool
({dyn} != {dyn}) => bool
({dyn_number} + {dyn_number}) => dyn
({dyn_number} - {dyn_number}) => dyn
({dyn_number} * {dyn_number}) => dyn
({dyn_number} / {dyn_number}) => dyn
({dyn_number} % {dyn_number}) => dyn
({type} == {type}) => bool
({A} in {list(A)}) => bool
({A} in {map(A, B)}) => bool
({dyn} in {list(dyn)}) => bool
({dyn} in {dyn}) => bool
{list(A)}[{small}] => A
{list(A)}[{index}] => A
{map(A, B)}[{A}] => B
{map(string, A)}[{key}] => A
{map(int, A)}[{number}] => A
{map(string, A)}.a => A
{map(string, A)}.` + "`b-1`" + ` => A
has({map(string, A)}.a) => bool
has({dyn}.a) => bool
{dyn}.a => dyn
[{A}, {A}] => list(A)
[{A}, {A}, {A}] => list(A)
[{dyn}, {dyn}] => list(dyn)
«{A}: {B}, {A}: {B}» => map(A, B)
«{string}: {A}, 'a': {A}» => map(string, A)
`

const conversions = `
int({int}) => int
int({uint}) => int
int({double}) => int
int({int_text}) => int
int({timestamp}) => int
uint({uint}) => uint
uint({int}) => uint
uint({double}) => uint
uint({int_text}) => uint
double({double}) => double
double({int}) => double
double({uint}) => double
double({double_text}) => double
bool({bool}) => bool
bool({bool_text}) => bool
string({string}) => string
string({bool}) => string
string({int}) => string
string({uint}) => string
string({double}) => string
string({bytes}) => string
string({timestamp}) => string
string({duration}) => string
bytes({bytes}) => bytes
bytes({string}) => bytes
timestamp({timestamp}) => timestamp
timestamp({int}) => timestamp
timestamp({time_text}) => timestamp
duration({duration}) => duration
duration({duration_text}) => duration
dyn({A}) => dyn
type({A}) => type
int({dyn}) => int
uint({dyn}) => uint
double({dyn}) => double
string({dyn}) => string
`

const standard = `
size({string}) => int
size({bytes}) => int
size({list(A)}) => int
size({map(A, B)}) => int
{string}.size() => int
{bytes}.size() => int
{list(A)}.size() => int
{map(A, B)}.size() => int
{string}.contains({part}) => bool
{string}.startsWith({part}) => bool
{string}.endsWith({part}) => bool
{string}.matches({regex}) => bool
matches({string}, {regex}) => bool
`

const times = `
{timestamp}.getFullYear() => int
{timestamp}.getMonth() => int
{timestamp}.getDate() => int
{timestamp}.getDayOfMonth() => int
{timestamp}.getDayOfWeek() => int
{timestamp}.getDayOfYear() => int
{timestamp}.getHours() => int
{timestamp}.getMinutes() => int
{timestamp}.getSeconds() => int
{timestamp}.getMilliseconds() => int
{timestamp}.getFullYear({zone}) => int
{timestamp}.getMonth({zone}) => int
{timestamp}.getDate({zone}) => int
{timestamp}.getDayOfMonth({zone}) => int
{timestamp}.getDayOfWeek({zone}) => int
{timestamp}.getDayOfYear({zone}) => int
{timestamp}.getHours({zone}) => int
{timestamp}.getMinutes({zone}) => int
{timestamp}.getSeconds({zone}) => int
{timestamp}.getMilliseconds({zone}) => int
{duration}.getHours() => int
{duration}.getMinutes() => int
{duration}.getSeconds() => int
{duration}.getMilliseconds() => int
`

const macros = `
{list(A)}.all(x, {bool|x:A}) => bool
{map(A, B)}.all(x, {bool|x:A}) => bool
{list(A)}.exists(x, {bool|x:A}) => bool
{map(A, B)}.exists(x, {bool|x:A}) => bool
{list(A)}.exists_one(x, {bool|x:A}) => bool
{map(A, B)}.exists_one(x, {bool|x:A}) => bool
{list(A)}.map(x, {B|x:A}) => list(B)
{list(A)}.map(x, {bool|x:A}, {B|x:A}) => list(B)
{map(A, C)}.map(x, {B|x:A}) => unordered(B)
{list(A)}.filter(x, {bool|x:A}) => list(A)
{map(A, B)}.filter(x, {bool|x:A}) => unordered(A)
{list(A)}.all(x, y, {bool|x:int;y:A}) => bool
{map(A, B)}.all(x, y, {bool|x:A;y:B}) => bool
{list(A)}.exists(x, y, {bool|x:int;y:A}) => bool
{map(A, B)}.exists(x, y, {bool|x:A;y:B}) => bool
{list(A)}.existsOne(x, y, {bool|x:int;y:A}) => bool
{map(A, B)}.existsOne(x, y, {bool|x:A;y:B}) => bool
{list(A)}.transformList(x, y, {B|x:int;y:A}) => list(B)
{list(A)}.transformList(x, y, {bool|x:int;y:A}, {B|x:int;y:A}) => list(B)
{map(A, C)}.transformList(x, y, {B|x:A;y:C}) => unordered(B)
{list(A)}.transformMap(x, y, {B|x:int;y:A}) => map(int, B)
{map(A, C)}.transformMap(x, y, {B|x:A;y:C}) => map(A, B)
{map(A, C)}.transformMap(x, y, {bool|x:A;y:C}, {B|x:A;y:C}) => map(A, B)
{list(A)}.transformMapEntry(x, y, «{B|x:int;y:A}: {C|x:int;y:A}») => map(B, C)
{map(A, D)}.transformMapEntry(x, y, «{B|x:A;y:D}: {C|x:A;y:D}») => map(B, C)
{map(A, D)}.transformMapEntry(x, y, {bool|x:A;y:D}, «{B|x:A;y:D}: {C|x:A;y:D}») => map(B, C)
cel.bind(x, {A}, {B|x:A}) => B
`

const stringFunctions = `
{string}.charAt({small}) => string
{string}.indexOf({part}) => int
{string}.indexOf({part}, {small}) => int
{string}.lastIndexOf({part}) => int
{string}.lastIndexOf({part}, {small}) => int
{list(string)}.join() => string
{list(string)}.join({part}) => string
strings.quote({string}) => string
{string}.replace({part}, {string}) => string
{string}.replace({part}, {string}, {small}) => string
{string}.split({part}) => list(string)
{string}.split({part}, {small}) => list(string)
{string}.substring({small}) => string
{string}.substring({small}, {small}) => string
{string}.trim() => string
{string}.lowerAscii() => string
{string}.upperAscii() => string
{string}.reverse() => string
{format} => string
`

const mathFunctions = `
math.greatest({int}) => int
math.greatest({int}, {int}) => int
math.greatest({uint}, {uint}, {uint}) => uint
math.greatest({double}, {double}) => double
math.greatest({list(int)}) => int
math.greatest({list(double)}) => double
math.greatest({dyn_number}, {dyn_number}) => dyn
math.greatest({int}, {double}, {uint}) => dyn
math.least({double}) => double
math.least({int}, {int}, {int}) => int
math.least({uint}, {uint}) => uint
math.least({double}, {double}, {double}) => double
math.least({list(uint)}) => uint
math.least({list(double)}) => double
math.least({dyn_number}, {dyn_number}) => dyn
math.least({int}, {double}, {uint}) => dyn
math.ceil({double}) => double
math.floor({double}) => double
math.round({double}) => double
math.trunc({double}) => double
math.abs({int}) => int
math.abs({uint}) => uint
math.abs({double}) => double
math.sign({int}) => int
math.sign({uint}) => uint
math.sign({double}) => double
math.isNaN({double}) => bool
math.isInf({double}) => bool
math.isFinite({double}) => bool
math.sqrt({double}) => double
math.sqrt({int}) => double
math.sqrt({uint}) => double
math.bitAnd({int}, {int}) => int
math.bitAnd({uint}, {uint}) => uint
math.bitOr({int}, {int}) => int
math.bitOr({uint}, {uint}) => uint
math.bitXor({int}, {int}) => int
math.bitXor({uint}, {uint}) => uint
math.bitNot({int}) => int
math.bitNot({uint}) => uint
math.bitShiftLeft({int}, {small}) => int
math.bitShiftLeft({uint}, {small}) => uint
math.bitShiftRight({int}, {small}) => int
math.bitShiftRight({uint}, {small}) => uint
`

const listFunctions = `
{list(A)}.distinct() => list(A)
{list(dyn)}.distinct() => list(dyn)
{list(list(A))}.flatten() => list(A)
{list(list(list(A)))}.flatten({small}) => dyn
lists.range({count}) => list(int)
{list(A)}.reverse() => list(A)
{list(A)}.slice({small}, {small}) => list(A)
{list(int)}.sort() => list(int)
{list(uint)}.sort() => list(uint)
{list(double)}.sort() => list(double)
{list(string)}.sort() => list(string)
{list(bytes)}.sort() => list(bytes)
{list(bool)}.sort() => list(bool)
{list(timestamp)}.sort() => list(timestamp)
{list(duration)}.sort() => list(duration)
{list(A)}.sortBy(x, {int|x:A}) => list(A)
{list(A)}.sortBy(x, {string|x:A}) => list(A)
{list(A)}.first() => optional_type(A)
{list(A)}.last() => optional_type(A)
`

const otherFunctions = `
sets.contains({list(A)}, {list(A)}) => bool
sets.contains({list(dyn)}, {list(dyn)}) => bool
sets.equivalent({list(A)}, {list(A)}) => bool
sets.equivalent({list(dyn)}, {list(dyn)}) => bool
sets.intersects({list(A)}, {list(A)}) => bool
sets.intersects({list(dyn)}, {list(dyn)}) => bool
base64.encode({bytes}) => string
base64.decode({base64_text}) => bytes
regex.extract({string}, {regex}) => optional_type(string)
regex.extractAll({string}, {regex}) => list(string)
regex.replace({string}, {regex}, {replacement}) => string
regex.replace({string}, {regex}, {replacement}, {small}) => string
`

const optionals = `
optional.of({A}) => optional_type(A)
optional.none() => optional_type(A)
optional.ofNonZeroValue({A}) => optional_type(A)
{optional_type(A)}.hasValue() => bool
{optional_type(A)}.value() => A
{optional_type(A)}.or({optional_type(A)}) => optional_type(A)
{optional_type(A)}.orValue({A}) => A
{optional_type(A)}.optMap(x, {B|x:A}) => optional_type(B)
{optional_type(A)}.optFlatMap(x, {optional_type(B)|x:A}) => optional_type(B)
optional.unwrap([{optional_type(A)}, {optional_type(A)}]) => list(A)
[{optional_type(A)}, {optional_type(A)}].unwrapOpt() => list(A)
{map(string, A)}.?a => optional_type(A)
{map(string, A)}.?a.orValue({A}) => A
{map(A, B)}[?{A}] => optional_type(B)
{list(A)}[?{small}] => optional_type(A)
{dyn}.?a => dyn
{dyn}.?a.?b => dyn
[?{optional_type(A)}, {A}] => list(A)
«?{A}: {optional_type(B)}, {A}: {B}» => map(A, B)
({optional_type(A)} == {optional_type(A)}) => bool
`

const networkFunctions = `
ip({ip_text}) => net.IP
isIP({ip_text}) => bool
ip.isCanonical({ip_text}) => bool
{net.IP}.family() => int
{net.IP}.isUnspecified() => bool
{net.IP}.isLoopback() => bool
{net.IP}.isLinkLocalMulticast() => bool
{net.IP}.isLinkLocalUnicast() => bool
{net.IP}.isGlobalUnicast() => bool
string({net.IP}) => string
({net.IP} == {net.IP}) => bool
cidr({cidr_text}) => net.CIDR
isCIDR({cidr_text}) => bool
{net.CIDR}.containsIP({net.IP}) => bool
{net.CIDR}.containsIP({ip_text}) => bool
{net.CIDR}.containsCIDR({net.CIDR}) => bool
{net.CIDR}.containsCIDR({cidr_text}) => bool
{net.CIDR}.ip() => net.IP
{net.CIDR}.masked() => net.CIDR
{net.CIDR}.prefixLength() => int
string({net.CIDR}) => string
({net.CIDR} == {net.CIDR}) => bool
`

const languageFunctions = `
json.encode({list(int)}) => string
json.encode({map(string, A)}) => string
json.encode({dyn}) => string
{net.CIDR}.isMask() => bool
`

const kubernetesFunctions = `
quantity({quantity_text}) => kubernetes.Quantity
isQuantity({quantity_text}) => bool
sign({kubernetes.Quantity}) => int
{kubernetes.Quantity}.isInteger() => bool
{kubernetes.Quantity}.asInteger() => int
{kubernetes.Quantity}.asApproximateFloat() => double
{kubernetes.Quantity}.add({kubernetes.Quantity}) => kubernetes.Quantity
{kubernetes.Quantity}.add({int}) => kubernetes.Quantity
{kubernetes.Quantity}.sub({kubernetes.Quantity}) => kubernetes.Quantity
{kubernetes.Quantity}.sub({int}) => kubernetes.Quantity
{kubernetes.Quantity}.isLessThan({kubernetes.Quantity}) => bool
{kubernetes.Quantity}.isGreaterThan({kubernetes.Quantity}) => bool
{kubernetes.Quantity}.compareTo({kubernetes.Quantity}) => int
({kubernetes.Quantity} == {kubernetes.Quantity}) => bool
url({url_text}) => kubernetes.URL
isURL({url_text}) => bool
{kubernetes.URL}.getScheme() => string
{kubernetes.URL}.getHost() => string
{kubernetes.URL}.getHostname() => string
{kubernetes.URL}.getPort() => string
{kubernetes.URL}.getEscapedPath() => string
{kubernetes.URL}.getQuery() => map(string, list(string))
({kubernetes.URL} == {kubernetes.URL}) => bool
semver({semver_text}) => kubernetes.Semver
semver({semver_text}, {bool}) => kubernetes.Semver
isSemver({semver_text}) => bool
isSemver({semver_text}, {bool}) => bool
{kubernetes.Semver}.major() => int
{kubernetes.Semver}.minor() => int
{kubernetes.Semver}.patch() => int
{kubernetes.Semver}.isLessThan({kubernetes.Semver}) => bool
{kubernetes.Semver}.isGreaterThan({kubernetes.Semver}) => bool
{kubernetes.Semver}.compareTo({kubernetes.Semver}) => int
({kubernetes.Semver} == {kubernetes.Semver}) => bool
format.named({format_name}).hasValue() => bool
format.dns1123Label().validate({name_text}).hasValue() => bool
format.dns1123Subdomain().validate({name_text}).hasValue() => bool
format.dns1035Label().validate({name_text}).hasValue() => bool
format.dns1123LabelPrefix().validate({name_text}).hasValue() => bool
format.dns1123SubdomainPrefix().validate({name_text}).hasValue() => bool
format.dns1035LabelPrefix().validate({name_text}).hasValue() => bool
format.qualifiedName().validate({name_text}).hasValue() => bool
format.labelValue().validate({name_text}).hasValue() => bool
format.uri().validate({url_text}).hasValue() => bool
format.uuid().validate({uuid_text}).hasValue() => bool
format.byte().validate({base64_text}).hasValue() => bool
format.date().validate({time_text}).hasValue() => bool
format.datetime().validate({time_text}).hasValue() => bool
{list(int)}.isSorted() => bool
{list(string)}.isSorted() => bool
{list(timestamp)}.isSorted() => bool
{list(int)}.sum() => int
{list(uint)}.sum() => uint
{list(double)}.sum() => double
{list(duration)}.sum() => duration
{list(int)}.min() => int
{list(double)}.min() => double
{list(string)}.min() => string
{list(int)}.max() => int
{list(duration)}.max() => duration
{list(bytes)}.max() => bytes
{list(A)}.indexOf({A}) => int
{list(A)}.lastIndexOf({A}) => int
{list(A)}.includes({A}) => bool
{string}.find({regex}) => string
{string}.findAll({regex}) => list(string)
{string}.findAll({regex}, {small}) => list(string)
`

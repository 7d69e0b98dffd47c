#include "cel/batch.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "base/hash.h"
#include "base/json/write.h"
#include "cel/engine.h"
#include "cel/opaque.h"
#include "cel/text.h"

namespace kollect::cel {

namespace json = base::json;

namespace {

constexpr std::string_view kTimestampType = "type.googleapis.com/google.protobuf.Timestamp";
constexpr std::string_view kDurationType = "type.googleapis.com/google.protobuf.Duration";
constexpr std::string_view kWellKnown = "type.googleapis.com/google.protobuf.";
constexpr std::string_view kAnyType = "type.googleapis.com/google.protobuf.Any";
/// Wrapper messages and the kind of cel.expr.Value with the same JSON form.
constexpr std::pair<std::string_view, std::string_view> kWrappers[] = {
    {"BoolValue", "boolValue"},     {"BytesValue", "bytesValue"},   {"DoubleValue", "doubleValue"},
    {"FloatValue", "doubleValue"},  {"Int32Value", "int64Value"},   {"Int64Value", "int64Value"},
    {"UInt32Value", "uint64Value"}, {"UInt64Value", "uint64Value"}, {"StringValue", "stringValue"},
};
constexpr int kMaxDepth = 200;
/// Bytes of a value in an answer. A list may hold another many times, so that no limit of memory
/// bounds its text.
constexpr std::size_t kMaxValueBytes = std::size_t{64} << 20U;

/// 64-bit integers stand as strings in protobuf JSON; numbers are taken as well.
template <class T>
bool read_integer(json::View view, T& out) {
  if (!view.is_string() && !view.is_number()) return false;
  const std::string_view text = view.is_string() ? view.as_string() : view.number_text();
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

bool read_double(json::View view, double& out) {
  if (view.is_number()) {
    out = view.number().as_double();
    return true;
  }
  if (!view.is_string()) return false;
  const std::string_view text = view.as_string();
  if (text == "NaN") out = std::nan("");
  if (text == "Infinity") out = INFINITY;
  if (text == "-Infinity") out = -INFINITY;
  return text == "NaN" || text == "Infinity" || text == "-Infinity";
}

class Reader {
 public:
  explicit Reader(Evaluation& evaluation) : evaluation_(evaluation) {}

  Value read(json::View view, int depth) {
    if (depth > kMaxDepth || !view.is_object() || view.size() != 1) return wrong();
    const auto member = *view.members().begin();
    return read_kind(member.key, member.value, depth);
  }

 private:
  Value read_kind(std::string_view kind, json::View value, int depth) {
    if (kind == "nullValue") return Value::null();
    if (kind == "boolValue" && value.is_bool()) return Value::of_bool(value.as_bool());
    if (kind == "int64Value") {
      std::int64_t number = 0;
      return read_integer(value, number) ? Value::of_int(number) : wrong();
    }
    if (kind == "uint64Value") {
      std::uint64_t number = 0;
      return read_integer(value, number) ? Value::of_uint(number) : wrong();
    }
    if (kind == "doubleValue") {
      double number = 0;
      return read_double(value, number) ? Value::of_double(number) : wrong();
    }
    if (kind == "stringValue" && value.is_string()) return Value::of_string(value.as_string());
    if (kind == "bytesValue" && value.is_string()) return read_bytes(value.as_string());
    if (kind == "listValue") return read_list(value, depth);
    if (kind == "mapValue") return read_map(value, depth);
    if (kind == "typeValue" && value.is_string()) return Value::of_type(value.as_string());
    if (kind == "objectValue") return read_object(value, depth);
    return wrong();
  }

  Value wrong() { return evaluation_.error("a binding is no cel.expr.Value"); }

  Value read_bytes(std::string_view text) {
    const auto decoded = base::base64_decode(text);
    return decoded ? evaluation_.bytes(*decoded) : wrong();
  }

  Value read_list(json::View view, int depth) {
    if (!view.is_object()) return wrong();
    ListBuilder builder(evaluation_);
    if (const auto values = view.find("values")) {
      if (!values->is_array()) return wrong();
      for (const json::View item : values->items()) {
        const Value value = read(item, depth + 1);
        if (value.is_error()) return value;
        if (!builder.add(value)) return builder.failed();
      }
    }
    return builder.value();
  }

  Value read_map(json::View view, int depth) {
    if (!view.is_object()) return wrong();
    MapBuilder builder(evaluation_);
    if (const auto entries = view.find("entries")) {
      if (!entries->is_array()) return wrong();
      for (const json::View entry : entries->items()) {
        if (!entry.is_object()) return wrong();
        const auto key = entry.find("key");
        const auto value = entry.find("value");
        if (!key || !value) return wrong();
        const Value read_key = read(*key, depth + 1);
        const Value read_value = read(*value, depth + 1);
        if (read_key.is_error()) return read_key;
        if (read_value.is_error()) return read_value;
        const Value error = builder.add(read_key, read_value);
        if (error.is_error()) return error;
      }
    }
    return builder.value();
  }

  /// A message in an Any: its value when it is a well-known one.
  Value read_object(json::View view, int depth) {
    if (!view.is_object()) return wrong();
    const std::string_view type = view.text("@type");
    const auto value = view.find("value");
    if (type == kTimestampType) return parse_timestamp(evaluation_, view.text("value"));
    if (type == kDurationType) return parse_duration(evaluation_, view.text("value"));
    if (!type.starts_with(kWellKnown) || !value) return unknown_message();
    if (type == kAnyType) return depth > kMaxDepth ? wrong() : read_object(*value, depth + 1);
    const std::string_view name = type.substr(kWellKnown.size());
    if (name == "Struct" || name == "ListValue" || name == "Value") return read_json(*value, depth);
    // Wrappers: the JSON form of a number or text tells its type only together with the name.
    for (const auto& [wrapper, kind] : kWrappers) {
      if (name == wrapper) return read_kind(kind, *value, depth);
    }
    return unknown_message();
  }

  Value unknown_message() {
    return evaluation_.error("messages other than the well-known ones are not supported");
  }

  /// JSON as google.protobuf.Value has it: all numbers are doubles.
  Value read_json(json::View view, int depth) {
    if (depth > kMaxDepth) return wrong();
    if (view.is_number()) return Value::of_double(view.number().as_double());
    if (view.is_array()) {
      ListBuilder builder(evaluation_);
      for (const json::View item : view.items()) {
        if (!builder.add(read_json(item, depth + 1))) return builder.failed();
      }
      return builder.value();
    }
    if (view.is_object()) {
      MapBuilder builder(evaluation_);
      for (const auto& member : view.members()) {
        const Value error =
            builder.add(Value::of_string(member.key), read_json(member.value, depth + 1));
        if (error.is_error()) return error;
      }
      return builder.value();
    }
    return Value::of_json(view);
  }

  Evaluation& evaluation_;
};

void append_member(std::string& out, std::string_view key, std::string_view text) {
  out += fmt::format("{{\"{}\":", key);
  json::append_string(out, text);
  out += '}';
}

void append_object(std::string& out, std::string_view type, std::string_view text) {
  out += fmt::format(R"({{"objectValue":{{"@type":"{}","value":)", type);
  json::append_string(out, text);
  out += "}}";
}

bool append_value(std::string& out, const Value& value, std::size_t end);

bool append_list(std::string& out, const Value& list, std::size_t end) {
  out += R"({"listValue":{"values":[)";
  Value item;
  bool first = true;
  for (ListCursor cursor(list); cursor.next(item); first = false) {
    if (!first) out += ',';
    if (!append_value(out, item, end)) return false;
  }
  out += "]}}";
  return true;
}

bool append_map(std::string& out, const Value& map, std::size_t end) {
  out += R"({"mapValue":{"entries":[)";
  auto entry = [&, first = true](const Value& key, const Value& value) mutable {
    out += first ? R"({"key":)" : R"(,{"key":)";
    first = false;
    if (!append_value(out, key, end)) return false;
    out += ",\"value\":";
    if (!append_value(out, value, end)) return false;
    out += '}';
    return true;
  };
  if (map.json) {
    for (const auto& member : json::View(map.node).sorted_members()) {
      if (!entry(Value::of_string(member.key), Value::of_json(member.value))) return false;
    }
  } else {
    for (std::uint32_t n = 0; n < map.count; ++n) {
      if (!entry(map.entries[n].key, map.entries[n].value)) return false;
    }
  }
  out += "]}}";
  return true;
}

void append_scalar(std::string& out, const Value& value) {
  switch (value.kind) {
    case Kind::kBool:
      out += fmt::format("{{\"boolValue\":{}}}", value.boolean);
      return;
    case Kind::kInt:
      out += fmt::format("{{\"int64Value\":\"{}\"}}", value.i);
      return;
    case Kind::kUint:
      out += fmt::format("{{\"uint64Value\":\"{}\"}}", value.u);
      return;
    case Kind::kDouble:
      if (std::isfinite(value.d)) {
        // "-0" would be read as an integer by many, so a point is always there.
        std::string number = fmt::format("{}", value.d);
        if (number.find_first_of(".e") == std::string::npos) number += ".0";
        out += fmt::format("{{\"doubleValue\":{}}}", number);
      } else {
        append_member(out, "doubleValue", double_text(value.d, true));
      }
      return;
    case Kind::kString:
      return append_member(out, "stringValue", value.as_text());
    case Kind::kBytes:
      return append_member(out, "bytesValue", base::base64_encode(value.as_text()));
    case Kind::kTimestamp:
      return append_object(out, kTimestampType, timestamp_text(value));
    case Kind::kDuration:
      return append_object(out, kDurationType, duration_text(value));
    case Kind::kType:
      return append_member(out, "typeValue", value.as_text());
    case Kind::kOpaque:
      return append_member(out, "stringValue", opaque_text(*value.opaque));
    default:
      out += R"({"nullValue":null})";
  }
}

/// False when the text passes `end`.
bool append_value(std::string& out, const Value& value, std::size_t end) {
  if (out.size() > end) return false;
  if (value.kind == Kind::kList) return append_list(out, value, end);
  if (value.kind == Kind::kMap) return append_map(out, value, end);
  if (value.kind == Kind::kOptional && value.held != nullptr) {
    return append_value(out, *value.held, end);
  }
  append_scalar(out, value);
  return true;
}

bool is_true(json::View request, std::string_view name) {
  const auto member = request.find(name);
  return member && member->is_bool() && member->as_bool();
}

std::optional<json::View> object_member(json::View request, std::string_view name) {
  const auto member = request.find(name);
  return member && member->is_object() ? member : std::nullopt;
}

/// Declared variables: those with a type, then those that are only bound.
Environment make_environment(json::View request) {
  Environment environment;
  environment.container = request.text("container");
  environment.well_known_messages = true;
  if (const auto functions = object_member(request, "functions")) {
    for (const auto& member : functions->members()) {
      environment.functions.push_back(
          {std::string(member.key), std::string(member.value.as_string())});
    }
  }
  const auto check = request.find("check");
  environment.check = !check || !check->is_bool() || check->as_bool();
  const auto types = object_member(request, "types");
  if (types) {
    for (const auto& member : types->members()) {
      environment.variables.push_back(
          {std::string(member.key), std::string(member.value.as_string())});
    }
  }
  if (const auto bindings = object_member(request, "bindings")) {
    for (const auto& member : bindings->members()) {
      if (!types || !types->find(member.key))
        environment.variables.push_back({std::string(member.key), "dyn"});
    }
  }
  return environment;
}

/// Name of the first member with another form than the line's grammar has, empty when all fit. null
/// stands for a missing member.
std::string_view wrong_member(json::View request) {
  using Test = bool (*)(json::View);
  constexpr Test kText = [](json::View v) { return v.is_string(); };
  constexpr Test kBool = [](json::View v) { return v.is_bool(); };
  constexpr Test kObject = [](json::View v) { return v.is_object(); };
  constexpr Test kTexts = [](json::View v) {
    if (!v.is_object()) return false;
    for (const auto& member : v.members()) {
      if (!member.value.is_string()) return false;
    }
    return true;
  };
  constexpr std::pair<std::string_view, Test> kMembers[] = {
      {"container", kText}, {"bindings", kObject}, {"types", kTexts},   {"functions", kTexts},
      {"check", kBool},     {"type", kBool},       {"evaluate", kBool},
  };
  for (const auto& [name, fits] : kMembers) {
    const auto member = request.find(name);
    if (member && !member->is_null() && !fits(*member)) return name;
  }
  return {};
}

/// The inside of the answer behind the id.
std::string answer(json::View request) {
  const auto failure = [](std::string_view message, std::string_view phase) {
    std::string out = "\"error\":";
    json::append_string(out, message);
    return out + fmt::format(",\"phase\":\"{}\"", phase);
  };
  const auto expression = request.find("expr");
  if (!expression || !expression->is_string())
    return failure("the line has no text \"expr\"", "parse");
  if (const std::string_view wrong = wrong_member(request); !wrong.empty()) {
    return failure(fmt::format("\"{}\" of the line has another form", wrong), "parse");
  }
  const auto engine = Engine::compile(expression->as_string(), make_environment(request));
  if (!engine) {
    return failure(engine.error().message,
                   engine.error().phase == CompileError::Phase::kParse ? "parse" : "check");
  }
  std::string out;
  const auto evaluate = request.find("evaluate");
  const bool check_only = evaluate && evaluate->is_bool() && !evaluate->as_bool();
  if (check_only || is_true(request, "type")) {
    out = "\"type\":";
    json::append_string(out, (*engine)->result_type());
  }
  if (check_only) return out;
  if (!out.empty()) out += ',';
  const auto& names = (*engine)->variables();
  std::vector<Value> values(names.size());
  Evaluation evaluation({.cost = (*engine)->cost_limit(), .memory = Budget().memory},
                        values.data());
  const auto bindings = object_member(request, "bindings");
  for (std::size_t n = 0; n < names.size(); ++n) {
    const auto bound = bindings ? bindings->find(names[n]) : std::nullopt;
    values[n] = bound ? read_proto_value(evaluation, *bound)
                      : evaluation.errorf("the variable '{}' has no value here", names[n]);
  }
  const Value value = (*engine)->run(evaluation);
  if (value.is_error()) return out + failure((*engine)->describe(value).message, "eval");
  std::string text;
  if (!append_proto_value(text, value)) return out + failure("the value is too large", "eval");
  return out + "\"value\":" + text;
}

}  // namespace

Value read_proto_value(Evaluation& evaluation, json::View view) {
  return Reader(evaluation).read(view, 0);
}

bool append_proto_value(std::string& out, const Value& value) {
  const std::size_t before = out.size();
  if (append_value(out, value, before + kMaxValueBytes)) return true;
  out.resize(before);
  return false;
}

std::string refuse_batch_line(std::string_view message) {
  std::string out = R"({"id":null,"error":)";
  json::append_string(out, message);
  return out + R"(,"phase":"parse"})";
}

std::string run_batch_line(std::string_view line) {
  const auto document = json::Document::parse(line);
  std::string out = "{\"id\":";
  if (!document || !document->root().is_object()) {
    return refuse_batch_line(document ? "the line is no JSON object"
                                      : "the line is no JSON object: " + document.error().message);
  }
  const auto id = document->root().find("id");
  if (id) {
    json::append_compact(out, *id);
  } else {
    out += "null";
  }
  out += ',';
  out += answer(document->root());
  return out + '}';
}

}  // namespace kollect::cel

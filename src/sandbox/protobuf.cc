#include "sandbox/protobuf.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

/// "number name type" joined by "|". Types: s text, x bytes, i number, b truth (those are left out
/// when empty, 0 or false; I and B are not), m map of texts, y map of bytes, t time, n number or
/// text; a name: a message. "*" in front: a list.
struct Message {
  std::string_view name;
  std::string_view fields;
};
constexpr Message kMessages[] = {
    {"Namespace", "1 metadata Meta|2 spec NamespaceSpec|3 status NamespaceStatus"},
    {"NamespaceSpec", "1 finalizers *s"},
    {"NamespaceStatus", "1 phase s"},
    {"ConfigMap", "1 metadata Meta|2 data m|3 binaryData y|4 immutable B"},
    {"Secret", "1 metadata Meta|2 data y|3 type s|4 stringData m|5 immutable B"},
    {"ServiceAccount",
     "1 metadata Meta|3 imagePullSecrets *Local|4 automountServiceAccountToken B"},
    {"Local", "1 name s"},
    {"Service", "1 metadata Meta|2 spec ServiceSpec|3 status Empty"},
    {"ServiceSpec",
     "1 ports *ServicePort|2 selector m|3 clusterIP s|4 type s|5 externalIPs *s|7 sessionAffinity "
     "s|"
     "8 loadBalancerIP s|10 externalName s|18 clusterIPs *s"},
    {"ServicePort", "1 name s|2 protocol s|3 port i|4 targetPort n|5 nodePort i"},
    {"Deployment", "1 metadata Meta|2 spec DeploymentSpec|3 status Empty"},
    {"DeploymentSpec",
     "1 replicas I|2 selector LabelSelector|3 template PodTemplate|4 strategy Strategy|"
     "5 minReadySeconds i|6 revisionHistoryLimit I|7 paused b|9 progressDeadlineSeconds I"},
    {"Strategy", "1 type s"},
    {"LabelSelector", "1 matchLabels m|2 matchExpressions *Requirement"},
    {"Requirement", "1 key s|2 operator s|3 values *s"},
    {"PodTemplate", "1 metadata Meta|2 spec PodSpec"},
    {"Pod", "1 metadata Meta|2 spec PodSpec|3 status Empty"},
    {"PodSpec",
     "2 containers *Container|3 restartPolicy s|4 terminationGracePeriodSeconds I|"
     "5 activeDeadlineSeconds I|6 dnsPolicy s|7 nodeSelector m|8 serviceAccountName s|"
     "9 serviceAccount s|10 nodeName s|11 hostNetwork b|12 hostPID b|13 hostIPC b"},
    {"Container",
     "1 name s|2 image s|3 command *s|4 args *s|5 workingDir s|6 ports *ContainerPort|7 env *Env|"
     "8 resources Empty|13 terminationMessagePath s|14 imagePullPolicy s|16 stdin b|17 stdinOnce b|"
     "18 tty b|20 terminationMessagePolicy s"},
    {"ContainerPort", "1 name s|2 hostPort i|3 containerPort i|4 protocol s|5 hostIP s"},
    {"Env", "1 name s|2 value s"},
    {"Job", "1 metadata Meta|2 spec JobSpec|3 status Empty"},
    {"JobSpec",
     "1 parallelism I|2 completions I|3 activeDeadlineSeconds I|4 selector LabelSelector|"
     "5 manualSelector B|6 template PodTemplate|7 backoffLimit I|8 ttlSecondsAfterFinished I"},
    {"CronJob", "1 metadata Meta|2 spec CronJobSpec|3 status Empty"},
    {"CronJobSpec",
     "1 schedule s|2 startingDeadlineSeconds I|3 concurrencyPolicy s|4 suspend B|"
     "5 jobTemplate JobTemplate|6 successfulJobsHistoryLimit I|7 failedJobsHistoryLimit I"},
    {"JobTemplate", "1 metadata Meta|2 spec JobSpec"},
    {"Role", "1 metadata Meta|2 rules *Rule"},
    {"ClusterRole", "1 metadata Meta|2 rules *Rule"},
    {"Rule", "1 verbs *s|2 apiGroups *s|3 resources *s|4 resourceNames *s|5 nonResourceURLs *s"},
    {"RoleBinding", "1 metadata Meta|2 subjects *Subject|3 roleRef RoleRef"},
    {"ClusterRoleBinding", "1 metadata Meta|2 subjects *Subject|3 roleRef RoleRef"},
    {"Subject", "1 kind s|2 apiGroup s|3 name s|4 namespace s"},
    {"RoleRef", "1 apiGroup s|2 kind s|3 name s"},
    {"PriorityClass",
     "1 metadata Meta|2 value i|3 globalDefault b|4 description s|5 preemptionPolicy s"},
    {"Scale", "1 metadata Meta|2 spec ScaleSpec|3 status ScaleStatus"},
    {"ScaleSpec", "1 replicas i"},
    {"ScaleStatus", "1 replicas i|2 selector s"},
    {"SelfSubjectAccessReview", "1 metadata Meta|2 spec ReviewSpec|3 status Empty"},
    {"ReviewSpec",
     "1 resourceAttributes ResourceAttributes|2 nonResourceAttributes PathAttributes"},
    {"ResourceAttributes",
     "1 namespace s|2 verb s|3 group s|4 version s|5 resource s|6 subresource s|7 name s"},
    {"PathAttributes", "1 path s|2 verb s"},
    {"SelfSubjectRulesReview", "1 metadata Meta|2 spec RulesSpec|3 status Empty"},
    {"RulesSpec", "1 namespace s"},
    {"SelfSubjectReview", "1 metadata Meta|2 status Empty"},
    {"DeleteOptions",
     "1 gracePeriodSeconds I|2 preconditions Preconditions|3 orphanDependents B|"
     "4 propagationPolicy s|5 dryRun *s"},
    {"Preconditions", "1 uid s|2 resourceVersion s"},
    {"Meta",
     "1 name s|2 generateName s|3 namespace s|5 uid s|6 resourceVersion s|7 generation i|"
     "8 creationTimestamp t|9 deletionTimestamp t|10 deletionGracePeriodSeconds I|11 labels m|"
     "12 annotations m|13 ownerReferences *Owner|14 finalizers *s"},
    {"Owner", "1 kind s|3 name s|4 uid s|5 apiVersion s|6 controller B|7 blockOwnerDeletion B"},
    // The parts of answers, which nobody sends filled.
    {"Empty", ""},
    {"Unknown", "1 typeMeta Type|2 raw raw|3 contentEncoding s|4 contentType s"},
    {"Type", "1 apiVersion s|2 kind s"},
    {"Entry", "1 key raw|2 value raw"},
    {"Time", "1 seconds i|2 nanos i"},
    {"IntOrString", "1 type i|2 intVal i|3 strVal s"},
};

/// One field as it stands in the bytes.
struct Wire {
  std::uint64_t number = 0;
  std::uint64_t varint = 0;
  std::string_view bytes;
  bool is_bytes = false;
  [[nodiscard]] bool empty() const { return is_bytes ? bytes.empty() : varint == 0; }
};

std::optional<std::uint64_t> take_varint(std::string_view& in) {
  constexpr int kMost = 10;
  constexpr int kBits = 7;
  constexpr unsigned kMore = 0x80;
  std::uint64_t out = 0;
  for (int i = 0; i < kMost && !in.empty(); ++i) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= static_cast<std::uint64_t>(byte & (kMore - 1)) << static_cast<unsigned>(kBits * i);
    if ((byte & kMore) == 0) return out;
  }
  return std::nullopt;
}

/// None: broken, or of a wire type that Kubernetes does not use.
std::optional<Wire> take_field(std::string_view& in) {
  constexpr unsigned kTypeBits = 3;
  constexpr std::uint64_t kTypeMask = 7;
  constexpr std::uint64_t kBytes = 2;
  const auto tag = take_varint(in);
  if (!tag) return std::nullopt;
  const auto value = take_varint(in);
  if (!value) return std::nullopt;
  Wire out{.number = *tag >> kTypeBits, .varint = *value, .bytes = {}};
  if ((*tag & kTypeMask) == 0) return out;
  if ((*tag & kTypeMask) != kBytes || *value > in.size()) return std::nullopt;
  out.is_bytes = true;
  out.bytes = in.substr(0, *value);
  in.remove_prefix(*value);
  return out;
}

const Message* find_message(std::string_view name) {
  for (const Message& one : kMessages) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

struct Field {
  std::string_view name;
  std::string_view type;
};

std::optional<Field> find_field(const Message& message, std::uint64_t number) {
  for (const auto part : base::split(message.fields, '|')) {
    const auto words = base::split(part, ' ');
    if (words.size() == 3 && words[0] == std::to_string(number)) {
      return Field{.name = words[1], .type = words[2]};
    }
  }
  return std::nullopt;
}

Status unknown(std::string_view what) {
  Status status = unsupported_media("application/json, application/yaml");
  status.message += fmt::format(" ({} is not known in binary form)", what);
  return status;
}

constexpr int kMaxDepth = 20;

Outcome<Value> read_message(std::string_view name, std::string_view in, int depth);

Outcome<Value> read_time(std::string_view in, int depth) {
  SB_ASSIGN(const Value parts, read_message("Time", in, depth));
  const Value* seconds = parts.find("seconds");
  if (seconds == nullptr || !seconds->is_int()) return Value();
  constexpr std::int64_t kFarthest = 9'000'000'000;  // nanoseconds stay within 64 bits
  if (std::abs(seconds->as_int()) > kFarthest) return std::unexpected(bad_request("bad time"));
  return Value(
      base::format_rfc3339_seconds(base::WallTime(std::chrono::seconds(seconds->as_int()))));
}

Outcome<Value> read_int_or_string(std::string_view in, int depth) {
  SB_ASSIGN(const Value parts, read_message("IntOrString", in, depth));
  if (parts.find("type") != nullptr) return Value(parts.text("strVal"));
  const Value* number = parts.find("intVal");
  return number != nullptr ? *number : Value(0);
}

/// Null: nothing to set.
Outcome<Value> read_value(std::string_view type, const Wire& wire, int depth) {
  const bool keeps_empty = type == "I" || type == "B";
  if (type == "i" || type == "I" || type == "b" || type == "B") {
    if (wire.is_bytes) return std::unexpected(bad_request("a number is expected"));
    if (wire.varint == 0 && !keeps_empty) return Value();
    if (type == "b" || type == "B") return Value(wire.varint != 0);
    return Value(static_cast<std::int64_t>(wire.varint));
  }
  if (!wire.is_bytes) return std::unexpected(bad_request("bytes are expected"));
  if (type == "raw") return Value(wire.bytes);
  if (type == "s") return wire.bytes.empty() ? Value() : Value(wire.bytes);
  if (type == "x") return Value(base::base64_encode(wire.bytes));
  if (type == "t") return read_time(wire.bytes, depth);
  if (type == "n") return read_int_or_string(wire.bytes, depth);
  SB_ASSIGN(Value message, read_message(type, wire.bytes, depth));
  return message;
}

Outcome<> add_entry(Object& out, const Field& field, const Wire& wire, int depth) {
  SB_ASSIGN(const Value entry, read_message("Entry", wire.bytes, depth));
  const std::string_view value = entry.text("value");
  Value& map = out[field.name];
  if (!map.is_object()) map = Object{};
  map.as_object().set(std::string(entry.text("key")),
                      field.type == "y" ? Value(base::base64_encode(value)) : Value(value));
  return {};
}

Outcome<> add_field(Object& out, const Field& field, const Wire& wire, int depth) {
  if (field.type == "m" || field.type == "y") return add_entry(out, field, wire, depth);
  const bool list = field.type.starts_with('*');
  const std::string_view type = field.type.substr(list ? 1 : 0);
  // An empty text in a list is one of its items ("" is the group of core).
  SB_ASSIGN(Value value, read_value(list && type == "s" ? "raw" : type, wire, depth));
  if (list) {
    Value& items = out[field.name];
    if (!items.is_array()) items = Array{};
    items.as_array().push_back(std::move(value));
  } else if (!value.is_null() && !(value.is_object() && value.as_object().empty())) {
    out.set(std::string(field.name), std::move(value));
  }
  return {};
}

Outcome<Value> read_message(std::string_view name, std::string_view in, int depth) {
  const Message* message = find_message(name);
  if (message == nullptr) return std::unexpected(unknown(name));
  if (depth > kMaxDepth) return std::unexpected(bad_request("too deep"));
  Object out;
  while (!in.empty()) {
    const auto wire = take_field(in);
    if (!wire) return std::unexpected(bad_request("the body is no protobuf message"));
    const auto field = find_field(*message, wire->number);
    if (field) {
      SB_TRY(add_field(out, *field, *wire, depth + 1));
    } else if (!wire->empty() && name != "Empty") {
      return std::unexpected(unknown(fmt::format("field {} of {}", wire->number, name)));
    }
  }
  return Value(std::move(out));
}

}  // namespace

Outcome<Value> read_protobuf(std::string_view body) {
  constexpr std::string_view kMagic("k8s\0", 4);
  if (!body.starts_with(kMagic)) {
    return std::unexpected(bad_request("the body does not begin as a protobuf message does"));
  }
  SB_ASSIGN(const Value whole, read_message("Unknown", body.substr(kMagic.size()), 0));
  const Value* type = whole.find("typeMeta");
  if (type == nullptr || whole.find("raw") == nullptr) {
    return std::unexpected(bad_request("the body does not hold a type and an object"));
  }
  SB_ASSIGN(const Value object, read_message(type->text("kind"), whole.text("raw"), 0));
  Object out;
  out.set("apiVersion", type->text("apiVersion"));
  out.set("kind", type->text("kind"));
  for (const auto& [key, value] : object.as_object()) out.set(key, value);
  return Value(std::move(out));
}

}  // namespace kollect::sandbox

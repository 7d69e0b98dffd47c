#include "sandbox/object_template.h"

#include <fmt/format.h>

#include <array>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sandbox {

namespace {

constexpr std::string_view kStart = "{\"metadata\":{";

std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::array<std::uint64_t, 3> words{seed, a, b};
  return base::xxh64({reinterpret_cast<const char*>(words.data()), sizeof words});
}

void append_uid(std::string& out, std::uint64_t high, std::uint64_t low) {
  fmt::format_to(std::back_inserter(out), "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32U,
                 (high >> 16U) & 0xffffU, high & 0xfffU, 0x8000U | ((low >> 48U) & 0x3fffU),
                 low & 0xffffffffffffU);
}

void append_created(std::string& out, std::uint32_t index) {
  fmt::format_to(std::back_inserter(out), "2026-01-{:02}T{:02}:{:02}:{:02}Z", 1 + index % 28,
                 index % 24, index / 24 % 60, index / 1440 % 60);
}

constexpr std::string_view kDeployment = R"json({"metadata":{"generation":{{revision}},
"labels":{"app.kubernetes.io/name":"{{name}}","app.kubernetes.io/part-of":"{{pick:checkout|catalog|billing|search|accounts}}",
"app.kubernetes.io/version":"1.{{pick:4|5|6|7}}.{{revision}}","team":"{{pick:blue|green|red|amber}}",
"environment":"{{pick:production|staging}}"},
"annotations":{"deployment.kubernetes.io/revision":"{{revision}}","contact":"{{pick:blue|green|red|amber}}@example.test"}},
"spec":{"replicas":{{pick-now:1|2|3|5|8}},"selector":{"matchLabels":{"app.kubernetes.io/name":"{{name}}"}},
"template":{"metadata":{"labels":{"app.kubernetes.io/name":"{{name}}","team":"{{pick:blue|green|red|amber}}"}},
"spec":{"containers":[{"name":"app","image":"registry.example.test/{{pick:checkout|catalog|billing|search|accounts}}/app:1.{{pick:4|5|6|7}}.{{revision}}",
"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],
"env":[{"name":"LOG_LEVEL","value":"{{pick:info|warn|debug}}"},{"name":"SHARD","value":"{{index}}"}],
"resources":{"limits":{"cpu":"{{pick:250m|500m|1|2}}","memory":"{{pick:128Mi|256Mi|512Mi|1Gi}}"},"requests":{"cpu":"100m","memory":"128Mi"}},
"readinessProbe":{"httpGet":{"path":"/ready","port":"http","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent",
"securityContext":{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"runAsNonRoot":true}},
{"name":"proxy","image":"registry.example.test/mesh/proxy:2.{{pick:1|2|3}}.0","resources":{},"imagePullPolicy":"IfNotPresent"}],
"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"{{name}}",
"securityContext":{},"schedulerName":"default-scheduler"}},
"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},
"revisionHistoryLimit":10,"progressDeadlineSeconds":600},
"status":{"observedGeneration":{{revision}},"replicas":{{pick-now:1|2|3|5|8}},"updatedReplicas":{{pick-now:1|2|3|5|8}},
"readyReplicas":{{pick-now:1|2|3|5|8}},"availableReplicas":{{pick-now:1|2|3|5|8}},
"conditions":[{"type":"Available","status":"{{pick:True|True|True|False}}","lastUpdateTime":"{{created}}","lastTransitionTime":"{{created}}",
"reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."}]}})json";

constexpr std::string_view kPod =
    R"json({"metadata":{"labels":{"app.kubernetes.io/name":"{{pick:checkout|catalog|billing|search|accounts}}",
"team":"{{pick:blue|green|red|amber}}","pod-template-hash":"{{pick:5d9c8f7b6|7f6b5d8c9|6c8d7f9b5}}"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{{pick:checkout|catalog|billing}}-5d9c8f7b6",
"uid":"{{uid}}","controller":true,"blockOwnerDeletion":true}]},
"spec":{"nodeName":"node-{{pick:01|02|03|04|05|06|07|08}}","containers":[{"name":"app",
"image":"registry.example.test/{{pick:checkout|catalog|billing|search|accounts}}/app:1.{{pick:4|5|6|7}}.0",
"resources":{"requests":{"cpu":"100m","memory":"128Mi"}},"imagePullPolicy":"IfNotPresent"}],
"restartPolicy":"Always","serviceAccountName":"default","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]},
"status":{"phase":"{{pick-now:Running|Running|Running|Pending|Failed}}","podIP":"10.{{pick:1|2|3}}.{{pick:4|5|6}}.{{pick:7|8|9}}","qosClass":"Burstable",
"startTime":"{{created}}","containerStatuses":[{"name":"app","ready":true,"restartCount":{{revision}},
"image":"registry.example.test/app","started":true,"state":{"running":{"startedAt":"{{created}}"}}}]}})json";

constexpr std::string_view kService =
    R"json({"metadata":{"labels":{"team":"{{pick:blue|green|red|amber}}"}},
"spec":{"type":"ClusterIP","clusterIP":"10.96.{{pick:1|2|3}}.{{pick:4|5|6}}","selector":{"app.kubernetes.io/name":"{{name}}"},
"ports":[{"name":"http","port":80,"targetPort":"http","protocol":"TCP"}],"sessionAffinity":"None"},
"status":{"loadBalancer":{}}})json";

constexpr std::string_view kConfigMap =
    R"json({"metadata":{"labels":{"team":"{{pick:blue|green|red|amber}}"}},
"data":{"index":"{{index}}","revision":"{{revision}}","colour":"{{pick-now:blue|green|red|amber}}",
"config.yaml":"shop: {{pick:checkout|catalog|billing}}\nreplicas: {{pick-now:1|2|3}}\n"}})json";

constexpr std::string_view kSecret =
    R"json({"metadata":{"labels":{"team":"{{pick:blue|green|red|amber}}"}},
"type":"Opaque","data":{"user":"YWRtaW4=","password":"{{pick:aHVudGVyMg==|c3dvcmRmaXNo|b3BlbnNlc2FtZQ==}}"}})json";

constexpr std::string_view kOther =
    R"json({"metadata":{"generation":{{revision}},"labels":{"team":"{{pick:blue|green|red|amber}}"}},
"spec":{"index":{{index}},"colour":"{{pick-now:blue|green|red|amber}}"},"status":{"revision":{{revision}}}})json";

}  // namespace

base::Result<ObjectTemplate> ObjectTemplate::compile(std::string_view json) {
  if (!json.starts_with(kStart)) {
    return base::configuration("a template begins with its metadata");
  }
  json.remove_prefix(kStart.size());
  std::string text =
      "\"name\":\"{{name}}\",{{namespace}}\"uid\":\"{{uid}}\",\"creationTimestamp\":\"{{created}}"
      "\"";
  if (!json.starts_with('}')) text += ',';
  text += json;
  ObjectTemplate out;
  std::string_view rest = text;
  while (true) {
    const std::size_t open = rest.find("{{");
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find("}}", open);
    if (close == std::string_view::npos) return base::configuration("a hole has no end");
    Piece piece;
    piece.text = rest.substr(0, open);
    const std::string_view name = rest.substr(open + 2, close - open - 2);
    rest.remove_prefix(close + 2);
    constexpr std::string_view kPickStart = "pick:";
    constexpr std::string_view kPickNowStart = "pick-now:";
    if (name == "name") piece.hole = Hole::kName;
    if (name == "namespace") piece.hole = Hole::kNamespace;
    if (name == "uid") piece.hole = Hole::kUid;
    if (name == "index") piece.hole = Hole::kIndex;
    if (name == "revision") piece.hole = Hole::kRevision;
    if (name == "created") piece.hole = Hole::kCreated;
    std::string_view choices;
    if (name.starts_with(kPickStart)) {
      piece.hole = Hole::kPick;
      choices = name.substr(kPickStart.size());
    }
    if (name.starts_with(kPickNowStart)) {
      piece.hole = Hole::kPickNow;
      choices = name.substr(kPickNowStart.size());
    }
    if (piece.hole == Hole::kNone) {
      return base::configuration(fmt::format("unknown hole {{{{{}}}}} in a template", name));
    }
    for (const std::string_view choice : base::split(choices, '|')) {
      piece.choices.emplace_back(choice);
    }
    out.pieces_.push_back(std::move(piece));
  }
  Piece last;
  last.text = rest;
  out.pieces_.push_back(std::move(last));
  return out;
}

ObjectTemplate ObjectTemplate::for_kind(std::string_view kind) {
  std::string_view json = kOther;
  if (kind == "Deployment") json = kDeployment;
  if (kind == "Pod") json = kPod;
  if (kind == "Service") json = kService;
  if (kind == "ConfigMap") json = kConfigMap;
  if (kind == "Secret") json = kSecret;
  // The line breaks are for reading here.
  auto compiled = compile(base::replace_all(std::string(json), "\n", ""));
  return compiled ? std::move(*compiled) : ObjectTemplate{};
}

void ObjectTemplate::append(std::string& out, const Subject& subject) const {
  std::uint64_t turn = 0;
  for (const Piece& piece : pieces_) {
    out += piece.text;
    switch (piece.hole) {
      case Hole::kNone:
        break;
      case Hole::kName:
        out += subject.name;
        break;
      case Hole::kNamespace:
        if (subject.ns.empty()) break;
        out += "\"namespace\":\"";
        out += subject.ns;
        out += "\",";
        break;
      case Hole::kUid:
        append_uid(out, mix(subject.seed, subject.index, 1), mix(subject.seed, subject.index, 2));
        break;
      case Hole::kIndex:
        fmt::format_to(std::back_inserter(out), "{}", subject.index);
        break;
      case Hole::kRevision:
        fmt::format_to(std::back_inserter(out), "{}", subject.revision + 1);
        break;
      case Hole::kCreated:
        append_created(out, subject.index);
        break;
      case Hole::kPick:
        // Lists of equal length choose alike, so that an object fits itself.
        turn = mix(subject.seed, subject.index, piece.choices.size() << 8U);
        out += piece.choices[turn % piece.choices.size()];
        break;
      case Hole::kPickNow:
        turn = mix(subject.seed + 1, subject.index, subject.revision);
        out += piece.choices[turn % piece.choices.size()];
        break;
    }
  }
}

}  // namespace kollect::sandbox

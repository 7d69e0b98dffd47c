// Random histories of a cluster and of registrations, faults included: when all is quiet again,
// rows and failures are those of a fresh look at everything.
#include <gtest/gtest.h>

#include <random>

#include "collector/collector_test_support.h"
#include "support/fake_kube.h"

namespace kollect::collector {
namespace {

using namespace collector::testing;
using kollect::testing::FakeKube;

const std::vector<std::string> kNamespaces = {"a", "b", "c", "d", "e"};
const std::vector<std::string> kSpecs = {
    "{}",
    "{labelSelector: {matchLabels: {app: x}}}",
    "{watchMode: OptIn}",
    "{names: [o1, o2, o3]}",
    "{resourceRules: [{gvk: {version: v1, kind: ConfigMap}, namespaceSelector: {matchLabels: "
    "{zone: e}}}]}",
    "{resourceRules: [{gvk: {version: v1, kind: ConfigMap}, matchPolicy: \"object.data.value == "
    "'v1'\"}]}",
};
const std::vector<std::pair<std::string, std::string>> kAttributes = {
    {"value", "$.data.value"},
    {"value", "cel:object.data.value"},  // fails where there is none
    {"app", "$.metadata.labels.app"},
};

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed), client_(kube_.client()) {
    for (const std::string& ns : kNamespaces) relabel(ns);
    for (int i = 0; i < 30; ++i) put();
    CollectorOptions options = quick_options();
    options.reflector.watch_list = false;
    options.reflector.seed = seed;
    options.page_size = 3;
    options.access_reviews = pick(2) == 0;
    options.tenant_mode = pick(4) == 0;
    options.first_list_deadline = std::chrono::hours(1);
    tenant_ = options.tenant_mode;
    stage_ = std::make_unique<Stage>(client_, options);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    calm();
  }

  void check() {
    for (const auto& [owner, registration] : targets_) {
      const auto [rows, failures] = expected(owner, registration);
      const bool same = stage_->wait([&, wanted = rows, wrong = failures] {
        const Signals signals = stage_->collector.signals(owner);
        const bool told = nothing_readable(registration)
                              ? signals.error && signals.error->reason == "forbidden"
                              : signals.complete && !signals.evaluating && !signals.error;
        return told && rows_of(owner, registration) == wanted &&
               signals.extraction_failures == wrong;
      });
      EXPECT_TRUE(same) << owner.name << "\nhas   " << rows_of(owner, registration) << "\nwants "
                        << rows << "\nfailures " << failures << "\n"
                        << Stage::describe(stage_->collector.signals(owner)) << "\nwatches "
                        << stage_->open_watches();
    }
    for (const inventory::Owner& owner : stage_->store.owners()) {
      inventory::Owner target = owner;
      if (owner.owner_class == inventory::OwnerClass::kClusterTarget) target.ns.clear();
      EXPECT_TRUE(targets_.contains(target)) << "rows of nobody: " << owner.ns << " " << owner.name;
    }
  }

 private:
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[pick(list.size())];
  }

  void step() {
    switch (pick(16)) {
      case 0:
      case 1:
        return register_one();
      case 2:
        return unregister_one();
      case 3:
        return relabel(one_of(kNamespaces));
      case 4:
        return kube_.cut_watches(pick(2) == 0);
      case 5:
        return spoil();
      case 6:
        return calm();
      case 7:
        return restrict_rights();
      case 8:
      case 9:
        return remove();
      case 10:
        return wait_for_rest();
      default:
        return put();
    }
  }

  /// Lets everything happen that is on its way.
  void wait_for_rest() {
    if (spoilt_) return;
    for (const auto& [owner, registration] : targets_) {
      const bool rests = stage_->wait([&, key = owner] {
        const Signals signals = stage_->collector.signals(key);
        return !signals.evaluating || signals.error.has_value();
      });
      EXPECT_TRUE(rests) << Stage::describe(stage_->collector.signals(owner));
    }
  }

  std::string object_name() { return fmt::format("o{}", pick(8)); }

  void put() {
    FakeKube::Object object{
        .plural = "configmaps", .ns = one_of(kNamespaces), .name = object_name(), .uid = {}};
    std::string& uid = uids_[object.ns + "/" + object.name];
    if (uid.empty() || pick(6) == 0) {
      kube_.remove(object.plural, object.ns, object.name);
      uid = fmt::format("{}-{}-{}", object.ns, object.name, ++created_);
    }
    object.uid = uid;
    object.labels["app"] = pick(2) == 0 ? "x" : "y";
    if (pick(5) == 0) object.labels["kollect.dev/watch"] = pick(2) == 0 ? "enabled" : "disabled";
    if (pick(4) != 0) object.value = fmt::format("v{}", pick(3));
    kube_.put(object);
  }

  void remove() {
    const std::string& ns = one_of(kNamespaces);
    const std::string name = object_name();
    kube_.remove("configmaps", ns, name);
    uids_.erase(ns + "/" + name);
  }

  void relabel(const std::string& ns) {
    std::map<std::string, std::string> labels = {{"zone", pick(2) == 0 ? "e" : "w"}};
    if (pick(3) == 0) labels["kollect.dev/watch"] = pick(2) == 0 ? "enabled" : "disabled";
    std::map<std::string, std::string> annotations;
    if (pick(4) == 0) annotations["kollect.dev/namespace-watch"] = "enabled";
    kube_.put_namespace(ns, labels, annotations);
  }

  void register_one() {
    const std::string name = fmt::format("t{}", pick(5));
    const bool cluster = pick(3) == 0;
    const inventory::Owner owner = cluster ? cluster_owner(name) : target_owner(name);
    std::vector<std::string> effective;
    for (const std::string& ns : kNamespaces) {
      if (pick(2) == 0) effective.push_back(ns);
    }
    const auto known = targets_.find(owner);
    if (known != targets_.end() && pick(2) == 0) {
      // Other namespaces alone.
      Registration registration = known->second;
      registration.effective = effective;
      known->second = registration;
      stage_->collector.register_target(std::move(registration));
      return;
    }
    Registration registration = registration_of(
        owner, {.spec = one_of(kSpecs), .kind = kConfigMap, .attribute = one_of(kAttributes)},
        effective);
    targets_.insert_or_assign(owner, registration);
    stage_->collector.register_target(std::move(registration));
  }

  void unregister_one() {
    if (targets_.empty()) return;
    const auto it = std::next(targets_.begin(), static_cast<std::ptrdiff_t>(pick(targets_.size())));
    const inventory::Owner owner = it->first;
    targets_.erase(it);
    stage_->collector.unregister_target(owner);
    for (const inventory::Owner& other : stage_->store.owners()) {
      EXPECT_FALSE(other.owner_class == owner.owner_class && other.name == owner.name);
    }
  }

  /// Every so many requests something else happens.
  void spoil() {
    spoilt_ = true;
    const std::size_t kind = pick(4);
    const std::size_t share = 2 + pick(3);
    const auto count = std::make_shared<std::atomic<std::size_t>>(0);
    kube_.hook(
        [=](const kollect::testing::Received& request) -> std::optional<kollect::testing::Reply> {
          if (request.path() == "/api" || request.path() == "/apis") {
            if (++*count % share == 0 && kind < 2)
              return FakeKube::status(503, "ServiceUnavailable");
            return std::nullopt;
          }
          if (++*count % share != 0) return std::nullopt;
          switch (kind) {
            case 0:
              return FakeKube::status(500, "InternalError");
            case 1:
              return FakeKube::status(410, "Expired");
            case 2: {
              kollect::testing::Reply cut =
                  kollect::testing::Reply::json(R"({"items":[{"metadata":{"uid)");
              cut.close_early = true;
              return cut;
            }
            default:
              return FakeKube::status(404, "NotFound");
          }
        });
  }

  void restrict_rights() {
    std::set<std::string> denied;
    for (const std::string& ns : kNamespaces) {
      if (pick(3) == 0) denied.insert(ns);
    }
    const bool everything = denied.empty() && pick(2) == 0;
    kube_.allow_if([=](const std::string& plural, const std::string& ns) {
      if (plural != "configmaps") return true;
      return everything || (!ns.empty() && !denied.contains(ns));
    });
    // A server does not end a watch because of that, but all end now and then.
    kube_.cut_watches();
    denied_ = denied;
    everything_ = everything;
  }

  void calm() {
    spoilt_ = false;
    kube_.hook(nullptr);
  }

  bool nothing_readable(const Registration& registration) const {
    return !registration.effective.empty() &&
           std::ranges::none_of(registration.effective,
                                [&](const std::string& ns) { return readable(ns); });
  }
  bool readable(const std::string& ns) const { return everything_ || !denied_.contains(ns); }

  std::string rows_of(const inventory::Owner& owner, const Registration& registration) {
    const auto text = [](const inventory::RowView& row) {
      return fmt::format("{}/{}/{}/{}", row.ns, row.name, row.uid, row.attributes);
    };
    if (owner.owner_class == inventory::OwnerClass::kTarget) return stage_->texts(owner, text);
    std::string all;
    for (const std::string& ns : registration.effective) {
      all += stage_->texts(cluster_owner(owner.name, ns), text) + ";";
    }
    return all;
  }

  std::pair<std::string, std::size_t> expected(const inventory::Owner& owner,
                                               const Registration& registration) {
    std::map<std::string, std::vector<std::string>> rows;
    std::size_t failures = 0;
    select::Namespaces namespaces;
    for (const auto& [object, json] : kube_.objects("namespaces")) {
      namespaces[object.name] = {.name = object.name, .labels = {}, .annotations = {}};
      if (tenant_) continue;
      namespaces[object.name].labels = object.labels;
      namespaces[object.name].annotations = object.annotations;
    }
    select::PolicyErrors errors;
    for (const auto& [object, json] : kube_.objects("configmaps")) {
      if (!readable(object.ns)) continue;
      const auto document = base::json::Document::parse(json);
      const select::Namespace& home = namespaces.at(object.ns);
      if (registration.selection.judge(document->root(), "", "ConfigMap", &home, true,
                                       registration.effective, errors) != select::Verdict::kTaken) {
        continue;
      }
      const auto extracted = registration.program.extract(
          document->root(), {.cluster = "test", .namespace_labels = &home.labels});
      if (!extracted) {
        ++failures;
        continue;
      }
      const bool cluster = owner.owner_class == inventory::OwnerClass::kClusterTarget;
      rows[cluster ? object.ns : ""].push_back(fmt::format("{}/{}/{}/{}", object.ns, object.name,
                                                           object.uid, extracted->attributes_json));
    }
    for (auto& [ns, list] : rows) std::ranges::sort(list);
    if (owner.owner_class == inventory::OwnerClass::kTarget) {
      return {base::join(rows[""], " "), failures};
    }
    std::string all;
    for (const std::string& ns : registration.effective) all += base::join(rows[ns], " ") + ";";
    return {all, failures};
  }

  std::mt19937_64 random_;
  FakeKube kube_;
  kube::Client client_;
  bool tenant_ = false;
  bool spoilt_ = false;
  std::set<std::string> denied_;
  bool everything_ = true;
  std::map<std::string, std::string> uids_;  ///< by ns/name
  int created_ = 0;
  std::map<inventory::Owner, Registration> targets_;
  std::unique_ptr<Stage> stage_;
};

class CollectorModel : public ::testing::TestWithParam<int> {};

TEST_P(CollectorModel, EndsAsAFreshLook) {
  History history(static_cast<std::uint64_t>(GetParam()));
  for (int round = 0; round < 3; ++round) {
    history.run(60);
    history.check();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CollectorModel, ::testing::Range(1, 25));

}  // namespace
}  // namespace kollect::collector

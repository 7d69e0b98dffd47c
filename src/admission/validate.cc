#include "admission/validate.h"

#include <algorithm>
#include <map>
#include <set>

#include "admission/findings.h"
#include "api/codec.h"
#include "base/hash.h"
#include "base/strings.h"

namespace kollect::admission {

namespace {

using base::json::Value;

bool is_sink(std::string_view kind) {
  return kind == "KollectSnapshotSink" || kind == "KollectDatabaseSink" ||
         kind == "KollectEventSink";
}

bool is_inventory(std::string_view kind) {
  return kind == "KollectInventory" || kind == "KollectClusterInventory";
}

bool is_ours(const SetMember& member) {
  return api::find_kind(member.kind) != nullptr;
}

/// Kinds that rules look up.
bool is_looked_up(std::string_view kind) {
  return kind == "KollectProfile" || kind == "KollectScope" || kind == "KollectClusterScope";
}

/// Findings over several members; `verdicts` are those of review().
class SetReview {
 public:
  SetReview(const std::vector<SetMember>& members, std::vector<Verdict>& verdicts)
      : members_(members), verdicts_(verdicts) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (names_.insert(key(members[i].kind, members[i].ns, members[i].name)).second) {
        ++by_name_[members[i].kind][members[i].name];
      }
    }
  }

  void run() {
    some_template_has_cluster_ = any_template_has_cluster();
    note_references();
    for (at_ = 0; at_ < members_.size(); ++at_) {
      const std::string& kind = members_[at_].kind;
      if (kind == "KollectTarget" || kind == "KollectClusterTarget") {
        check_profile_reference();
      } else if (is_inventory(kind)) {
        check_inventory_references();
      } else if (kind == "KollectScope" || kind == "KollectClusterScope") {
        warn("", "one-shot commands do not apply scopes: they go by the rights of the kubeconfig");
      } else if (is_sink(kind)) {
        check_sink();
      }
    }
  }

 private:
  static std::string key(std::string_view kind, std::string_view ns, std::string_view name) {
    return fmt::format("{} {}/{}", kind, ns, name);
  }

  [[nodiscard]] bool has(std::string_view kind, std::string_view ns, std::string_view name) const {
    return names_.contains(key(kind, ns, name));
  }
  [[nodiscard]] const Value* spec() const { return members_[at_].manifest->find("spec"); }

  void warn(const std::string& field, const std::string& text) {
    verdicts_[at_].warnings.push_back(field.empty() ? text : fmt::format("{}: {}", field, text));
  }

  void fail(std::string field, const char* kind, std::string text) {
    Verdict& verdict = verdicts_[at_];
    verdict.errors.push_back({std::move(field), kind, std::move(text)});
    if (verdict.stage == Verdict::Stage::kAccept) {
      verdict.stage = Verdict::Stage::kWebhook;
    }
  }

  void check_profile_reference() {
    const Value* reference = spec() == nullptr ? nullptr : spec()->find("profileRef");
    if (reference == nullptr) {
      return;
    }
    const bool by_name = reference->is_string();
    const std::string name(by_name ? reference->as_string() : reference->text("name"));
    const std::string ns(by_name ? members_[at_].ns : reference->text("namespace"));
    if (name.empty() || has("KollectProfile", ns, name)) {
      return;
    }
    const auto& known = by_name_["KollectProfile"];
    const auto elsewhere = known.find(name);
    if (!by_name || elsewhere == known.end()) {
      std::vector<std::string> names;
      for (const auto& [known_name, count] : known) {
        names.push_back(known_name);
      }
      const auto near = base::near_names(name, names);
      fail("spec.profileRef", "NotFound",
           fmt::format("there is no profile \"{}\"{}", name,
                       near.empty() ? "" : "; near names: " + base::join(near, ", ")));
    } else if (elsewhere->second > 1) {
      fail("spec.profileRef", "Invalid",
           fmt::format("none of the {} profiles named \"{}\" is in namespace {}", elsewhere->second,
                       name, ns));
    } else {
      warn(
          "spec.profileRef",
          fmt::format("profile \"{}\" is in another namespace; a cluster would refuse that", name));
    }
  }

  /// take(field, kind, namespace, name) for every sink that the inventory at `at_` names.
  template <class Take>
  void for_each_sink_reference(const Take& take) const {
    const std::pair<const char*, const char*> lists[] = {
        {"snapshotSinkRefs", "KollectSnapshotSink"},
        {"databaseSinkRefs", "KollectDatabaseSink"},
        {"eventSinkRefs", "KollectEventSink"}};
    for (const auto& [list_name, kind] : lists) {
      const Value* list = spec()->find(list_name);
      for (std::size_t i = 0; list != nullptr && list->is_array() && i < list->as_array().size();
           ++i) {
        const Value& reference = list->as_array()[i];
        const std::string name(reference.is_string() ? reference.as_string()
                                                     : reference.text("name"));
        if (!name.empty()) {
          take(fmt::format("spec.{}[{}]", list_name, i), kind, sink_namespace(reference), name);
        }
      }
    }
  }

  [[nodiscard]] std::string sink_namespace(const Value& reference) const {
    std::string ns(reference.text("namespace"));
    if (ns.empty()) {
      ns = members_[at_].kind == "KollectInventory" ? members_[at_].ns
                                                    : spec()->text("sinkNamespace");
    }
    return ns.empty() ? "kollect-system" : ns;
  }

  /// Before anything is judged: which sinks are in use, as far as inventories choose them.
  void note_references() {
    for (at_ = 0; at_ < members_.size(); ++at_) {
      if (!is_inventory(members_[at_].kind)) {
        continue;
      }
      some_inventory_ = true;
      if (spec() == nullptr) {
        continue;
      }
      for_each_sink_reference([this](const std::string&, const char* kind, const std::string& ns,
                                     const std::string& name) {
        in_use_.insert(key(kind, ns, name));
      });
    }
  }

  void check_inventory_references() {
    if (spec() == nullptr) {
      return;
    }
    for_each_sink_reference([this](const std::string& field, const char* kind,
                                   const std::string& ns, const std::string& name) {
      if (!has(kind, ns, name)) {
        warn(field, fmt::format("there is no {} {}/{} here", kind, ns, name));
      }
    });
    const Value* targets = spec()->find("targetRefs");
    for (std::size_t i = 0;
         targets != nullptr && targets->is_array() && i < targets->as_array().size(); ++i) {
      const Value& target = targets->as_array()[i];
      if (target.is_string() && !has("KollectClusterTarget", "", target.as_string())) {
        warn(fmt::format("spec.targetRefs[{}]", i),
             fmt::format("there is no cluster target \"{}\" here", target.as_string()));
      }
    }
  }

  void check_sink() {
    const SetMember& member = members_[at_];
    for (const SinkSecret& secret : secrets_of_sink(*member.manifest, member.ns)) {
      const bool found = has("Secret", secret.ns, secret.name) ||
                         (secret.ca && has("ConfigMap", secret.ns, secret.name));
      if (!found) {
        const bool elsewhere = by_name_["Secret"].contains(secret.name);
        warn(secret.field,
             elsewhere ? fmt::format("Secret \"{}\" is in another namespace", secret.name)
                       : fmt::format("there is no Secret {}/{} here", secret.ns, secret.name));
      }
    }
    if (some_inventory_ && !in_use_.contains(key(member.kind, member.ns, member.name))) {
      warn("", "no inventory here names this sink, so nothing is written to it");
    }
    check_same_path();
    check_cluster_placeholder();
  }

  [[nodiscard]] static bool writes_files(const Value& manifest) {
    return manifest.text("kind") == "KollectSnapshotSink";
  }

  /// Where a snapshot sink writes: endpoint, branch and path templates.
  [[nodiscard]] static std::string destination_of(const Value& manifest) {
    const Value* spec = manifest.find("spec");
    if (spec == nullptr || spec->text("endpoint").empty()) {
      return {};
    }
    const Value* git = spec->find("git");
    const Value* layout = spec->find("layout");
    const auto text = [](const Value* parent, const char* name) {
      return parent == nullptr ? std::string() : std::string(base::trim(parent->text(name)));
    };
    return fmt::format("{}\n{}\n{}\n{}\n{}", spec->text("type"), base::trim(spec->text("endpoint")),
                       text(git, "branch"), base::trim(spec->text("pathTemplate")),
                       text(layout, "pathTemplate"));
  }

  /// Two sinks that write the same files take them from each other at every run.
  void check_same_path() {
    const Value& manifest = *members_[at_].manifest;
    const std::string destination = writes_files(manifest) ? destination_of(manifest) : "";
    if (destination.empty()) {
      return;
    }
    const auto [first, fresh] = destinations_.try_emplace(destination, at_);
    if (!fresh) {
      const SetMember& other = members_[first->second];
      warn("spec.endpoint",
           fmt::format("writes the same paths as {} {}/{}", other.kind, other.ns, other.name));
    }
  }

  [[nodiscard]] static bool names_cluster(const Value& manifest) {
    const Value* spec = manifest.find("spec");
    const Value* layout = spec == nullptr ? nullptr : spec->find("layout");
    return spec != nullptr &&
           (spec->text("pathTemplate").find("{cluster}") != std::string_view::npos ||
            (layout != nullptr &&
             layout->text("pathTemplate").find("{cluster}") != std::string_view::npos));
  }

  [[nodiscard]] bool any_template_has_cluster() const {
    return std::any_of(members_.begin(), members_.end(), [](const SetMember& member) {
      return writes_files(*member.manifest) && names_cluster(*member.manifest);
    });
  }

  /// That one sink keeps clusters apart shows that several are meant; another one should as well.
  void check_cluster_placeholder() {
    const Value& manifest = *members_[at_].manifest;
    if (some_template_has_cluster_ && writes_files(manifest) && !names_cluster(manifest)) {
      warn("spec.pathTemplate",
           "has no {cluster}: runs for several clusters overwrite each other's files, and another "
           "sink here keeps "
           "them apart");
    }
  }

  const std::vector<SetMember>& members_;
  std::vector<Verdict>& verdicts_;
  std::size_t at_ = 0;
  std::set<std::string> names_;
  /// In how many namespaces a kind has an object of a name.
  std::map<std::string, std::map<std::string, std::size_t>, std::less<>> by_name_;
  std::map<std::string, std::size_t> destinations_;
  std::set<std::string> in_use_;  ///< sinks that inventories name
  bool some_inventory_ = false;
  bool some_template_has_cluster_ = false;
};

bool valid_placeholder_name(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// A value that as a whole looks like ${env:…} but is none.
bool bad_placeholder(std::string_view text) {
  text = base::trim(text);
  constexpr std::string_view kStart = "${env:";
  return text.starts_with(kStart) && text.ends_with('}') && text.find('}') == text.size() - 1 &&
         !valid_placeholder_name(text.substr(kStart.size(), text.size() - kStart.size() - 1));
}

/// Form of a Secret or ConfigMap: string values, base64 under data of a Secret, placeholders well
/// written.
Verdict review_plain(const SetMember& member) {
  Verdict verdict;
  const auto fail = [&](const std::string& path, const char* kind, const char* text) {
    verdict.stage = Verdict::Stage::kDecode;
    verdict.errors.push_back({path, kind, text});
  };
  for (const char* section : {"data", "stringData"}) {
    const Value* values = member.manifest->find(section);
    if (values == nullptr || values->is_null()) {
      continue;
    }
    if (!values->is_object()) {
      fail(section, "Invalid", "must be a map of strings");
      continue;
    }
    for (const auto& [name, value] : values->as_object()) {
      const std::string path = fmt::format("{}.{}", section, name);
      if (!value.is_string()) {
        fail(path, "Invalid", "must be a string");
        continue;
      }
      std::string text = value.as_string();
      if (member.kind == "Secret" && std::string_view(section) == "data") {
        auto decoded = base::base64_decode(text);
        if (!decoded) {
          fail(path, "Invalid", "must be base64; plain text belongs into stringData");
          continue;
        }
        text = *decoded;
      }
      if (member.kind == "Secret" && bad_placeholder(text)) {
        fail(path, "Invalid",
             "${env:NAME} needs a name of letters, digits and _ that does not begin with a digit");
      }
    }
  }
  return verdict;
}

void add_secret(std::vector<SinkSecret>& out, const Value* reference, std::string field,
                const std::string& ns, bool ca = false) {
  if (reference == nullptr || reference->text("name").empty()) {
    return;
  }
  const std::string own(reference->text("namespace"));
  out.push_back(
      {std::move(field), own.empty() ? ns : own, std::string(reference->text("name")), ca});
}

}  // namespace

std::vector<SinkSecret> secrets_of_sink(const Value& sink, const std::string& sink_namespace) {
  std::vector<SinkSecret> out;
  add_secret(out, sink.at_path({"spec", "secretRef"}), "spec.secretRef", sink_namespace);
  add_secret(out, sink.at_path({"spec", "git", "auth", "secretRef"}), "spec.git.auth.secretRef",
             sink_namespace);
  for (const char* type : {"kafka", "nats", "bigquery"}) {
    add_secret(out, sink.at_path({"spec", type, "secretRef"}),
               fmt::format("spec.{}.secretRef", type), sink_namespace);
  }
  for (const char* type : {"postgres", "mongodb"}) {
    add_secret(out, sink.at_path({"spec", type, "databaseRef"}),
               fmt::format("spec.{}.databaseRef", type), sink_namespace);
  }
  add_secret(out, sink.at_path({"spec", "tls", "caSecretRef"}), "spec.tls.caSecretRef",
             sink_namespace, true);
  return out;
}

std::vector<Verdict> review_set(const std::vector<SetMember>& members,
                                const std::vector<Value>& existing, const SetOptions& options) {
  std::vector<Value> cluster = existing;
  for (const SetMember& member : members) {
    if (options.together && is_looked_up(member.kind)) {
      cluster.push_back(*member.manifest);
    }
  }
  std::vector<Verdict> verdicts;
  for (const SetMember& member : members) {
    verdicts.push_back(is_ours(member) ? review(*member.manifest, cluster, options.settings)
                                       : review_plain(member));
  }
  if (options.together) {
    SetReview(members, verdicts).run();
  }
  return verdicts;
}

}  // namespace kollect::admission

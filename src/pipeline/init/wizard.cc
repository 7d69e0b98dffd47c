#include "pipeline/init/wizard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/document.h"
#include "base/strings.h"
#include "pipeline/init/suggest.h"

namespace kollect::pipeline::init {

namespace {

std::optional<std::string> selector_complaint(std::string_view text) {
  auto parsed = parse_selector(text);
  if (parsed) return std::nullopt;
  return parsed.error().message;
}

std::optional<std::string> label_complaint(std::string_view text) {
  if (base::is_dns1123_label(text)) return std::nullopt;
  return "use lower-case letters, digits and '-', at most 63, beginning and ending with a letter "
         "or digit";
}

std::string describe(const api::LabelSelector& selector) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : selector.match_labels) parts.push_back(key + "=" + value);
  for (const auto& e : selector.match_expressions) {
    parts.push_back(fmt::format("{} {} {}", e.key, e.op, base::join(e.values, ",")));
  }
  return base::join(parts, ", ");
}

}  // namespace

base::Result<Plan> Wizard::run() {
  plan_.target_namespace = options_.target_namespace;
  KL_TRY(ask_context());
  KL_TRY(ask_kind());
  if (plan_.namespaced) {
    KL_TRY(ask_namespaces());
  }
  KL_TRY(ask_object_filter());
  for (PlannedAttribute& safe : safe_attributes(plan_.namespaced)) {
    offered_.push_back({std::move(safe), "", false, true});
  }
  KL_TRY(ask_sample());
  KL_TRY(ask_attributes());
  KL_TRY(ask_name());
  KL_TRY(check(plan_));
  KL_TRY(ask_review());
  return plan_;
}

base::Result<> Wizard::ask_context() {
  const std::string server = cluster_.server.empty() ? "unknown server" : cluster_.server;
  KL_ASSIGN(bool yes,
            dialogue_.confirm(fmt::format("Use context {} ({})?", cluster_.context, server), true));
  if (!yes) return cancelled_by_user();
  return {};
}

base::Result<> Wizard::ask_kind() {
  KL_ASSIGN(auto kinds, offered_kinds(context_, *cluster_.client, log_));
  std::vector<std::string> labels;
  for (const OfferedKind& kind : kinds) labels.push_back(kind.label());
  dialogue_.heading("Which kind?");
  KL_ASSIGN(std::size_t at, dialogue_.choose("Kind (number, name, or a part of it)", labels));
  resource_ = kinds[at].resource;
  plan_.kind = kinds[at].gvk();
  plan_.namespaced = resource_.namespaced;
  return {};
}

base::Result<> Wizard::ask_namespaces() {
  dialogue_.heading("Which namespaces?");
  const std::vector<std::string> scopes = {"all accessible", "explicit list", "label selector",
                                           "name pattern (a snapshot of today's names)"};
  KL_ASSIGN(std::size_t scope, dialogue_.choose("Namespaces", scopes, 0));
  if (scope == 0) return {};
  if (scope == 2) return ask_namespace_selector();
  KL_ASSIGN(auto namespaces, list_namespaces(context_, *cluster_.client));
  return scope == 1 ? ask_namespace_list(namespaces) : ask_namespace_pattern(namespaces);
}

base::Result<> Wizard::ask_namespace_list(const std::vector<NamespaceInfo>& namespaces) {
  std::vector<std::string> names;
  for (const NamespaceInfo& ns : namespaces) names.push_back(ns.name);
  KL_ASSIGN(auto chosen,
            dialogue_.choose_several("Namespaces (numbers or names, comma separated)", names, {}));
  for (std::size_t i : chosen) plan_.included_namespaces.push_back(names[i]);
  std::ranges::sort(plan_.included_namespaces);
  return {};
}

base::Result<> Wizard::ask_namespace_selector() {
  KL_ASSIGN(std::string text,
            dialogue_.ask("Labels of the namespaces (k=v, k!=v, k in (a,b), k, !k)", "",
                          selector_complaint));
  KL_ASSIGN(plan_.namespace_selector, parse_selector(text));
  return {};
}

base::Result<> Wizard::ask_namespace_pattern(const std::vector<NamespaceInfo>& namespaces) {
  while (true) {
    KL_ASSIGN(std::string pattern, dialogue_.ask("Pattern (*, ?, [a-c])", ""));
    std::vector<std::string> matches;
    for (const NamespaceInfo& ns : namespaces) {
      auto fits = kube::glob_match(pattern, ns.name);
      if (fits && *fits) matches.push_back(ns.name);
    }
    if (matches.empty()) {
      dialogue_.say("  no namespace fits this pattern");
      continue;
    }
    dialogue_.say("  " + base::join(matches, ", "));
    dialogue_.say("  This is a snapshot: namespaces made later are not included.");
    KL_ASSIGN(
        bool durable,
        dialogue_.confirm("Use a label selector instead, which also finds later ones?", false));
    if (durable) return ask_namespace_selector();
    plan_.included_namespaces = std::move(matches);
    snapshot_ = true;
    return {};
  }
}

base::Result<> Wizard::ask_object_filter() {
  dialogue_.heading("Filter of objects?");
  KL_ASSIGN(std::size_t filter,
            dialogue_.choose("Filter", {"none (all of them)", "label selector", "names"}, 0));
  if (filter == 1) {
    KL_ASSIGN(std::string text,
              dialogue_.ask("Labels of the objects (k=v, k!=v, k in (a,b), k, !k)", "",
                            selector_complaint));
    KL_ASSIGN(plan_.object_selector, parse_selector(text));
  }
  if (filter == 2) {
    auto valid = [](std::string_view text) -> std::optional<std::string> {
      return base::trim(text).empty() ? std::optional<std::string>("name at least one object")
                                      : std::nullopt;
    };
    KL_ASSIGN(std::string text, dialogue_.ask("Names, comma separated", "", valid));
    for (std::string_view name : base::split(text, ',')) {
      if (!base::trim(name).empty()) plan_.names.emplace_back(base::trim(name));
    }
  }
  return {};
}

base::Result<> Wizard::ask_sample() {
  KL_ASSIGN(bool wanted,
            dialogue_.confirm("Look at one object to propose more attributes?", false));
  if (!wanted) return {};
  const bool sensitive = is_sensitive(plan_.kind, options_.sensitive);
  if (sensitive) {
    dialogue_.say(
        "  Objects of this kind hold secret values. Their values are not shown, but attributes "
        "that read them");
    dialogue_.say(
        "  would put them into every export. The profile would then say so by an annotation.");
    KL_ASSIGN(bool sure, dialogue_.confirm("Read one all the same?", false));
    if (!sure) return {};
  }
  KL_ASSIGN(auto found, candidates(context_, *cluster_.client, resource_, plan_, 20));
  if (found.empty()) {
    dialogue_.say("  no object fits; going on with the safe attributes");
    return {};
  }
  std::vector<std::string> labels;
  for (const Candidate& c : found) labels.push_back(c.ns.empty() ? c.name : c.ns + "/" + c.name);
  KL_ASSIGN(std::size_t at, dialogue_.choose("Object", labels));
  KL_ASSIGN(bool read,
            dialogue_.confirm(fmt::format("Read {} {}?", plan_.kind.kind, labels[at]), false));
  if (!read) return {};
  sampled_ = labels[at];
  return read_sample(found[at], sensitive);
}

base::Result<> Wizard::read_sample(const Candidate& candidate, bool sensitive) {
  KL_ASSIGN(std::string text,
            cluster_.client->get(context_, resource_, candidate.ns, candidate.name));
  KL_ASSIGN(auto document, base::json::Document::parse(text));
  for (Suggestion& suggestion : suggest(document.root(), sensitive)) {
    const bool known = std::ranges::any_of(
        offered_, [&](const Offered& o) { return o.attribute.path == suggestion.attribute.path; });
    if (known) continue;
    while (std::ranges::any_of(offered_, [&](const Offered& o) {
      return o.attribute.name == suggestion.attribute.name;
    })) {
      suggestion.attribute.name = "object." + suggestion.attribute.name;
    }
    offered_.push_back(
        {suggestion.attribute, suggestion.preview, sensitive && suggestion.secret_value, false});
  }
  return {};
}

base::Result<> Wizard::ask_attributes() {
  dialogue_.heading("Which attributes?");
  std::vector<std::string> labels;
  std::vector<std::size_t> preset;
  for (std::size_t i = 0; i < offered_.size(); ++i) {
    const Offered& o = offered_[i];
    labels.push_back(fmt::format("{}  {}{}", o.attribute.name, o.attribute.path,
                                 o.preview.empty() ? "" : "  = " + o.preview));
    if (o.safe) preset.push_back(i);
  }
  KL_ASSIGN(auto chosen,
            dialogue_.choose_several("Attributes (numbers or names, comma separated, or all)",
                                     labels, preset));
  for (std::size_t i : chosen) {
    plan_.attributes.push_back(offered_[i].attribute);
    plan_.allow_secret_extraction |= offered_[i].secret_value;
  }
  return {};
}

base::Result<> Wizard::ask_name() {
  KL_ASSIGN(plan_.name,
            dialogue_.ask("Name of profile and target", default_name(plan_.kind), label_complaint));
  return {};
}

base::Result<> Wizard::ask_review() {
  dialogue_.heading("Review");
  dialogue_.say(fmt::format("  name        {}", plan_.name));
  dialogue_.say(fmt::format("  kind        {} ({}{}{})", plan_.kind.kind, plan_.kind.group,
                            plan_.kind.group.empty() ? "" : "/", plan_.kind.version));
  dialogue_.say(fmt::format("  scope       {}", plan_.namespaced ? "namespaced" : "cluster"));
  std::string namespaces = "all";
  if (plan_.namespace_selector) namespaces = describe(*plan_.namespace_selector);
  if (!plan_.included_namespaces.empty()) namespaces = base::join(plan_.included_namespaces, ", ");
  if (plan_.namespaced) dialogue_.say(fmt::format("  namespaces  {}", namespaces));
  std::string filter = "none";
  if (plan_.object_selector) filter = describe(*plan_.object_selector);
  if (!plan_.names.empty()) filter = base::join(plan_.names, ", ");
  dialogue_.say(fmt::format("  filter      {}", filter));
  std::vector<std::string> names;
  for (const auto& attribute : plan_.attributes) names.push_back(attribute.name);
  dialogue_.say(fmt::format("  attributes  {}", base::join(names, ", ")));
  if (!sampled_.empty()) dialogue_.say(fmt::format("  sampled     {}", sampled_));
  if (plan_.allow_secret_extraction) {
    dialogue_.say("  opt-in      the profile gets kollect.dev/allow-secret-extraction: \"true\"");
  }
  if (snapshot_) dialogue_.say("  warning     the namespaces are a snapshot of today's names");
  KL_ASSIGN(bool yes, dialogue_.confirm(fmt::format("Write to {}?", options_.output_dir), true));
  if (!yes) return cancelled_by_user();
  return {};
}

}  // namespace kollect::pipeline::init

#include "manager/telemetry/domain_series.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/json/document.h"
#include "base/json/write.h"
#include "extract/metric_path.h"

namespace kollect::manager {
namespace {

using base::json::Document;
using base::json::View;

std::string gvk_text(std::string_view group, std::string_view version, std::string_view kind) {
  return fmt::format("{}/{}/{}", group, version, kind);
}

std::optional<double> number_of(const std::optional<View>& value) {
  if (!value) return std::nullopt;
  if (value->is_number()) {
    const double number = value->number().as_double();
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
  }
  return value->is_string() ? number_in(value->as_string()) : std::nullopt;
}

std::string label_text(const std::optional<View>& value) {
  if (!value || value->is_null()) return "";
  if (value->is_string()) return std::string(value->as_string());
  return base::json::compact(base::json::to_value(*value));
}

/// What a definition sums.
class Reader {
 public:
  Reader(const api::Metric& metric, const std::string& resource_key)
      : path_(metric.path), key_(resource_key) {
    auto nested = extract::object_metric(path_, key_);
    if (nested && *nested) nested_ = std::move(**nested);
  }
  /// Its value in a row; of several places in an object their sum.
  [[nodiscard]] std::optional<double> of(View attributes) const {
    const auto plain = attributes.find(path_);
    if (plain || !nested_) return number_of(plain);
    const auto object = attributes.find(key_);
    std::vector<View> found;
    if (!object || !nested_->evaluate(*object, found)) return std::nullopt;
    std::optional<double> sum;
    for (const View value : found) {
      if (const auto number = number_of(value)) sum = sum.value_or(0) + *number;
    }
    return sum;
  }

 private:
  const std::string& path_;
  const std::string& key_;
  std::optional<extract::JsonPath> nested_;
};

/// A name of an attribute as Prometheus takes labels; ours keep theirs.
std::string label_name(const std::string& attribute) {
  std::string name = attribute;
  for (char& c : name) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (!good) c = '_';
  }
  const bool digit = !name.empty() && name.front() >= '0' && name.front() <= '9';
  const bool taken = name == "profile" || name == "gvk" || name == "series" || name == "le";
  return name.empty() || digit || taken || name.starts_with("__") ? "attribute_" + name : name;
}

bool is_kept(std::string_view text, std::size_t at) {
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  return text[at] != '_' || at == 0 || !digit(at - 1) || !digit(at + 1);
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_kept(text, i)) digits += text[i];
  }
  std::string_view rest = digits;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  auto format = std::chars_format::general;
  if (rest.starts_with("0x") || rest.starts_with("0X")) {
    // A hexadecimal number has an exponent: "0x10" is a name.
    if (rest.find_first_of("pP") == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(2);
    format = std::chars_format::hex;
  }
  if (rest.empty() || rest.front() == '-' || rest.front() == '+') return std::nullopt;
  double number = 0;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number, format);
  if (code != std::errc() || end != rest.data() + rest.size() || !std::isfinite(number)) {
    return std::nullopt;
  }
  return negative ? -number : number;
}

ShownTarget shown_target(const inventory::Owner& target, const api::Profile& profile) {
  const api::ProfileSpec& spec = profile.spec;
  ShownTarget shown{
      .target = target,
      .profile = profile.metadata.name,
      .profile_version = fmt::format("{} {}", profile.metadata.uid, profile.metadata.generation),
      .gvk = spec.target_gvk,
      .definitions = spec.metrics};
  if (spec.export_spec && spec.export_spec->mode == "Resource") {
    shown.resource_key = spec.export_spec->as.empty() ? "resource" : spec.export_spec->as;
  }
  return shown;
}

void DomainSeries::refresh(const ShownTarget& target, State& state) {
  const inventory::Owner& wanted = target.target;
  const auto reader = store_.subscribe([&](const inventory::Owner& owner) {
    return owner.owner_class == wanted.owner_class && owner.name == wanted.name &&
           (owner.owner_class == inventory::OwnerClass::kClusterTarget || owner.ns == wanted.ns);
  });
  std::string hash = reader->set_hash();
  const base::SteadyTime now = clock_.steady_now();
  const bool fresh = state.profile_version != target.profile_version;
  if (!fresh && (state.set_hash == hash || now - state.read_at < interval_)) return;
  state = {.profile_version = target.profile_version,
           .set_hash = std::move(hash),
           .read_at = now,
           .kinds = {}};
  Sums empty;
  for (const api::Metric& one : target.definitions) {
    if (one.labels.empty()) empty.series[one.name] = 0;
  }
  state.kinds[gvk_text(target.gvk.group, target.gvk.version, target.gvk.kind)] = empty;
  std::vector<Reader> readers;
  for (const api::Metric& one : target.definitions) readers.emplace_back(one, target.resource_key);
  Document document;
  const inventory::Snapshot rows = reader->snapshot();
  (void)rows.for_each([&](const inventory::RowView& row) -> base::Result<> {
    Sums& sums =
        state.kinds.try_emplace(gvk_text(row.group, row.version, row.kind), empty).first->second;
    ++sums.rows;
    if (!document.reparse_borrowed(row.attributes)) return {};
    const View attributes = document.root();
    if (target.definitions.empty()) {
      for (const auto& [name, value] : attributes.members()) {
        if (const auto number = number_of(value)) sums.series[std::string(name)] += *number;
      }
    }
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const api::Metric& one = target.definitions[i];
      const auto number = readers[i].of(attributes);
      if (!number) continue;
      if (one.labels.empty()) {
        sums.series[one.name] += *number;
        continue;
      }
      Labels labels;
      for (const std::string& label : one.labels) {
        labels[label_name(label)] = label_text(attributes.find(label));
      }
      sums.groups[one.name][std::move(labels)] += *number;
    }
    return {};
  });
  for (auto& [gvk, sums] : state.kinds) {
    for (auto& [series, groups] : sums.groups) {
      if (groups.size() <= kMostGroups) continue;
      sums.dropped[series] = groups.size() - kMostGroups;
      groups.erase(std::next(groups.begin(), kMostGroups), groups.end());
    }
    for (const auto& [series, count] : sums.dropped) {
      capped_[{{"profile", target.profile}, {"gvk", gvk}, {"series", series}}] +=
          static_cast<double>(count);
    }
  }
}

void DomainSeries::add(Sums& to, const Sums& from) {
  to.rows += from.rows;
  for (const auto& [series, value] : from.series) to.series[series] += value;
  for (const auto& [series, groups] : from.groups) {
    for (const auto& [labels, value] : groups) to.groups[series][labels] += value;
  }
}

void DomainSeries::page_of(metrics::Page& page, const std::string& profile, const std::string& gvk,
                           const Sums& sums) {
  page.gauge("kollect_collected_objects", "Rows of all targets that use the profile.",
             {{"profile", profile}, {"gvk", gvk}}, static_cast<double>(sums.rows));
  std::map<std::string, double> series = {{"object_count", static_cast<double>(sums.rows)}};
  for (const auto& [name, value] : sums.series) series[name] = value;
  for (const auto& [name, value] : series) {
    page.gauge("kollect_custom_resource_series", "Sum of an attribute over the rows of a profile.",
               {{"profile", profile}, {"gvk", gvk}, {"series", name}}, value);
  }
  for (const auto& [name, groups] : sums.groups) {
    std::size_t shown = 0;
    for (const auto& [attributes, value] : groups) {
      if (++shown > kMostGroups) break;
      Labels labels = attributes;
      labels.insert_or_assign("profile", profile);
      labels.insert_or_assign("gvk", gvk);
      labels.insert_or_assign("series", name);
      page.gauge("kollect_custom_resource_labeled_series",
                 "Sum of an attribute over the rows of a profile, by other attributes.", labels,
                 value);
    }
  }
}

void DomainSeries::show(metrics::Page& page, const std::vector<ShownTarget>& targets) {
  const std::scoped_lock lock(mutex_);
  std::set<inventory::Owner> there;
  std::map<std::pair<std::string, std::string>, Sums> all;
  for (const ShownTarget& target : targets) {
    there.insert(target.target);
    State& state = states_[target.target];
    refresh(target, state);
    for (const auto& [gvk, sums] : state.kinds) add(all[{target.profile, gvk}], sums);
  }
  std::erase_if(states_, [&](const auto& item) { return !there.contains(item.first); });
  std::erase_if(capped_, [&](const auto& item) {
    return !all.contains({item.first.at("profile"), item.first.at("gvk")});
  });
  for (const auto& [key, sums] : all) page_of(page, key.first, key.second, sums);
  for (const auto& [labels, count] : capped_) {
    page.counter("kollect_custom_resource_labeled_series_capped_total",
                 "Groups of labels that were left out.", labels, count);
  }
}

}  // namespace kollect::manager

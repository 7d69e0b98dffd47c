#include "manager/leader/lease.h"

#include <utility>

#include <fmt/format.h>

namespace kollect::manager {

using base::json::Object;
using base::json::Value;

namespace {

std::string micro_time(base::WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  std::string text = base::format_rfc3339_seconds(second);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text,
                     std::chrono::floor<std::chrono::microseconds>(time - second).count());
}

std::optional<base::WallTime> time_in(const Value& lease, std::string_view member) {
  const Value* text = lease.at_path({"spec", member});
  if (text == nullptr || !text->is_string()) return std::nullopt;
  const auto time = base::parse_rfc3339(text->as_string());
  return time ? std::optional(*time) : std::nullopt;
}

std::int64_t number_in(const Value& lease, std::string_view member) {
  const Value* number = lease.at_path({"spec", member});
  return number != nullptr && number->is_int() ? number->as_int() : 0;
}

std::string text_in(const Value& lease, std::string_view part, std::string_view member) {
  const Value* text = lease.at_path({part, member});
  return text != nullptr && text->is_string() ? text->as_string() : std::string();
}

}  // namespace

kube::Resource lease_resource() {
  return {.group = "coordination.k8s.io",
          .version = "v1",
          .kind = "Lease",
          .plural = "leases",
          .namespaced = true,
          .verbs = {"get", "list", "watch", "create", "patch"}};
}

LeaseRecord lease_record(const Value& lease) {
  return {.holder = text_in(lease, "spec", "holderIdentity"),
          .duration = std::chrono::seconds(number_in(lease, "leaseDurationSeconds")),
          .acquired = time_in(lease, "acquireTime"),
          .renewed = time_in(lease, "renewTime"),
          .transitions = number_in(lease, "leaseTransitions"),
          .version = text_in(lease, "metadata", "resourceVersion")};
}

Value lease_spec(const LeaseRecord& record) {
  Object spec;
  spec.set("holderIdentity", record.holder.empty() ? Value() : Value(record.holder));
  spec.set("leaseDurationSeconds",
           std::int64_t{std::chrono::ceil<std::chrono::seconds>(record.duration).count()});
  if (record.acquired) spec.set("acquireTime", micro_time(*record.acquired));
  if (record.renewed) spec.set("renewTime", micro_time(*record.renewed));
  spec.set("leaseTransitions", record.transitions);
  return spec;
}

Lease::Lease(kube::Client& client, const std::string& ns, const std::string& name)
    : objects_(client), ref_{.resource = lease_resource(), .ns = ns, .name = name} {}

base::Result<LeaseRecord> Lease::read(const base::Context& context) {
  KL_ASSIGN(const Value lease, objects_.get(context, ref_));
  return lease_record(lease);
}

base::Result<LeaseRecord> Lease::create(const base::Context& context, const LeaseRecord& record) {
  Object metadata;
  metadata.set("name", ref_.name);
  metadata.set("namespace", ref_.ns);
  Object lease;
  lease.set("apiVersion", "coordination.k8s.io/v1");
  lease.set("kind", "Lease");
  lease.set("metadata", std::move(metadata));
  lease.set("spec", lease_spec(record));
  KL_ASSIGN(const Value made, objects_.create(context, ref_.resource, ref_.ns, lease));
  return lease_record(made);
}

base::Result<LeaseRecord> Lease::update(const base::Context& context, const LeaseRecord& record) {
  Object patch;
  patch.set("spec", lease_spec(record));
  KL_ASSIGN(const Value made,
            objects_.patch(context, ref_, kube::at_version(std::move(patch), record.version)));
  return lease_record(made);
}

}  // namespace kollect::manager
